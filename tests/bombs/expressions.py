"""Bombs of expressions: long, deep, shared; views of views; control that data decides."""

from __future__ import annotations

from tests.bombs.bomb import Bomb, lines


def _sum(number: int) -> Bomb:
    total = " + ".join(f"a[i] * {k}.5" for k in range(number))
    text = lines("def f(a, b):", "    for i in range(a.shape[0]):", f"        b[i] = {total}")
    return Bomb(f"sum_{number}", text, "rng.random(4), np.zeros(4)")


def _doubled(number: int) -> Bomb:
    body = [f"    x{k} = x{k - 1} * x{k - 1} + x{k - 1}" for k in range(1, number)]
    text = lines("def f(a):", "    x0 = a * 0.1", *body, f"    return x{number - 1}")
    return Bomb(f"doubled_{number}", text, "rng.random(4)")


def _doubled_integers(number: int) -> Bomb:
    body = [f"    n{k} = n{k - 1} + n{k - 1} // 2" for k in range(1, number)]
    text = lines(
        "def f(a, n0):",
        *body,
        f"    for i in range(n{number - 1} % 4):",
        "        a[i] += 1.0",
    )
    return Bomb(f"doubled_integers_{number}", text, "rng.random(4), 3")


def _choices(depth: int) -> Bomb:
    value = "a[i]"
    for k in range(depth):
        value = f"({value} + {k}.0 if i + {k} < n else a[i] * {k}.0)"
    text = lines("def f(a, n):", "    for i in range(n):", f"        a[i] = {value}")
    return Bomb(f"choices_{depth}", text, "rng.random(4), 4")


def _calls(depth: int) -> Bomb:
    body = [f"    a = np.where(a > 0.{k}, np.sqrt(np.abs(a)), a * 0.5)" for k in range(depth)]
    return Bomb(f"calls_{depth}", lines("def f(a):", *body, "    return a"), "rng.random(4)")


def _written_out(number: int) -> Bomb:
    text = lines(
        "def f(a, b):",
        f"    for p in {list(range(number))!r}:",
        f"        for q in {list(range(number))!r}:",
        f"            for r in {list(range(number))!r}:",
        "                a[0] += b[p] * b[q] - b[r]",
    )
    return Bomb(f"written_out_{number}", text, f"rng.random(4), rng.random({number})")


def _comprehension(number: int) -> Bomb:
    text = lines(
        "def f(a):",
        f"    rows = [[a * (i + j) for i in range({number})] for j in range({number})]",
        "    total = rows[0][0]",
        "    for row in rows:",
        "        for part in row:",
        "            total = total + part * total",
        "    return total",
    )
    return Bomb(f"comprehension_{number}", text, "rng.random(3) * 0.01")


def _reshaped(number: int) -> Bomb:
    body = [
        f"    A = A.reshape({[(6, 20), (8, 15), (5, 24), (12, 10)][k % 4]}).T"
        for k in range(number)
    ]
    text = lines("def f(A):", *body, "    return A * 2.0")
    return Bomb(f"reshaped_{number}", text, "rng.random((10, 12))")


def _rolled(number: int) -> Bomb:
    value = "A"
    for k in range(number):
        value = f"np.roll({value}, {k + 1}, axis={k % 2})"
    return Bomb(
        f"rolled_{number}", lines("def f(A):", f"    return {value} + A"), "rng.random((5, 6))"
    )


def _strided(number: int) -> Bomb:
    body = ["    x = a[::-1][1:][::2]"]
    for k in range(number):
        body += [
            f"    a[{k}::{k + 2}] += a[::{k + 2}][: a[{k}::{k + 2}].shape[0]].sum()",
            "    x = x[::-1]",
        ]
    return Bomb(
        f"strided_{number}", lines("def f(a):", *body, "    return x + 1.0"), "rng.random(60)"
    )


def _einsum() -> Bomb:
    text = lines(
        "def f(A, B, C, D):",
        '    return np.einsum("abcdef,cdefgh,efghij,ghijkl->abkl", A, B, C, D)',
    )
    shape = (2,) * 6
    return Bomb("einsum", text, ", ".join([f"rng.random({shape})"] * 4))


def _while_loops(number: int) -> Bomb:
    body = [
        line
        for k in range(number)
        for line in (
            f"    while a[{k % 4}] < {k}.0:",
            f"        a[{k % 4}] = a[{k % 4}] * 2.0 + 1.0",
        )
    ]
    return Bomb(f"while_loops_{number}", lines("def f(a):", *body), "rng.random(4)")


def _while_in_while(depth: int) -> Bomb:
    text = ["def f(a, n):"]
    for d in range(depth):
        text += ["    " * (d + 1) + f"a[{d}] = 0.0", "    " * (d + 1) + f"while a[{d}] < 2.0:"]
        text.append("    " * (d + 2) + f"a[{d}] += 1.0")
    text.append("    " * (depth + 1) + "for i in range(n):")
    text.append("    " * (depth + 2) + "a[i + 10] += a[i]")
    return Bomb(f"while_in_while_{depth}", lines(*text), "rng.random(20), 5")


def _found(number: int) -> Bomb:
    body = [
        line
        for k in range(number)
        for line in (f"    x = x[x > {k * 0.01}]", "    total += x.sum()")
    ]
    text = lines("def f(a):", "    total = 0.0", "    x = a * 1.0", *body, "    return total")
    return Bomb(f"found_{number}", text, "rng.random(30)")


def _joined(number: int) -> Bomb:
    parts = ", ".join(f"a[{k % 3}:] * {k}.0" for k in range(number))
    text = lines("def f(a):", f"    return np.concatenate([{parts}])")
    return Bomb(f"joined_{number}", text, "rng.random(5)")


def _parentheses(depth: int) -> Bomb:
    value = "-" * depth + "a[i]"
    text = lines("def f(a, n):", "    for i in range(n):", f"        a[i] = {value} + 1.0")
    return Bomb(f"minus_{depth}", text, "rng.random(4), 4")


BOMBS = (
    _sum(300),
    _sum(900),
    _doubled(60),
    _doubled_integers(60),
    _choices(30),
    _calls(24),
    _written_out(30),
    _comprehension(16),
    _reshaped(12),
    _rolled(20),
    _strided(10),
    _einsum(),
    _while_loops(60),
    _while_in_while(7),
    _found(25),
    _joined(80),
    _parentheses(600),
)
