"""Skew: add a multiple of an outer loop to an inner one.

In: two loops of one band and a factor.  Out: the band with `loop` over `loop + factor * by`.
Refuses: loops of different bands, factors after which loops would count too far.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import pieces_of
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.tree import Band, Tree, replace_band
from polyopt.transforms.reference import loop
from polyopt.transforms.written import Written

MAX_COEFFICIENT = 2**20
"""Products of two such numbers and a size of an array stay in 64 bits."""


@dataclass(frozen=True, slots=True)
class Skew(Written):
    """Replace loop `loop` by `loop + factor * by`.

    With `by` inside `loop` the sum becomes the outer loop: a wavefront (Wolfe, "Loop skewing: the
    wavefront method revisited", 1986).

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Skew("j", "i")))
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = i + j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    loop: str
    by: str
    factor: int = 1

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the skewed tree; raises `ScheduleError` PO0301 to PO0304."""
        target, source = loop(tree, self.loop, str(self)), loop(tree, self.by, str(self))
        if target.label != source.label or target == source:
            raise ScheduleError(
                "PO0304",
                f"{self}: {target} and {source} are not two loops of one band",
                hint="fuse or distribute first, so that one band holds both",
            )

        def change(band: Band) -> Tree:
            assert target.position is not None
            assert source.position is not None
            members = list(band.members)
            added = members[source.position].schedule.scale_val(isl.Val(self.factor))
            old = members[target.position]
            schedule = old.schedule.add(added)
            if largest_coefficient(schedule) > MAX_COEFFICIENT:
                raise ScheduleError(
                    "PO0303",
                    f"{self}: the loop would count over {MAX_COEFFICIENT} per iteration",
                    hint="a wavefront needs a factor as large as the longest distance, mostly 1",
                )
            members[target.position] = replace(old, schedule=schedule)
            return replace(band, members=tuple(members))

        return replace_band(tree, target.label, change)

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        target, source = (loop(refused.tree, n, str(self)) for n in (self.loop, self.by))
        for factor in (1, -self.factor, self.factor + 1, self.factor + 2):
            if factor not in (0, self.factor):
                yield Repair(RepairKind.SKEW, (replace(self, factor=factor),))
        if target.position is not None and source.position is not None:
            yield Repair(RepairKind.SKEW, (Skew(self.by, self.loop, abs(self.factor)),))


def largest_coefficient(schedule: isl.UnionPwAff) -> int:
    """Return the largest factor, signs aside, with which an iterator or a floor counts."""
    found = 0
    functions: list[isl.PwAff] = []
    schedule.foreach_pw_aff(functions.append)
    for function in functions:
        for aff in pieces_of(function):
            for kind in (isl.dim_type.in_, isl.dim_type.div):
                for position in range(aff.dim(kind)):
                    value = aff.get_coefficient_val(kind, position).abs().ceil()
                    found = max(found, int(value.to_python()))
    return found
