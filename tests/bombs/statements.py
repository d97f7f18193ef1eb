"""Bombs of statements: hundreds of them, in one loop, in many, with all pairs in conflict."""

from __future__ import annotations

from tests.bombs.bomb import Bomb, lines, names


def chain(number: int) -> Bomb:
    """A loop of statements, each reading what the one before wrote an iteration earlier."""
    body = [
        f"        A[i, {k}] = A[i - 1, {(k * 7) % number}] + A[i, {max(0, k - 1)}]"
        for k in range(number)
    ]
    text = lines("def f(A):", "    for i in range(1, A.shape[0]):", *body)
    return Bomb(f"chain_{number}", text, f"rng.random((3, {number}))")


def offsets(number: int) -> Bomb:
    """A loop of statements on one vector, every pair of them in conflict."""
    body = [
        f"        a[i + {(k * 37) % 101}] = a[i + {(k * 53) % 103}] * 0.5 + {k}.0"
        for k in range(number)
    ]
    text = lines("def f(a, n):", "    for i in range(n):", *body)
    return Bomb(f"offsets_{number}", text, "rng.random(120), 4")


def nests(number: int) -> Bomb:
    """Loop nests one after the other, each reading what the last two wrote."""
    body = [
        line
        for k in range(number)
        for line in (
            "    for i in range(1, n):",
            f"        A[{k + 2}, i] = A[{k + 1}, i - 1] + A[{k}, i]",
        )
    ]
    return Bomb(
        f"nests_{number}", lines("def f(A, n):", *body), f"rng.random(({number + 2}, 4)), 4"
    )


def scalars(number: int) -> Bomb:
    """A loop full of scalars, each made of two others."""
    body = [f"        s{k} = s{k - 1} * 0.5 + a[i] / (1.0 + s{k // 2})" for k in range(1, number)]
    text = lines(
        "def f(a, b):",
        "    for i in range(a.shape[0]):",
        "        s0 = a[i]",
        *body,
        f"        b[i] = s{number - 1}",
    )
    return Bomb(f"scalars_{number}", text, "rng.random(5), np.zeros(5)")


def slices(number: int) -> Bomb:
    """Whole-array statements on shifted parts of one array."""
    body = [
        f"    A[{k % 5 + 1}:-{k % 3 + 1}, {k % 4}:-4] += A[{k % 2}:-{k % 3 + k % 5 + 2 - k % 2}, "
        f"{k % 3 + 1}:{k % 3 - k % 4 - 3}]"
        for k in range(number)
    ]
    return Bomb(f"slices_{number}", lines("def f(A):", *body), "rng.random((20, 20))")


def pieces(number: int) -> Bomb:
    """Constant parts of a vector, each written from another."""
    body = [
        f"    a[{3 * k}:{3 * k + 40}] = a[{3 * k + 7}:{3 * k + 47}] * 0.5" for k in range(number)
    ]
    return Bomb(f"pieces_{number}", lines("def f(a):", *body), f"rng.random({3 * number + 60})")


def temporaries(number: int) -> Bomb:
    """Thousands of elements of memory: an array for every statement."""
    body = [f"    t{k} = np.cumsum(t{k - 1}) * 0.5" for k in range(1, number)]
    text = lines("def f(a):", "    t0 = a + 1.0", *body, f"    return t{number - 1}")
    return Bomb(f"temporaries_{number}", text, "rng.random(4)")


def arguments(number: int) -> Bomb:
    """A function of very many arrays."""
    body = [f"    out += a{k}" for k in range(number)]
    text = lines(f"def f(out, {', '.join(names('a', number))}):", *body)
    return Bomb(
        f"arguments_{number}", text, f"np.zeros(3), *[rng.random(3) for _ in range({number})]"
    )


def products(number: int) -> Bomb:
    """A long chain of matrix products."""
    text = lines("def f(A, B):", f"    return {' @ '.join(['A', 'B'] * (number // 2))}")
    return Bomb(f"products_{number}", text, "rng.random((4, 4)), rng.random((4, 4))")


BOMBS = (
    chain(200),
    offsets(60),
    offsets(200),
    nests(200),
    scalars(300),
    slices(80),
    pieces(150),
    temporaries(300),
    arguments(600),
    products(40),
)
