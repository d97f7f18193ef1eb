"""What single statements and pragmas of C say: variables that are set, OpenMP's clauses.

In: nodes, the text of a pragma.  Out: names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.cregion.syntax import walk
from polyopt.textcheck.scope import Copy, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

PURE = re.compile(
    r"(?:f?abs|sqrt|cbrt|exp2?|expm1|log(?:2|10|1p)?|a?(?:sin|cos|tan)h?|atan2|pow|fmin|fmax|fma|"
    r"fmod|floor|ceil|trunc|rint|round|hypot|copysign|erfc?|[lt]gamma)[fl]?"
)
PARALLEL = re.compile(r"omp\s+parallel\s+for\b(.*)", re.DOTALL)
SIMD = re.compile(
    r"(?:omp\s+(?:parallel\s+for\s+)?simd\b|(?:GCC\s+)?ivdep\b|clang\s+loop\b.*assume_safety)(.*)",
    re.DOTALL,
)
"""Loops in lanes: by OpenMP, or because they are said to carry nothing between iterations."""
_CLAUSE = re.compile(r"(\w+)\s*\(([^()]*)\)")
_OWN = frozenset(("private", "firstprivate", "lastprivate", "linear", "reduction"))
IGNORED = re.compile(
    r"(?:GCC\s(?!\s*ivdep).*|clang\s(?!.*assume_safety).*|STDC\s.*|scop|endscop|unroll\b.*|once)",
    re.DOTALL,
)


def assigned(node: Node) -> set[str]:
    """Return the variables that a piece of text sets."""
    found = set()
    for inner in walk(node):
        if inner.type in ("assignment_expression", "update_expression"):
            target = inner.child_by_field_name("left") or inner.child_by_field_name("argument")
            if target is not None and target.type == "identifier":
                found.add(text_of(target))
    return found


def without_comments(pragma: str) -> str:
    """Return the words of a pragma."""
    return " ".join(re.sub(r"/\*.*?\*/|//.*", " ", pragma, flags=re.DOTALL).split())


def guard_of(pragma: str) -> str:
    match = re.match(r"omp\s+(atomic|critical)\b\s*(?:update\b)?\s*(?:\((\w+)\))?\s*$", pragma)
    return "" if match is None else f"{match[1]} {match[2] or ''}"


def copies_of(clauses: str) -> tuple[Copy, ...]:
    """Return the variables that clauses make copies of."""
    found = []
    for kind, text in _CLAUSE.findall(clauses):
        before, colon, behind = text.partition(":")
        operator, names = (before, behind) if colon and kind != "linear" else ("", before)
        named = (re.match(r"\s*(\w+)", name) for name in names.split(","))
        found += [Copy(kind, n[1], operator.strip()) for n in named if n and kind in _OWN]
    return tuple(found)


def together(pragma: str) -> int | None:
    """Return how many iterations may be in lanes at once; None: all."""
    match = re.search(r"\bsafelen\s*\(\s*(\d+)\s*\)", pragma)
    return None if match is None else int(match[1])


def collapsed(pragma: str) -> str:
    """Return the pragma of the next of loops that a pragma shares out together; empty: none."""
    match = re.search(r"collapse\s*\(\s*(\d+)[uUlL]*\s*\)", pragma)
    if match is None or int(match[1]) < 2:
        return ""
    fewer = f"collapse({int(match[1]) - 1})"
    return pragma[: match.start()] + fewer + pragma[match.end() :]


MOST_UNROLLED = 64
_FEW = re.compile(r"for\s*\(\s*int (\w+) = 0; \1 < (\d+); \1\+\+\)")


def few_iterations(node: Node) -> tuple[str, int] | None:
    """Return the counter and the number of iterations of a loop that has few of them."""
    match = _FEW.match(" ".join(text_of(node).split()))
    if match is None or int(match[2]) > MOST_UNROLLED:
        return None
    return match[1], int(match[2])
