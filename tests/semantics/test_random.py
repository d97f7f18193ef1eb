"""Random numbers in kernels: NumPy's bits for all sizes, schedules and numbers of threads."""

# ruff: noqa: F821, UP037 - sizes are named by strings

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import DeclareArray
from polyopt.ir.nodes import all_nodes
from polyopt.ir.scop import Role
from tests.semantics import random_programs as programs

pytestmark = pytest.mark.toolchain
KEY = np.uint64(0x9E3779B97F4A7C15)


def copied(values: tuple[Any, ...]) -> list[Any]:
    return [v.copy() if isinstance(v, np.ndarray) else v for v in values]


def assert_same(kernel: Callable[..., Any], function: Callable[..., Any], *values: Any) -> None:
    """Compare results bit by bit, types included."""
    got, want = kernel(*copied(values)), function(*copied(values))
    if not isinstance(want, tuple):
        got, want = (got,), (want,)
    for one, other in zip(got, want, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.array_equal(one, other)


def matrix(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=shape)


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_size(fp: str, threads: int) -> None:
    kernel = po.kernel(programs.row, fp=fp, threads=threads)
    for n in (*range(71), 511, 512, 513, 1029, 40_003):
        assert_same(kernel, programs.row, KEY, n)
    numpy_stream = np.random.Generator(np.random.Philox(key=int(KEY)))
    assert np.array_equal(kernel(KEY, 40_003)[0], numpy_stream.random(40_003))


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("threads", [1, 2])
def test_all_kinds(fp: str, threads: int) -> None:
    kernel = po.kernel(programs.numbers, fp=fp, threads=threads)
    for shape in ((0, 3), (1, 1), (3, 5), (7, 1), (2, 600), (33, 65)):
        assert_same(kernel, programs.numbers, KEY, np.zeros(shape))


SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 64)
STEPS = [
    *(f"tile(L0, {size}, {size})" for size in SIZES),
    *(f"tile(L0, 2, {size}); parallelize(i_tile); vectorize(j)" for size in SIZES),
    "interchange(i, j)", "interchange(i, j); parallelize(j)", "vectorize(j)", "reverse(j)",
    "parallelize(i); vectorize(j)", "skew(L0[1], L0[0], 1)",
]  # fmt: skip


@pytest.mark.parametrize("steps", STEPS)
def test_schedules(steps: str) -> None:
    kernel = po.kernel(programs.in_loops, schedule=steps)
    for shape in ((1, 1), (5, 7), (9, 40)):
        assert_same(kernel, programs.in_loops, KEY, matrix(*shape))


CASES: dict[Callable[..., Any], tuple[Any, ...]] = {
    programs.dropout: (KEY, matrix(9, 13), 0.3),
    programs.dropped_layer: (KEY, np.round(matrix(6, 9)), np.round(matrix(9, 5)), 0.5),
    programs.rounded: (KEY, matrix(77), 0.125),
    programs.in_loops: (KEY, matrix(6, 11)),
    programs.walk: (KEY, matrix(5, 9), 4),
    programs.transposed: (KEY, matrix(6, 11)),
    programs.of_keys: (np.arange(5, dtype=np.uint64), 9),
    programs.total: (KEY, 1000),
    programs.estimated_pi: (KEY, 500),
    programs.drawn_twice: (KEY, 7),
    programs.drawn_halves: (KEY, 7),
    programs.drawn_mixed: (KEY,),
    programs.drawn_in_steps: (KEY, matrix(3, 5), 3),
    programs.drawn_of_constants: (9,),
    programs.drawn_in_many_places: (KEY, matrix(3, 5)),
    programs.until_three: (KEY,),
    programs.of_found_size: (KEY, matrix(4, 5)),
    programs.of_drawn_keys: (9,),
}


@pytest.mark.parametrize("program", CASES, ids=lambda f: f.__name__)
def test_forms(program: Callable[..., Any]) -> None:
    if program is programs.total:  # the order of its terms is open, and vectors decide it
        assert po.kernel(program)(*CASES[program]) == pytest.approx(program(*CASES[program]), 1e-14)
    else:
        assert_same(po.kernel(program), program, *CASES[program])


def test_shards_have_the_numbers_of_the_whole() -> None:
    x, kernel = matrix(7, 9), po.kernel(programs.shard)
    parts = [kernel(KEY, x[low:high], low) for low, high in ((0, 2), (2, 3), (3, 7))]
    assert np.array_equal(np.concatenate(parts), kernel(KEY, x, 0))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
def test_generators_of_halves(n: int) -> None:
    assert_same(po.kernel(programs.drawn_halves), programs.drawn_halves, KEY, n)


def test_sums_do_not_depend_on_threads() -> None:
    results = {po.kernel(programs.total, threads=t)(KEY, 100_003) for t in (1, 2, 3)}
    assert len(results) == 1
    assert results.pop() == pytest.approx(programs.total(KEY, 100_003), rel=1e-14)


def around_the_end(key, n: int):
    return (
        po.random.bits(key, n, offset=-3),
        po.random.bits(key, n, offset=-3, dtype=np.uint32),
        po.random.uniform(key, (n, 2), offset=2**64 - 5),
    )


def test_places_are_taken_modulo() -> None:
    kernel = po.kernel(around_the_end)
    for n in (2, 7, 20):
        assert_same(kernel, around_the_end, KEY, n)


def jumped(key, jumps: int):
    source = np.random.Philox(key=key, counter=9).jumped(jumps).jumped()
    return np.random.Generator(source).random(5)


def test_jumps() -> None:
    kernel = po.kernel(jumped)
    for jumps in (0, 1, 12):
        assert_same(kernel, jumped, KEY, jumps)
    with pytest.raises(po.ArgumentError) as caught:
        kernel(KEY, -1)
    assert caught.value.code == "PO0155"


@pytest.mark.parametrize("key", [3, -3, np.int32(7), np.uint8(9)])
def test_keys_of_any_integer_type(key: Any) -> None:
    assert_same(po.kernel(programs.row), programs.row, key, 9)


# -- what is stored ------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [programs.dropout, programs.rounded])
def test_no_mask_is_stored(program: Callable[..., Any]) -> None:
    """The consumer computes the words: no array but the arguments and the result."""
    loops = po.kernel(program).compile(*CASES[program]).loops
    assert all(array.role is not Role.TEMP for array in loops.arrays)
    assert not any(isinstance(n, DeclareArray) for n in all_nodes(loops.body))


def test_stochastic_rounding_keeps_the_mean() -> None:
    x = np.full(100_000, 0.3)
    found = po.kernel(programs.rounded)(KEY, x, 0.25)
    assert set(np.unique(found)) == {0.25, 0.5}
    assert found.mean() == pytest.approx(0.3, abs=2e-3)
    again = po.kernel(programs.rounded, threads=2)(KEY, x, 0.25)
    assert np.array_equal(found, again)
    other = po.kernel(programs.rounded)(KEY + np.uint64(1), x, 0.25)
    assert not np.array_equal(found, other)


# -- lazy arrays, and what Python computes ---------------------------------------------------------


def test_lazy_arrays() -> None:
    x = matrix(6, 7)
    a = po.tensor("a", po.f64["N,M"])
    key = po.tensor("key", (), np.uint64)
    graph = np.where(po.random.uniform(key, a.shape, stream=2) < 0.5, 0.0, a)
    want = np.where(po.random.uniform(KEY, x.shape, stream=2) < 0.5, 0.0, x)
    assert np.array_equal(po.compile(graph)(a=x, key=KEY), want)
    known = a + po.random.normal(7, a.shape)
    assert np.array_equal(po.compile(known)(a=x), x + po.random.normal(7, x.shape))
    captured = po.lazy(x) * po.random.uniform(po.lazy(KEY), x.shape)
    assert np.array_equal(captured.compute(), x * po.random.uniform(KEY, x.shape))


def checked(key: po.u64, x: po.f64["N,M"]):
    uniform = po.random.uniform(key, x.shape)
    halves = po.random.normal(key, x.shape, dtype=np.float32)
    return uniform, halves, po.random.bits(key, x.shape, stream=3), po.random.integers(key, 0, 9, 4)


def test_the_program_is_what_python_computes() -> None:
    assert po.kernel(checked).verify().mismatch is None
