"""Python's integers are exact: a compiled kernel gives the same integer, or a coded error."""

from __future__ import annotations

import linecache
import math
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from polyopt.ir.interp import run_program
from tests.unit.frontend.harness import compiled

LEAST, MOST = -(2**63), 2**63 - 1
AT_CALL, WHILE_RUNNING, CONSTANT = "PO0210", "PO0234", "PO0145"


def function(source: str) -> Callable[..., Any]:
    """Return function `f` of a source text."""
    file = f"<integers {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"math": math, "np": np}
    exec(compile(source, file, "exec"), names)
    found: Callable[..., Any] = names["f"]
    return found


def interpreted(func: Callable[..., Any], *args: object) -> object:
    """Return what the front end's program computes, or the code of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result: Any = run_program(compiled(func, *args), list(args))
    except PolyoptError as error:
        return error.code
    return result.item() if isinstance(result, np.generic) else result


def built(func: Callable[..., Any], *args: object) -> object:
    """Return what a call of the kernel gives, or the code of its error."""
    try:
        result: Any = po.kernel(func)(*args)
    except PolyoptError as error:
        return error.code
    return result.item() if isinstance(result, np.generic) else result


def line(expression: str, arguments: str = "n: int") -> str:
    return f"def f({arguments}):\n    return {expression}\n"


SQUARE = line("n * n")
TWO = "n: int, k: int"
FIBONACCI = """def f(n: int):
    a, b = 0, 1
    for i in range(n):
        a, b = b, a + b
    return a
"""
FACTORIAL = """def f(n: int):
    product = 1
    for i in range(1, n + 1):
        product *= i
    return product
"""
JAVA = """def f(seed: int):
    for i in range(10):
        seed = (seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
    return seed
"""
POWER = """def f(base: int, exponent: int, m: int):
    result = 1
    base = base % m
    while exponent > 0:
        if exponent & 1:
            result = result * base % m
        base = base * base % m
        exponent >>= 1
    return result
"""
GUARDED = """def f(n: int):
    found = 0
    if n < 1000:
        found = n * n
    return found
"""
DOUBLING = """def f(n: int):
    k = 1
    while k < n:
        k *= 2
    return k
"""
COUNTER = """def f(n: int, s: int):
    for i in range(n):
        s += 12345
    return s
"""
TOTAL = """def f(x):
    total = 0
    for i in range(x.shape[0]):
        total += int(x[i])
    return total
"""
COUNTED = """def f(n: int, m: int):
    count = 0
    for i in range(n):
        for j in range(m):
            count += 3
    return count
"""
ITEMS = """def f(n: int):
    items = [1] * n
    for i in range(1, n):
        items[i] = items[i - 1] * 3
    return items[n - 1]
"""
APPENDED = """def f(n: int):
    items = []
    for i in range(n):
        items.append(3 * i)
    return items[n - 1] * 2**60
"""
NARROW = "def f(x, y):\n    return x + int(y[0])\n"
BOUND = """def f(x):
    count = 0
    for i in range(int(x[0]), int(x[0]) + 3):
        count += i * 4
    return count
"""
BIG = np.array([2**62, 2**62, -(2**62)])

CASES = [
    (SQUARE, (3037000499,), 3037000499**2),
    (SQUARE, (-3037000499,), 3037000499**2),
    (SQUARE, (2**40,), AT_CALL),
    (SQUARE, (3037000500,), AT_CALL),
    (line("n + 1"), (MOST - 1,), MOST),
    (line("n + 1"), (MOST,), AT_CALL),
    (line("-n"), (LEAST,), AT_CALL),
    (line("abs(n)"), (LEAST,), AT_CALL),
    (line("n // k", TWO), (LEAST, -1), AT_CALL),
    (line("n % k", TWO), (LEAST, -1), 0),
    (line("n * n - n * k", TWO), (3, 2), 3),
    (line("n << k", TWO), (3, 61), 3 << 61),
    (line("n << k", TWO), (3, 62), WHILE_RUNNING),
    (line("n << k", TWO), (0, 200), 0),
    (line("n << k", TWO), (-1, 63), LEAST),
    (line("n << k", TWO), (1, -1), WHILE_RUNNING),
    (line("n >> k", TWO), (-5, 100), -1),
    (line("n >> k", TWO), (1, -1), WHILE_RUNNING),
    (line("n ** k", TWO), (3, 39), 3**39),
    (line("n ** k", TWO), (3, 40), WHILE_RUNNING),
    (line("n ** k", TWO), (-3, 39), -(3**39)),
    (line("n ** k", TWO), (3037000499, 2), 3037000499**2),
    (line("n ** 3"), (2097151,), 2097151**3),
    (line("n ** 3"), (2097152,), AT_CALL),
    (line("2 ** n"), (62,), 2**62),
    (line("2 ** n"), (63,), WHILE_RUNNING),
    (GUARDED, (2**40,), 0),
    (GUARDED, (999,), 998001),
    (GUARDED, (-(2**40),), WHILE_RUNNING),
    (FIBONACCI, (90,), 2880067194370816120),
    (FIBONACCI, (100,), WHILE_RUNNING),
    (FACTORIAL, (20,), math.factorial(20)),
    (FACTORIAL, (21,), WHILE_RUNNING),
    (JAVA, (12345,), 117859047675587),
    (POWER, (3, 10**9, 10**9 + 7), pow(3, 10**9, 10**9 + 7)),
    (POWER, (3, 10**9, 10**12 + 39), WHILE_RUNNING),
    (DOUBLING, (2**62,), 2**62),
    (DOUBLING, (2**62 + 1,), WHILE_RUNNING),
    (COUNTER, (10, 5), 123455),
    (COUNTER, (10, MOST - 5), AT_CALL),
    (TOTAL, (BIG,), WHILE_RUNNING),
    (TOTAL, (BIG[::-1].copy(),), 2**62),
    (TOTAL, (BIG.astype(np.int8),), 0),
    (COUNTED, (5, 7), 105),
    (ITEMS, (30,), 3**29),
    (ITEMS, (50,), WHILE_RUNNING),
    (APPENDED, (2,), 3 * 2**60),
    (APPENDED, (5,), WHILE_RUNNING),
    (line("sum(i * i for i in range(n))"), (1000,), 332833500),
    (line("sum(i * k for i in range(n))", TWO), (1000, 2**53), WHILE_RUNNING),
    (line("math.gcd(n, k)", TWO), (LEAST, 0), WHILE_RUNNING),
    (line("math.lcm(n, k)", TWO), (2**40, 2**41), 2**41),
    (line("math.lcm(n, k)", TWO), (2**40, 3**30), WHILE_RUNNING),
    (line("math.prod((n, k, 2))", TWO), (2**31, 2**31), AT_CALL),
    (line("int(x)", "x: float"), (-3.7,), -3),
    (line("int(x)", "x: float"), (1e300,), WHILE_RUNNING),
    (line("int(x)", "x: float"), (math.nan,), WHILE_RUNNING),
    (line("int(x)", "x: float"), (-math.inf,), WHILE_RUNNING),
    (line("math.floor(x)", "x: float"), (1e19,), WHILE_RUNNING),
    (line("round(x)", "x: float"), (-1e19,), WHILE_RUNNING),
    (line("int(x[0])", "x"), (np.array([2**64 - 1], dtype=np.uint64),), WHILE_RUNNING),
    (NARROW, (np.arange(3, dtype=np.int32), np.array([2**40])), WHILE_RUNNING),
    (BOUND, (np.array([2**62]),), WHILE_RUNNING),
    (line("x + 2**70", "x: float"), (1.5,), 1.5 + 2**70),
    (line("x * (1 << 70)", "x: float"), (1.5,), 1.5 * 2**70),
    (line("n + 2**70"), (1,), CONSTANT),
    (line("n + 10**1000"), (1,), CONSTANT),
    (line("x + 10**1000", "x: float"), (1.0,), CONSTANT),
    (line("n + (1 << 10**12)"), (1,), "PO0180"),
    (line("n + 10**10**10"), (1,), "PO0180"),
    (line("n + (1 << -1)"), (1,), "PO0147"),
    (line("n * 2**62 * 4"), (0,), 0),
    (line("n * 2**62 * 4 + 1"), (1,), AT_CALL),
    (line("(n * 2**62 * 4 + 5) & 7"), (3,), 5),
    (line("n < 2**70"), (1,), True),
    (line("n <= -(2**70)"), (1,), False),
    (line("n % 2**64"), (5,), 5),
    (line("n % 2**64"), (-5,), WHILE_RUNNING),
    (line("n & (2**64 - 1)"), (5,), 5),
    (line("(n * k + 2**63) & 0xFFFF", TWO), (MOST, MOST - 2), (MOST * (MOST - 2)) & 0xFFFF),
    (line("(n * k - n) % 2**63", TWO), (MOST, 3), (MOST * 2) % 2**63),
    (line("((n * k) * 1.0) % 8", TWO), (2**40, 2**40), AT_CALL),
]


@pytest.mark.parametrize(("source", "args", "expected"), CASES)
def test_exact_or_a_coded_error(source: str, args: tuple[object, ...], expected: object) -> None:
    assert interpreted(function(source), *args) == expected


BUILT = [SQUARE, FIBONACCI, FACTORIAL, JAVA, POWER, TOTAL, line("n << k", TWO), line("n ** k", TWO)]


@pytest.mark.matrix  # all are interpreted above
@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("source", "args", "expected"), [case for case in CASES if case[0] in BUILT]
)
def test_the_same_when_built(source: str, args: tuple[object, ...], expected: object) -> None:
    assert built(function(source), *args) == expected


@pytest.mark.toolchain
def test_a_fault_says_where() -> None:
    kernel = po.kernel(function(FACTORIAL))
    with pytest.raises(OverflowError) as raised:
        kernel(30)
    error = raised.value
    assert isinstance(error, PolyoptError)
    assert error.loc is not None
    assert (error.loc.line, error.loc.col) == (4, 9)
    assert "`product *= i` does not fit 64 bits" in str(error)


@pytest.mark.toolchain
def test_arguments_that_do_not_fit() -> None:
    kernel = po.kernel(function(line("n + 1")))
    assert kernel(1) == 2
    for value in (2**63, -(2**63) - 1, 10**5000):
        with pytest.raises(po.PolyoptError) as raised:
            kernel(value)
        assert raised.value.code == AT_CALL


def test_loops_that_only_count_are_limited() -> None:
    program = compiled(function(COUNTED), 1, 1)
    assert any("iterations" in limit.message for limit in program.signature.limits)
    assert interpreted(function(COUNTED), 2**40, 2**40) == AT_CALL


@pytest.mark.toolchain
@pytest.mark.parametrize("sum_", ["k + 3", "3 + k", "k - 5", "-7 + k", "k - -4"])
def test_a_sum_with_a_constant_is_compared_once(sum_: str) -> None:
    kernel = po.kernel(function(f"def f(a):\n    k = int(a[0])\n    return {sum_}\n"))
    assert "^" not in kernel.compile(np.array([1])).source.split("int polyopt_")[1]
    for k in (2**63 - 4, 2**63 - 3, -(2**63) + 4, -(2**63) + 5, -(2**63) + 7, -(2**63) + 6, 0):
        expected = eval(sum_, {"k": k})
        if -(2**63) <= expected < 2**63:
            assert kernel(np.array([k])) == expected
        else:
            with pytest.raises(PolyoptError, match="64 bits"):
                kernel(np.array([k]))


def test_common_programs_need_no_check() -> None:
    """Counters, hashes and sums of small numbers stay within 64 bits whatever the call."""
    source = """def f(x):
    count = 0
    checksum = 2166136261
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 3:
                count += 1
        checksum = ((checksum ^ int(x[i, 0])) * 16777619) % 2**32
    return count + checksum
"""
    program = compiled(function(source), np.zeros((3, 4), np.uint8))
    assert not program.signature.faults
    assert not program.signature.limits


def test_the_last_value_of_a_loop_variable() -> None:
    """What the variable was before the loop tells nothing of a subscript after it."""
    source = """def f(x, y):
    i = 0
    for i in range(x.shape[0]):
        if x[i] > 5.0:
            break
    return y[i]
"""
    assert interpreted(function(source), np.arange(10.0), np.arange(3.0)) == "PO0231"


# -- random programs --------------------------------------------------------------------------

EDGES = (2**31, 2**62, 2**63)
OPERATORS = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "**")


def draw_value(random: Random) -> int:
    kind = random.randrange(4)
    if kind == 0:
        return random.randrange(-5, 70)
    if kind == 1:
        return random.randrange(-(2**32), 2**32)
    value = random.choice((-1, 1)) * random.choice(EDGES) + random.randrange(-3, 4)
    return max(LEAST, min(MOST, value))


def draw_expression(random: Random, names: tuple[str, ...], depth: int) -> str:
    if depth == 0 or random.random() < 0.2:
        if random.random() < 0.3:
            return f"({draw_value(random)})"
        return random.choice(names)
    left = draw_expression(random, names, depth - 1)
    kind = random.random()
    if kind < 0.1:
        return f"(-{left})"
    if kind < 0.2:
        return f"abs({left})"
    op = random.choice(OPERATORS)
    if op in ("<<", ">>", "**"):
        return f"({left} {op} {random.randrange(0, 7)})"
    right = draw_expression(random, names, depth - 1)
    if op in ("//", "%"):
        right = f"(({right}) | 1)"
    return f"({left} {op} {right})"


def draw_program(random: Random) -> str:
    names = ("a", "b", "c", "s")
    first, second = (draw_expression(random, names, random.randrange(1, 4)) for _ in range(2))
    target = random.choice(("s", "c"))
    lines = ["def f(x, a: int, b: int):", "    c = int(x[0])", "    s = int(x[1])"]
    shape = random.randrange(4)
    if shape == 0:
        lines += [f"    {target} = {first}", f"    return {second}"]
    elif shape == 1:
        lines += [
            "    for i in range(3):",
            f"        {target} = {first} + i",
            f"    return {second}",
        ]
    elif shape == 2:
        lines += ["    if c > a:", f"        {target} = {first}", f"    return {second}"]
    else:
        lines += ["    i = 0", "    while i < 3 and s < 2**62:", f"        s = {first}"]
        lines += ["        i += 1", "    return s"]
    return "\n".join(lines) + "\n"


BOUNDS_THAT_CHOOSE = ["min(d, n - 1)", "(d if d < n else n - 1)", "n + (d < 3)", "abs(d - n)"]


@pytest.mark.parametrize("end", BOUNDS_THAT_CHOOSE)
@pytest.mark.parametrize("term", ["d * i", "1"])
def test_bounds_that_an_outer_loop_chooses(end: str, term: str) -> None:
    func = function(
        "def f(n):\n    total = 0\n    for d in range(2 * n - 1):\n"
        f"        for i in range(0 if d < n else d - n + 1, {end} + 1):\n"
        f"            total += {term}\n    return total\n"
    )
    for n in (0, 1, 2, 5, 9):
        assert interpreted(func, n) == func(n)


def test_counts_under_a_bound_that_an_outer_loop_chooses() -> None:
    func = function(
        "def f(n):\n    total = 0\n    for d in range(n):\n"
        "        for i in range(n if d < 9 else n + d):\n"
        "            total += 1\n    return total\n"
    )
    assert interpreted(func, 20) == func(20)
    assert interpreted(func, 2**40) == AT_CALL


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed: int) -> None:
    random = Random(seed)
    func = function(draw_program(random))
    for _ in range(6):
        x = np.array([draw_value(random), draw_value(random)])
        a, b = draw_value(random), draw_value(random)
        found = interpreted(func, x, a, b)
        if found not in (AT_CALL, WHILE_RUNNING, CONSTANT):
            assert found == func(x, a, b)


@pytest.mark.toolchain
@pytest.mark.parametrize("seed", range(80, 86))
def test_random_programs_built(seed: int) -> None:
    random = Random(seed)
    func = function(draw_program(random))
    for _ in range(12):
        x = np.array([draw_value(random), draw_value(random)])
        a, b = draw_value(random), draw_value(random)
        found = built(func, x, a, b)
        if found not in (AT_CALL, WHILE_RUNNING, CONSTANT):
            assert found == func(x, a, b)
