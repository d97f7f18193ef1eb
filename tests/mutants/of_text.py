"""Mutants of what is printed: arithmetic, lanes, strides, threads.

In: nothing.  Out: `MUTANTS`.  Barriers of a GPU's block stand behind OpenMP's loops here.
"""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

import polyopt as po
from polyopt.emit import c, cbody, chosen_iterations, helpers, passes
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.helpers import HelperKind
from polyopt.emit.views import View
from polyopt.ir.expr import Binary, BinaryOp, Cast
from polyopt.ir.source import Layout
from polyopt.ir.types import DType, Kind
from tests.mutants.case import Case
from tests.mutants.layers import Layer
from tests.mutants.mutant import Mutant
from tests.mutants.planting import Change, Entry

TEXT = (Layer.TEXT, Layer.RUN)
MEMORY = (Layer.TEXT, Layer.RUN, Layer.SANITIZERS)
LOADS = (Layer.TEXT, Layer.SANITIZERS)  # an aligned load never crosses a page
THREADS = (Layer.TEXT, Layer.RACES)


def _plainly(original: Any, printer: Any, expr: Binary) -> bool:
    del original, printer
    by = expr.right
    return expr.dtype is DType.INT64 and hasattr(by, "value") and by.value > 0


def _multiplied_first(original: Any, printer: Any, expr: Binary) -> Any:
    """Multiply as the operands' type, and widen the product."""
    both = (expr.left, expr.right)
    if expr.op is BinaryOp.MUL and all(isinstance(side, Cast) for side in both):
        left, right = (printer.text(side.operand, 11) for side in both)
        return f"(int64_t)({left} * {right})", 11
    return original(printer, expr)


def _whole(kind: str) -> Change:
    """Load or store all lanes, whether they exist or not."""

    def around(original: Any, printer: ExprPrinter, *args: Any) -> str:
        result: str = original(replace(printer, part=None), *args)
        return result

    return Change(ExprPrinter, kind, around)


def _positive(original: Any, view: View, index: Any, factors: Any) -> Any:
    """Take every stride for positive."""
    made = original(view, index, factors)
    return [re.sub(r"\* (\w+)$", r"* (\1 < 0 ? -\1 : \1)", term) for term in made]


def _helper(kind: HelperKind, old: str, new: str, only: Kind | None = None) -> Entry:
    """Replace a piece of a helper's text."""
    before = helpers._DEFINITIONS[kind]

    def after(helper: Any) -> list[str]:
        lines = before(helper)
        if only is not None and helper.dtype.kind is not only:
            return lines
        changed = [line.replace(old, new) for line in lines]
        assert changed != lines
        return changed

    return Entry(helpers._DEFINITIONS, kind, after)


_LOOP = re.compile(r"#pragma omp parallel for( simd)? (schedule\(\w+\)).*")


def _region(between: str) -> Change:
    """Share all parallel loops of the entry among one team, nothing waits in between."""

    def around(original: Any, text: str) -> str:
        text = original(text)
        head, pragma, rest = text.partition("    #pragma omp parallel")
        body = pragma + rest
        count = 0

        def shared(match: re.Match[str]) -> str:
            nonlocal count
            count += 1
            before = between if count > 1 else ""
            return f"{before}#pragma omp for{match[1] or ''} {match[2]} nowait"

        body, _, end = _LOOP.sub(shared, body).rpartition("    return 0;")
        return f"{head}#pragma omp parallel\n{{\n{body}}}\n    return 0;{end}"

    return Change(c, "wrapped", around)


UNGUARDED = Change(cbody, "enough", lambda original, loop, printer: "")
"""Regions stand once, without a condition around."""
SINGLE = Change(passes, "strip_mine_nontemporal", lambda original, loops: loops)
CACHED = Change(passes, "use_nontemporal_stores", lambda original, loops, machine: loops)
TEAM = (UNGUARDED, SINGLE, CACHED)
"""Threads share single elements, and their regions hold nothing but the loops."""


def _not_numbers(name: str, shape: tuple[int, ...]) -> Any:
    del name
    found = np.resize([1.0, np.nan, -2.0, np.inf, -0.0, np.nan, 3.0], shape)
    return np.roll(found, shape[0] // 2)


def _huge(name: str, shape: tuple[int, ...]) -> Any:
    del name
    return np.resize(np.array([70_000, -90_000, 5, 2**31 - 1], np.int32), shape)


def _wrapped(name: str, shape: tuple[int, ...]) -> Any:
    numbers = {"A": [1, 2, 900, 5], "B": [3, 9, 100, 5], "D": [2, 3, 7, 2**63 + 9]}
    return np.resize(np.array(numbers.get(name, [0]), np.uint64), shape)


def products(c: po.i64["N"], a: po.i32["N"], b: po.i32["N"]):
    for i in range(c.shape[0]):
        c[i] = np.int64(a[i]) * np.int64(b[i])


def sums_of_rows(s: po.f64["M"], A: po.f64["M,N"]):
    for i in range(A.shape[0]):
        s[i] = np.sum(A[i] + 1.0)


LANES = Case(
    "for i in range(N):\n  for j in range(N):\n    C[i, j] = A[i, j] + 1.0",
    "C[N, N]; A[N, N]",
    "vectorize(j)",
    sizes=({"N": 9}, {"N": 1}, {"N": 5}, {"N": 0}),
)
FLOW = Case(
    "for i in range(N):\n  A[i] = B[i] + 1.0\nfor i in range(N):\n  C[i] = A[N - 1 - i]",
    "A[N]; B[N]; C[N]",
    "parallelize(L0[0]); parallelize(L1[0])",
)
ANTI = replace(
    FLOW, text="for i in range(N):\n  C[i] = A[N - 1 - i]\nfor i in range(N):\n  A[i] = B[i] + 1.0"
)
SOME = "    if (omp_get_thread_num() == 0) {\n    #pragma omp barrier\n    }\n    "
SUMS = Case(function=sums_of_rows, sizes=({"M": 2, "N": 9}, {"M": 1, "N": 40}, {"M": 1, "N": 0}))
WHOLE = "int64 C[N]; int64 A[N]; int64 B[N]"
MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        7,
        "subscripts divide towards zero",
        (Change(ExprPrinter, "_divides_plainly", _plainly),),
        TEXT,
        Case("for i in range(N):\n  B[i] = A[(i - 4) // 2 + 2]", "A[N + 3]; B[N]"),
    ),
    Mutant(
        13,
        "a product is computed in 32 bits and widened",
        (Change(ExprPrinter, "_operator", _multiplied_first),),
        TEXT,
        Case(function=products, values=lambda n, s: None if n == "c" else _huge(n, s)),
    ),
    Mutant(
        17,
        "no barrier between a loop and one that reads what it wrote",
        (_region(""), *TEAM),
        THREADS,
        FLOW,
        "barrier before a buffer is used",
    ),
    Mutant(
        18,
        "no barrier between a loop and one that overwrites what it read",
        (_region(""), *TEAM),
        THREADS,
        ANTI,
        "barrier after a buffer was used",
    ),
    Mutant(
        19,
        "a barrier that one thread comes to",
        (_region(SOME), *TEAM),
        THREADS,
        FLOW,
        "barrier in a divergent branch",
    ),
    Mutant(21, "lanes behind the end are stored", (_whole("store"),), MEMORY, LANES),
    Mutant(22, "lanes behind the end are loaded", (_whole("load"),), LOADS, LANES),
    Mutant(
        27,
        "a negative stride is taken for positive",
        (Change(View, "_offsets", _positive),),
        MEMORY,
        Case(
            "for i in range(N):\n  B[i] = A[i] + 1.0",
            "A[N]; B[N]",
            layout=Layout.STRIDED,
        ),
    ),
    Mutant(
        28,
        "arrays of no rows",
        (_helper(HelperKind.EXTENT, "n > 0 ? n : 1", "n"),),
        (Layer.TEXT, Layer.SANITIZERS),
        replace(LANES, steps="", sizes=({"N": 0}, {"N": 3})),
        "launch of no threads",
    ),
    Mutant(
        35,
        "a minimum loses NaN",
        (_helper(HelperKind.MIN, "b != b ? b : kept", "kept", Kind.FLOAT),),
        TEXT,
        Case(
            "for i in range(N):\n  C[i] = min(A[i], B[i])",
            "A[N]; B[N]; C[N]",
            values=lambda n, s: _not_numbers(n, s) if n == "B" else None,
        ),
    ),
    Mutant(
        36,
        "`//` rounds as C does",
        (_helper(HelperKind.FLOORDIV, " - (a % b != 0 && (a < 0) != (b < 0))", "", Kind.SIGNED),),
        TEXT,
        Case("for i in range(N):\n  C[i] = A[i] // B[i]", WHOLE),
    ),
    Mutant(
        37,
        "`%` has the sign that C gives it",
        (_helper(HelperKind.MOD, "(rest < 0) != (b < 0)", "0", Kind.SIGNED),),
        TEXT,
        Case("for i in range(N):\n  C[i] = A[i] % B[i]", WHOLE),
    ),
    Mutant(
        38,
        "unsigned numbers that wrapped are taken for signed",
        (_helper(HelperKind.FLOORDIV, "(a / b)", "((int64_t)a / (int64_t)b)", Kind.UNSIGNED),),
        TEXT,
        Case(
            "for i in range(N):\n  C[i] = (A[i] - B[i]) // D[i]",
            "uint64 A[N]; uint64 B[N]; uint64 C[N]; uint64 D[N]",
            values=_wrapped,
        ),
    ),
    Mutant(
        47,
        "lanes behind the end are added to a sum",
        (_helper(HelperKind.UNTIL, "    first[lane]", "    others[lane]"),),
        TEXT,
        SUMS,
    ),
    Mutant(
        48,
        "vectors of a sum are lost",
        (_helper(HelperKind.TOTAL, "return v", "return 0.5 * v"),),
        TEXT,
        SUMS,
    ),
    Mutant(
        49,
        "the number of a chosen iteration is read once, though the loop stores it",
        (Change(chosen_iterations, "_is_fixed", lambda original, number, loop: True),),
        TEXT,
        Case(
            "for j in range(N):\n  if j == t[0]:\n    t[0] = t[0] + 1",
            "int64 t[1]",
            values=lambda name, shape: np.zeros(shape, np.int64),
        ),
    ),
)
