"""Find mapped loops of a tree, and the bands around a statement.

In: a tree.  Out: whether its loops run across blocks or threads; bands.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Tree,
    bands,
    children,
    path_to,
    statements_of,
)
from polyopt.strategy.tiling import outer_bands

MAPPED = (LoopKind.BLOCK, LoopKind.THREAD)


def is_mapped(tree: Tree) -> bool:
    """Tell whether a loop of the tree runs across blocks or threads."""
    return any(member.kind in MAPPED for band in bands(tree) for member in band.members)


def grid_of(loops: tuple[BandMember, ...]) -> tuple[BandMember, ...]:
    """Return the loops that run across blocks."""
    return tuple(member for member in loops if member.kind is LoopKind.BLOCK)


def new_nests(schedule: Schedule, before: Schedule) -> list[str]:
    """Return the labels of bands all of whose statements are new since `before`."""
    old = {statement.name for statement in before.scop.statements}
    return [
        band.label
        for band in bands(schedule.tree)
        if old.isdisjoint(
            statements_of(schedule.scop, path_to(schedule.tree, schedule.scop, band.label)[1])
        )
    ]


def labels_in_sequence(schedule: Schedule, label: str) -> list[str]:
    """Return the labels of the bands in the sequence of a band, its own included."""
    around = [b for b in bands(schedule.tree) if any(i.label == label for i in bands(b.child))]
    return outer_bands(around[-1].child if around else schedule.tree)


def bands_around(schedule: Schedule, statement: str) -> list[Band]:
    """Return the bands around a statement, outermost first."""
    return list(_around(schedule.tree, schedule.scop, schedule.scop.domain, statement))


def _around(tree: Tree, scop: Scop, domain: isl.UnionSet, statement: str) -> Iterator[Band]:
    if isinstance(tree, Filter):
        domain = domain.intersect(tree.domain)
    if statement in statements_of(scop, domain):
        if isinstance(tree, Band):
            yield tree
        for child in children(tree):
            yield from _around(child, scop, domain, statement)
