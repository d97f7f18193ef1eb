"""`library`: which statements it takes, what the call computes, what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError, ScheduleError, ToolchainError
from polyopt.ir.loops import For, LoopKind
from polyopt.ir.nodes import all_nodes, map_bodies
from polyopt.proof import certify
from polyopt.runtime import blas
from polyopt.transforms.library import Library
from polyopt.transforms.text import parse_steps

pytestmark = [pytest.mark.toolchain, pytest.mark.machine]
needs_blas = pytest.mark.skipif(blas.find_blas() is None, reason="no BLAS library")


def product(A: po.f64["N,K"], B: po.f64["K,M"]):
    return A @ B


def loops(A: po.f64["N,K"], B: po.f64["K,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def left_transposed(A: po.f64["K,N"], B: po.f64["K,M"], C: po.f64["N,M"]):
    for k in range(A.shape[0]):
        for i in range(A.shape[1]):
            for j in range(B.shape[1]):
                C[i, j] -= B[k, j] * A[k, i]


def both_transposed(A: po.f64["K,N"], B: po.f64["M,K"], C: po.f64["N,M"]):
    for j in range(B.shape[0]):
        for i in range(A.shape[1]):
            for k in range(A.shape[0]):
                C[i, j] += A[k, i] * B[j, k]


def blocks(A: po.f64["T,N,K"], B: po.f64["K,M"], C: po.f64["T,N,M"]):
    for t in range(A.shape[0]):
        for i in range(1, A.shape[1]):
            for j in range(B.shape[1] - 2):
                for k in range(1, A.shape[2]):
                    C[t, i, j + 2] += A[t, i - 1, k] * B[k - 1, j + 1]


def single(A: po.f32["N,K"], B: po.f32["K,M"], C: po.f32["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def vector(A: po.f64["N,K"], x: po.f64["K"], y: po.f64["N"]):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            y[i] += A[i, k] * x[k]


def vector_transposed(A: po.f64["K,N"], x: po.f64["K,2"], y: po.f64["N"]):
    for i in range(A.shape[1]):
        for k in range(A.shape[0]):
            y[i] -= x[k, 1] * A[k, i]


SHAPES = {
    loops: ("NK", "KM", "NM"),
    left_transposed: ("KN", "KM", "NM"),
    both_transposed: ("KN", "MK", "NM"),
    blocks: ("TNK", "KM", "TNM"),
    single: ("NK", "KM", "NM"),
    vector: ("NK", "K", "N"),
    vector_transposed: ("KN", "K2", "N"),
}
SIZES = (
    {"N": 0, "M": 3, "K": 2, "T": 2}, {"N": 3, "M": 4, "K": 0, "T": 1},
    {"N": 1, "M": 3, "K": 1, "T": 1}, {"N": 7, "M": 5, "K": 9, "T": 2},
    {"N": 33, "M": 2, "K": 65, "T": 3},
)  # fmt: skip


def values(function, sizes):
    draw = np.random.default_rng(5)
    dtype = np.float32 if function is single else np.float64
    known = {**sizes, "2": 2}
    return [draw.random([known[letter] for letter in shape]).astype(dtype)
            for shape in SHAPES[function]]  # fmt: skip


@needs_blas
@pytest.mark.parametrize("function", SHAPES, ids=lambda f: f.__name__)
def test_the_call_computes_the_loops(function):
    kernel = po.kernel(function, schedule="library(S0)", fp="reassociate")
    compiled = kernel.compile()
    routine = "gemv" if function in (vector, vector_transposed) else "gemm"
    assert len(re.findall(rf"if \(!po_{routine}_f\d\d\(", compiled.source)) == 1
    assert certify(compiled.stages.written, compiled.loops).is_proven
    rtol = 1e-5 if function is single else 1e-12
    for sizes in SIZES:
        given = values(function, sizes)
        wanted = [one.copy() for one in given]
        function(*wanted)
        kernel(*given)
        np.testing.assert_allclose(given[2], wanted[2], rtol=rtol)


@needs_blas
def test_the_library_is_called_and_not_the_loops(monkeypatch, tmp_path):
    """A library of another sum: what it writes is the result."""
    import subprocess

    text = "void fake_NAME(){}\n"
    source = "".join(text.replace("NAME", one) for one in blas.NEEDED if one != "dgemm")
    source += (
        "void fake_dgemm(int o, int a, int b, int m, int n, int k, double s, double *A,"
        " int i, double *B, int j, double t, double *C, int l) { C[0] = 77 + m; }\n"
    )
    (tmp_path / "fake.c").write_text(source)
    place = str(tmp_path / "libfake.so")
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", str(tmp_path / "fake.c"), "-o", place],
                   check=True)  # fmt: skip
    monkeypatch.setattr(blas, "find_blas", lambda: blas.Blas(place, "fake_", "", "int"))
    A, B = np.ones((3, 2)), np.ones((2, 4))
    assert po.kernel(product, schedule="library(S1)")(A, B).flat[0] == 80
    # a matrix whose rows are not contiguous is left to the loops
    strided = po.kernel(product, schedule="library(S1)")(np.ones((3, 4))[:, ::2], B)
    assert strided.tolist() == (A @ B).tolist()


def test_without_a_library_it_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(blas, "find_blas", lambda: None)
    with pytest.raises(ToolchainError) as caught:
        po.kernel(product, schedule="library(S1)")(np.ones((2, 2)), np.ones((2, 2)))
    assert caught.value.code == "PO0246"


def test_saved_kernels_run_the_loops(tmp_path):
    compiled = po.kernel(product, schedule="library(S1)").compile()
    compiled.save(tmp_path / "product.po")
    A, B = np.ones((3, 2)), np.ones((2, 4))
    assert po.load(tmp_path / "product.po")(A, B).tolist() == (A @ B).tolist()


def test_its_loops_are_marked():
    schedule = po.kernel(left_transposed, schedule="library(S0)", fp="reassociate").schedule()
    assert {m.kind for b in schedule.tree.bands for m in b.members} == {LoopKind.LIBRARY}
    assert parse_steps(str(Library("S0"))) == (Library("S0"),)


def add_rows(A: po.f64["N,K"], B: po.f64["K,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = 0.0
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def triangle(A: po.f64["N,N"], B: po.f64["N,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i):
                C[i, j] += A[i, k] * B[k, j]


def in_place(A: po.f64["N,N"], B: po.f64["N,N"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(A.shape[0]):
                A[i, j] += A[i, k] * B[k, j]


def three_factors(A: po.f64["N,K"], B: po.f64["K,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j] * 2.0


def diagonal(A: po.f64["N,N"], B: po.f64["N,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[k, k] * B[k, j]


def every_second(A: po.f64["N,K"], B: po.f64["K,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1] // 2):
                C[i, j] += A[i, 2 * k] * B[k, j]


def elementwise(A: po.f64["N,M"], B: po.f64["N,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] += A[i, j] * B[i, j]


def integers(A: po.i64["N,K"], B: po.i64["K,M"], C: po.i64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def guarded(A: po.f64["N,K"], B: po.f64["K,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                if A[i, k] > 0.0:
                    C[i, j] += A[i, k] * B[k, j]


REFUSED = {
    "no such statement": (loops, "library(S9)", "PO0242", "there is no such statement"),
    "a statement with others in its loops": (add_rows, "library(S1)", "PO0242", "too few loops"),
    "a triangle": (triangle, "library(S0)", "PO0242", "depend on each other"),
    "a product in place": (in_place, "library(S0)", "PO0242", "A is read and written"),
    "three factors": (three_factors, "library(S0)", "PO0242", "products of two elements"),
    "one loop twice": (diagonal, "library(S0)", "PO0242", "one element at a time"),
    "every second term": (every_second, "library(S0)", "PO0242", "one element at a time"),
    "no sum": (elementwise, "library(S0)", "PO0242", "no one loop over terms"),
    "integers": (integers, "library(S0)", "PO0242", "float32 or float64"),
    "a condition": (guarded, "library(S0)", "PO0242", "it has a condition"),
    "threads": (loops, "parallelize(i); library(S0)", "PO0243", "i is parallel"),
    "vectors": (loops, "vectorize(j); library(S0)", "PO0243", "j is vector"),
    "a skewed loop": (loops, "skew(L0[2], L0[0], 1); library(S0)", "PO0242", "too few loops"),
}  # fmt: skip


@pytest.mark.parametrize("function, steps, code, reason", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_product_is_refused(function, steps, code, reason):
    kernel = po.kernel(function, schedule=steps, fp="reassociate")
    with pytest.raises(ScheduleError) as caught:
        kernel.schedule()
    assert (caught.value.code, reason in caught.value.message) == (code, True), caught.value


def test_sums_in_order_are_refused():
    with pytest.raises(ScheduleError) as caught:
        po.kernel(loops, schedule="library(S0)").schedule()
    assert caught.value.code == "PO0244"
    po.kernel(product, schedule="library(S1)").schedule()


@pytest.mark.parametrize("step", ["reverse(i)", "parallelize(j)", "unroll(k)"])
def test_later_steps_may_not_change_the_loops(step):
    kernel = po.kernel(loops, schedule=f"library(S0); {step}", fp="reassociate")
    with pytest.raises(PolyoptError) as caught:
        kernel.compile()
    assert caught.value.code in ("PO0245", "PO0311"), caught.value


@needs_blas
def test_products_of_distributed_loops_and_of_tiles():
    for steps in (
        "library(S1)",
        "tile(L0.1, 4, 4, 4); library(S1)",
        "tile(L0.1, 2, 3); library(S1)",
    ):
        kernel = po.kernel(add_rows, schedule=f"distribute(L0, 2); {steps}", fp="reassociate")
        assert "po_gemm" in kernel.compile().source
        A, B, C = np.ones((9, 5)), np.ones((5, 6)), np.full((9, 6), np.nan)
        kernel(A, B, C)
        np.testing.assert_allclose(C, A @ B)


def test_a_mark_that_was_forged_is_refuted():
    """Loops whose order the source fixes are no library's, whoever marks them."""

    def marked(node):
        node = map_bodies(node, lambda body: tuple(map(marked, body)))
        if isinstance(node, For):
            from polyopt.dataclass import replace

            return replace(node, kind=LoopKind.LIBRARY)
        return node

    from polyopt.dataclass import replace
    from polyopt.emit.lower import lower
    from polyopt.frontend import build, infer_types
    from polyopt.schedule import source_schedule

    for function, wanted in ((loops, False), (product, True)):
        program = build(function, infer_types(function))
        plain = lower(source_schedule(program.scop), program)
        *rest, nest = plain.body
        forged = replace(plain, body=(*rest, marked(nest)))
        assert any(n.kind is LoopKind.LIBRARY for n in all_nodes(forged.body) if isinstance(n, For))
        assert certify(program, plain).is_proven
        assert certify(program, forged).is_proven is wanted
