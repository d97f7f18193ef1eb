"""Loops that gather elements ask for shorter vectors where the machine's are long."""

from __future__ import annotations

import pytest

import polyopt as po
from polyopt.emit import emit_c, optimize_loops
from polyopt.emit.lower import lower
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.transforms import Vectorize
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

AVX2 = Machine(cores=2, vector_bytes=32)
AVX512 = Machine(cores=2, vector_bytes=64)


def gather(x: po.f64["L,256"], k: po.u8["M"], y: po.f64["L,M"]):
    for i in range(y.shape[0]):
        for j in range(k.shape[0]):
            y[i, j] = 2.0 * x[i, k[j]]


def singles(x: po.f32["L,260"], k: po.u8["M"], y: po.f32["L,M"]):
    for i in range(y.shape[0]):
        for j in range(k.shape[0]):
            y[i, j] = x[i, k[j]] + x[i, 3]


def row(x: po.f64["256,N"], k: po.u8["M"], y: po.f64["M,N"]):
    """All lanes read from one row, one after another."""
    for i in range(k.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = 2.0 * x[k[i], j]


@pytest.mark.parametrize(
    ("function", "machine", "clause"),
    [
        (gather, AVX512, "simdlen(4)"),
        (singles, AVX512, "simdlen(8)"),
        (gather, AVX2, ""),
        (row, AVX512, ""),
    ],
)
def test_lanes_of_gathers(function, machine, clause):
    program = program_of(function)
    schedule = source_schedule(program.scop).apply(Vectorize("L0[1]"))
    text = emit_c(optimize_loops(lower(schedule, program), machine, "strict")).text
    assert clause in text
    assert bool(clause) == ("simdlen" in text)
