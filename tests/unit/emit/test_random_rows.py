"""Rows of random words: which loops have them, and how often each counter is computed."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.emit import emit_c, optimize_loops
from polyopt.emit.lower import lower
from polyopt.emit.random_rows import CHUNK, MORE
from polyopt.frontend import build, infer_types
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.transforms import parse_steps

# ruff: noqa: F821, UP037 - sizes are named by strings

MACHINE = Machine(cores=4, vector_bytes=32)


def text(function, steps: str = "") -> str:
    """Return the emitted C, without the heads of helpers."""
    program = build(function, infer_types(function))
    schedule = source_schedule(program.scop).apply(*parse_steps(steps))
    whole = emit_c(optimize_loops(lower(schedule, program), MACHINE, "strict")).text
    return "\n".join(line for line in whole.split("\n") if "static inline" not in line)


def along(x: po.f64["N,M"], key: po.u64):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] + po.random.uniform(key, offset=i * x.shape[1] + j)


def shifted(x: po.f64["N"], key: po.u64):
    x[3:] = po.random.normal(key, x.shape)[3:]


def two(x: po.f64["N"], key: po.u64):
    x[:] = po.random.uniform(key, x.shape) + po.random.uniform(key, x.shape, stream=1)


def of_rows(x: po.f64["N,M"], keys: po.u64["N"]):
    for i in range(x.shape[0]):
        x[i] = po.random.uniform(keys[i], x.shape[1])


def where_asked(x: po.f64["N"], key: po.u64):
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            x[i] = po.random.uniform(key, offset=i)


@pytest.mark.parametrize(
    "function, steps, rows",
    [
        (along, "", 1),
        (along, "vectorize(j)", 1),
        (along, "tile(L0, 8, 16)", 1),
        (along, "parallelize(i)", 1),
        (shifted, "", 1),
        (two, "", 2),
        (of_rows, "", 1),
        (where_asked, "", 1),
    ],
)
def test_neighbours_share_counters(function, steps: str, rows: int) -> None:
    found = text(function, steps)
    assert found.count("po_philox_row_u64(") == rows
    assert "po_philox_u64(" not in found


def strided(x: po.f64["N"], key: po.u64):
    x[:] = po.random.uniform(key, (x.shape[0], 2))[:, 1]


def backwards(x: po.f64["N"], key: po.u64):
    x[:] = po.random.uniform(key, x.shape)[::-1]


def of_many_keys(x: po.f64["N"], keys: po.u64["N"]):
    for i in range(x.shape[0]):
        x[i] = po.random.uniform(keys[i], offset=i)


def of_its_own_words(x: po.u64["N"]):
    for i in range(1, x.shape[0]):
        x[i] = po.random.bits(x[0], offset=i)
        x[0] = x[i]


def short(x: po.f64["N,3"], key: po.u64):
    for i in range(x.shape[0]):
        for j in range(3):
            x[i, j] = po.random.uniform(key, offset=3 * i + j)


def key_where_asked(x: po.f64["N"], keys: po.u64["K"]):
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            x[i] = po.random.uniform(keys[0], offset=i)


@pytest.mark.parametrize(
    "function, steps",
    [
        (along, "interchange(i, j)"),
        (strided, ""),
        (backwards, ""),
        (of_many_keys, ""),
        (of_its_own_words, ""),
        (short, ""),
        (key_where_asked, ""),
    ],
)
def test_words_that_lie_apart_are_computed_alone(function, steps: str) -> None:
    found = text(function, steps)
    assert "po_philox_row" not in found
    assert "po_philox_u64(" in found


def plain(x: po.f64["N"], key: po.u64):
    for i in range(x.shape[0]):
        x[i] = po.random.uniform(key, offset=i)


def test_long_loops_have_rows_of_limited_size() -> None:
    found = text(plain)
    assert f"uint64_t words_[{CHUNK + MORE}];" in found
    assert f"i_row_ += {CHUNK}" in found


def test_loops_for_threads_are_strip_mined() -> None:
    found = text(plain, "parallelize(i)")
    assert found.count("po_philox_row_u64(") == 1
    assert "i_strip" in found


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "function", [strided, backwards, of_many_keys, where_asked, short, key_where_asked]
)
def test_both_forms_give_the_same_words(function) -> None:
    for n in (0, 1, 9, 700):
        shape = (n, 3) if function is short else (n,)
        x = np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)
        keys = np.uint64(9)
        if function in (of_many_keys, key_where_asked):
            keys = np.arange(n if function is of_many_keys else n // 2 + 1, dtype=np.uint64)
        wanted = x.copy()
        function(wanted, keys)
        po.kernel(function)(x, keys)
        assert np.array_equal(x, wanted)
