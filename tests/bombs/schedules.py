"""Bombs of schedules: tiles in tiles, endless unrolling, large numbers, endless texts."""

from __future__ import annotations

from tests.bombs.bomb import Bomb, lines

_PRODUCT = lines(
    "def f(C, A, B):",
    "    for i in range(C.shape[0]):",
    "        for j in range(C.shape[1]):",
    "            for k in range(A.shape[1]):",
    "                C[i, j] += A[i, k] * B[k, j]",
)
_FIXED = lines(
    "def f(A):",
    "    for i in range(1000000):",
    "        for j in range(64):",
    "            for k in range(64):",
    "                A[j, k] += A[k, j] * 0.5",
)
_WAVE = lines(
    "def f(A, T):",
    "    for t in range(T):",
    "        for i in range(1, A.shape[0] - 1):",
    "            for j in range(1, A.shape[1] - 1):",
    "                A[i, j] = (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]) * 0.25",
)
_MATRICES = ", ".join(["rng.random((5, 5))"] * 3)


def _product(name: str, *steps: str) -> Bomb:
    return Bomb(f"schedule_{name}", _PRODUCT, _MATRICES, "; ".join(steps))


def _wave(name: str, *steps: str) -> Bomb:
    return Bomb(f"schedule_{name}", _WAVE, "rng.random((8, 8)), 3", "; ".join(steps))


def _tiles_in_tiles(depth: int) -> Bomb:
    steps = ["tile(L0, 64, 64, 64)"]
    label = "L0.point"
    for size in [48, 33, 27, 20, 14, 11, 9, 7, 5, 4, 3, 2][: depth - 1]:
        steps.append(f"tile({label}, {size}, {size}, {size})")
        label += ".point"
    return _product(f"tiles_{depth}", *steps)


BOMBS = (
    _tiles_in_tiles(4),
    _tiles_in_tiles(10),
    _product("huge_tiles", f"tile(L0, {2**62}, {2**61 + 1}, {3**38})"),
    _product("beyond_64_bits", f"tile(L0, {10**40}, 7, 7)"),
    _product("many_steps", *["interchange(i, j)"] * 3000),
    _product("nonsense", "tile(" * 20000 + ")" * 20000),
    Bomb(
        "schedule_unroll",
        _FIXED,
        "rng.random((64, 64))",
        "unroll(i); unroll(j); unroll(k)",
        runs=False,
    ),
    Bomb(
        "schedule_full_tiles",
        _PRODUCT,
        _MATRICES,
        "tile(L0, 8, 8, 8); separate(L0.tile, L0.point, 8, 8, 8); unroll(L0.point[0]); "
        "unroll(L0.point[1]); unroll(L0.point[2])",
    ),
    _wave("skewed_far", "skew(i, t, 1000000007); skew(j, t, 998244353); tile(L0, 7, 11, 13)"),
    _wave(
        "diamonds",
        "skew(i, t, 1); skew(j, t, 1); tile(L0, 8, 9, 10); skew(L0.tile[0], "
        "L0.tile[1], 1); skew(L0.tile[0], L0.tile[2], 1); parallelize(L0.tile[1]); "
        "tile(L0.point, 3, 4, 5); tile(L0.point.point, 2, 2, 2)",
    ),
)
