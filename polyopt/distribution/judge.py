"""The judge of plans: claims that together say that ranks compute what one process does.

In: a plan.  Out: claims, each proven by isl for all sizes and ranks, or why not.
It derives nothing from how the plan was made: it compares what each rank runs with the statements,
and each read of another rank's element with the transfers between its last write and the read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.distribution.exchange import Transfer
from polyopt.distribution.execution import Plan, is_legal
from polyopt.distribution.forms import Form, differing, is_of_one, is_whole, silent
from polyopt.distribution.judge_instances import InstanceJudge
from polyopt.distribution.mesh import Sign
from polyopt.distribution.phases import Phase, time_of, together_in
from polyopt.distribution.placement import Rule, named
from polyopt.errors import InternalError
from polyopt.ir.affine import coalesced, sample_point, time_map
from polyopt.ir.expr import integer
from polyopt.ir.integers import evaluate
from polyopt.ir.parameters import without_params
from polyopt.ir.scop import Statement
from polyopt.schedule.dependences import dependences_of

EARLY, WRITE, LATE, READ = range(4)
"""What happens in a phase, in this order."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What was to be proven, and why it does not hold; "" where it does."""

    name: str
    failure: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is proven."""
        return not self.failure


def require(plan: Plan, name: str) -> tuple[Claim, ...]:
    """Return the claims, all proven; raises `InternalError` PO0856."""
    claims = judge(plan)
    for claim in claims:
        if not claim.holds:
            raise InternalError(
                "PO0856",
                f"the plan of `{name}` for several ranks is not proven ({claim.name}): "
                f"{claim.failure}",
            )
    return claims


def judge(plan: Plan) -> tuple[Claim, ...]:
    """Return the claims about a plan."""
    return tuple(claims_of(plan))


def claims_of(plan: Plan) -> Iterator[Claim]:
    """Yield the claims about a plan, each one judged when it is asked for."""
    judged = _Judge(plan)
    checks: list[tuple[str, Callable[[], Iterator[str]]]] = [
        ("blocks", judged.blocks),
        ("instances", judged.instances),
        ("values", judged.values),
        ("messages", judged.messages),
        ("collectives", judged.collectives),
        ("order", judged.order),
    ]
    for name, check in checks:
        yield Claim(name, next(check(), ""))


class _Judge(InstanceJudge):
    """Each method yields what does not hold."""

    def blocks(self) -> Iterator[str]:
        """Blocks follow one another from 0 to the extent: by induction over the ranks.

        Block r ends `whole` or `whole` + 1 indices after its start, where the next one starts.
        `parts` times `whole` and the longer ones make up the extent by the definition of division.
        """
        step = isl.Set.read_from_str(
            isl.DEFAULT_CONTEXT,
            "[start, whole, longer, rank, i] -> { [] : whole >= 0 and start >= 0 and rank >= 0 }",
        )
        first = "start <= i < start + whole + 1 and rank < longer or "
        first += "start <= i < start + whole and rank >= longer"
        end = "(rank < longer and e = start + whole + 1 or rank >= longer and e = start + whole)"
        later = f"exists e : {end} and i >= e"
        sets = [
            step.intersect(
                isl.Set.read_from_str(
                    isl.DEFAULT_CONTEXT, f"[start, whole, longer, rank, i] -> {{ [] : {text} }}"
                )
            )
            for text in (first, later, "i >= start")
        ]
        block, after, all_left = sets
        if not block.is_disjoint(after):
            yield "a block overlaps those after it"
        if not block.union(after).is_equal(all_left):
            yield "an index lies between a block and those after it"
        for size in {b.size for b in self.own.blocks if b.size is not None}:
            # block v belongs to one rank, v mod P; it begins at v * size
            owner = isl.Map.read_from_str(
                isl.DEFAULT_CONTEXT,
                f"{{ [i] -> [v] : {size} v <= i < {size} v + {size} and v >= 0 }}",
            )
            every = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, "{ [i] : i >= 0 }")
            if not owner.is_single_valued() or not owner.domain().is_equal(every):
                yield "an index lies in no block, or in several"

    def values(self) -> Iterator[str]:
        """Each element of another rank arrives after its last write and before it is read."""
        for array in self.own.cuts:
            for sign in self.own.signs_of(array):
                arrivals = self._arrivals(array, sign)
                for wanted, text in self._wanted(array, sign):
                    if not self._arrives(wanted, arrivals):
                        yield text
                yield from self._kept(array, sign)

    def _wanted(self, array: str, sign: Sign) -> Iterator[tuple[isl.Set, str]]:
        """Yield [last write, read, element] for reads of elements of the other rank."""
        apart = self.own.apart(sign)
        others = self.own.swapped(self.own.owned(self.scop.array(array))).intersect_params(apart)
        flows = list(named(dependences_of(self.scop).direct_flow))
        for reader in self.scop.statements:
            mine = self.placement.domains[reader.name].intersect_params(apart)
            for access in reader.reads:
                if access.array != array:
                    continue
                elements = self.placement.relation(access).intersect_domain(mine)
                elements = elements.intersect_range(others)
                elements = elements.subtract(self._begun(reader, array, elements))
                if elements.is_empty():
                    continue
                text = f"{reader.name} reads elements of `{array}` that do not arrive in time"
                first = elements
                for source, sink, pairs in flows:
                    writer = self.scop.statement(source)
                    if sink != reader.name or writer.target.array != array:
                        continue
                    pairs = isl.Map.align_params(pairs, self.space)
                    written = pairs.reverse().apply_range(self.placement.relation(writer.write))
                    both = written.intersect(elements)
                    if both.is_empty():
                        continue
                    first = first.subtract(both)
                    pairs = self._of_others(source, pairs.intersect_range(both.domain()))
                    if not pairs.is_empty():
                        yield self._triples(writer, reader, pairs, elements), text
                if not first.is_empty():
                    yield self._pairs(reader, first), text

    def _of_others(self, source: str, pairs: isl.Map) -> isl.Map:
        """Return the pairs whose writes are not this rank's, too: what it computes, it has."""
        if not self.placement.rules[source].is_combined:
            pairs = pairs.subtract_domain(self.placement.domains[source])
        return coalesced(pairs)

    def _begun(self, reader: Statement, array: str, elements: isl.Map) -> isl.Map:
        """Return the elements that begin with the neutral one, as `instances` proves."""
        rule = self.placement.rules[reader.name]
        if reader.target.array == array and rule is Rule.PARTIAL:
            return elements
        if reader.target.array == array and rule is Rule.SCAN:
            return self.plan.exchanges.passed_on(self.phase_of[reader.name], reader)
        return elements.subtract(elements)

    def _time(self, statement: Statement, event: int) -> isl.Map:
        times = (*time_of(statement, self.phase_of[statement.name]),)
        padded = (*times, *[integer(0)] * (self.length - 1 - len(times)), integer(event))
        found = time_map(statement.domain, padded, self.length)
        return isl.Map.align_params(found, self.space)

    def _triples(
        self, writer: Statement, reader: Statement, pairs: isl.Map, elements: isl.Map
    ) -> isl.Set:
        """Return [time of a write, time of a read, element]."""
        wrapped = pairs.wrap()
        source = pairs.domain_map().apply_range(self._time(writer, WRITE))
        target = pairs.range_map().apply_range(self._time(reader, READ))
        written = pairs.domain_map().apply_range(self.placement.relation(writer.write))
        read = pairs.range_map().apply_range(elements)
        both = source.flat_range_product(target).flat_range_product(written.intersect(read))
        return both.intersect_domain(wrapped).range().reset_tuple_id()

    def _pairs(self, reader: Statement, elements: isl.Map) -> isl.Set:
        """Return [before all times, time of a read, element] for what nobody has written."""
        domain = elements.domain()
        begin = [integer(-1)] * self.length
        start = isl.Map.align_params(time_map(domain, begin, self.length), self.space)
        whole = start.flat_range_product(self._time(reader, READ)).flat_range_product(elements)
        return whole.range().reset_tuple_id()

    def _arrivals(self, array: str, sign: Sign) -> isl.Set | None:
        """Return [time, element] of all transfers from a rank that lies so."""
        found: isl.Set | None = None
        for exchange in self.plan.listed:
            for transfer in exchange.transfers:
                if transfer.array == array and sign in transfer.received:
                    one = self._arrival(exchange.phase, transfer, transfer.received[sign])
                    found = one if found is None else found.union(one)
        return found

    def _arrival(self, phase: Phase, transfer: Transfer, elements: isl.Set) -> isl.Set:
        order = self.scop.statement(phase.statements[0]).order
        event = LATE if transfer.late else EARLY
        count = self.length
        whole = elements.insert_dims(isl.dim_type.set, 0, count).reset_tuple_id()
        for position in range(count):
            value: int | None = 0
            if position == count - 1:
                value = event
            elif position == 2 * phase.depth:
                value = phase.position
            elif position < 2 * phase.depth:
                value = None if position % 2 else evaluate(order[position], {})
            if value is not None:
                whole = whole.fix_val(isl.dim_type.set, position, isl.Val(value))
                continue
            name = self.phases.params[position // 2]
            param = whole.find_dim_by_name(isl.dim_type.param, name)
            whole = whole.equate(isl.dim_type.param, param, isl.dim_type.set, position)
        whole = without_params(whole, self.phases.params[: phase.depth])
        return coalesced(isl.Set.align_params(whole, self.space))

    def _arrives(self, wanted: isl.Set, arrivals: isl.Set | None) -> bool:
        """Tell whether between each write and read the element arrives."""
        if wanted.is_empty():
            return True
        if arrivals is None:
            return False
        count, kind = self.length, isl.dim_type.set
        # [write, read, arrival, element]
        whole = wanted.insert_dims(kind, 2 * count, count)
        arriving = arrivals.insert_dims(kind, 0, 2 * count)
        whole = whole.intersect(arriving)
        early = self._before(whole, 0, 2 * count)
        late = self._before(whole, 2 * count, count)
        found = whole.intersect(early).intersect(late).project_out(kind, 2 * count, count)
        return bool(wanted.is_subset(found))

    def _before(self, like: isl.Set, first: int, second: int) -> isl.Set:
        """Return where the time at one place is less than that at another place."""
        local = isl.LocalSpace.from_space(like.get_space())
        result = isl.Set.empty(like.get_space())
        equal = isl.Set.universe(like.get_space())
        for position in range(self.length):
            a, b = (
                isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, at + position))
                for at in (first, second)
            )
            result = result.union(equal.intersect(a.lt_set(b)))
            equal = equal.intersect(a.eq_set(b))
        return result

    def _kept(self, array: str, sign: Sign) -> Iterator[str]:
        """What a pipeline sends after a phase has not changed since it was to be read."""
        apart, late = self.own.apart(sign), []
        for exchange in self.plan.listed:
            late += [
                (exchange.phase, t) for t in exchange.transfers
                if t.late and t.array == array and sign in t.received
            ]  # fmt: skip
        for phase, transfer in late:
            if sign not in phase.after:
                yield f"`{array}` comes from a rank that does not run before this one"
            elements = self._arrival(phase, transfer, transfer.received[sign])
            elements = elements.project_out(isl.dim_type.set, 0, self.length)
            statements = list(map(self.scop.statement, phase.statements))
            for reader in statements:
                for access in reader.reads:
                    if access.array != array:
                        continue
                    mine = self.placement.domains[reader.name].intersect_params(apart)
                    touched = self.placement.relation(access).intersect_domain(mine)
                    touched = touched.reset_tuple_id(isl.dim_type.out).intersect_range(elements)
                    for writer in statements:
                        if writer.target.array == array and self._overwrites(
                            reader, writer, touched, phase
                        ):
                            yield f"{writer.name} writes `{array}` after {reader.name} reads it"

    def _overwrites(
        self, reader: Statement, writer: Statement, touched: isl.Map, phase: Phase
    ) -> bool:
        """Tell whether the other rank writes an element later in the phase than it is read."""
        write = self.placement.relation(writer.write)
        write = write.intersect_domain(self.placement.of_other[writer.name])
        pairs = touched.apply_range(write.reset_tuple_id(isl.dim_type.out).reverse())
        length = self.length - 1
        first, second = (isl.Map.align_params(s.time(length), self.space) for s in (reader, writer))
        around = self.phases.around(reader, phase.depth)
        same = around.apply_range(self.phases.around(writer, phase.depth).reverse())
        return not pairs.intersect(first.lex_lt_map(second)).intersect(same).is_empty()

    def messages(self) -> Iterator[str]:
        """Every message that is sent is received, with the same elements."""
        for exchange in self.plan.listed:
            for transfer in exchange.transfers:
                turned = {tuple(-s for s in sign): sign for sign in transfer.received}
                if turned.keys() != transfer.sent.keys():
                    yield f"`{transfer.array}` is sent to other ranks than receive it"
                    continue
                for sign, one in transfer.sent.items():
                    received = transfer.received[turned[sign]]
                    if not self.own.swapped(one).is_equal(received):
                        yield f"other elements of `{transfer.array}` are sent than received"
                    owner = self.own.owned(self.scop.array(transfer.array))
                    owner = isl.Set.align_params(owner, one.get_space())
                    if not one.is_subset(owner):
                        yield f"a rank sends elements of `{transfer.array}` that it does not own"

    def collectives(self) -> Iterator[str]:
        """What all ranks call does not depend on the rank."""
        for exchange in self.plan.listed:
            for transfer in exchange.transfers:
                if transfer.form not in (Form.HALO, Form.MESSAGES):
                    yield from self._is_common(transfer)
        yield from self._loops()

    def _is_common(self, transfer: Transfer) -> Iterator[str]:
        if transfer.late:
            yield f"a collective of `{transfer.array}` within a pipeline"
        if transfer.form is Form.ALL_TO_ALL:
            for condition in silent(self.own, transfer.received):
                yield f"`{transfer.array}` is a collective only for ranks with {condition}"
            if self.own.mesh_axes != 1:
                yield f"an all-to-all of `{transfer.array}` on a grid of ranks"
            return
        for condition in differing(self.own, transfer.received):
            yield f"`{transfer.array}` is a collective only for ranks with {condition}"
        if transfer.form is Form.BROADCAST and not is_of_one(
            self.own, transfer.array, transfer.received.values()
        ):
            yield f"several ranks have what is broadcast of `{transfer.array}`"
        whole = is_whole(self.own, transfer.array, transfer.received)
        if transfer.form is Form.ALL_GATHER and not whole:
            yield f"an all-gather of `{transfer.array}` is of parts of blocks"

    def _loops(self) -> Iterator[str]:
        """All ranks run the same iterations of loops around phases: all that statements have."""
        for step in together_in(self.phases.steps):
            bounds = self.plan.bounds.get((*step.statements, step.param))
            if bounds is None:
                yield f"a loop around {step.statements[0]} has no bounds"
                continue
            for name in step.statements:
                places = self.phases.around(self.scop.statement(name), step.depth + 1).range()
                if not places.is_subset(bounds):
                    yield f"a loop around {name} leaves out iterations"
            for block in (n for b in self.own.blocks for n in b.names):
                position = bounds.find_dim_by_name(isl.dim_type.param, block)
                if bounds.involves_dims(isl.dim_type.param, position, 1):
                    point = sample_point(bounds)
                    yield f"how often a loop around {name} runs depends on the rank, as at {point}"

    def order(self) -> Iterator[str]:
        """Phases follow the source; ranks of a pipeline wait in one direction."""
        if tuple(e.phase for e in self.plan.listed) != self.phases.phases:
            yield "phases are not in the order of the source"
        covered = [name for phase in self.phases.phases for name in phase.statements]
        if sorted(covered) != sorted(s.name for s in self.scop.statements):
            yield "a statement is in no phase, or in several"
        none = (0,) * self.own.mesh_axes
        for phase in self.phases.phases:
            before, after = (
                all(sign < none for sign in phase.after), all(sign > none for sign in phase.after)
            )  # fmt: skip
            if not before and not after:
                yield "ranks of a pipeline wait for each other"
        for exchange in self.plan.listed:
            parts = self.plan.splits.get(exchange.phase)
            if parts is not None and not is_legal(self.phases, exchange, parts):
                yield "what runs beside messages needs them"
