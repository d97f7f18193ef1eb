"""Conditions on sizes that are one truth value in a whole call: branches a call decides.

In: conditions that a reading meets; `SizeCondition`s that code is compiled under.  Out: which
conditions a call could decide; the truth of a condition under those that were decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.frontend.integers.affine_integers import compare, is_affine, negated
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.syntax.annotations import ANY_SIZES, ArgType, SizeCondition
from polyopt.frontend.values.computed_sizes import as_affine, is_over_params
from polyopt.frontend.values.identifiers import size_name
from polyopt.frontend.values.shapes import equate
from polyopt.ir.expr import (
    Binary,
    Compare,
    CompareOp,
    Const,
    Expr,
    Param,
    Symbol,
    Unary,
    rewrite,
    walk,
)
from polyopt.ir.integers import evaluate
from polyopt.ir.showing import show
from polyopt.ir.types import DType

MOST_CONDITIONS = 16
"""How many conditions one kernel is compiled under."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """What a function branches on that a call knows: conditions on sizes, flags among arguments."""

    conditions: tuple[Expr, ...]
    flags: tuple[str, ...]


def assume(b: Builder, types: Sequence[ArgType]) -> None:
    """Demand of the call what `types` say of its sizes, and learn it."""
    for kind in types:
        if isinstance(kind, SizeCondition) and kind != ANY_SIZES:
            _assume(b, kind)


def _assume(b: Builder, kind: SizeCondition) -> None:
    wanted = kind.condition if kind.holds else negated(kind.condition)
    condition = _in_sizes(b, wanted)
    message = f"this kernel was compiled for calls where `{show(condition)}` holds"
    if isinstance(condition, Compare) and condition.op is CompareOp.EQ:
        equate(b, condition.left, condition.right, message, b.loc)
        condition = _in_sizes(b, wanted)
    b.demand(condition, "PO0173", message, b.loc, "call the kernel itself")
    b.assumed.append(condition)


def _in_sizes(b: Builder, condition: Expr) -> Expr:
    """Return a condition over what a call gives as one over the sizes of this reading."""

    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Compare):
            return None
        left, right = (as_affine(b.facts, b.facts.resolve(e)) for e in (part.left, part.right))
        return compare(part.op, left, right)

    return rewrite(condition, rule)


def decided(b: Builder, condition: Expr) -> bool | None:
    """Return whether `condition` holds in all calls that this code is for, None if it depends."""
    _note(b, condition)
    if not b.assumed:
        return None
    known = _in_sizes(b, condition) if is_known_by_call(condition) else condition
    if not is_affine(known):
        return None
    if isinstance(known, Const):
        return bool(known.value)
    with b.anywhere():
        if b.never(known, scouting=True):
            return False
        return True if b.never(negated(known), scouting=True) else None


def _note(b: Builder, condition: Expr) -> None:
    """Take note of a condition that a call could decide."""
    if is_known_by_call(condition):
        whole = b.facts.expanded(condition)
        if not any(isinstance(part, Param) and part.name.endswith(")") for part in walk(whole)):
            b.facts.conditions.setdefault(whole)
        return
    names = {symbol: name for name, symbol in b.symbols.items()}
    for part in walk(condition):
        if isinstance(part, Symbol) and part.dtype is DType.BOOL and part.name in names:
            b.facts.flags.setdefault(names[part.name])


def is_known_by_call(condition: Expr) -> bool:
    """Whether a BOOL expression is about nothing but integers that a call knows."""
    if isinstance(condition, Compare):
        return is_over_params(condition.left) and is_over_params(condition.right)
    if condition.dtype is not DType.BOOL or isinstance(condition, Const | Unary):
        return False
    parts = [part for part in walk(condition) if isinstance(part, Compare)]
    inside = {id(p) for compared in parts for p in walk(compared)}
    rest = (part for part in walk(condition) if id(part) not in inside)
    return bool(parts) and all(map(is_known_by_call, parts)) and all(map(_is_bool, rest))


def _is_bool(part: Expr) -> bool:
    return part.dtype is DType.BOOL and isinstance(part, Binary | Unary | Const)


# -- of a call ------------------------------------------------------------------------------------


def with_conditions(
    names: Sequence[str],
    types: tuple[ArgType, ...],
    values: Sequence[object],
    found: Undecided,
) -> tuple[ArgType, ...]:
    """Return `types` with the conditions of `found` as the call's `values` decide them."""
    known = {kind.condition for kind in types if isinstance(kind, SizeCondition)}
    sizes = _sizes(names, values)
    more: list[ArgType] = []
    for condition in found.conditions:
        if condition in known or len(known) + len(more) >= MOST_CONDITIONS:
            continue
        try:
            more.append(SizeCondition(condition, bool(evaluate(condition, sizes))))
        except (TypeError, KeyError, ZeroDivisionError):
            continue  # about something else than sizes
    return (*types, *more)


def _sizes(names: Sequence[str], values: Sequence[object]) -> Mapping[str, int]:
    sizes: dict[str, int] = {}
    for name, value in zip(names, values, strict=True):
        if isinstance(value, bool | np.bool_):
            continue
        if isinstance(value, int | np.integer):
            sizes[name] = int(value)
        elif hasattr(value, "shape"):
            sizes |= {size_name(name, dim): n for dim, n in enumerate(value.shape)}
    return sizes
