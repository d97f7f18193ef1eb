"""Show the loops of a schedule as a table: how each runs, what it is for, its iterations.

In: a Scop, its dependences, a tree.  Out: text with a row for each loop, outermost first.  A loop's
extent is the number of its iterations, in the run of it that has most, as a formula in the sizes.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.budget import optional
from polyopt.ir.isl_ast import bound_expr
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.ir.showing import show
from polyopt.schedule.dependences import Dependences
from polyopt.schedule.legality import carried_pairs
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Sequence,
    Tree,
    member_map,
    statements_of,
)

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
UNKNOWN = "?"
OPERATIONS = 100_000
"""Of isl, for the iterations of one loop."""
_MOST = 2**24
"""Larger numbers come from the limit of sizes: their formula says more."""
HEADINGS = ("loop", "", "runs", "iterations", "carries", "statements")

Row = tuple[str, str, str, str, str, str]
"""Name, band and position, kind, extent, whether dependences are carried, statements of a loop."""


def table_of(dependences: Dependences, tree: Tree) -> str:
    """Return the table: its headings, then the loops of `tree`, indented by depth."""
    rows = [HEADINGS, *_Rows(dependences, tree).below(tree, dependences.scop.domain, ())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Makes the rows of the loops of a tree."""

    dependences: Dependences
    whole: Tree

    def below(
        self, tree: Tree, domain: isl.UnionSet, outer: tuple[BandMember, ...]
    ) -> Iterator[Row]:
        """Yield the rows of a part of the tree, inside the loops `outer`."""
        scop = self.dependences.scop
        match tree:
            case Band():
                for position, member in enumerate(tree.members):
                    around = (*outer, *tree.members[:position])
                    yield (
                        f"{'  ' * len(around)}{member.name}",
                        f"{tree.label}[{position}]",
                        "in order" if member.kind is LoopKind.SEQUENTIAL else member.kind.value,
                        extent_of(scop, domain, around, member),
                        self._carried(tree, position),
                        ", ".join(statements_of(scop, domain)),
                    )
                yield from self.below(tree.child, domain, (*outer, *tree.members))
            case Sequence():
                for part in tree.parts:
                    yield from self.below(part, domain, outer)
            case Filter():
                yield from self.below(tree.child, domain.intersect(tree.domain), outer)

    def _carried(self, band: Band, position: int) -> str:
        """Return what keeps a loop's iterations in order: dependences, a reduction, nothing."""
        if band.members[position].coincident:
            return ""
        pairs = carried_pairs(self.dependences, self.whole, band.label, position)
        if pairs.is_empty():
            return ""
        free = pairs.is_subset(self.dependences.free.subtract(self.dependences.ordering))
        return "a reduction" if free else "dependences"


def extent_of(
    scop: Scop, domain: isl.UnionSet, outer: tuple[BandMember, ...], member: BandMember
) -> str:
    """Return the number of a loop's iterations as text, `?` if that takes long.

    It is that of one run, for given values of the loops in `outer`: the largest there is.
    """
    if domain.is_empty():
        return "0"
    with optional("the number of iterations of a loop", OPERATIONS):
        runs = member_map(member, domain)
        for loop in reversed(outer):
            runs = member_map(loop, domain).flat_range_product(runs)
        values = isl.Set.from_union_set(runs.range()).intersect_params(scop.context)
        own = isl.Map.from_range(values).move_dims(_IN, 0, _OUT, 0, len(outer))
        lengths = own.sum(own.neg()).range()
        if not lengths.dim_has_any_upper_bound(isl.dim_type.set, 0):
            return UNKNOWN
        stride = lengths.get_stride(0)
        number = lengths.dim_max_val(0)
        if number.is_int() and int(number.to_python()) < _MOST:
            return str(int(number.div(stride).to_python()) + 1)
        last = lengths.dim_max(0).gist_params(scop.context).scale_down_val(stride).floor()
        return show(bound_expr(last.add_constant_val(isl.Val(1)), frozenset(scop.params)))
    return UNKNOWN
