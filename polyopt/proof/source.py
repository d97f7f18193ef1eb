"""Read the source program for the proof: its statements, their order, their accesses.

In: a Scop of the front end.  Out: `SourcePart`.  A statement whose value the loops recompute at its
uses is substituted into its readers, after a check that its value is the same there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Expr, Iter, Load, substitute
from polyopt.ir.parameters import joined, maps_of
from polyopt.ir.scop import Access, AccessKind, Array, Role, Scop, Statement


@dataclass(frozen=True, eq=False)
class SourcePart:
    """The statements that must run, and the constraints on sizes."""

    scop: Scop
    statements: tuple[Statement, ...]
    is_temporary: Callable[[str], bool]

    @cached_property
    def by_name(self) -> dict[str, Statement]:
        """The statements by their names."""
        return {s.name: s for s in self.statements}

    def in_order(self, pairs: isl.UnionMap) -> isl.UnionMap:
        """Return the pairs of instances whose first one runs before the second in the source."""
        return self._clock.in_order(pairs)

    @cached_property
    def _clock(self) -> Clock:
        order = joined(
            isl.UnionMap.empty(self.scop.context.get_space()),
            (
                isl.UnionMap.from_map(part.intersect_domain(self.domain(self.by_name[name])))
                for part in maps_of(self.scop.order)
                if (name := part.get_tuple_name(isl.dim_type.in_)) in self.by_name
            ),
        )
        return Clock(order)

    @cached_property
    def unordered(self) -> frozenset[str]:
        """Arrays whose writes all store the same value and that nothing reads."""
        return frozenset(a.name for a in self.scop.arrays if a.role is Role.FAULT)

    def domain(self, statement: Statement) -> isl.Set:
        """Return the instances of a statement at valid sizes."""
        return statement.domain.intersect_params(self.scop.context)

    def array(self, name: str) -> Array | None:
        """Return the array called `name`, if the part has it."""
        return next((a for a in self.scop.arrays if a.name == name), None)


class NotForwarded(Exception):
    """The value of a statement that does not run differs from its readers' recomputation."""

    def __init__(self, statement: Statement, reason: str) -> None:
        super().__init__(f"{statement.name}: {reason}")
        self.statement = statement
        self.reason = reason


def source_part(
    scop: Scop, running: frozenset[str], is_temporary: Callable[[str], bool]
) -> SourcePart:
    """Return the part in which only statements in `running` need to run.

    `is_temporary` tells arrays that are undefined before the part and dead after it.  Raises
    `NotForwarded` when another statement has instances whose value may be needed.
    """
    statements = _without_dead(scop, running, is_temporary)
    for statement in tuple(statements):
        if statement.name in running:
            continue
        current = next(s for s in statements if s.name == statement.name)
        if current.domain.intersect_params(scop.context).is_empty():
            statements.remove(current)
            continue
        statements = _forwarded(scop, statements, current, is_temporary)
    return SourcePart(scop, tuple(statements), is_temporary)


def _without_dead(
    scop: Scop, running: frozenset[str], is_temporary: Callable[[str], bool]
) -> list[Statement]:
    """Return the statements without those that do not run and whose values nothing reads."""
    statements = list(scop.statements)
    for statement in reversed(scop.statements):
        if statement.name not in running and is_temporary(statement.target.array):
            others = [s for s in statements if s is not statement]
            if _is_dead(scop, statement, others):
                statements = others
    return statements


def _is_dead(scop: Scop, writer: Statement, others: list[Statement]) -> bool:
    """Tell whether every read of the array in `others` comes after another write of its element.

    The values of a single writer that has readers count as read.
    """
    name = writer.target.array
    reads = [access for s in others for access in s.reads if access.array == name]
    writes = [s.write for s in others if s.write.array == name]
    if not reads:
        return True
    if not writes:
        return False
    certain = [w for w in writes if w.kind is AccessKind.MUST_WRITE and w.exact]
    mine = union_of(scop, [writer.write])
    flow = producers(scop, union_of(scop, reads), union_of(scop, certain), mine)
    return bool(flow.intersect_domain(mine.domain()).is_empty())


def _forwarded(
    scop: Scop,
    statements: list[Statement],
    writer: Statement,
    is_temporary: Callable[[str], bool],
) -> list[Statement]:
    name = writer.target.array
    others = [s for s in statements if s is not writer]
    readers = [s for s in others if any(a.array == name for a in s.reads)]
    if not is_temporary(name):
        raise NotForwarded(writer, f"{name} outlives the part")
    if any(s.target.array == name for s in others) or writer.guard is not None:
        raise NotForwarded(writer, f"{name} is written in several ways")
    if any(a.array == name for a in writer.reads):
        raise NotForwarded(writer, f"it reads {name} itself")
    depth = len(writer.iters)
    for reader in readers:
        _check_reader(scop, others, writer, reader, depth)
    return [_with_value(s, writer, depth) if s in readers else s for s in others]


def _with_value(reader: Statement, writer: Statement, depth: int) -> Statement:
    names = dict(zip(writer.iters, map(Iter, reader.iters[:depth]), strict=True))
    value = substitute(writer.value, dict(names))

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array == writer.target.array:
            return value
        return None

    return reader.rewritten(rule)


def _check_reader(
    scop: Scop, others: list[Statement], writer: Statement, reader: Statement, depth: int
) -> None:
    """Check that the reader uses the writer's value of the same iteration, unchanged."""
    if len(reader.iters) < depth:
        raise NotForwarded(writer, f"{reader.name} lies in fewer loops")
    name = writer.target.array
    mine = [a for a in reader.reads if a.array == name]
    read = union_of(scop, mine)
    flow = producers(scop, read, union_of(scop, [writer.write]), None)
    if not read.domain().is_subset(flow.range()):
        raise NotForwarded(writer, f"{reader.name} may read {name} before it is written")
    same = isl.UnionMap.from_map(_same_iteration(writer, reader, depth))
    if not flow.is_subset(same):
        raise NotForwarded(writer, f"{reader.name} reads another iteration's {name}")
    for access in writer.reads:
        writes = [s.write for s in others if s.write.array == access.array]
        if not writes:
            continue
        touching = union_of(scop, [access]).apply_range(union_of(scop, writes).reverse())
        later = _ordered(scop, touching)  # writer -> a write of what it read, later
        between = _ordered(scop, later.reverse().apply_range(flow))
        if not between.is_empty():
            raise NotForwarded(writer, f"{access.array} changes before {reader.name}")


def _same_iteration(writer: Statement, reader: Statement, depth: int) -> isl.Map:
    space = writer.domain.get_space().map_from_domain_and_range(reader.domain.get_space())
    result = isl.Map.universe(space)
    for position in range(depth):
        result = result.equate(isl.dim_type.in_, position, isl.dim_type.out, position)
    return result


def _ordered(scop: Scop, pairs: isl.UnionMap) -> isl.UnionMap:
    return Clock(_times_of(scop, pairs, pairs.reverse())).in_order(pairs)


def _times_of(scop: Scop, *relations: isl.UnionMap) -> isl.UnionMap:
    """Return instance -> time, at valid sizes, of the statements in the relations' domains."""
    parts = (one for relation in relations for one in maps_of(relation))
    names = {str(one.get_tuple_name(isl.dim_type.in_)) for one in parts}
    return scop.order_of(names).intersect_params(scop.context)


def union_of(scop: Scop, accesses: Iterable[Access]) -> isl.UnionMap:
    """Return instance -> element, of all `accesses` at valid sizes."""
    inside = (access.relation.intersect_params(scop.context) for access in accesses)
    return joined(isl.UnionMap.empty(scop.context.get_space()), map(isl.UnionMap.from_map, inside))


def producers(
    scop: Scop, sink: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap | None
) -> isl.UnionMap:
    """Return last write -> read in the source's order."""
    others = [] if may is None else [may]
    return producers_in(_times_of(scop, sink, must, *others), sink, must, may)


def producers_in(
    times: isl.UnionMap, sink: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap | None
) -> isl.UnionMap:
    """Return last write -> read in the order of `times`, by isl's analysis (Feautrier, 1991).

    For remainders, or several writers, the definition is computed instead, since isl's analysis may
    fail or miss writers.  Reads after a single final write per element need neither.
    """
    if may is None:
        known, sink = _of_last_writers(times, sink, must)
        if sink.is_empty():
            return known
        return known.union(_analysed(times, sink, must, may))
    return _analysed(times, sink, must, may)


def _of_last_writers(
    times: isl.UnionMap, sink: isl.UnionMap, must: isl.UnionMap
) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return last write -> read for a statement that writes last of all, and the other reads.

    It writes each of these elements once.
    """
    when = {str(one.get_tuple_name(isl.dim_type.in_)): one for one in maps_of(times)}
    found = left = sink.empty(sink.get_space())
    sources = maps_of(must)
    last = [source for source in sources if _is_after(when, sources, source)]
    for read in maps_of(sink):
        one = isl.UnionMap.from_map(read)
        writer = None
        if len(last) == 1 and _is_after(when, last, read) and read.is_single_valued():
            whole = isl.UnionMap.from_map(last[0]).intersect_domain(times.domain())
            reached = one.intersect_domain(times.domain()).apply_range(whole.reverse())
            if reached.is_single_valued() and one.domain().is_subset(reached.domain()):
                writer = reached.reverse()
        if writer is None:
            left = left.union(one)
        else:
            found = found.union(writer)
    return found, left


def _is_after(when: dict[str, isl.Map], others: list[isl.Map], one: isl.Map) -> bool:
    """Tell whether all instances of `one` have later times than all of the `others`."""
    name = str(one.get_tuple_name(isl.dim_type.in_))
    names = [str(other.get_tuple_name(isl.dim_type.in_)) for other in others if other is not one]
    known = all(other in when for other in (name, *names))
    return known and all(_known_order(when[other], when[name]) for other in names)


def _analysed(
    times: isl.UnionMap, sink: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap | None
) -> isl.UnionMap:
    """Return last write -> read by isl's analysis, or by definition.

    isl orders several writers by cases, which multiply; the definition does not.
    """
    if must.n_map() > 1 or _has_remainders(times, sink, must, may):
        return _by_definition(times, sink, must, may)
    info = isl.UnionAccessInfo.from_sink(sink).set_must_source(must)
    if may is not None:
        info = info.set_may_source(may)
    try:
        return info.set_schedule_map(times).compute_flow().get_may_dependence()
    except isl.Error as error:
        if "maximal number of operations" in str(error):
            raise
        return _by_definition(times, sink, must, may)


def _has_remainders(*values: isl.UnionMap | None) -> bool:
    parts: list[isl.BasicMap] = []
    for value in values:
        for piece in () if value is None else maps_of(value):
            piece.foreach_basic_map(parts.append)
    return any(part.dim(isl.dim_type.div) for part in parts)


def _by_definition(
    times: isl.UnionMap, sink: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap | None
) -> isl.UnionMap:
    """Return last write -> read as the definition says it.

    A read for which an iteration of a loop around it always writes first is compared with the
    writes of that iteration alone: those before the iteration are hidden.
    """
    clock = Clock(times)
    known: dict[int, isl.UnionMap] = {}
    reads: dict[int, list[isl.UnionMap]] = {}
    for read in maps_of(sink.intersect_domain(times.domain())):
        one = isl.UnionMap.from_map(read)
        for depth in _loops_around(times, read):
            if depth == 0:
                break
            if depth not in known:
                known[depth] = _in_iteration(times, depth, must)
            mine = _in_iteration(times, depth, one)
            last = clock.in_order(known[depth].apply_range(mine.reverse()))
            if one.domain().is_subset(last.range()):
                break
        reads.setdefault(depth, []).append(one)
    found = sink.empty(sink.get_space())
    for depth, ones in reads.items():
        inside = [joined(found, ones), must] if may is None else [joined(found, ones), must, may]
        found = found.union(_last(clock, *(_in_iteration(times, depth, part) for part in inside)))
    return found


def _last(
    clock: Clock, sink: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap | None = None
) -> isl.UnionMap:
    """Return last write -> read."""
    sources = must if may is None else must.union(may)
    pairs = clock.in_order(sources.apply_range(sink.reverse()))
    hidden = clock.in_order(sources.apply_range(must.reverse()))
    last = pairs if may is None else clock.in_order(must.apply_range(sink.reverse()))
    return pairs.subtract(hidden.apply_range(last))


def _loops_around(times: isl.UnionMap, read: isl.Map) -> Iterator[int]:
    """Yield how many components of the time the iterations of loops have in common, 0 last.

    The loops are those around the statement `read` reads in, the innermost first.
    """
    name = read.get_tuple_name(isl.dim_type.in_)
    own = [one for one in maps_of(times) if one.get_tuple_name(isl.dim_type.in_) == name]
    if len(own) == 1 and read.is_single_valued():
        (time,) = own
        for position in reversed(range(time.dim(isl.dim_type.out))):
            if time.plain_get_val_if_fixed(isl.dim_type.out, position).is_nan():
                yield position + 1
    yield 0


def _in_iteration(times: isl.UnionMap, depth: int, accesses: isl.UnionMap) -> isl.UnionMap:
    """Return instance -> [first `depth` components of its time -> element]."""
    if depth == 0:
        return accesses
    out = isl.dim_type.out
    found = accesses.empty(accesses.get_space())
    for time in maps_of(times.intersect_domain(accesses.domain())):
        count = time.dim(out)
        if count >= depth:
            start = isl.UnionMap.from_map(time.project_out(out, depth, count - depth))
            found = found.union(start.range_product(accesses))
    return found


class AccessOrders:
    """Which instances of two Scops access an element one after the other, at sizes of the new."""

    def __init__(self, before: Scop, after: Scop) -> None:
        self._after = after
        orders = {id(s): s.order.intersect_params(s.context) for s in (before, after)}
        self._clocks = {key: Clock(order) for key, order in orders.items()}

    def pairs(self, scop: Scop, first: Iterable[Access], second: Iterable[Access]) -> isl.UnionMap:
        """Return the pairs of instances of one of the Scops."""
        one, two = union_of(self._after, first), union_of(self._after, second)
        return self._clocks[id(scop)].in_order(one.apply_range(two.reverse()))


class Clock:
    """Compares times of instances, memoized for each two tuples."""

    def __init__(self, times: isl.UnionMap) -> None:
        known = {str(one.get_tuple_name(isl.dim_type.in_)): one for one in maps_of(times)}
        self._domains = {name: one.domain() for name, one in known.items()}
        self._known = {name: one.gist_domain(self._domains[name]) for name, one in known.items()}
        self._compared: dict[tuple[str, str], isl.Map | bool] = {}

    def in_order(self, pairs: isl.UnionMap) -> isl.UnionMap:
        """Return the pairs whose first instance has a smaller time."""
        found: list[isl.UnionMap] = []
        for part in maps_of(pairs):
            first = str(part.get_tuple_name(isl.dim_type.in_))
            second = str(part.get_tuple_name(isl.dim_type.out))
            if first not in self._known or second not in self._known:
                continue
            before = self._before(first, second)
            if before is False:
                continue
            kept = part.intersect_domain(self._domains[first])
            kept = kept.intersect_range(self._domains[second])
            if isinstance(before, isl.Map):
                kept = kept.intersect(before)
            found.append(isl.UnionMap.from_map(kept))
        return joined(pairs.empty(pairs.get_space()), found)

    def has_pair(self, one: isl.UnionMap, two: isl.UnionMap) -> bool:
        """Tell whether `one`, then `two`, leads from an instance to one with a larger time.

        Instances that are in another order always are not followed.
        """
        steps: dict[str, list[isl.Map]] = {}
        for step in maps_of(two):
            steps.setdefault(str(step.get_tuple_name(isl.dim_type.in_)), []).append(step)
        for part in maps_of(one):
            first = str(part.get_tuple_name(isl.dim_type.in_))
            for step in steps.get(str(part.get_tuple_name(isl.dim_type.out)), ()):
                second = str(step.get_tuple_name(isl.dim_type.out))
                if first not in self._known or second not in self._known:
                    continue
                if self._before(first, second) is False:
                    continue
                pairs = part.apply_range(step)
                if pairs.is_empty():
                    continue
                if not self.in_order(isl.UnionMap.from_map(pairs)).is_empty():
                    return True
        return False

    def _before(self, first: str, second: str) -> isl.Map | bool:
        """Return the pairs of instances in order; True: all of them, False: none.

        Compares only components that may differ: neither those equal for both tuples, nor those
        after the first two different constants.
        """
        if (first, second) not in self._compared:
            self._compared[first, second] = self._compare(first, second)
        return self._compared[first, second]

    def _compare(self, first: str, second: str) -> isl.Map | bool:
        one, two = self._known[first], self._known[second]
        out = isl.dim_type.out
        length = min(one.dim(out), two.dim(out))
        last: bool | None = None
        same = []
        for position in range(length):
            a = one.plain_get_val_if_fixed(out, position)
            b = two.plain_get_val_if_fixed(out, position)
            if a.is_nan() or b.is_nan():
                continue
            same.append(position)
            if not a.eq(b):
                last, length = bool(a.lt(b)), position
                break
        if last is not None and len(same) == length + 1:
            return last
        for position in reversed(range(one.dim(out))):
            if position >= length or position in same:
                one, two = (f.project_out(out, position, 1) for f in (one, two))
        return one.lex_le_map(two) if last else one.lex_lt_map(two)


def _known_order(first: isl.Map, second: isl.Map) -> bool | None:
    """Tell whether all times of `first` are before, or after, those of `second`; None: unknown."""
    out = isl.dim_type.out
    for position in range(min(first.dim(out), second.dim(out))):
        one = first.plain_get_val_if_fixed(out, position)
        two = second.plain_get_val_if_fixed(out, position)
        if one.is_nan() or two.is_nan():
            return None
        if not one.eq(two):
            return bool(one.lt(two))
    return None
