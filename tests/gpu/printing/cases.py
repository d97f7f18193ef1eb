"""Kernels by hand, of every form, and arguments for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polyopt.ir.loops import LoopFunction
from tests.gpu.printing.build import function


@dataclass(frozen=True)
class Case:
    """Loops, values of sizes and scalars; `exact` results are the same on every device.

    With `large`, integers are any of their type.
    """

    fn: LoopFunction
    values: Mapping[str, object] = field(default_factory=dict)
    exact: bool = True
    large: bool = False


MATMUL = """
with kernel(64):
    for i0 in block(0, N, 16):
        for j0 in block(0, M, 16):
            acc: register[f32, 64, 2, 2]
            for ti in thread(i0, i0 + 16, 2):
                for tj in thread(j0, j0 + 16, 2):
                    for i in range(ti, ti + 2):
                        for j in range(tj, tj + 2):
                            acc[(ti - i0) // 2 * 8 + (tj - j0) // 2, i - ti, j - tj] = 0.0
            As: shared[f32, 16, 9]
            Bs: shared[f32, 8, 16]
            for k0 in range(0, K, 8):
                for i in thread(i0, i0 + 16):
                    for k in thread(k0, k0 + 8):
                        if i < N and k < K:
                            As[i - i0, k - k0] = A[i, k]
                for k in thread(k0, min(k0 + 8, K)):
                    for j in thread(j0, min(j0 + 16, M)):
                        Bs[k - k0, j - j0] = B[k, j]
                barrier("As, Bs: written above, read below")
                for ti in thread(i0, i0 + 16, 2):
                    for tj in thread(j0, j0 + 16, 2):
                        for k in range(k0, min(k0 + 8, K)):
                            for i in range(ti, min(ti + 2, N)):
                                for j in range(tj, min(tj + 2, M)):
                                    acc[(ti - i0) // 2 * 8 + (tj - j0) // 2, i - ti, j - tj] += \
As[i - i0, k - k0] * Bs[k - k0, j - j0]
                barrier("As, Bs: read above, written below")
            for ti in thread(i0, i0 + 16, 2):
                for tj in thread(j0, j0 + 16, 2):
                    for i in range(ti, min(ti + 2, N)):
                        for j in range(tj, min(tj + 2, M)):
                            C[i, j] = acc[(ti - i0) // 2 * 8 + (tj - j0) // 2, i - ti, j - tj]
"""
STENCIL = """
for step in range(0, T):
    with kernel(128):
        for i0 in block(1, N - 1, 8):
            for j0 in block(1, M - 1, 16):
                s: shared[f64, 10, 18]
                for i in thread(i0 - 1, min(i0 + 9, N)):
                    for j in thread(j0 - 1, min(j0 + 17, M)):
                        s[i - i0 + 1, j - j0 + 1] = u[i, j]
                barrier("s: written above, read below")
                for i in thread(i0, min(i0 + 8, N - 1)):
                    for j in thread(j0, min(j0 + 16, M - 1)):
                        v[i, j] = 0.25 * (s[i - i0, j - j0 + 1] + s[i - i0 + 2, j - j0 + 1] + \
s[i - i0 + 1, j - j0] + s[i - i0 + 1, j - j0 + 2])
    with kernel(64):
        for i in block(0, N):
            for j0 in block(0, M, 64):
                for j in thread(j0, min(j0 + 64, M)):
                    if 0 < i and i < N - 1:
                        if 0 < j and j < M - 1:
                            u[i, j] = v[i, j] + f64(step)
"""
AXPY = """
with kernel(64):
    for i0 in block(0, N, 64):
        for i in thread(i0, min(i0 + 64, N)):
            y[i] = a * x[i] + y[i]
with kernel(1):
    i: i64 = 0
    while i < N:
        y[i] += 1.0
        i = i + 3
        if y[i - 3] > 4.0:
            break
"""
INTEGERS = """
with kernel(32):
    for i0 in block(0, N, 32):
        for i in thread(i0, min(i0 + 32, N)):
            q[i, 0] = a[i] // b[i]
            q[i, 1] = a[i] % b[i]
            q[i, 2] = abs(a[i]) * i32(i)
            q[i, 3] = (a[i] << 3) ^ (b[i] >> c)
            q[i, 4] = min(a[i], b[i]) & 255
            q[i, 5] = max(a[i] - b[i], 7) ** 3
            h[i] = h[i] * 100 + h[(i * 7 - 3) % N * 0 + i]
            w[i] = i * 1000003 * 1000003 - (i - 5) // 3
            g[i] = u8(gcd(a[i], b[i])) + u8(popcount(u64(a[i])))
"""
CHOICES = """
with kernel(96):
    for i0 in block(0, N, 96):
        for i in thread(i0, min(i0 + 96, N)):
            up: b = x[i] > 0.25
            low: f32 = 0.0
            if up and not (i % 3 == 0):
                low = min(x[i], z[i])
            elif not flags[i]:
                low = max(x[i], z[i])
            y[i] = (low if flags[i] | up else x[i] * 2.0)
            flags[i] = up ^ flags[i]
"""
MATHS = """
with kernel(64):
    for i0 in block(0, N, 64):
        for i in thread(i0, min(i0 + 64, N)):
            y[i] = sqrt(x[i]) + exp(x[i]) * sin(x[i]) - tanh(x[i]) / (1.0 + abs(x[i]))
            y[i] += x[i] ** 1.5 + log1p(x[i]) + floor(x[i] * 7.0) + atan2(x[i], z[i])
            y[i] += x[i] ** 3.0 + x[i] // 0.3 + x[i] % 0.3 + fma(x[i], z[i], y[i])
            y[i] += (1.0 if isnan(x[i]) else copysign(x[i], z[i])) + cbrt(x[i])
"""
TREE = """
with kernel(128):
    for b0 in block(0, N, 256):
        s: shared[f64, 128]
        total: shared[f64]
        for i in thread(b0, b0 + 128):
            s[i - b0] = (x[i] if i < N else 0.0) + (x[min(i + 128, N - 1)] if i + 128 < N else 0.0)
        barrier("s: written above, read below")
        for level in range(0, 7):
            for j in thread(0, 64):
                if j < 64 >> level:
                    s[j] += s[j + (64 >> level)]
            barrier("s: next level")
        total[()] = s[0]
        barrier("total: written above, read below")
        for k in thread(0, 128):
            if k < 4 and b0 // 64 + k < N:
                sums[b0 // 64 + k] = total[()]
"""
RAGGED = """
with kernel(48):
    for i0 in block(0, N, 5):
        t: shared[i32, 5, 7, 3]
        for i in thread(i0, min(i0 + 5, N)):
            for j in thread(0, 7):
                if (i + j) % 2 == 0:
                    for k in thread(0, 3):
                        t[i - i0, j, k] = i32(i * 100 + j * 10 + k)
        barrier("t")
        for i in thread(i0, min(i0 + 5, N)):
            for k in thread(0, 3):
                last: local[i32, 2]
                for m in range(0, 2):
                    last[m] = 0
                for j in range(0, 7):
                    if (i + j) % 2 == 0:
                        last[j % 2] += t[i - i0, j, k] * i32(j)
                for m in unroll(0, 2):
                    out[i, k] += last[m]
"""
CUBE = """
with kernel(60):
    for a in block(0, N):
        for b in block(0, M, 2):
            for c in block(1, K, 6):
                for i in thread(b, min(b + 2, M)):
                    for j in thread(max(c, 2), min(min(max(c, 2) + 6, c + 6), K), 2):
                        w[a, i, j] = max(w[a, i, j], scale * f64(a + i + j))
"""
STRIDED = """
with kernel(32):
    for i in block(0, N):
        for j0 in block(0, M, 32):
            for j in thread(j0, min(j0 + 32, M)):
                y[i, j] = x[i, j] + x[N - 1 - i, j]
"""
ORDERED = """
with kernel(32):
    for i0 in block(0, N, 16):
        for j in thread(0, 16):
            if i0 + j < N:
                x[i0 + j] = x[i0 + j] * 2.0
        barrier("x: written above, read below")
        for i in thread(i0, min(i0 + 16, N)):
            y[i] = x[i0 + (i - i0) // 2]
        barrier("x: read above, written below")
        x[i0] = 5.0
"""
FAULTS = """
with kernel(32):
    for i0 in block(0, N, 32):
        for i in thread(i0, min(i0 + 32, N)):
            if x[i] < 0.0:
                failed[1] = 1
            if not failed[0]:
                x[i] = x[i] + 1.0
"""

WRAPPED = """
with kernel(32):
    for i0 in block(0, N, 32):
        for i in thread(i0, min(i0 + 32, N)):
            q[i, 0] = a[i] * 1103515245 + 12345
            q[i, 1] = a[i] - b[i] - -b[i]
            q[i, 2] = abs(a[i]) + (a[i] << 5)
            q[i, 3] = a[i] // (b[i] | -1) + a[i] * a[i] * b[i]
            q[i, 4] = (1 if a[i] + 1 > a[i] else 0)
            w[i] = (i + 7) * 6364136223846793005 + i64(a[i]) * i64(b[i])
            w[i] += w[i] << 13
            h[i] = h[i] * h[i]
            g[i] = g[i] * g[i] - g[i] * 5
"""
WIDE = """
with kernel(64):
    for i0 in block(0, N, 8):
        for j0 in block(0, M, 32):
            s: shared[f32, 8, 32]
            turned: register[f32, 64, 4]
            for i in thread(i0, min(i0 + 8, N)):
                for jt in thread(j0, min(j0 + 32, M), 4):
                    for j in range(jt, min(jt + 4, M)):
                        s[i - i0, j - j0] = x[i, j]
            barrier("s: written above, read below")
            for i in thread(i0, min(i0 + 8, N)):
                for jt in thread(j0, min(j0 + 32, M), 4):
                    for j in range(jt, min(jt + 4, M)):
                        turned[(i - i0) * 8 + (jt - j0) // 4, j - jt] = s[i - i0, j - j0]
            for i in thread(i0, min(i0 + 8, N)):
                for jt in thread(j0, min(j0 + 32, M), 4):
                    for j in range(jt, min(jt + 4, M)):
                        y[i, j] = turned[(i - i0) * 8 + (jt - j0) // 4, j - jt]
            for i in thread(i0, min(i0 + 8, N)):
                for jt in thread(j0, min(j0 + 32, M), 4):
                    for j in range(jt, min(jt + 4, M)):
                        q[i, j] = p[i, j]
"""

COMPLEX = """
with kernel(32):
    for i0 in block(0, N, 32):
        last: register[c128, 32, 1]
        turned: shared[c64, 33]
        for i in thread(i0, min(i0 + 32, N)):
            turned[i - i0] = conj(z[i]) * a
        barrier("turned: written above, read below")
        for i in thread(i0, min(i0 + 32, N)):
            last[i - i0, 0] = c128(turned[min(i + 1, N - 1) - i0])
            t: c64 = turned[i - i0] - 2
            t = t / z[i]
            z[i] = t if t != a else -t
            w[i] += last[i - i0, 0] * c128(t)
            z[i] += c64(w[i])
"""
COMPLEX_MATHS = """
with kernel(64):
    for i in thread(0, min(N, 64)):
        w[i] = (exp(z[i] / 50) + log(z[i])) * (sqrt(z[i]) + z[i] ** a)
        w[i] += sinh(z[i] / 50) - sin(z[i]) / cosh(z[i] / 50) * cos(z[i])
        w[i] *= acosh(z[i]) + asin(z[i]) * acos(z[i])
        z[i] = tanh(z[i]) + tan(z[i]) - asinh(z[i]) + atanh(z[i]) * atan(z[i])
"""
CASES = {
    "matmul": Case(
        function(MATMUL, A="f32[N, K]", B="f32[K, M]", C="f32[N, M]", N="size", M="size", K="size"),
        {"N": 150, "M": 21, "K": 11},
    ),
    "stencil": Case(
        function(STENCIL, u="f64[N, M]", v="f64[N, M]", N="size", M="size", T="size"),
        {"N": 21, "M": 35, "T": 2},
    ),
    "axpy": Case(
        function(AXPY, x="f32[N]", y="f32[N]", a="f32", N="size"), {"N": 150, "a": 0.5}
    ),
    "integers": Case(
        function(
            INTEGERS, a="i32[N]", b="i32[N]", q="i32[N, 6]", h="i8[N]", w="i64[N]", g="u8[N]",
            c="i32", N="size",
        ),
        {"N": 70, "c": 3},
    ),
    "choices": Case(
        function(CHOICES, x="f32[N]", y="f32[N]", z="f32[N]", flags="b[N]", N="size"), {"N": 200}
    ),
    "maths": Case(
        function(MATHS, x="f64[N]", y="f64[N]", z="f64[N]", N="size"), {"N": 100}, exact=False
    ),
    "maths_single": Case(
        function(MATHS, x="f32[N]", y="f32[N]", z="f32[N]", N="size"), {"N": 100}, exact=False
    ),
    "tree": Case(function(TREE, x="f64[N]", sums="f64[N]", N="size"), {"N": 700}),
    "ragged": Case(function(RAGGED, out="i32[N, 3]", N="size"), {"N": 13}),
    "cube": Case(
        function(CUBE, w="f64[N, M, K]", scale="f64", N="size", M="size", K="size"),
        {"N": 3, "M": 5, "K": 15, "scale": 0.75},
    ),
    "strided": Case(
        function(STRIDED, x="f32[N, M] strided", y="f32[N, M] rows", N="size", M="size"),
        {"N": 4, "M": 70},
    ),
    "constant": Case(
        function(STRIDED, x="f32[6, 96]", y="f32[6, 96]", N="size", M="size"), {"N": 6, "M": 96}
    ),
    "wrapped": Case(
        function(
            WRAPPED, a="i32[N]", b="i32[N]", q="i32[N, 5]", w="i64[N]", h="u16[N]", g="i8[N]",
            N="size",
        ),
        {"N": 70},
        large=True,
    ),
    "wide": Case(
        function(
            WIDE, x="f32[N, M]", y="f32[N, M]", p="f64[N, M]", q="f64[N, M]", N="size", M="size",
        ),
        {"N": 13, "M": 44},
    ),
    "wide_unaligned": Case(
        function(
            WIDE, x="f32[N, M]", y="f32[N, M]", p="i64[N, M]", q="i64[N, M]", N="size", M="size",
        ),
        {"N": 9, "M": 37},
    ),
    "complex": Case(
        function(COMPLEX, z="c64[N]", w="c128[N]", a="c64", N="size"), {"N": 32, "a": 1 - 2j}
    ),
    "complex_maths": Case(
        function(COMPLEX_MATHS, z="c128[N]", w="c128[N]", a="c128", N="size"),
        {"N": 30, "a": 0.5 - 1j}, exact=False,
    ),
    "complex_maths_single": Case(
        function(COMPLEX_MATHS, z="c64[N]", w="c64[N]", a="c64", N="size"),
        {"N": 30, "a": 0.5 - 1j}, exact=False,
    ),
    "ordered": Case(function(ORDERED, x="f64[N]", y="f64[N]", N="size"), {"N": 40}),
    "faults": Case(
        function(FAULTS, x="f64[N]", failed="b[2]", N="size", faults="failed"), {"N": 70}
    ),
}  # fmt: skip
