"""Argument types told from a function alone."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.typing import NDArray

import polyopt as po
from polyopt.capture.text import function_of_text
from polyopt.errors import UsageError
from polyopt.frontend.syntax.type_inference import infer_types, show_type

N = 5  # a module name that arguments hide


def gemm_slices(alpha, beta, C, A, B):
    C *= beta
    C += alpha * A @ B


def gemm_loops(alpha, beta, C, A, B):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            C[i, j] *= beta
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def jacobi(T, A, B):
    for _ in range(T):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[2:, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[2:, 1:-1])


def bounded(N, T, A, B):
    for _ in range(T):
        for i in range(1, N - 1):
            B[i] = (A[i - 1] + A[i + 1]) / 3


def total(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


def caller(y, N):
    return total(y, N) * 2


def keyword_caller(y, N):
    return total(n=N, x=y)


def covariance(points, data):
    mean = np.sum(data, axis=0) / points
    data -= mean
    return data.T @ data / (points - 1.0)


def gather(x, idx, out):
    for i in range(len(idx)):
        out[i] = x[idx[i]]


def annotated(
    u: po.f32["N,1"],  # noqa: UP037
    v: np.ndarray,
    w: NDArray[np.int32],
    k: float,
    n: int,
    s=2.0,
):
    v[:] = u[0] * k
    w[0] = n


def outer(A, u, v):
    A += np.outer(u, v)


def matvec(A, x):
    return A @ x


def axpy(a, x, y):
    y[:] = a * x + y


def dot(a, b):
    return np.sum(a * b)


def tensor(A, C4):
    nr, nq, np_ = A.shape
    for r in range(nr):
        for q in range(nq):
            for p in range(np_):
                for s in range(np_):
                    A[r, q, p] += A[r, q, s] * C4[s, p]


def rows(A, out):
    for i in range(len(A)):
        row = A[i]
        out[i] = np.sum(row)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def defaults(A, k=3, flag=True, scale=1.5, axis=None):
    return A[k] * scale


def einsum(a, b):
    return np.einsum("ijk,kl->ijl", a, b)


def bits(flags, out):
    out[:] = flags[:] & 1


def copied(a):
    b = a.copy()
    b[1:] = a[:-1]
    return b


def newaxis(b, c):
    c[:, :] = b[:, None] * 2.0


def negative(a):
    return a[a.shape[-2] - 1, 0]


CASES = {
    gemm_slices: "f64, f64, f64[:,:], f64[:,:], f64[:,:]",
    gemm_loops: "f64, f64, f64[:,:], f64[:,:], f64[:,:]",
    jacobi: "i64, f64[:,:], f64[:,:]",
    bounded: "i64, i64, f64[:], f64[:]",
    caller: "f64[:], i64",
    keyword_caller: "f64[:], i64",
    covariance: "f64, f64[:,:]",
    gather: "f64[:], i64[:], f64[:]",
    annotated: "f32[:,1], f64[:], i32[:], f64, i64, f64",
    outer: "f64[:,:], f64[:], f64[:]",
    matvec: "f64[:,:], f64[:]",
    axpy: "f64, f64, f64[:]",
    dot: "f64[:], f64[:]",
    tensor: "f64[:,:,:], f64[:,:]",
    rows: "f64[:,:], f64[:]",
    softmax: "f64[:,:]",
    defaults: "f64[:], i64, =True, f64, =None",
    einsum: "f64[:,:,:], f64[:,:]",
    bits: "i64[:], f64[:]",
    copied: "f64[:]",
    newaxis: "f64[:], f64[:,:]",
    negative: "f64[:,:]",
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_types_are_told(function):
    assert ", ".join(map(show_type, infer_types(function))) == CASES[function]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs the statement `type`")
def test_aliases_are_what_they_stand_for():
    scope = {"NDArray": NDArray, "np": np}
    text = (
        "type Row = NDArray[np.float32]\n"
        "type Of[T] = NDArray[T]\n"
        "def f(a: Row, b: Of[np.int16]):\n"
        "    for i in range(len(a)):\n"
        "        a[i] = b[i]\n"
    )
    function = function_of_text(text, "f", "<aliases>", scope)
    assert ", ".join(map(show_type, infer_types(function))) == "f32[:], i16[:]"


def vectors(a, b, c):
    c[:] = a + b


def no_arrays(x):
    return np.sqrt(x)


def capital(A, b):
    x = A - b[:, None]
    return x.max(axis=1)


def variadic(a, *rest):
    a[0] = 1.0


def two_ranks(A):
    n, m = A.shape
    return A[0, 0, 0]


@pytest.mark.parametrize(
    "function, code, argument",
    [
        (vectors, "PO0611", "a"),
        (no_arrays, "PO0611", "x"),
        (capital, "PO0611", "A"),
        (variadic, "PO0611", "rest"),
        (two_ranks, "PO0612", "A"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_open_types_are_refused_at_the_argument(function, code, argument):
    with pytest.raises(UsageError) as refusal:
        infer_types(function)
    error = refusal.value
    assert error.code == code
    assert "--types" in error.hint
    line = __import__("linecache").getline(error.loc.file, error.loc.line)
    assert line[error.loc.col - 1 : error.loc.end_col - 1] == argument


def test_a_function_without_source_is_refused():
    scope = {}
    exec("def f(a): a[0] = 1.0", scope)
    with pytest.raises(UsageError, match="PO0613"):
        infer_types(scope["f"])


def test_an_annotation_of_all_dimensions_is_the_rank():
    """Subscripts of subscripts by arrays look like more dimensions than there are."""

    def picked(image: po.f64[:, :], rows: po.i64[:]):
        _, columns = image.shape
        return image[rows][:, rows] * columns

    image, rows = infer_types(picked)
    assert (image.rank, rows.rank) == (2, 1)
