"""One call on the ranks: phases in order, with what crosses ranks between them.

In: phases and their exchanges, kernels of the phases, a transport, the rank's arrays.
Out: the arrays, changed in place; the bytes that were sent.
Phases in two parts: what runs while messages are on their way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import islpy as isl
import numpy as np

from polyopt.dataclass import dataclass, field
from polyopt.distribution import collectives
from polyopt.distribution.collectives import Condition, Pieces, ScanPieces, moved
from polyopt.distribution.exchange import Exchange, Exchanges, Transfer
from polyopt.distribution.forms import Form
from polyopt.distribution.local import Storage
from polyopt.distribution.mesh import Mesh, Sign
from polyopt.distribution.ownership import ends_of
from polyopt.distribution.phases import Phase, Phases, Step, Together
from polyopt.distribution.placement import Rule
from polyopt.distribution.transport import Transport
from polyopt.ir.affine import coalesced
from polyopt.never import assert_never
from polyopt.schedule.dependences import dependences_of

Arrays: TypeAlias = "dict[str, np.ndarray[Any, Any]]"
RunPhase: TypeAlias = "Callable[[Phase, str, Arrays, Mapping[str, int]], None]"
"""Runs a part of a phase: "all" of it, or what is "inner" or "outer" beside messages."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What all ranks do, for any number of them; pieces of transfers are remembered.

    `domains` and `context` are those of ranks, if they have several blocks and a certain number.
    """

    exchanges: Exchanges
    storage: Storage
    listed: tuple[Exchange, ...]
    domains: Mapping[str, isl.Set] | None = None
    context: isl.Set | None = None

    @property
    def known(self) -> isl.Set:
        """What is known of sizes and blocks."""
        return self.exchanges.own.context if self.context is None else self.context

    @cached_property
    def splits(self) -> dict[Phase, Split]:
        """The phases of which a part runs while messages are on their way."""
        found = {e.phase: split(self.exchanges.phases, e) for e in self.listed}
        return {phase: parts for phase, parts in found.items() if parts is not None}

    def parts(self, phase: Phase) -> dict[str, Mapping[str, isl.Set]]:
        """Return the instances of each part of a phase that has a kernel of its own."""
        found = self.splits.get(phase)
        if found is None:
            domains = self.exchanges.phases.placement.domains
            return {"all": domains if self.domains is None else self.domains}
        return {"inner": found.inner, "outer": found.outer}

    @cached_property
    def of_phase(self) -> dict[Phase, Exchange]:
        """The exchange of each phase."""
        return {exchange.phase: exchange for exchange in self.listed}

    @cached_property
    def pieces(self) -> dict[tuple[int, bool, Sign], Pieces]:
        """The pieces of each transfer, sent or received, by how the other rank lies."""
        found: dict[tuple[int, bool, Sign], Pieces] = {}
        for exchange in self.listed:
            for transfer in exchange.transfers:
                for sent, sets in ((False, transfer.received), (True, transfer.sent)):
                    for sign, one in sets.items():
                        found[id(transfer), sent, sign] = Pieces(one)
        return found

    @cached_property
    def scans(self) -> dict[int, ScanPieces]:
        """The pieces of each scan."""
        return {
            id(one): ScanPieces(one.scan)
            for exchange in self.listed
            for one in exchange.combinations
            if one.scan is not None
        }

    @cached_property
    def conditions(self) -> dict[int, Condition]:
        """When each all-gather or all-to-all is called: at the same sizes and places by all."""
        names = tuple(name for b in self.exchanges.own.blocks for name in b.names)
        return {
            id(transfer): Condition(transfer.received.values(), names)
            for exchange in self.listed
            for transfer in exchange.transfers
            if transfer.form in (Form.ALL_GATHER, Form.ALL_TO_ALL)
        }

    @cached_property
    def bounds(self) -> dict[tuple[str, ...], isl.Set]:
        """The places of each loop that all ranks run, by its statements and its parameter."""
        return dict(self._bounds(self.exchanges.phases.steps))

    def _bounds(self, steps: Sequence[Step]) -> list[tuple[tuple[str, ...], isl.Set]]:
        phases, found = self.exchanges.phases, []
        for step in steps:
            if not isinstance(step, Together):
                continue
            whole: isl.Set | None = None
            for statement in map(phases.scop.statement, step.statements):
                places = phases.around(statement, step.depth + 1).range()
                whole = places if whole is None else whole.union(places)
            assert whole is not None
            found.append(((*step.statements, step.param), coalesced(whole)))
            found += self._bounds(step.body)
        return found


@dataclass(eq=False)
class Run:
    """One call on one rank; `values` are sizes, blocks and places, `sent` counts bytes by form."""

    plan: Plan
    mesh: Mesh
    transport: Transport
    sizes: Mapping[str, int]
    arrays: Arrays
    run_phase: RunPhase
    sent: Counter[str] = field(default_factory=Counter)
    messages: int = 0

    def __post_init__(self) -> None:
        self.values = {**self.sizes, **self.blocks_of(self.transport.rank)}
        self.tag = 0
        self.others = {
            rank: self.mesh.sign(self.transport.rank, rank)
            for rank in range(self.transport.size)
            if rank != self.transport.rank
        }
        self.other_values = {
            rank: {
                b.other_low if end == 0 else b.other_high: bounds[end]
                for b, bounds in self.bounds_of(rank)
                for end in (0, 1)
            }
            for rank in self.others
        }
        own = self.plan.exchanges.own
        self.declared = {array.name: array for array in own.scop.arrays}
        self.starts = {
            name: self.plan.storage.starts(array, self.values)
            for name, array in self.declared.items()
        }

    def bounds_of(self, rank: int) -> list[tuple[Any, tuple[int, int]]]:
        """Return the values of the two parameters of each block of a rank."""
        return [
            (b, ends_of(b, self.mesh, rank, self.sizes)) for b in self.plan.exchanges.own.blocks
        ]

    def blocks_of(self, rank: int) -> dict[str, int]:
        """Return the values of a rank's own blocks."""
        found: dict[str, int] = {}
        for b, (low, high) in self.bounds_of(rank):
            found |= {b.low: low, b.high: high}
        return found

    def __call__(self) -> None:
        """Run all phases."""
        self._steps(self.plan.exchanges.phases.steps)

    def _steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            match step:
                case Phase():
                    self._phase(step)
                case Together():
                    low, high = self._places(step)
                    for place in range(low, high):
                        self.values[step.param] = place
                        self._steps(step.body)
                case _:
                    assert_never(step)

    def _places(self, step: Together) -> tuple[int, int]:
        """Return the places of a loop at this place of those around it."""
        key = (*step.statements, step.param)
        bounds = self.plan.bounds[key]
        around = self.plan.exchanges.phases.params[: step.depth]
        for depth, name in enumerate(around):
            bounds = bounds.fix_val(isl.dim_type.set, depth, isl.Val(self.values[name]))
        for position, name in enumerate(self.plan.exchanges.own.params):
            value = isl.Val(self.sizes.get(name, 0))  # nothing is said of blocks
            bounds = bounds.fix_val(isl.dim_type.param, position, value)
        if bounds.is_empty():
            return 0, 0
        low, high = (
            int(value.to_python())
            for value in (bounds.dim_min_val(step.depth), bounds.dim_max_val(step.depth))
        )
        return low, high + 1

    def _phase(self, phase: Phase) -> None:
        exchange = self.plan.of_phase[phase]
        early = [t for t in exchange.transfers if not t.late]
        wait = self._begin([t for t in early if t.form in (Form.HALO, Form.MESSAGES)])
        if phase in self.plan.splits:
            self.run_phase(phase, "inner", self.arrays, self.values)
            wait()
            self.run_phase(phase, "outer", self.arrays, self.values)
            return
        wait()
        for transfer in early:
            match transfer.form:
                case Form.ALL_GATHER:
                    collectives.gather_all(self, transfer)
                case Form.BROADCAST:
                    collectives.broadcast(self, transfer)
                case Form.ALL_TO_ALL:
                    collectives.all_to_all(self, transfer)
                case _:
                    pass
        late = [t for t in exchange.transfers if t.late]
        self._begin(late, receive_only=True)()
        complete = [collectives.begin(self, one) for one in exchange.combinations]
        self.run_phase(phase, "all", self.arrays, self.values)
        self._begin(late, send_only=True)()
        for act in complete:
            act()

    def _begin(
        self, transfers: Sequence[Transfer], *, receive_only: bool = False, send_only: bool = False
    ) -> Callable[[], None]:
        """Begin to send and receive one message for each rank that has a part in it.

        Returns what waits for those that come, and puts their elements into place.
        """
        if not transfers:
            return lambda: None
        sends, counts = {}, {}
        coming: dict[int, list[tuple[str, Any]]] = {}
        for rank, sign in self.others.items():
            values = {**self.values, **self.other_values[rank]}
            if not receive_only:
                leaving = self.listed(transfers, True, sign, values)
                if leaving:
                    parts = [self.packed(array, index) for array, index in leaving]
                    sends[rank] = parts[0] if len(parts) == 1 else np.concatenate(parts)
            if not send_only:
                coming[rank] = self.listed(transfers, False, sign, values)
                if coming[rank]:
                    counts[rank] = sum(self.size(array, index) for array, index in coming[rank])
        name = "pipeline" if transfers[0].late else "messages"
        self.sent[name] += sum(message.size for message in sends.values())
        self.messages += len(sends)
        arriving = self.transport.begin(self._tag(transfers), sends, counts)

        def wait() -> None:
            for rank, message in arriving().items():
                self.unpack(coming[rank], message)

        return wait

    def unpack(self, pieces: Sequence[tuple[str, Any]], message: Any) -> None:  # noqa: ANN401
        """Put the elements of a message into this rank's memory."""
        place = 0
        for array, index in pieces:
            part = self.arrays[array][index]
            size = part.size * part.dtype.itemsize
            values = message[place : place + size].view(part.dtype)
            self.arrays[array][index] = values.reshape(part.shape)
            place += size

    def _tag(self, transfers: Sequence[Transfer]) -> int:
        """Return what tells messages of a pipeline from those before it."""
        return int(transfers[0].late)

    def listed(
        self, transfers: Sequence[Transfer], sent: bool, sign: Sign, values: Mapping[str, int]
    ) -> list[tuple[str, Any]]:
        """Return the pieces of this rank's memory that cross."""
        found = []
        for transfer in transfers:
            pieces = self.plan.pieces.get((id(transfer), sent, sign))
            if pieces is None:
                continue
            for index in pieces.at(values)[0]:
                found.append((transfer.array, moved(index, self.starts[transfer.array])))
        return found

    def packed(self, array: str, index: Any) -> Any:  # noqa: ANN401
        """Return a copy: the phase may write to the array while the message is on its way."""
        return self.arrays[array][index].flatten().view(np.uint8)

    def size(self, array: str, index: Any) -> int:  # noqa: ANN401
        part = self.arrays[array][index]
        return int(part.size * part.dtype.itemsize)


Domains = Mapping[str, isl.Set]


@dataclass(frozen=True, eq=False)
class Split:
    """The instances that read nothing that arrives, and the others, by statement."""

    inner: Domains
    outer: Domains


def split(phases: Phases, exchange: Exchange) -> Split | None:
    """Return the parts of a phase between halo exchanges, None where it runs as a whole.

    Phases that run once are not worth a second kernel.  The inner part runs first: no instance of
    it may depend on one of the outer part.
    """
    phase, placement = exchange.phase, phases.placement
    early = [t for t in exchange.transfers if not t.late]
    own = all(placement.rules[name] is Rule.OWNER for name in phase.statements)
    if not (early and own and phase.depth and not phase.after and not exchange.combinations):
        return None
    if any(transfer.form is not Form.HALO for transfer in early):
        return None
    outer = {name: _reading(phases, name) for name in phase.statements}
    inner = {
        name: coalesced(placement.domains[name].subtract(outer[name])) for name in phase.statements
    }
    found = Split(inner, outer)
    return found if is_legal(phases, exchange, found) else None


def _reading(phases: Phases, name: str) -> isl.Set:
    """Return the instances that read elements that this rank does not own."""
    placement, own = phases.placement, phases.placement.own
    statement, domain = phases.scop.statement(name), phases.placement.domains[name]
    found = domain.subtract(domain)
    for access in statement.reads:
        if access.array in own.cuts:
            owned = own.owned(phases.scop.array(access.array))
            relation = placement.relation(access).intersect_domain(domain)
            found = found.union(relation.subtract_range(owned).domain())
    return coalesced(found)


def is_legal(phases: Phases, exchange: Exchange, parts: Split) -> bool:
    """Tell whether the parts are the phase, and the first needs neither messages nor the other."""
    phase, space = exchange.phase, phases.placement.own.context.get_space()
    for name in phase.statements:
        whole = parts.inner[name].union(parts.outer[name])
        if not whole.is_equal(phases.placement.domains[name]):
            return False
        if not parts.inner[name].is_disjoint(parts.outer[name]):
            return False
        if not parts.inner[name].is_disjoint(_reading(phases, name)):
            return False
    for one in dependences_of(phases.scop).among(phase.statements):
        pairs = isl.Map.align_params(one.relation, space)
        pairs = pairs.intersect_domain(parts.outer[one.source])
        pairs = pairs.intersect_range(parts.inner[one.target])
        around = [
            phases.around(phases.scop.statement(n), phase.depth) for n in (one.source, one.target)
        ]
        if not pairs.intersect(around[0].apply_range(around[1].reverse())).is_empty():
            return False
    return True
