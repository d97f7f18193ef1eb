"""Bombs of loops: deep, triangular, imperfect, in steps, with many reads."""

from __future__ import annotations

from itertools import product

from tests.bombs.bomb import Bomb, lines, names, nest


def deep(depth: int) -> Bomb:
    """One statement in `depth` loops over an array of as many dimensions."""
    index = ", ".join(names("i", depth))
    before = ", ".join(f"i{d} - 1" for d in range(depth))
    text = nest(
        depth,
        lambda d: f"1, A.shape[{d}]",
        [f"A[{index}] = A[{before}] + B[{index}]"],
        "def f(A, B):",
    )
    shape = (2,) * depth
    return Bomb(f"deep_{depth}", text, f"rng.random({shape}), rng.random({shape})")


def towers(depth: int) -> Bomb:
    """`depth` loops around a statement on one element."""
    text = nest(depth, lambda d: "n", ["a[i0] = a[i0] + b[i1]"], "def f(a, b, n):")
    return Bomb(f"towers_{depth}", text, "np.ones(2), np.ones(2), 2")


def triangular(depth: int) -> Bomb:
    """Every loop is bounded by the sum of those around it."""
    text = nest(
        depth,
        lambda d: " + ".join(["n", *names("i", d)]) if d % 2 else " + ".join(["1", *names("i", d)]),
        [f"a[{' + '.join(names('i', depth))}] += {' * '.join(names('i', depth))}"],
        "def f(a, n):",
    )
    return Bomb(f"triangular_{depth}", text, "np.zeros(4096), 1")


def imperfect(depth: int) -> Bomb:
    """A statement before and after every loop of a deep nest."""
    text = ["def f(A, n):"]
    for d in range(depth):
        pad = "    " * (d + 1)
        text.append(f"{pad}for i{d} in range(1, n):")
        text.append(f"{pad}    A[i{d}, {d}] = A[i{d} - 1, {d}] + A[i{d // 2}, {max(0, d - 1)}]")
    for d in reversed(range(depth)):
        text.append("    " * (d + 2) + f"A[i{d}, {d}] += A[i{d} - 1, {d}]")
    return Bomb(f"imperfect_{depth}", lines(*text), f"rng.random((2, {depth})), 2")


def stencil(rank: int, radius: int, *, in_place: bool) -> Bomb:
    """All neighbours within `radius` are read, in place or from a copy, in time steps."""
    index = names("i", rank)
    offsets = range(-radius, radius + 1)
    source = "A" if in_place else "B"
    reads = [
        f"{source}[{', '.join(f'{i} + {o}' for i, o in zip(index, offset, strict=True))}]"
        for offset in product(offsets, repeat=rank)
    ]
    text = ["def f(A, B, T):", "    for t in range(T):"]
    for d in range(rank):
        text.append("    " * (d + 2) + f"for i{d} in range({radius}, A.shape[{d}] - {radius}):")
    pad = "    " * (rank + 2)
    total = (" +\n" + pad + "    ").join(reads)
    text.append(f"{pad}A[{', '.join(index)}] = ({total}) * 0.01")
    if not in_place:
        text.append("        B[:] = A")
    shape = (2 * radius + 3,) * rank
    kind = "in_place" if in_place else "copied"
    return Bomb(
        f"stencil_{rank}d_{len(reads)}_{kind}",
        lines(*text),
        f"rng.random({shape}), rng.random({shape}), 2",
    )


def steps() -> Bomb:
    """Loops in steps without a common factor."""
    text = nest(
        5,
        lambda d: f"{d}, n, {[7, 11, 13, 17, 19][d]}",
        ["A[i0 + i1 + i2 + i3 + i4] += A[i4 + 2 * i3 + i2]"],
        "def f(A, n):",
    )
    return Bomb("steps", text, "rng.random(400), 40")


def bounds(parts: int) -> Bomb:
    """Bounds that are the least of many and the greatest of many."""

    def bound(d: int) -> str:
        low = ", ".join(f"n - {k} * i{d - 1}" if d else f"n - {k}" for k in range(1, parts))
        high = ", ".join(f"n + {k} * i{d - 1}" if d else f"n + {k}" for k in range(1, parts))
        return f"max(0, {low}), min(m, {high})"

    text = nest(4, bound, ["A[i0, i1] += A[i2, i3]"], "def f(A, n, m):")
    return Bomb(f"bounds_{parts}", text, "rng.random((8, 8)), 3, 5")


BOMBS = (
    deep(12),
    towers(20),
    triangular(9),
    imperfect(9),
    stencil(2, 7, in_place=False),
    stencil(2, 5, in_place=True),
    stencil(3, 2, in_place=True),
    stencil(5, 1, in_place=False),
    steps(),
    bounds(8),
)
