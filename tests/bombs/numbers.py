"""Bombs of arithmetic: large numbers, floors and remainders, conditions, many sizes."""

from __future__ import annotations

from tests.bombs.bomb import Bomb, lines, names, nest


def _huge() -> Bomb:
    text = nest(
        3,
        lambda d: "2",
        ["a[999999937 * i0 + 123456789 * i1 + 7 * i2 - (999999937 * i0 + 123456789 * i1)] += 1.0"],
        "def f(a):",
    )
    return Bomb("huge_coefficients", text, "rng.random(8)")


def _coprime() -> Bomb:
    text = nest(
        4,
        lambda d: "n",
        [
            "a[7 * i0 + 11 * i1 + 13 * i2 + 17 * i3]"
            " = a[19 * i0 + 23 * i1 + 29 * i2 + 31 * i3] + 1.0"
        ],
        "def f(a, n):",
    )
    return Bomb("coprime_coefficients", text, "rng.random(400), 3")


def _large() -> Bomb:
    body = [
        f"    for i in range({2**61 + k}, {2**61 + k} + n):\n"
        f"        a[i - {2**61 + k}] += a[({2**62 - k} - i) // {2**60 - k}]"
        for k in range(20)
    ]
    return Bomb("large_constants", lines("def f(a, n):", *body), "rng.random(8), 4")


def _beyond() -> Bomb:
    text = lines(
        "def f(a, n):",
        "    for i in range(n):",
        f"        a[(i * {2**80 + 1}) % n] += {10**30}.0 * (i + {2**70} - {2**70})",
    )
    return Bomb("beyond_64_bits", text, "rng.random(8), 4")


def _remainders() -> Bomb:
    chain = "i"
    for prime in (97, 89, 83, 79, 73, 71, 67, 61, 59, 53, 47, 43):
        chain = f"({chain} % {prime})"
    body = [f"a[{chain} + j] += a[(({chain} + j) * 3) % 101] + 1.0"]
    text = lines(
        "def f(a, n):",
        "    for i in range(n):",
        "        for j in range(n):",
        *(f"            {line}" for line in body),
    )
    return Bomb("remainders", text, "rng.random(400), 5")


def _floors() -> Bomb:
    chain = "i + j"
    for prime in (2, 3, 5, 7, 11, 13, 17, 19):
        chain = f"(({chain}) // {prime} + j)"
    text = lines(
        "def f(a, n):",
        "    for i in range(n):",
        "        for j in range(n):",
        f"            a[{chain}] = a[({chain}) // 2] + 1.0",
    )
    return Bomb("floors", text, "rng.random(400), 5")


def _residues() -> Bomb:
    body = [
        f"        a[i % {prime}] = a[(i + {k}) % {prime}] + a[(3 * i) % {prime + 2}]"
        for k, prime in enumerate((2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37))
    ]
    text = lines("def f(a, n):", "    for i in range(n):", *body)
    return Bomb("residues", text, "rng.random(64), 9")


def _branches(depth: int) -> Bomb:
    body = []
    for k in range(depth):
        body += [
            f"            if {k + 1} * i + {depth - k} * j < n + {k}:",
            f"                A[i, j] += {k}.0",
            "            else:",
            f"                A[j, i] -= A[i, j] * {k}.5",
        ]
    text = lines("def f(A, n):", "    for i in range(n):", "        for j in range(n):", *body)
    return Bomb(f"branches_{depth}", text, "rng.random((5, 5)), 5")


def _inner_branches(depth: int) -> Bomb:
    text = ["def f(A, n):", "    for i in range(n):", "        for j in range(n):"]
    for k in range(depth):
        pad = "    " * (k + 3)
        text.append(f"{pad}if {k + 2} * i - {k + 1} * j < n - {k} or {k + 1} * j - i > {k}:")
    text.append("    " * (depth + 3) + "A[i, j] = A[j, i] + 1.0")
    return Bomb(f"inner_branches_{depth}", lines(*text), "rng.random((5, 5)), 5")


def _alternatives(number: int) -> Bomb:
    condition = " or ".join(f"(i + {k} < n and j * {k + 1} > m - {k})" for k in range(number))
    text = lines(
        "def f(A, n, m):",
        "    for i in range(A.shape[0]):",
        "        for j in range(A.shape[1]):",
        f"            if not ({condition}):",
        "                A[i, j] = A[i, j] + A[j, i]",
    )
    return Bomb(f"alternatives_{number}", text, "rng.random((5, 5)), 4, 9")


def _distances(number: int) -> Bomb:
    total = " + ".join(f"abs(i - {k} * j)" for k in range(number))
    text = lines(
        "def f(a, n):",
        "    for i in range(n):",
        "        for j in range(n):",
        f"            a[({total}) % 50] += 1.0",
        f"            a[min({total}, 49)] += 1.0",
    )
    return Bomb(f"distances_{number}", text, "rng.random(50), 4")


def _sizes(number: int) -> Bomb:
    arrays = names("A", number)
    body = [
        f"    {a}[:{b}.shape[1] // 2, {b}.shape[0] // 3:] += {b}[0, 0]"
        for a, b in zip(arrays, arrays[1:] + arrays[:1], strict=True)
    ]
    text = lines(f"def f({', '.join(arrays)}):", *body)
    return Bomb(f"sizes_{number}", text, f"*[rng.random((6 + k % 3, 7)) for k in range({number})]")


def _parts() -> Bomb:
    body = [
        f"    A[n // {d} : 2 * n // {d} + 1, m // {d} : m // {d} + n // {d + 1}] += "
        f"A[n // {d + 1} : n // {d + 1} + 2 * n // {d} + 1 - n // {d}, "
        f"m // {d + 2} : m // {d + 2} + n // {d + 1}]"
        for d in range(2, 12)
    ]
    text = lines("def f(A):", "    n, m = A.shape[0] // 2, A.shape[1] // 2", *body)
    return Bomb("parts_of_sizes", text, "rng.random((50, 50))")


def _cells(number: int) -> Bomb:
    loops = [f"for i{d} in range(n{d})" for d in range(number)]
    text = ["def f(a, " + ", ".join(names("n", number)) + "):"]
    for d, loop in enumerate(loops):
        text.append("    " * (d + 1) + loop + ":")
    flat = "i0"
    for d in range(1, number):
        flat = f"({flat}) * n{d} + i{d}"
    text.append("    " * (number + 1) + f"a[{flat}] += 1.0")
    return Bomb(f"flat_index_{number}", lines(*text), f"np.zeros(2 ** {number}), *[2] * {number}")


BOMBS = (
    _huge(),
    _coprime(),
    _large(),
    _beyond(),
    _remainders(),
    _floors(),
    _residues(),
    _branches(12),
    _inner_branches(10),
    _alternatives(10),
    _distances(8),
    _sizes(24),
    _parts(),
    _cells(8),
)
