"""What single statements and pragmas of C say: variables that are set, OpenMP's clauses.

In: nodes, the text of a pragma.  Out: names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.cregion.syntax import walk
from polyopt.textcheck.scope import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

PURE = re.compile(
    r"(?:f?abs|sqrt|cbrt|exp2?|expm1|log(?:2|10|1p)?|a?(?:sin|cos|tan)h?|atan2|pow|fmin|fmax|fma|"
    r"fmod|floor|ceil|trunc|rint|round|hypot|copysign|erfc?|[lt]gamma)[fl]?"
)
PARALLEL = re.compile(r"omp\s+parallel\s+for\b(.*)", re.DOTALL)
SIMD = re.compile(r"omp\s+(?:parallel\s+for\s+)?simd\b(.*)", re.DOTALL)
_CLAUSE = re.compile(r"(\w+)\s*\(([^()]*)\)")
_OWN = frozenset(("private", "firstprivate", "lastprivate", "linear", "reduction"))
IGNORED = re.compile(
    r"(?:GCC\s.*|clang\s.*|STDC\s.*|scop|endscop|ivdep|unroll\b.*|once)", re.DOTALL
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


def guard_of(pragma: str) -> str:
    match = re.match(r"omp\s+(atomic|critical)\b\s*(?:update\b)?\s*(?:\((\w+)\))?\s*$", pragma)
    return "" if match is None else f"{match[1]} {match[2] or ''}"


def private_of(clauses: str) -> frozenset[str]:
    return frozenset(
        name.strip()
        for kind, names in _CLAUSE.findall(clauses)
        if kind in _OWN
        for name in names.rpartition(":")[2].split(",")
    )


def reductions_of(clauses: str) -> tuple[str, ...]:
    """Return the operators of reduction clauses, one for each variable, sorted."""
    found = [(names.partition(":")[0].strip(), names.partition(":")[2].split(","))
             for kind, names in _CLAUSE.findall(clauses) if kind == "reduction"]  # fmt: skip
    return tuple(sorted(operator for operator, names in found for _ in names))


def together(pragma: str) -> int | None:
    """Return how many iterations may be in lanes at once; None: all."""
    match = re.search(r"\bsafelen\s*\(\s*(\d+)\s*\)", pragma)
    return None if match is None else int(match[1])


def collapsed(pragma: str) -> str:
    """Return the pragma of the next of loops that a pragma shares out together; empty: none."""
    match = re.search(r"collapse\s*\(\s*(\d+)\s*\)", pragma)
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
