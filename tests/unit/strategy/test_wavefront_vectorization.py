"""Lanes on diagonals of sweeps in place."""

from __future__ import annotations

import pytest

from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy import auto_schedule
from polyopt.strategy.wavefront_vectorization import vectorize_wavefront
from polyopt.transforms import Affine, Fusion, Rearrange
from tests.checks import assert_computes
from tests.reading import read

SWEEP = """
for t in range(T):
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            A[i, j] = {}
"""
FIVE = "A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]"


def layouts(schedule):
    return [str(step) for step in schedule.trace if isinstance(step, Rearrange)]


def lanes(schedule):
    members = [m for band in bands(schedule.tree) for m in band.members]
    return [m.name for m in members if m.kind is LoopKind.VECTOR]


@pytest.mark.parametrize(
    ("value", "array", "found"),
    [
        (FIVE, "A[N, N]", ["rearrange(A, L0, 1+1*0, 0)"]),
        (f"{FIVE} + A[i - 1, j + 1]", "A[N, N]", ["rearrange(A, L0, 1+2*0, 0)"]),
        (
            f"{FIVE} - F[i, j]",
            "A[N, N]; F[N, N]",
            ["rearrange(A, L0, 1+1*0, 0)", "rearrange(F, L0, 1+1*0, 0)"],
        ),
        (f"{FIVE} - F[j]", "A[N, N]; F[N]", []),
        (
            f"{FIVE} - F[j, i]",
            "A[N, N]; F[N, N]",
            ["rearrange(A, L0, 1+1*0, 0)", "rearrange(F, L0, 0+1*1, 1)"],
        ),
    ],
)
def test_layouts(value, array, found):
    schedule = auto_schedule(read(SWEEP.format(value), array, "N T"), Machine())
    assert layouts(schedule) == found
    assert lanes(schedule) == (["i"] if found else [])


def test_same_results():
    scop = read(SWEEP.format(FIVE), "A[N, N]", "N T")
    affine = source_schedule(scop).apply(Affine(Fusion.MIN))
    found = vectorize_wavefront(affine, "L0")
    assert found is not None
    assert_computes(scop, *found.trace)


@pytest.mark.parametrize(
    ("shape", "fits"), [("A[400, 100]", True), ("A[401, 100]", False), ("A[N, M]", False)]
)
def test_memory_for_diagonals(shape, fits):
    """Far more rows than columns would leave most of a skewed array unused."""
    rows, columns = shape[2:-1].split(", ")
    text = SWEEP.format(FIVE).replace("N - 1", f"{rows} - 1", 1).replace("N - 1", f"{columns} - 1")
    affine = source_schedule(read(text, shape, "N M T")).apply(Affine(Fusion.MIN))
    assert (vectorize_wavefront(affine, "L0") is not None) == fits
