"""When a region's code may run: conditions on the sizes of a call.

In: a translated region, its program.  Out: what is left of the program's checks once it is known
what C's types and declarations say; extents that may be negative.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.cregion.function import UNKNOWN, Translated
from polyopt.ir.affine import NotAffine, condition_set, param_space
from polyopt.ir.expr import Compare, CompareOp, Expr, Param, integer
from polyopt.ir.isl_ast import condition_expr
from polyopt.ir.program import Program
from polyopt.ir.source import SizeOf

_UNKNOWN = 1 << 40
_INT = 1 << 31


def needed_conditions(translated: Translated, program: Program) -> Iterator[Expr]:
    """Yield the conditions under which the program is what the region is."""
    signature = program.signature
    params = tuple(size.param for size in signature.sizes)
    space = param_space(params)
    known = condition_set(_equal(integer(0), integer(0)), space)
    for fact in _known(translated, program):
        known = known.intersect(condition_set(fact, space))
    for condition in (*_extents(translated, program), *(c.condition for c in signature.checks)):
        try:
            wanted = condition_set(condition, space)
        except NotAffine:
            yield condition
            continue
        if not known.is_subset(wanted):
            yield condition_expr(wanted.gist(known).coalesce(), frozenset(params))
            known = known.intersect(wanted)
    yield from (limit.condition for limit in signature.limits)


def _known(translated: Translated, program: Program) -> Iterator[Expr]:
    """Yield what C's types say of the sizes, and the extents that nothing declares."""
    for size in program.signature.sizes:
        own, param = translated.arguments[size.argument], Param(size.param)
        text = own.sizes[size.dim] if isinstance(size, SizeOf) else own.passed
        if text == UNKNOWN:
            yield _equal(param, integer(_UNKNOWN))
        elif text in translated.narrow:
            yield Compare(CompareOp.LT, param, integer(_INT))
            yield Compare(CompareOp.GE, param, integer(-_INT))


def _extents(translated: Translated, program: Program) -> Iterator[Expr]:
    """Yield that extents are not negative."""
    for size in program.signature.sizes:
        if isinstance(size, SizeOf):
            text = translated.arguments[size.argument].sizes[size.dim]
            if text != UNKNOWN and "sizeof" not in text:
                yield Compare(CompareOp.GE, Param(size.param), integer(0))


def _equal(left: Expr, right: Expr) -> Expr:
    return Compare(CompareOp.EQ, left, right)
