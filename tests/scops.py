"""Small Scops that the tests share: each shows one shape of dependence or of iteration domain."""

from __future__ import annotations

from polyopt.ir.scop import Scop
from tests.reading import read


def gemm() -> Scop:
    """Matrix product: a parallel pair of loops around an open reduction."""
    return read(
        """
        for i in range(N):
            for j in range(M):
                for k in range(K):
                    C[i, j] += A[i, k] * B[k, j]
        """,
        "C[N, M]; A[N, K]; B[K, M]",
        "N M K",
    )


def ordered_gemm() -> Scop:
    """Matrix product with an initialisation, the order of its sum fixed by the source."""
    return read(
        """
        for i in range(N):
            for j in range(M):
                C[i, j] = 0
                for k in range(K):
                    C[i, j] = C[i, j] + A[i, k] * B[k, j]
        """,
        "C[N, M]; A[N, K]; B[K, M]",
        "N M K",
    )


def jacobi() -> Scop:
    """Two stencil statements in a time loop."""
    return read(
        """
        for t in range(T):
            for i in range(1, N - 1):
                for j in range(1, N - 1):
                    B[i, j] = A[i, j] + A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]
            for i in range(1, N - 1):
                for j in range(1, N - 1):
                    A[i, j] = B[i, j] + B[i - 1, j] + B[i + 1, j] + B[i, j - 1] + B[i, j + 1]
        """,
        "A[N, N]; B[N, N]",
        "T N",
    )


def seidel() -> Scop:
    """A stencil in place: no loop is free of dependences."""
    return read(
        """
        for i in range(1, N):
            for j in range(1, N):
                A[i, j] = A[i - 1, j] + A[i, j - 1]
        """,
        "A[N, N]",
    )


def diagonal() -> Scop:
    """A stencil whose second distance is negative: rows up and to the right."""
    return read(
        """
        for i in range(1, N):
            for j in range(N - 1):
                A[i, j] = A[i - 1, j + 1]
        """,
        "A[N, N]",
    )


def dot() -> Scop:
    """Row products through scalar temporaries."""
    return read(
        """
        for i in range(N):
            s = 0
            for k in range(M):
                p = A[i, k] * x[k]
                s = s + p
            y[i] = s
        """,
        "temp s; temp p; A[N, M]; x[M]; y[N]",
        "N M",
    )


def solve() -> Scop:
    """Forward substitution: a triangular nest with a statement after it."""
    return read(
        """
        for i in range(N):
            for j in range(i):
                x[i] = x[i] - L[i, j] * x[j]
            x[i] = x[i] / L[i, i]
        """,
        "x[N]; L[N, N]",
    )


def backward() -> Scop:
    """Loops that count down, the inner one by two."""
    return read(
        """
        for i in range(N - 2, -1, -1):
            for j in range(M - 1, -1, -2):
                A[i, j] = A[i + 1, j] + B[i, j]
        """,
        "A[N, M]; B[N, M]",
        "N M",
    )


def nowhere() -> Scop:
    """A statement without instances between two others."""
    return read(
        """
        for i in range(N):
            A[i] = 1
        for i in range(5, 5):
            A[i] = A[i] + 2
        for i in range(N):
            B[i] = A[i]
        """,
        "A[N]; B[N]",
    )


def transposed() -> Scop:
    """A copy that walks one of its arrays across rows."""
    return read(
        """
        for i in range(N):
            for j in range(M):
                B[j, i] = A[i, j]
        """,
        "A[N, M]; B[M, N]",
        "N M",
    )


def prefix() -> Scop:
    """Prefix sum: one statement, one dependence from each iteration to the next."""
    return read(
        """
        for i in range(1, N):
            A[i] = A[i] + A[i - 1]
        """,
        "A[N]",
    )


def chain() -> Scop:
    """Two element-wise nests: the second reads what the first wrote, and its left neighbour."""
    return read(
        """
        for i in range(N):
            B[i] = A[i]
        for j in range(1, N):
            C[j] = B[j] + B[j - 1]
        """,
        "A[N]; B[N]; C[N]",
    )


def ahead() -> Scop:
    """Two nests that may not be fused: the second reads the right neighbour."""
    return read(
        """
        for i in range(N):
            B[i] = A[i]
        for j in range(N - 1):
            C[j] = B[j + 1]
        """,
        "A[N]; B[N]; C[N]",
    )


def planes() -> Scop:
    """Two perfect nests over one plane."""
    return read(
        """
        for i in range(N):
            for j in range(M):
                B[i, j] = A[i, j]
        for k in range(N):
            for l in range(M):
                C[k, l] = B[k, l]
        """,
        "A[N, M]; B[N, M]; C[N, M]",
        "N M",
    )


def scatter() -> Scop:
    """Writes through an index array."""
    return read(
        """
        for i in range(N):
            A[P[i]] = B[i]
        """,
        "A[M]; B[N]; int64 P[N]",
        "N M",
    )
