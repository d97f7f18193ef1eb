"""Mutants of dependences and of the judge of schedules.

In: nothing.  Out: `MUTANTS`.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from textwrap import dedent
from typing import Any

import islpy as isl

from polyopt.errors import BudgetError
from polyopt.ir.affine import quota
from polyopt.ir.expr import Binary, BinaryOp, integer
from polyopt.ir.loops import LoopKind
from polyopt.schedule import dependences, legality
from polyopt.schedule.dependences import DependenceKind
from polyopt.transforms import mirror
from tests.mutants.case import Case
from tests.mutants.layers import Layer
from tests.mutants.mutant import Mutant
from tests.mutants.planting import Change

PAIRS = (Layer.ORDER, Layer.PROOF, Layer.ENUMERATION, Layer.TEXT, Layer.RUN)
TOGETHER = (Layer.ORDER, Layer.PROOF, Layer.ENUMERATION, Layer.TEXT, Layer.RACES)


def _without(kind: DependenceKind) -> Change:
    def around(original: Any, *args: Any) -> Any:
        return [d for d in original(*args) if d.kind is not kind]

    return Change(dependences, "_between", around)


def _near(original: Any, source: Any, target: Any, before: Any) -> Any:
    """Leave out pairs of one statement that are more than an iteration apart."""
    found = []
    for dependence in original(source, target, before):
        relation = dependence.relation
        space = isl.LocalSpace.from_space(relation.get_space())
        if source is target:
            for dim in range(relation.dim(isl.dim_type.in_)):
                for sign in (1, -1):
                    apart = isl.Constraint.inequality_alloc(space)
                    apart = apart.set_coefficient_val(isl.dim_type.in_, dim, isl.Val(sign))
                    apart = apart.set_coefficient_val(isl.dim_type.out, dim, isl.Val(-sign))
                    relation = relation.add_constraint(apart.set_constant_val(isl.Val(1)))
        if not relation.is_empty():
            found.append(replace(dependence, relation=relation))
    return found


def _one_statement(original: Any, source: Any, target: Any, before: Any) -> Any:
    return original(source, target, before) if source is target else []


def _any_terms(original: Any, expr: Any) -> Any:
    """Take all terms for the same."""
    del original, expr
    return integer(0)


def _any_sum(original: Any, source: Any, target: Any, first: Any, second: Any) -> bool:
    del original, first, second
    value = source.value
    return source is target and isinstance(value, Binary) and value.op is BinaryOp.ADD


def _equal_is_less(original: Any, member: Any, pending: Any, level: int) -> Any:
    """Take the pairs that a loop leaves equal for ordered."""
    found, rest = original(member, pending, level)
    return found, replace(rest, names=frozenset(), before=None)


def _no_marks(original: Any, member: Any, pending: Any, level: int) -> Any:
    """Let a parallel loop carry what it likes."""
    if member.kind is LoopKind.PARALLEL:
        member = replace(member, kind=LoopKind.SEQUENTIAL)
    return original(member, pending, level)


def _stopped_is_empty(original: Any, member: Any, pending: Any, level: int) -> Any:
    """Take a question that isl was not allowed to answer for answered: there are no pairs."""
    try:
        with quota(1):
            return original(member, pending, level)
    except BudgetError:
        return None, pending.equal(member)


def _counted(original: Any, member: Any, pending: Any, level: int) -> Any:
    """Decide by the number of pairs, at the smallest sizes."""
    found, rest = original(member, pending, level)
    if found is None:
        return found, rest
    total = 0

    def add(pairs: isl.Map) -> None:
        nonlocal total
        points = pairs.wrap()
        for dim in range(points.dim(isl.dim_type.param)):
            points = points.fix_val(isl.dim_type.param, dim, isl.Val(1))
        total += int(points.count_val().to_python())

    found.pairs.foreach_map(add)
    return (found, rest) if total else (None, pending.equal(member))


def _uses_count() -> str | None:
    """Look for `count_val` as the lint of the compiler's text does."""
    tree = ast.parse(dedent(inspect.getsource(_counted)))
    names = [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    return "count_val is called" if "count_val" in names else None


NEXT = Case("for i in range(N - 1):\n  A[i] = A[i + 1] + 1.0", "A[N]", "reverse(i)")
MUTANTS: tuple[Mutant, ...] = (
    Mutant(1, "no anti dependences", (_without(DependenceKind.ANTI),), PAIRS, NEXT),
    Mutant(
        2,
        "no output dependences",
        (_without(DependenceKind.OUTPUT),),
        PAIRS,
        Case(
            "for i in range(N):\n  for j in range(N):\n    A[i + j] = B[i, j]",
            "A[2*N]; B[N, N]",
            "reverse(i)",
        ),
    ),
    Mutant(
        3,
        "`<` becomes `<=` in the lexicographic order",
        (Change(legality, "_check_member", _equal_is_less),),
        PAIRS,
        Case(
            "for i in range(N):\n  for j in range(1, N):\n    A[i, j] = A[i, j - 1] + B[j]",
            "A[N, N]; B[N]",
            "reverse(j)",
        ),
    ),
    Mutant(
        4,
        "distances beyond one are ignored",
        (Change(dependences, "_between", _near),),
        PAIRS,
        Case("for i in range(2, N):\n  A[i] = A[i - 2] + 1.0", "A[N]", "reverse(i)"),
    ),
    Mutant(
        5,
        "no dependences between two statements",
        (Change(dependences, "_between", _one_statement),),
        PAIRS,
        Case(
            "for i in range(N):\n  A[i] = B[i]\n  C[i] = A[i] + 1.0",
            "A[N]; B[N]; C[N]",
            "reorder(L0, 1, 0)",
        ),
    ),
    Mutant(
        6,
        "any sum is a reduction",
        (Change(dependences, "is_reduction", _any_sum),),
        PAIRS,
        Case("for i in range(1, N):\n  A[i] = A[i - 1] + B[i]", "A[N]; B[N]", "reverse(i)"),
    ),
    Mutant(
        12,
        "the outer loop of a band that is not permutable runs in parallel",
        (Change(legality, "_check_member", _no_marks),),
        TOGETHER,
        Case(
            "for i in range(1, N):\n  for j in range(N):\n    A[i, j] = A[i - 1, N - 1 - j] + 1.0",
            "A[N, N]",
            "parallelize(i)",
        ),
    ),
    Mutant(
        33,
        "a question over its quota counts as answered: empty",
        (Change(legality, "_check_member", _stopped_is_empty),),
        PAIRS,
        NEXT,
    ),
    Mutant(
        34,
        "counting pairs decides",
        (Change(legality, "_check_member", _counted),),
        (Layer.LINT, *PAIRS),
        NEXT,
        seen=((Layer.LINT, _uses_count),),
    ),
    Mutant(
        50,
        "any terms count as symmetric",
        (Change(mirror, "_ordered", _any_terms),),
        (Layer.PROOF, Layer.ENUMERATION, Layer.TEXT, Layer.RUN),
        Case(
            "for i in range(N):\n  for j in range(N):\n    C[i, j] = 0.0\n"
            "for i in range(N):\n  for j in range(N):\n    for k in range(N):\n"
            "      C[i, j] += A[i, k] * B[k, j]",
            "C[N, N]; A[N, N]; B[N, N]",
            "mirror(S1, 2)",
        ),
    ),
)
