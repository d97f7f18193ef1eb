"""Grid, threads: run loops across the blocks and the threads of a device.

In: names of loops or bands.  Out: the tree with them marked; the legality check decides.
Refuses: loops that are not adjacent (PO0304), nests that are mapped already (PO0336), grids of more
than six loops (PO0303).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.legality import Fault
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.schedule import Transform
from polyopt.schedule.tree import (
    Band,
    BandMember,
    LoopRef,
    Tree,
    bands,
    children,
    find_band,
    resolve,
)
from polyopt.transforms.reference import change_members
from polyopt.transforms.repair_loops import name_of
from polyopt.transforms.repair_parallel import marked_instead
from polyopt.transforms.written import Written

MAPPED = (LoopKind.BLOCK, LoopKind.THREAD)


def named_loops(tree: Tree, names: tuple[str, ...], step: str) -> tuple[str, tuple[int, ...]]:
    """Return the band and the positions of the adjacent loops called `names`.

    A band's label stands for all its loops.  Raises `ScheduleError` PO0301, PO0302, PO0304.
    """
    found = list(dict.fromkeys(ref for name in names for ref in _loops(tree, name)))
    labels = list(dict.fromkeys(ref.label for ref in found))
    positions = sorted(ref.position for ref in found if ref.position is not None)
    together = positions == list(range(positions[0], positions[0] + len(positions)))
    if len(labels) == 1 and together:
        return labels[0], tuple(positions)
    raise ScheduleError(
        "PO0304",
        f"{step}: the loops are not neighbours in one band",
        hint="name loops of one band that are directly inside each other; interchange them first",
    )


def _loops(tree: Tree, name: str) -> Iterator[LoopRef]:
    ref = resolve(tree, name)
    if ref.position is not None:
        yield ref
        return
    for position in range(len(find_band(tree, ref.label).members)):
        yield LoopRef(ref.label, position)


def marked(tree: Tree, label: str, positions: tuple[int, ...], kind: LoopKind) -> Tree:
    """Return the tree with loops of a band marked as `kind`."""
    return change_members(tree, label, positions, lambda member: replace(member, kind=kind))


def around(tree: Tree, label: str, position: int) -> tuple[BandMember, ...]:
    """Return the loops around a loop, outermost first."""
    band = find_band(tree, label)
    return (*(_above(tree, label) or ()), *band.members[:position])


def loops_inside(tree: Tree, label: str, position: int) -> tuple[BandMember, ...]:
    """Return the loops inside a loop."""
    band = find_band(tree, label)
    below = (member for inner in bands(band.child) for member in inner.members)
    return (*band.members[position + 1 :], *below)


def _above(tree: Tree, label: str) -> tuple[BandMember, ...] | None:
    if isinstance(tree, Band) and tree.label == label:
        return ()
    own = tree.members if isinstance(tree, Band) else ()
    for child in children(tree):
        found = _above(child, label)
        if found is not None:
            return (*own, *found)
    return None


def refuse_kinds(
    step: str, loops: Iterable[BandMember], kinds: tuple[LoopKind, ...], where: str, hint: str
) -> None:
    """Raise `ScheduleError` PO0336 where one of `loops` is of one of `kinds`."""
    for member in loops:
        if member.kind in kinds:
            what = "the grid" if member.kind is LoopKind.BLOCK else "the threads of a block"
            message = f"{step}: loop `{member.name}` {where} already runs across {what}"
            raise ScheduleError("PO0336", message, hint=hint)


def mapped_instead(
    refused: RefusedStep, names: tuple[str, ...], step: Callable[[tuple[str, ...]], Transform]
) -> Iterator[Repair]:
    """Yield the step for the parallel ones of the loops, and alternatives for the others."""
    if refused.violation.fault is not Fault.CONCURRENT:
        return
    label, positions = named_loops(refused.tree, names, str(step(names)))
    members = find_band(refused.tree, label).members
    bad = [p for p in positions if members[p].name == refused.violation.loop]
    rest = tuple(p for p in positions if p not in bad)
    for start in range(len(rest)):
        for end in range(len(rest), start, -1):
            chosen = rest[start:end]
            if chosen == tuple(range(chosen[0], chosen[0] + len(chosen))):
                fewer = tuple(name_of(refused.tree, label, p) for p in chosen)
                yield Repair(RepairKind.FEWER, (step(fewer),))
    loop = LoopRef(label, (bad or positions)[0])
    yield from marked_instead(refused, loop, lambda name: step((name,)))


MOST = 6
"""Loops whose iterations a grid has blocks for; more than three are counted along one dimension."""


@dataclass(frozen=True, slots=True)
class Grid(Written):
    """Run the loops across the blocks of a grid: blocks run in any order and share nothing.

    The last loop is the grid's fastest dimension.  The loops must carry no dependence.

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.tile import Tile
    >>> print(demo().apply(Tile("L0", (8, 32)), Grid(("L0.tile",))))
    for i_tile = floor(i/8):  [L0.tile[0]]  # block, permutable band
      for j_tile = floor(j/32):  [L0.tile[1]]  # block
        for i = i:  [L0.point[0]]  # carries no dependence, permutable band
          for j = j:  [L0.point[1]]  # carries no dependence
            S0: A1[i, j] = A0[i, j]
    """

    loops: tuple[str, ...]

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loops marked.

        Raises `ScheduleError` PO0301, PO0302, PO0303, PO0304, PO0336.
        """
        label, positions = named_loops(tree, self.loops, str(self))
        if len(positions) > MOST:
            raise ScheduleError(
                "PO0303",
                f"{self}: a grid has at most {MOST} loops, {len(positions)} were given",
                hint=f"name at most {MOST} loops; the others run inside a block",
            )
        outer = around(tree, label, positions[0])
        inner = loops_inside(tree, label, positions[-1])
        hint = "a nest has one grid: name all its loops in one step, before `threads`"
        refuse_kinds(str(self), outer, MAPPED, "around it", hint)
        refuse_kinds(str(self), inner, (LoopKind.BLOCK,), "inside it", hint)
        return marked(tree, label, positions, LoopKind.BLOCK)

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        yield from mapped_instead(refused, self.loops, Grid)


@dataclass(frozen=True, slots=True)
class Threads(Written):
    """Distribute the loops' iterations to the threads of a block.

    Neighbouring iterations of the last loop go to neighbouring threads.  The loops must carry no
    dependence; one thread runs their body.  Every nest inside the grid may be distributed in its
    own way; barriers separate nests that need one.

    >>> from polyopt.schedule.demo import demo
    >>> from polyopt.transforms.tile import Tile
    >>> tiled = demo().apply(Tile("L0", (8, 32)), Grid(("L0.tile",)))
    >>> print(tiled.apply(Threads(("L0.point",))))
    for i_tile = floor(i/8):  [L0.tile[0]]  # block, permutable band
      for j_tile = floor(j/32):  [L0.tile[1]]  # block
        for i = i:  [L0.point[0]]  # thread, permutable band
          for j = j:  [L0.point[1]]  # thread
            S0: A1[i, j] = A0[i, j]
    """

    loops: tuple[str, ...]

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loops marked.

        Raises `ScheduleError` PO0301, PO0302, PO0304, PO0336.
        """
        label, positions = named_loops(tree, self.loops, str(self))
        outer = around(tree, label, positions[0])
        inner = loops_inside(tree, label, positions[-1])
        hint = "loops across threads are neighbours in one band: name them in one step"
        refuse_kinds(str(self), outer, (LoopKind.THREAD,), "around it", hint)
        refuse_kinds(str(self), inner, MAPPED, "inside it", hint)
        return marked(tree, label, positions, LoopKind.THREAD)

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        yield from mapped_instead(refused, self.loops, Threads)
