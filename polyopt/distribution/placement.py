"""Which arrays are cut, and which rank runs which instance of a statement.

In: a Scop, the arrays that somebody cut.  Out: cuts of more arrays, and each statement's instances
on this rank: those that write its elements (owner-computes); those of a sum whose operands it owns;
those whose temporary its other instances read; or all of them.
Recurrences along a cut axis: ranks begin anew, a scan completes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, unique
from functools import cached_property

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.distribution.mesh import Sign
from polyopt.distribution.ownership import Cut, Cuts, Ownership, between, moved_by
from polyopt.ir.affine import coalesced, condition_set, index_box, time_map
from polyopt.ir.array import Role
from polyopt.ir.expr import Binary, Iter, Load, add, integer, loads
from polyopt.ir.names import iterators
from polyopt.ir.parameters import maps_of
from polyopt.ir.scan import is_open, loop_of, parted
from polyopt.ir.scop import Access, Scop, Statement
from polyopt.schedule.dependences import dependences_of

ROUNDS = 8
"""How often temporaries that read temporaries are followed; after that, every rank runs all."""


@unique
class Rule(Enum):
    """Why a rank runs an instance."""

    OWNER = "owner computes"  # it owns the element that is written
    PARTIAL = "partial results"  # it owns the operand; results are combined
    NEEDED = "where it is read"  # one of its instances reads the temporary
    EVERYWHERE = "every rank"
    WIDENED = "owner computes, and neighbours what they need for some steps"
    SCAN = "owner computes, then adds what ranks before it have"  # of `a[i] = a[i - 1] op x`

    @property
    def is_combined(self) -> bool:
        """Whether a collective after the phase completes what ranks have computed."""
        return self in (Rule.PARTIAL, Rule.SCAN)


def with_inferred(scop: Scop, own: Ownership, kept: frozenset[str]) -> Cuts:
    """Return the cuts, and those of arrays that are written along the blocks of others.

    `kept` are arrays that each rank has whole.  What is inferred decides where is computed and
    what is sent, never what is right.
    """
    cuts: dict[str, tuple[Cut, ...]] = dict(own.cuts)
    written = {s.target.array for s in scop.statements} - kept
    accesses = [((s.target,), (loads(s.value))) for s in scop.statements]
    while True:
        new = None
        for follows in (0, 1):  # arrays written beside what is cut, then those read beside it
            for pair in accesses:
                new = new or _next_cut(own, cuts, written, pair[follows], pair[1 - follows])
            if new is not None:
                break
        if new is None:
            return cuts
        cuts[new[0]] = new[1]


def _next_cut(
    own: Ownership,
    cuts: Cuts,
    written: frozenset[str] | set[str],
    wanted: Sequence[Load],
    beside: Sequence[Load],
) -> tuple[str, tuple[Cut, ...]] | None:
    """Return the first array of `wanted` that can be cut like one of `beside`, and how."""
    for load in wanted:
        if load.array in cuts or load.array not in written or not load.index:
            continue
        found = _candidate(load, beside, cuts)
        if found and _is_inside(own, load.array, found):
            return load.array, found
    return None


def _candidate(load: Load, beside: Sequence[Load], cuts: Cuts) -> tuple[Cut, ...]:
    """Return cuts along the blocks of what stands beside an element, the nearest ones."""
    best: dict[int, Cut] = {}
    for other in beside:
        for cut in cuts.get(other.array, ()):
            at = moved_by(other.index[cut.axis])
            for axis, subscript in enumerate(load.index):
                own = moved_by(subscript)
                if at is None or own is None or at[0] != own[0]:
                    continue
                new = Cut(axis, cut.blocks, cut.shift + at[1] - own[1])
                known = best.get(cut.blocks.mesh_axis)
                if known is None or abs(new.shift) < abs(known.shift):
                    best[cut.blocks.mesh_axis] = new
    axes = [cut.axis for cut in best.values()]
    return tuple(best.values()) if len(set(axes)) == len(axes) else ()


def _is_inside(own: Ownership, name: str, cuts: tuple[Cut, ...]) -> bool:
    """Tell whether every element that matters has an owner: those written, of arguments all."""
    scop = own.scop
    array = scop.array(name)
    box = index_box(name, array.shape, own.params)
    if array.role is Role.TEMP:
        written = [s.write for s in scop.statements if s.target.array == name]
        elements = box.subtract(box)
        for access in written:
            elements = elements.union(
                isl.Map.align_params(access.relation, box.get_space()).range()
            )
        for position in range(len(array.shape)):
            elements = elements.set_dim_name(isl.dim_type.set, position, f"e{position}")
        box = elements
    for cut in cuts:
        place = add(Iter(f"e{cut.axis}"), integer(cut.shift))
        inside = between(integer(0), place, cut.blocks.extent)
        if not box.intersect_params(own.context).is_subset(condition_set(inside, box.get_space())):
            return False
    return True


@dataclass(frozen=True, eq=False)
class Placement:
    """The instances of this rank, by statement, and the rule for each."""

    own: Ownership
    rules: Mapping[str, Rule]
    domains: Mapping[str, isl.Set]

    @cached_property
    def of_other(self) -> Mapping[str, isl.Set]:
        """The instances of the other rank."""
        return {name: self.own.swapped(domain) for name, domain in self.domains.items()}

    def relation(self, access: Access) -> isl.Map:
        """Return an access of a statement, with the parameters of blocks."""
        space = self.own.context.get_space()
        return isl.Map.align_params(access.relation, space).intersect_params(self.own.context)


def place(own: Ownership) -> Placement:
    """Return where each statement runs."""
    scop, space = own.scop, own.context.get_space()
    rules: dict[str, Rule] = {}
    domains: dict[str, isl.Set] = {}
    combined = {
        s.target.array
        for s in scop.statements
        if s.target.array not in own.cuts and _operand(own, s) is not None
    }
    for statement in scop.statements:
        domain = isl.Set.align_params(statement.domain, space).intersect_params(own.context)
        operand = _operand(own, statement)
        if statement.target.array in own.cuts:
            rules[statement.name], domain = _of_owner(own, statement, domain)
        elif operand is not None:
            rules[statement.name] = Rule.PARTIAL
            domain = _touching(domain, operand, own)
        elif (
            scop.array(statement.target.array).role is Role.TEMP
            and statement.target.array not in combined  # each rank's partial results start there
        ):
            rules[statement.name] = Rule.NEEDED
        else:
            rules[statement.name] = Rule.EVERYWHERE
        domains[statement.name] = domain
    _settle_needed(own, rules, domains)
    return Placement(own, rules, domains)


def _touching(domain: isl.Set, access: Access, own: Ownership) -> isl.Set:
    """Return the instances whose access is to an element of this rank."""
    relation = isl.Map.align_params(access.relation, domain.get_space())
    owned = own.owned(own.scop.array(access.array))
    return coalesced(domain.intersect(relation.intersect_range(owned).domain()))


def _of_owner(own: Ownership, statement: Statement, domain: isl.Set) -> tuple[Rule, isl.Set]:
    """Return where a statement runs that writes an array that is cut.

    Terms of a sum are added by the owners of operands if owners of the sum lack some of them, and
    the owners of operands lack none: then partial results cross ranks, else operands do.
    """
    mine = _touching(domain, statement.write, own)
    if own.is_cyclic:
        return Rule.OWNER, mine
    if axis_of_scan(own, statement) is not None:
        return Rule.SCAN, mine
    if own.mesh_axes == 1 and not _has_operands(own, statement, mine):
        for operand in _operands(own, statement):
            terms = _touching(domain, operand, own)
            if _has_operands(own, statement, terms):
                return Rule.PARTIAL, terms
    return Rule.OWNER, mine


def _has_operands(own: Ownership, statement: Statement, domain: isl.Set) -> bool:
    """Tell whether a rank owns all that instances read, but for what they write."""
    for read in statement.reads:
        if read.array in own.cuts and read.array != statement.target.array:
            relation = isl.Map.align_params(read.relation, domain.get_space())
            owned = own.owned(own.scop.array(read.array))
            if not relation.intersect_domain(domain).range().is_subset(owned):
                return False
    return True


def _operand(own: Ownership, statement: Statement) -> Access | None:
    """Return the operand of a sum into an array that is not cut, whose owner adds its terms."""
    return next(_operands(own, statement), None)


def _operands(own: Ownership, statement: Statement) -> Iterator[Access]:
    """Yield the operands of a sum of which each term has one, and none is another such sum."""
    if not statement.is_reassociable or statement.guard is not None or reads_sums(statement):
        return
    inner = set(statement.iters)
    for index in statement.target.index:
        inner -= iterators(index)
    for read in statement.reads:
        cuts = own.cuts.get(read.array, ())
        everywhere = {cut.blocks.mesh_axis for cut in cuts} == set(range(own.mesh_axes))
        if not cuts or not everywhere or not read.exact:
            continue
        if all(iterators(read.index[cut.axis]) & inner for cut in cuts):
            yield read


def reads_sums(statement: Statement) -> bool:
    """Tell whether the terms of a sum read elements of the array that it is in."""
    target = statement.target
    return any(r.array == target.array and r.index != target.index for r in statement.reads)


def _settle_needed(own: Ownership, rules: dict[str, Rule], domains: dict[str, isl.Set]) -> None:
    """Restrict temporaries that each rank has to the instances that its other instances read."""
    scop, space = own.scop, own.context.get_space()
    asked = [s for s in reversed(scop.statements) if rules[s.name] is Rule.NEEDED]
    if not asked:
        return
    flow = dependences_of(scop).direct_flow
    edges = {(source, reader): pairs for source, reader, pairs in named(flow)}
    whole = {s.name: domains[s.name] for s in asked}
    for s in asked:
        domains[s.name] = whole[s.name].subtract(whole[s.name])
    for _ in range(ROUNDS):
        stable = True
        for s in asked:
            found = _read_instances(s, scop, edges, domains)
            if (s.name, s.name) in edges:
                writes = isl.Map.align_params(s.write.relation, space)
                cells = writes.intersect_domain(found).range()
                found = writes.intersect_range(cells).domain()
            found = coalesced(found.intersect(whole[s.name]))
            if not found.is_subset(domains[s.name]):
                domains[s.name], stable = found, False
        if stable:
            return
    for s in asked:
        rules[s.name], domains[s.name] = Rule.EVERYWHERE, whole[s.name]


def _read_instances(
    statement: Statement,
    scop: Scop,
    edges: Mapping[tuple[str, str], isl.Map],
    domains: Mapping[str, isl.Set],
) -> isl.Set:
    """Return the instances whose values this rank's instances of other statements read."""
    found = domains[statement.name]
    for reader in scop.statements:
        pairs = edges.get((statement.name, reader.name))
        if pairs is not None and reader is not statement:
            pairs = isl.Map.align_params(pairs, found.get_space())
            found = found.union(pairs.intersect_range(domains[reader.name]).domain())
    return found


def named(pairs: isl.UnionMap) -> Iterator[tuple[str, str, isl.Map]]:
    """Yield the maps of a union with the names of their tuples."""
    for one in maps_of(pairs):
        source = one.get_tuple_name(isl.dim_type.in_)
        yield str(source), str(one.get_tuple_name(isl.dim_type.out)), one


@dataclass(frozen=True, eq=False)
class Scanned:
    """The elements of a scan along `axis`: all that are `written`, and those of this rank.

    `begun`: elements of other ranks, by how they lie, for which this rank takes the neutral one.
    """

    axis: int
    written: isl.Set
    mine: isl.Set
    begun: Mapping[Sign, isl.Set]


def around(own: Ownership, statement: Statement, depth: int) -> isl.Map:
    """Return instance -> its place in the outer `depth` loops."""
    domain = isl.Set.align_params(statement.domain, own.context.get_space())
    places = statement.order[1 : 2 * depth : 2]
    return time_map(domain, places, depth) if places else isl.Map.from_domain(domain)


def axis_of_scan(own: Ownership, statement: Statement) -> int | None:
    """Return the cut axis that a recurrence runs upwards along, in a loop of its own.

    None for others, and where the order of its operations is part of the program.
    """
    cuts, name = own.cuts.get(statement.target.array, ()), loop_of(statement)
    if name is None or own.mesh_axes != 1 or not is_open(statement):
        return None
    (cut,) = cuts
    target, value = statement.target, statement.value
    assert isinstance(value, Binary)
    before = parted(target, value)[0]
    along = [axis for axis, index in enumerate(target.index) if name in iterators(index)]
    last, here = moved_by(before.index[cut.axis]), moved_by(target.index[cut.axis])
    if along != [cut.axis] or here is None or last != (name, here[1] - 1):
        return None
    depths = range(len(statement.order) // 2)
    depth = next((d for d in depths if _is_loop(statement, d, name)), None)
    if depth is None or _shares_loop(own, statement, depth):
        return None
    return cut.axis if is_complete(own, statement, cut.axis, depth) else None


def _is_loop(statement: Statement, depth: int, name: str) -> bool:
    one = statement.order[2 * depth + 1]
    return isinstance(one, Iter) and one.name == name


def _shares_loop(own: Ownership, statement: Statement, depth: int) -> bool:
    """Tell whether another statement is in the same loop."""
    place = statement.order[: 2 * depth + 1 : 2]
    return any(
        other is not statement and other.order[: 2 * depth + 1 : 2] == place
        for other in own.scop.statements
    )


def is_complete(own: Ownership, statement: Statement, axis: int, depth: int) -> bool:
    """Tell whether one iteration of the `depth` loops around writes each element of a box once."""
    place = around(own, statement, depth)
    write = isl.Map.align_params(statement.write.relation, place.get_space())
    write = write.intersect_params(own.context)
    again = write.apply_range(write.reverse()).intersect(place.apply_range(place.reverse()))
    if not again.is_subset(isl.Map.identity(again.get_space())):
        return False
    written = place.reverse().apply_range(write)
    kind, line = isl.dim_type.out, written
    for position in range(written.dim(kind)):
        if position != axis:
            line = line.eliminate(kind, position, 1)
    if not line.intersect(written.eliminate(kind, axis, 1)).is_subset(written):
        return False
    line = line.project_out(kind, axis + 1, written.dim(kind) - axis - 1)
    line = line.project_out(kind, 0, axis).reset_tuple_id(kind)
    space = line.range().get_space()
    up, down = isl.Map.lex_le(space), isl.Map.lex_ge(space)
    return bool(line.apply_range(up).intersect(line.apply_range(down)).is_subset(line))
