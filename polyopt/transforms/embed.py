"""Embed: make a loop inside a band's body the band's last loop.

In: an inner band of one loop, and a loop around it.  Out: one band; statements beside the inner
loop run in the iteration with the number of the loop around.
Refuses: a nest that is not directly in the body of a band, other nests beside it.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Leaf,
    Sequence,
    Tree,
    bands,
    find_band,
    path_to,
    replace_band,
)
from polyopt.transforms.reference import loop
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Embed(Written):
    """Move the loop of `band` into the band around it, as its last; the rest of the body goes too.

    Statements beside the loop get its value from loop `at` of the band around: what stood before
    all iterations, or behind them, runs in one of them, so that all loops form one band, which can
    be tiled and interchanged (Ahmed, Mateev and Pingali, "Tiling imperfectly-nested loop nests",
    2000).

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms import Cut
    >>> print(demo().apply(Cut("L0", 1), Embed("L0.inner", "i")))
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    band: str
    at: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with one band; raises `ScheduleError` PO0301 to PO0305."""
        inner = find_band(tree, self.band)
        around = self._around(tree, inner)
        ref = loop(tree, self.at, str(self))
        if ref.label != around.label or ref.position is None:
            raise ScheduleError(
                "PO0304",
                f"{self}: `{self.at}` is no loop of {around.label}, the band around {self.band}",
                hint=f"name one of {', '.join(member.name for member in around.members)}",
            )
        value = around.members[ref.position].schedule
        _, own = path_to(tree, scop, self.band)
        _, domain = path_to(tree, scop, around.label)
        last = BandMember(_piecewise(inner.members[0].schedule, own, value, domain), _name(inner))
        body = around.child
        if isinstance(body, Sequence):
            parts = (
                Filter(part.domain, inner.child if part.child is inner else part.child)
                for part in body.parts
            )
            body = Sequence(tuple(parts))
        else:
            body = inner.child
        joint = Band(around.label, (*around.members, last), body)
        return replace_band(tree, around.label, lambda _: joint)

    def _around(self, tree: Tree, inner: Band) -> Band:
        """Return the band in whose body the loop stands; raises `ScheduleError`."""
        if len(inner.members) != 1:
            raise ScheduleError(
                "PO0303",
                f"{self}: band {inner.label} has {len(inner.members)} loops",
                hint=f"cut({inner.label}, 1) leaves one outside",
            )
        for band in bands(tree):
            beside = band.child.parts if isinstance(band.child, Sequence) else ()
            if band.child is inner:
                return band
            if any(part.child is inner for part in beside):
                nests = [part.child for part in beside if not isinstance(part.child, Leaf)]
                if len(nests) == 1:
                    return band
                raise ScheduleError(
                    "PO0305",
                    f"{self}: other nests stand beside {inner.label}",
                    hint="fuse them with it, or distribute the loops around",
                )
        raise ScheduleError(
            "PO0305",
            f"{self}: {inner.label} does not stand directly in the body of a band",
            hint="name a nest that other loops are around",
        )


def _name(band: Band) -> str:
    return band.members[0].name


def _piecewise(
    inner: isl.UnionPwAff, own: isl.UnionSet, value: isl.UnionPwAff, domain: isl.UnionSet
) -> isl.UnionPwAff:
    """Return `inner` for the instances in `own`, `value` for the others of `domain`."""
    rest = value.intersect_domain(domain.subtract(own))
    return inner.intersect_domain(own).union_add(rest)
