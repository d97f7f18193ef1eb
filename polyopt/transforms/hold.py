"""Hold: let nests read copies of an array that they write, made before the nests.

In: an array, nests.  Out: copies before each nest, one array for each read; the nest reads these,
and writes the array itself.
Refuses: nests inside one another, an array of which a nest reads only the elements that it writes,
an unbounded footprint.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import Expr, Load, rewrite
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Access, AccessKind, Array, Origin, Scop, Statement
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.dataflow import within
from polyopt.schedule.tree import Tree, bands, find_band, resolve
from polyopt.transforms.accesses import find_array, refuse_found, touching
from polyopt.transforms.local import Local, touched_by
from polyopt.transforms.region import NewNest, Region, enter_nest, place_nests_around
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Hold(DataStep, Written):
    """Copy the elements of `array` that each of the nests `bands` reads directly before the nest.

    Except for elements that an iteration reads and writes itself.  Each read has an array of its
    own, `A_held`, with cells for each iteration of the loops around, so that the nest may run later
    than statements that change `A` in between (Feautrier, "Array expansion", 1988).  The copying
    nests are called `A_hold`.

    >>> from polyopt.schedule.demo import demo
    >>> print(demo().apply(Hold("A0", ("L0",))))
    for A00 = A00:  [A0_hold[0]]  # carries no dependence, permutable band
      for A01 = A01:  [A0_hold[1]]  # carries no dependence
        A0_hold: A0_held[A00, A01] = A0[A00, A01]
    for i = i:  [L0[0]]  # carries no dependence, permutable band
      for j = j:  [L0[1]]  # carries no dependence
        S0: A1[i, j] = A0[i, j]
    """

    array: str
    bands: tuple[str, ...]

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program; raises `ScheduleError` PO0301, PO0303, PO0331, PO0332."""
        array = find_array(scop, self.array, str(self))
        same: dict[str, Origin] = {}
        copies: frozenset[str] = frozenset()
        verified: frozenset[str] = frozenset({array.name})
        for label in self._apart(tree):
            region = enter_nest(scop, tree, label, touching(scop, self.array))
            refuse_found(map(region.scop.statement, region.values), array.name, str(self))
            held = _read_copies(region, array, str(self))
            if not held.copies:
                raise ScheduleError(
                    "PO0331",
                    f"{self}: {label} reads nothing of {array.name} but what it writes there",
                    hint="name an array of which iterations read other elements than they write",
                )
            inside = held.scop
            tree = place_nests_around(replace(region, scop=inside), held.nests, ())
            scop = replace(inside, statements=(*held.copies, *inside.statements))
            same |= region.same
            copies |= {copy.name for copy in held.copies}
            own = {copy.target.array for copy in held.copies}
            verified = verified | own if verified and held.is_verified else frozenset()
        return RewrittenProgram(scop, tree, same, copies, verified)

    def _apart(self, tree: Tree) -> list[str]:
        """Return the nests' labels; raises `ScheduleError` PO0301, PO0303."""
        labels = [resolve(tree, name).label for name in self.bands]
        for label in labels:
            below = {band.label for band in bands(find_band(tree, label).child)}
            if not labels or labels.count(label) > 1 or not below.isdisjoint(labels):
                raise ScheduleError(
                    "PO0303",
                    f"{self}: {label} is named twice, or has another of the nests inside",
                    hint="name nests that are apart from each other",
                )
        return labels


@dataclass(frozen=True, eq=False)
class _ReadCopies:
    """Copies for a nest, their loops, and the Scop in which the nest reads them.

    `is_verified`: the nest does not write copied elements in the same iteration of the loops
    around; nothing else runs between a copy and its read.
    """

    scop: Scop
    copies: tuple[Statement, ...]
    nests: tuple[NewNest, ...]
    is_verified: bool


def _read_copies(region: Region, array: Array, step: str) -> _ReadCopies:
    """Return the copies of a nest's reads of an array."""
    inside = region.scop
    written = _written(region, array.name)
    copies: list[Statement] = []
    nests: list[NewNest] = []
    is_verified = True
    for name, read in _reads(region, array.name):
        here = replace(region, scop=inside)
        touched = region.map_loops(name).reverse().apply_range(within(region.scop, read))
        is_verified = is_verified and (written is None or bool(touched.is_disjoint(written)))
        local = Local.around(here, array, touched, f"{array.name}_held", step, is_nested=True)
        inside = _reading(local, name, read)
        own = next(r for r in inside.statement(name).reads if r.array == local.array.name)
        cells = coalesced(within(inside, own).range())
        taken = [s.name for s in (*inside.statements, *copies)]
        copies.append(local.copy(fresh_name(f"{array.name}_hold", taken), cells, out=False))
        nests.append(local.nest(copies[-1]))
    return _ReadCopies(inside, tuple(copies), tuple(nests), is_verified)


def _reads(region: Region, array: str) -> Iterator[tuple[str, Access]]:
    """Yield the distinct reads of each statement of elements other than its target."""
    for name in region.values:
        statement = region.scop.statement(name)
        target = statement.target
        seen = {target.index} if target.array == array else set()
        for read in statement.reads:
            if read.array == array and read.index not in seen:
                seen.add(read.index)
                yield name, read


def _written(region: Region, array: str) -> isl.Map | None:
    """Return { values of the loops around -> element that the nest writes }, or None."""
    found: isl.Map | None = None
    for access, touched in touched_by(region, array):
        if access.kind is not AccessKind.READ:
            found = touched if found is None else found.union(touched)
    return found


def _reading(local: Local, name: str, read: Access) -> Scop:
    """Return the Scop in which one statement reads the local array instead of `read`."""
    scop = local.region.scop
    statement = scop.statement(name)
    old = Load(read.array, read.index, local.source.dtype)
    new = local.cell(local.region.values[name], read.index)

    def rule(part: Expr) -> Expr | None:
        return new if part == old else None

    guard = None if statement.guard is None else rewrite(statement.guard, rule)
    index = tuple(rewrite(i, rule) for i in statement.target.index)
    target = replace(statement.target, index=index)
    value = rewrite(statement.value, rule)
    changed = replace(statement, target=target, value=value, guard=guard)
    statements = tuple(changed if s is statement else s for s in scop.statements)
    return replace(scop, arrays=(*scop.arrays, local.array), statements=statements)
