"""Temporaries in memory of the threads: as large as one iteration needs, one for each thread."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.lower import lower
from polyopt.emit.regions import thread_arrays
from polyopt.ir.loops import DeclareArray, Space
from polyopt.ir.nodes import all_nodes
from polyopt.ir.showing import show
from polyopt.schedule import source_schedule
from polyopt.transforms import parse_steps
from tests.texts import bare
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings
FUSED = "fuse(L0, L1, 1); fuse(L0, L2, 1); fuse(L0, L3, 1)"


def shares(a: po.f64["N,M"], out: po.f64["N,M"]):
    powers = np.exp(a)
    out[:] = powers / np.sum(powers, axis=1)[:, None]


def few(a: po.f64["N,4"], out: po.f64["N,4"]):
    powers = np.exp(a)
    out[:] = powers / np.sum(powers, axis=1)[:, None]


def planes(a: po.f64["K,N,M"], out: po.f64["K,N,M"]):
    powers = np.exp(a)
    out[:] = powers / np.sum(powers, axis=(1, 2))[:, None, None]


def picked(a: po.f64["N,M"], at: po.i64["N"], out: po.f64["N"]):
    powers = np.exp(a)
    out[:] = powers[np.arange(len(at)), at] * np.sum(powers, axis=1)


def kept(a: po.f64["N,M"], mask: po.bool_["N"]):
    rows = a[mask]
    powers = np.exp(rows)
    return powers / np.sum(powers, axis=1)[:, None]


def lines(u: po.f64["N,M"]):
    q = np.zeros((u.shape[0], u.shape[1]))
    for i in range(u.shape[0]):
        q[i, 0] = u[i, 0]
        for j in range(1, u.shape[1]):
            q[i, j] = u[i, j] / (q[i, j - 1] + 2.0)
        for j in range(u.shape[1]):
            u[i, j] -= q[i, j]


def given(function, steps, *, by_thread=True):
    """Return name and extents of what threads have memory of, and the loops."""
    program = program_of(function)
    schedule = source_schedule(program.scop).apply(*parse_steps(steps))
    loops = lower(schedule, program, by_thread=by_thread)
    found = {a.name: [show(e) for e in a.shape] for a in thread_arrays(loops.body)}
    return found, loops


def test_a_thread_has_one_row():
    """N rows of powers become one for each thread; the function has no other."""
    found, loops = given(shares, f"{FUSED}; parallelize(L0[0])")
    assert found == {"powers": ["M"]}
    assert "powers" not in {array.name for array in loops.arrays}


def test_a_thread_has_a_plane():
    assert given(planes, f"{FUSED}; parallelize(L0[0])")[0] == {"powers": ["N", "M"]}


@pytest.mark.parametrize(
    ("function", "steps", "by_thread"),
    [
        (shares, FUSED, True),  # rows follow each other
        (shares, "fuse(L0, L1, 1); parallelize(L0[0])", True),  # two nests need them
        (few, f"{FUSED}; parallelize(L0[0])", True),  # four cells: a local
        (shares, f"{FUSED}; parallelize(L0[0])", False),
    ],
)
def test_left_alone(function, steps, by_thread):
    assert given(function, steps, by_thread=by_thread)[0] == {}


@pytest.mark.toolchain
def test_data_dependent_cells_stay():
    """Which element is read is not known, and so not when it is needed for the last time."""
    compiled = po.kernel(picked, threads=2).compile(
        np.zeros((3, 4)), np.zeros(3, np.int64), np.zeros(3)
    )
    assert "po_bytes(sizeof(double), N), M)" in bare(compiled.source)
    assert "#pragma omp parallel for" in compiled.source  # it was proven so


@pytest.mark.toolchain
def test_rows_of_data_dependent_length():
    """The number of rows is bound before threads begin; a row is as long as the argument's."""
    rng = np.random.default_rng(0)
    a, mask = rng.uniform(-1, 1, (40, 7)), rng.uniform(size=40) < 0.5
    kernel = po.kernel(kept, threads=2)
    np.testing.assert_allclose(kernel(a, mask), kept(a, mask), rtol=1e-14)


@pytest.mark.toolchain
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 7), (8, 2), (300, 130), (3000, 9)])
@pytest.mark.parametrize("function", [shares, lines])
def test_results(function, shape):
    """As many rows as threads, fewer, more, and none."""
    a = np.random.default_rng(2).uniform(-1, 1, shape)
    outputs = [np.zeros(shape)] if function is shares else []
    want, got = [a.copy(), *outputs], [a.copy(), *(out.copy() for out in outputs)]
    function(*want)
    po.kernel(function, threads=2)(*got)
    np.testing.assert_allclose(got[-1], want[-1], rtol=1e-14)


@pytest.mark.toolchain
def test_tiles_of_rows(wide_machine):
    """Sixteen rows go together; also where conditions alone tell that there are no more."""
    compiled = po.kernel(lines, threads=2).compile(np.zeros((50, 60)))
    assert bare(compiled.source).count("po_alloc(po_bytes(po_bytes(sizeof(double), 16), M))") == 2
    assert "sizeof(double), N)" not in bare(compiled.source)


@pytest.mark.toolchain
def test_no_memory(tmp_path):
    """Each thread says so, none goes on, and nothing is kept."""
    compiled = po.kernel(shares, threads=2).compile(np.zeros((300, 400)), np.zeros((300, 400)))
    text = compiled.source.replace("aligned_alloc(64", "refused(64")
    main = """
#include <stdio.h>
static _Atomic int asked, given_back;
static void *refused(size_t alignment, size_t bytes)
{
    return asked++ % 2 ? NULL : aligned_alloc(alignment, bytes);
}
"""
    call = """
int main(void)
{
    static double a[300 * 400], out[300 * 400];
    int status = polyopt_shares(300, 400, a, out);
    printf("%d %d", status, asked > 0);
    return 0;
}
"""
    head, _, rest = text.partition("__attribute__((malloc))")
    path = tmp_path / "shares.c"
    path.write_text(f"{head}{main}__attribute__((malloc)){rest}{call}")
    program = str(tmp_path / "shares")
    flags = ["-fopenmp", "-fsanitize=address,undefined", "-lm"]
    subprocess.run(["gcc", "-std=gnu11", "-O1", str(path), "-o", program, *flags], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == "1 1"


def test_declared_where_values_live():
    _, loops = given(shares, f"{FUSED}; parallelize(L0[0])")
    found = [node for node in all_nodes(loops.body) if isinstance(node, DeclareArray)]
    assert [node.space for node in found] == [Space.THREAD]
    assert loops.body[0].body[0] is found[0]


@pytest.mark.toolchain
def test_one_thread_has_one_row():
    """It is the function's own, given once."""
    text = po.kernel(shares, threads=1).compile(np.zeros((3, 4)), np.zeros((3, 4))).source
    text = bare(text)
    assert text.count("po_alloc(po_bytes(sizeof(double), M))") == 1
    assert "po_bytes(po_bytes(" not in text


def entropy(x: po.f64["B,T,V"], targets: po.i64["B,T"]):
    B, T = targets.shape
    shifted = x - x.max(axis=-1, keepdims=True)
    sums = np.log(np.exp(shifted).sum(axis=-1))
    found = shifted[np.arange(B)[:, None], np.arange(T)[None, :], targets]
    return np.mean(sums - found)


@pytest.mark.toolchain
def test_data_dependent_cells_stay_in_sequential_loops():
    """An array that one iteration fills and looks up in is not contracted: the loops are proven."""
    compiled = po.kernel(entropy, fp="reassociate").compile(
        np.zeros((2, 3, 4)), np.zeros((2, 3), np.int64)
    )
    assert compiled.stages.dropped == ()
    rng = np.random.default_rng(0)
    x, targets = rng.standard_normal((3, 5, 7)), rng.integers(-7, 7, (3, 5))
    assert np.isclose(compiled(x, targets), entropy(x, targets), rtol=1e-13, atol=0)
