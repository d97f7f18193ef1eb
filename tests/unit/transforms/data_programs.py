"""Programs whose data the tests of data steps move around."""

from __future__ import annotations

from polyopt.ir.scop import Scop
from tests.reading import read


def blur() -> Scop:
    """Two stencils with a temporary between them."""
    return read(
        """
        for i in range(N):
            for j in range(M):
                T[i, j] = A[i, j] + A[i, j + 1] + A[i, j + 2]
        for i in range(N - 2):
            for j in range(M):
                B[i, j] = T[i, j] + T[i + 1, j] + T[i + 2, j]
        """,
        "A[N, M + 2]; B[N, M]; temp T[N, M]",
        "N M",
    )


def pipeline() -> Scop:
    """A temporary whose rows are needed in two iterations."""
    return read(
        """
        for i in range(N):
            for j in range(M):
                T[i, j] = A[i, j] * 2
        for i in range(1, N):
            for j in range(M):
                B[i, j] = T[i, j] + T[i - 1, j]
        """,
        "A[N, M]; B[N, M]; temp T[N, M]",
        "N M",
    )


def last_value() -> Scop:
    """A variable that each iteration sets, and that is read after the loop."""
    return read(
        """
        for i in range(N):
            s[0] = A[i] * 2
            B[i] = s[0] + s[0]
        C[0] = s[0]
        """,
        "A[N]; B[N]; s[1]; C[1]",
    )


def rows(least: int = 0) -> Scop:
    """A row that each iteration fills, one element of which is read after the loop."""
    return read(
        """
        for t in range(T):
            for i in range(N):
                for j in range(M):
                    w[j] = A[i, j] * 2
                for j in range(M):
                    B[i, j] = w[M - 1 - j] + B[i, j] + v[0]
            v[0] = w[0]
        """,
        "A[N, M]; B[N, M]; w[M + 1]; temp v[1]",
        "N M T",
        least,
    )


def running() -> Scop:
    """A variable that carries a value from iteration to iteration."""
    return read(
        """
        for i in range(N):
            s[0] = s[0] + A[i]
            B[i] = s[0]
        """,
        "A[N]; B[N]; s[1]",
    )


def chosen() -> Scop:
    """A variable that data decides who writes last."""
    return read(
        """
        for i in range(N):
            if A[i] > 0:
                s[0] = A[i]
        C[0] = s[0]
        """,
        "A[N]; C[1]; s[1]",
    )


def before() -> Scop:
    """Reads of a variable from before the loop, and an array set in the loop."""
    return read(
        """
        s[0] = A[0]
        for i in range(1, N):
            B[i] = s[0] + A[i]
            w[0] = B[i] + s[0]
            B[i] = w[0] + s[0]
        """,
        "A[N + 1]; B[N]; temp s[1]; temp w[1]",
    )


def row_sums() -> Scop:
    """A reduction that starts and ends inside a loop."""
    return read(
        """
        for i in range(N):
            s[0] = 0
            for j in range(M):
                s[0] += A[i, j]
            B[i] = s[0]
        """,
        "A[N, M]; B[N]; temp s[1]",
        "N M",
    )


def histogram() -> Scop:
    """A reduction into an array, under a condition on data."""
    return read(
        """
        for i in range(N):
            for j in range(M):
                if A[i, j] > 0:
                    c[j] += A[i, j]
        for j in range(M):
            B[j] = c[j]
        """,
        "A[N, M]; B[M]; c[M]",
        "N M",
    )


def products() -> Scop:
    """A matrix times a vector, then reads of the result from both ends."""
    return read(
        """
        for i in range(N):
            y[i] = 0
            for j in range(M):
                y[i] += A[i, j] * x[j]
        for i in range(N):
            z[i] = y[i] + y[N - 1 - i]
        """,
        "A[N, M]; x[M]; z[N]; temp y[N]",
        "N M",
    )


def overwritten() -> Scop:
    """A copy that is read while its source is overwritten."""
    return read(
        """
        for i in range(N):
            y[i] = x[i]
        for i in range(N):
            x[i] = y[N - 1 - i]
        """,
        "x[N]; temp y[N]",
    )


def triangle() -> Scop:
    """A factorization in place: every access of one array."""
    return read(
        """
        for k in range(N):
            for i in range(k + 1, N):
                A[i, k] = A[i, k] + A[k, k]
            for i in range(k + 1, N):
                for j in range(k + 1, N):
                    A[i, j] = A[i, j] - A[i, k] * A[k, j]
        """,
        "A[N, N]",
    )
