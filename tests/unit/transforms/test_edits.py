"""A schedule with one edited number is proven again or refused: it can be slow, never wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ScheduleError
from polyopt.ir.affine import quota
from polyopt.ir.scop import Scop
from polyopt.schedule import Schedule, source_schedule
from polyopt.transforms import parse_schedule
from tests import scops
from tests.oracle import hashed
from tests.properties.schedules import check_schedule

FILES: dict[str, tuple[Callable[[], Scop], str]] = {
    "tiled": (scops.transposed, "let T = 2; tile(L0, T, 3); interchange(L0.point[0], L0.point[1])"),
    "levels": (scops.seidel, "tile(L0, 4, 4); tile(L0.tile, 2, 1); skew(L0.point[1], i, 1)"),
    "wavefront": (
        scops.diagonal,
        "skew(j, i, 1); tile(L0, 3, 2); skew(L0.tile[0], j_tile, 1); parallelize(j_tile)",
    ),
    "shifted": (scops.ahead, "shift(L1, S1, 1); fuse(L0, L1, 1); split(L0, 1); strip(L0.high, 2)"),
    "reversed": (
        scops.chain,
        "split(L0, N - 2); reverse(L0.low); shift(L1, 1); strip(L1, 3)",
    ),
    "parts": (
        scops.planes,
        "fuse(L0, L1, 1); distribute(L0, 1); cut(L0.0, 1); interchange(L0.1[0], L0.1[1])",
    ),
    "separate": (
        scops.transposed,
        "tile(L0, 2, 3); separate(L0.point, L0.point, 2, 3); unroll(L0.point[0])",
    ),
}


def edits(text: str) -> list[str]:
    """The text with each of its numbers, one at a time, made another one."""
    found = []
    for number in re.finditer(r"(?<![\w.])-?\d+", text):
        value = int(number[0])
        for other in (value + 1, value - 1, 0, 2 * value, 2**31 - 1, -(2**31), 10**12):
            if other != value:
                found.append(f"{text[: number.start()]}{other}{text[number.end() :]}")
    labels = (
        f"{text[: m.start(1)]}{int(m[1]) + 1}{text[m.end(1) :]}" for m in _LABEL.finditer(text)
    )
    return list(dict.fromkeys((*found, *labels)))


_LABEL = re.compile(r"(?:\bL|\[|\bS)(\d+)")


def outcome(scop: Scop, text: str) -> Schedule | None:
    """The schedule that a text gives, or None where it is refused in so many words."""
    try:
        with quota(3_000_000):
            return parse_schedule(source_schedule(scop), text)
    except ScheduleError as refused:
        str(refused)
        return None


@pytest.mark.parametrize("name", FILES)
def test_every_edit_computes_the_same_or_is_refused(name: str) -> None:
    make, text = FILES[name]
    scop = hashed(make())
    sizes = [{**dict.fromkeys(scop.params, 5), "M": 4}, dict.fromkeys(scop.params, 0)]
    sizes = [{name: size[name] for name in scop.params} for size in sizes]
    assert outcome(scop, text) is not None
    accepted = refused = 0
    seen: set[str] = set()
    for edit in edits(text):
        schedule = outcome(scop, edit)
        if schedule is None:
            refused += 1
            continue
        accepted += 1
        if str(schedule) not in seen:
            seen.add(str(schedule))
            check_schedule(scop, schedule, sizes, Random(3))
    assert accepted >= 2
    assert refused >= 5


def stencil(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            b[i] = a[i - 1] + 2.0 * a[i] + a[i + 1]
        for i in range(1, a.shape[0] - 1):
            a[i] = b[i]


@pytest.mark.toolchain
@pytest.mark.parametrize("size", [9, 2**31 - 1])
def test_compiled(size: int) -> None:
    start = np.random.default_rng(4).random((2, 50))
    want, got = start.copy(), start.copy()
    stencil(*want, 7)
    text = f"diamond(L0, {size}); parallelize(L0.tile[1]); vectorize(L1); vectorize(L2)"
    po.kernel(schedule=text)(stencil)(*got, 7)
    assert np.array_equal(want, got)
