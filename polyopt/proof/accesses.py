"""Compute the accesses of a part's instances to the storage that the loops use.

In: the source's statements, the runs that execute them, the storage of their accesses.
Out: relations instance -> element.  A read of a copy counts as a read of the copied element, once
the copy was shown to hold it.  Refuses (`Unproven`): copies of uncertain contents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import Binary, BinaryOp, Expr, Iter, Load, Symbol, integer, loads, substitute
from polyopt.ir.identity import is_exact
from polyopt.ir.scop import Access, AccessKind, Statement
from polyopt.proof.affine import Frame, NotAffine
from polyopt.proof.certificate import Unclaimable
from polyopt.proof.coordinates import over_instance
from polyopt.proof.instances import PlacedRun
from polyopt.proof.reading import Run, RunTree
from polyopt.proof.source import SourcePart
from polyopt.proof.values import Match, MovedAccess


class Unproven(Unclaimable):
    """A fact about `subject` could not be established."""


@dataclass(frozen=True, eq=False)
class InstanceAccess:
    """One access of all instances of a statement, in the loops' storage.

    `accumulates`: a name shared by commutative updates of one element, "" for all other accesses.
    """

    statement: Statement
    access: Access
    relation: isl.Map
    is_moved: bool
    accumulates: str

    @property
    def writes(self) -> bool:
        """Whether it is a write."""
        return self.access.kind is not AccessKind.READ


@dataclass(frozen=True, eq=False)
class Tagged:
    """A run, the statement whose instances it executes, and the storage of its accesses."""

    placed: PlacedRun
    statement: Statement
    match: Match

    @property
    def run(self) -> Run:
        """The run."""
        return self.placed.run


def instance_accesses(
    part: SourcePart, nest: RunTree, runs: tuple[Tagged, ...]
) -> tuple[InstanceAccess, ...]:
    """Return every access of every statement; raises `Unproven`."""
    copies = Copies(part, nest)
    _check_own(part, nest)
    by_statement: dict[str, list[Tagged]] = {}
    for tagged in runs:
        by_statement.setdefault(tagged.statement.name, []).append(tagged)
    copies.join(_homes_of(part, copies, by_statement))
    found = []
    for statement in part.statements:
        mine = by_statement.get(statement.name, [])
        for tagged in mine:
            _check_known(statement, tagged)
        reduces = _accumulator(statement)
        for access in (statement.write, *statement.reads):
            if access.array in part.unordered:
                continue
            own = reduces if (access.array, access.index) == _cell(statement) else ""
            found.append(_touch(part, copies, statement, access, mine, accumulates=own))
    return tuple(found)


def _check_own(part: SourcePart, nest: RunTree) -> None:
    """Check that runs that are not instances of the source write only copies of their own."""
    runs = nest.runs()
    results = {_name(run.target) for run in runs if run.statement}
    for run in runs:
        name = _name(run.target)
        if run.statement or run.is_declaration or name in part.unordered:
            continue
        if name not in nest.homes or name in results:
            raise Unproven(name, "it is written by a copy that the source does not have")
    for name in nest.homes:
        if part.array(name) is not None and not part.is_temporary(name):
            raise Unproven(name, "it is declared anew, which loses what it held")


def _accumulator(statement: Statement) -> str:
    """Return a name shared by the updates that commute with those of `statement`, or ""."""
    op = _exact_update(statement)
    if op is not None:
        return f"{statement.target.array} {op.value}"
    return statement.name if statement.is_reassociable else ""


def _exact_update(statement: Statement) -> BinaryOp | None:
    """Return the operation of an exactly commutative update.

    Operands may be other elements of the array: those are reads like any others.
    """
    guard = () if statement.guard is None else loads(statement.guard)
    if any(load.array == statement.target.array for load in guard):
        return None
    target, value = statement.target, statement.value
    if not isinstance(value, Binary) or target not in (value.left, value.right):
        return None
    if value.dtype is not target.dtype or not is_exact(value.op, target.dtype):
        return None
    same = [a for a in statement.reads if a.array == target.array]
    others = [a for a in same if a.index != target.index]
    if len(same) - len(others) != 1:
        return None
    is_apart = all(a.relation.is_disjoint(statement.write.relation) for a in others)
    return value.op if is_apart else None


def _cell(statement: Statement) -> tuple[str, tuple[Expr, ...]]:
    return (statement.target.array, statement.target.index)


def _homes_of(
    part: SourcePart, copies: Copies, runs: Mapping[str, list[Tagged]]
) -> dict[str, set[str]]:
    """Return the storage, declared by the loops, of each array of the source."""
    found: dict[str, set[str]] = {}
    for statement in part.statements:
        for access in (statement.write, *statement.reads):
            places = (_place(copies, tagged, access) for tagged in runs.get(statement.name, ()))
            names = {_name(place) for place in places if place and not copies.is_copy(place)}
            found.setdefault(access.array, set()).update(names)
    return found


def _place(copies: Copies, tagged: Tagged, access: Access) -> Load | Symbol | None:
    """Return the storage of a run's access, or None when it is the source's element."""
    moved = _new_place(tagged, access)
    if moved is not None:
        return moved.place
    if copies.homes.get(access.array):
        return own_element(tagged.run, tagged.statement, access)
    return None


def _touch(
    part: SourcePart,
    copies: Copies,
    statement: Statement,
    access: Access,
    runs: list[Tagged],
    *,
    accumulates: str,
) -> InstanceAccess:
    original = access.relation.intersect_params(part.scop.context)
    relocated: list[tuple[Tagged, Load | Symbol]] = []
    for tagged in runs:
        place = _place(copies, tagged, access)
        if place is None:
            continue
        if access.kind is AccessKind.READ and copies.is_copy(place):
            copies.check(tagged.run, place, original)
        else:
            relocated.append((tagged, place))
    if not relocated:
        return InstanceAccess(statement, access, original, False, accumulates)
    if len(relocated) != len(runs):
        raise Unproven(access.array, f"{statement.name} keeps it in several places")
    relation = _at_one_place(copies, relocated)
    if relation is None:
        relation = _at_places(copies, access, relocated)
    domain = part.domain(statement)
    return InstanceAccess(statement, access, relation.intersect_domain(domain), True, accumulates)


def _check_known(statement: Statement, tagged: Tagged) -> None:
    """Check that a run's reads of other storage are among the reads of its statement."""
    own = {(access.array, access.index) for access in statement.reads}
    for moved in tagged.match.reads:
        if (moved.load.array, moved.load.index) not in own:
            raise Unproven(moved.load.array, f"{statement.name} has no such read")


def _at_one_place(copies: Copies, found: list[tuple[Tagged, Load | Symbol]]) -> isl.Map | None:
    """Return instance -> place if it is one function of the instance for all runs."""
    indices = [copies.index(tagged, place) for tagged, place in found]
    for index, _ in Counter(index for index in indices if index is not None).most_common():
        try:
            relation = found[0][0].placed.quotients.element(*index)
        except NotAffine:
            continue
        others = [f for f, own in zip(found, indices, strict=True) if own != index]
        if all(_is_at(copies, tagged.run, place, relation) for tagged, place in others):
            return relation
    return None


def _is_at(copies: Copies, run: Run, place: Load | Symbol, relation: isl.Map) -> bool:
    here = copies.location(run, place)
    if here.dim(isl.dim_type.out) != relation.dim(isl.dim_type.out):
        return False
    return bool(run.back.apply_range(here).is_subset(relation))


def _at_places(
    copies: Copies, access: Access, found: list[tuple[Tagged, Load | Symbol]]
) -> isl.Map:
    kept: isl.Map | None = None
    for tagged, place in found:
        run = tagged.run
        piece = run.back.apply_range(copies.location(run, place))
        if kept is not None and not piece.get_space().is_equal(kept.get_space()):
            raise Unproven(access.array, f"{tagged.statement.name} keeps it in several places")
        kept = piece if kept is None else kept.union(piece)
    assert kept is not None
    return coalesced(kept)


def _new_place(tagged: Tagged, access: Access) -> MovedAccess | None:
    """Return the new storage of a run's access, or None when it is the source's element."""
    if access.kind is not AccessKind.READ:
        return tagged.match.target
    for moved in tagged.match.reads:
        if (moved.load.array, moved.load.index) == (access.array, access.index):
            return moved
    return None


def own_element(run: Run, statement: Statement, access: Access) -> Load:
    """Return the element of an access, over the iterators of the run: of its iteration's array."""
    values: dict[str, Expr] = dict(zip(statement.iters, run.instance, strict=True))
    index = tuple(substitute(part, values) for part in access.index)
    return Load(access.array, index, statement.target.dtype)


class Copies:
    """The storage that holds only copies, and its contents."""

    def __init__(self, part: SourcePart, nest: RunTree) -> None:
        self.part = part
        self.homes: Mapping[str, int] = nest.homes
        self.runs = nest.runs()
        self.writers: dict[str, list[Run]] = {}
        self.several: dict[str, tuple[str, int]] = {}
        for run in self.runs:
            self.writers.setdefault(_name(run.target), []).append(run)

    def join(self, homes: Mapping[str, set[str]]) -> None:
        """Add the storages that hold one array of the source: they are numbered.

        `homes` maps each array of the source to storage declared by the loops.
        """
        for array, own in homes.items():
            declared = own & set(self.homes)
            if len(declared) > 1 and declared.isdisjoint(self.several):
                ranked = enumerate(sorted(declared))
                self.several |= {name: (f"{array}:", number) for number, name in ranked}

    def named(self, name: str) -> tuple[str, tuple[Expr, ...]]:
        """Return the name of storage, and its number if it is one of several."""
        family, number = self.several.get(name, (name, None))
        return family, () if number is None else (integer(number),)

    def is_copy(self, place: Load | Symbol) -> bool:
        """Tell whether only copies are written into a storage."""
        runs = self.writers.get(_name(place), [])
        return bool(runs) and not any(run.statement for run in runs)

    def index(self, tagged: Tagged, place: Load | Symbol) -> tuple[str, tuple[Expr, ...]] | None:
        """Return a place by its name and its index over the instance, if that is known."""
        run, known = tagged.run, tagged.placed.known
        name = _name(place)
        outer = [Iter(loop.iter) for loop in run.path.loops[: self.homes.get(name, 0)]]
        names = set(run.path.frame.dims)
        found = []
        for part in (*outer, *(place.index if isinstance(place, Load) else ())):
            value = over_instance(part, known, names)
            if value is None:
                return None
            found.append(value)
        family, number = self.named(name)
        return family, (*number, *found)

    def location(self, run: Run, place: Load | Symbol) -> isl.Map:
        """Return `{ [iterators] -> place }`; declared storage is new in every iteration."""
        frame: Frame = run.path.frame
        name, number = self.named(_name(place))
        index = place.index if isinstance(place, Load) else ()
        around = (Iter(dim) for dim in frame.dims[: self.homes.get(_name(place), 0)])
        result = frame.map_to(name, (*number, *around, *index))
        return result.intersect_domain(run.path.domain)

    def check(self, run: Run, place: Load | Symbol, original: isl.Map) -> None:
        """Check that what `run` reads at `place` is a copy of the element it should read."""
        name = _name(place)
        depth = self.homes.get(name)
        if depth is None:
            raise Unproven(name, "copies are kept outside the loops")
        read = self.location(run, place)
        holds: isl.Map | None = None
        for copy in self.writers[name]:
            if not isinstance(copy.value, Load):
                raise Unproven(name, "what is kept in it is no copy")
            if copy.path.data:
                raise Unproven(name, "it is filled under a condition on data")
            if not _comes_before(copy, run, depth):
                raise Unproven(name, "it is filled after it is read, or again while it is")
            self._check_unwritten(copy, depth)
            source = copy.path.frame.map_to(copy.value.array, copy.value.index)
            filled = (
                self.location(copy, copy.target)
                .reverse()
                .apply_range(source.intersect_domain(copy.path.domain))
            )
            if holds is not None and not filled.get_space().is_equal(holds.get_space()):
                raise Unproven(name, "it is filled from several arrays")
            holds = filled if holds is None else holds.union(filled)
        assert holds is not None
        if not read.range().is_subset(holds.domain()):
            raise Unproven(name, "an element is read that no copy filled")
        through = run.back.apply_range(read).apply_range(holds)
        wanted = original.intersect_domain(run.executed)
        if not through.is_equal(wanted):
            raise Unproven(name, "it holds another element than the source reads")

    def _check_unwritten(self, copy: Run, depth: int) -> None:
        """Check that nothing writes the copied element in the iteration of the copy."""
        assert isinstance(copy.value, Load)
        around = copy.path.loops[:depth]
        copied: isl.Map | None = None
        for run in self.runs:
            inside = all(a is b for a, b in zip(run.path.loops, around, strict=False))
            if (
                not inside
                or not isinstance(run.target, Load)
                or _name(run.target) != copy.value.array
            ):
                continue
            if len(run.path.loops) >= depth:
                copied = _elements(copy, copy.value, depth) if copied is None else copied
                if copied.is_disjoint(_elements(run, run.target, depth)):
                    continue
            raise Unproven(copy.value.array, "it is written where a copy of it is in use")


def _elements(run: Run, place: Load, depth: int) -> isl.Map:
    """Return `{ [iterators of the outer loops] -> element }`."""
    found = run.path.frame.map_to(place.array, place.index).intersect_domain(run.path.domain)
    return found.project_out(isl.dim_type.in_, depth, found.dim(isl.dim_type.in_) - depth)


def _comes_before(first: Run, second: Run, depth: int) -> bool:
    """Tell whether `first` ends before `second` starts, in one iteration of `depth` loops."""
    one, two = first.path.loops, second.path.loops
    together = len(one) > depth and len(two) > depth and one[depth] is two[depth]
    return first.number < second.number and not together


def _name(place: Load | Symbol) -> str:
    return place.array if isinstance(place, Load) else place.name
