"""Rearrange: keep an array in another layout while a nest runs.

In: an array, a nest, dimensions as in `layout`.  Out: a copy before the nest, accesses inside that
use the copy, written elements copied back behind it.
Refuses: an array that the nest does not access; dimensions that are left out or named twice.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.scop import Scop
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.tree import Tree, resolve
from polyopt.transforms.accesses import find_array, touching
from polyopt.transforms.layout import Dimension
from polyopt.transforms.pack import packed
from polyopt.transforms.region import enter_nest, place_nests_around
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Rearrange(DataStep, Written):
    """Keep a copy of `array` with `dimensions` for as long as the nest `band` runs.

    With `1+2*0, 0` cells `A[i, j]` with the same `j + 2*i` lie next to each other, so that a
    wavefront through a sweep in place walks memory.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Rearrange("A0", "L0", (Dimension(1), Dimension(0)))))
    for A00 = A00:  [A0_in[0]]  # carries no dependence, permutable band
      for A01 = A01:  [A0_in[1]]  # carries no dependence
        A0_in: A0_pack[A00, A01] = A0[A00, A01]
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    array: str
    band: str
    dimensions: tuple[Dimension, ...]

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program; raises `ScheduleError` PO0301, PO0302, PO0331, PO0332."""
        array = find_array(scop, self.array, str(self))
        label = resolve(tree, self.band).label
        region = enter_nest(scop, tree, label, touching(scop, self.array))
        return packed(region, array, self.dimensions, str(self), place_nests_around)
