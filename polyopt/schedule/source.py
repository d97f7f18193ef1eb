"""Build the schedule tree of the source: the loops as written.

In: a Scop, whose statements carry their execution order.  Out: bands named after its loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import count

import islpy as isl

from polyopt.ir.affine import pw_aff
from polyopt.ir.expr import Const, Expr, Iter, walk
from polyopt.ir.scop import Scop, Statement
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Leaf,
    Sequence,
    Tree,
    children,
    map_bands,
    with_children,
)


def source_tree(scop: Scop) -> Tree:
    """Return the tree that runs the Scop in its original order, bands labelled L0, L1, …"""
    return relabel(merge_perfect(_build(scop.statements, 0)))


def _build(statements: tuple[Statement, ...], position: int) -> Tree:
    if all(position >= len(s.order) for s in statements):
        return Leaf()
    entries = [_entry(s, position) for s in statements]
    if all(isinstance(entry, Const) for entry in entries):
        values = sorted({int(e.value.real) for e in entries if isinstance(e, Const)})
        groups = [
            tuple(
                s
                for s, e in zip(statements, entries, strict=True)
                if isinstance(e, Const) and e.value == value
            )
            for value in values
        ]
        parts = tuple(Filter(union_domain(group), _build(group, position + 1)) for group in groups)
        return parts[0].child if len(parts) == 1 else Sequence(parts)
    schedule = union_function(statements, entries)
    name = next((_loop_name(entry) for entry in entries if not isinstance(entry, Const)), "i")
    return Band("", (BandMember(schedule, name),), _build(statements, position + 1))


def _entry(statement: Statement, position: int) -> Expr:
    return statement.order[position] if position < len(statement.order) else ZERO


def union_function(statements: Iterable[Statement], values: list[Expr]) -> isl.UnionPwAff:
    """Return the function that maps each statement's instances to its expression's value."""
    pairs = zip(statements, values, strict=True)
    parts = (isl.UnionPwAff.from_pw_aff(pw_aff(v, s.domain.get_space())) for s, v in pairs)
    return reduce(isl.UnionPwAff.union_add, parts)


def _loop_name(entry: Expr) -> str:
    return next(part.name for part in walk(entry) if isinstance(part, Iter))


def union_domain(statements: Iterable[Statement]) -> isl.UnionSet:
    """Return all instances of statements, of which there is one at least."""
    return reduce(isl.UnionSet.union, (isl.UnionSet.from_set(s.domain) for s in statements))


def merge_perfect(tree: Tree) -> Tree:
    """Return `tree` with a band whose only child is a band joined to it."""
    return map_bands(tree, joined_with_body)


def joined_with_body(band: Band) -> Band:
    """Return the band joined with a band that is its whole body."""
    if not isinstance(band.child, Band):
        return band
    return Band(band.label, band.members + band.child.members, band.child.child)


def relabel(tree: Tree, labels: Iterator[str] | None = None) -> Tree:
    """Return `tree` with its bands called so, or L0, L1, …, from outside in and top to bottom."""
    found = labels or (f"L{number}" for number in count())
    return _relabel(tree, lambda: next(found))


def _relabel(tree: Tree, fresh: Callable[[], str]) -> Tree:
    if isinstance(tree, Band):
        tree = Band(fresh(), tree.members, tree.child, tree.permutable)
    return with_children(tree, tuple(_relabel(child, fresh) for child in children(tree)))


ZERO = Const(0, Iter("").dtype)
