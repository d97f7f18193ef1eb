"""Parallelize, vectorize, unroll: mark how a loop's iterations run.

In: a loop.  Out: the same tree with the loop marked; the legality check decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from polyopt import transforms
from polyopt.dataclass import dataclass, replace
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair
from polyopt.schedule.tree import Tree
from polyopt.transforms.reference import change_loop, loop
from polyopt.transforms.written import Written


class _Mark(Written):
    """A step that gives its `loop` a kind."""

    __slots__ = ()
    kind: ClassVar[LoopKind]
    loop: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loop marked; raises `ScheduleError` PO0301 to PO0303."""
        return change_loop(tree, self.loop, str(self), lambda m: replace(m, kind=self.kind))


class _AtOnce(_Mark):
    """A mark of a loop whose iterations run at the same time."""

    __slots__ = ()

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        found = loop(refused.tree, self.loop, str(self))
        yield from transforms.repair_parallel.marked_instead(refused, found, type(self))


@dataclass(frozen=True, slots=True)
class Parallelize(_AtOnce):
    """Run a loop's iterations on several threads; a barrier follows.

    The loop must carry no dependence.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Parallelize("i")))
    for i = i:  [L0[0]]  # parallel, permutable band
      for j = j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    kind: ClassVar = LoopKind.PARALLEL
    loop: str


@dataclass(frozen=True, slots=True)
class Vectorize(_AtOnce):
    """Run a loop's iterations in SIMD lanes.

    The loop must carry no dependence but those of a reassociable reduction.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Vectorize("j")))
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # vector
        S0: A1[i, j] = A0[i, j]
    """

    kind: ClassVar = LoopKind.VECTOR
    loop: str


@dataclass(frozen=True, slots=True)
class Unroll(_Mark):
    """Repeat a loop's body instead of looping.

    The trip count must be a constant when code is emitted; any other loop stays a loop.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Unroll("j")))
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # unroll
        S0: A1[i, j] = A0[i, j]
    """

    kind: ClassVar = LoopKind.UNROLL
    loop: str
