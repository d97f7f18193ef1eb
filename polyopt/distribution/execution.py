"""One call on the ranks: phases in order, with what crosses ranks between them.

In: phases and their exchanges, kernels of the phases, a transport, the rank's arrays.
Out: the arrays, changed in place; the bytes that were sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import islpy as isl
import numpy as np

from polyopt.dataclass import dataclass, field
from polyopt.distribution.exchange import Combination, Exchange, Exchanges, Transfer
from polyopt.distribution.forms import Form
from polyopt.distribution.local import Storage
from polyopt.distribution.mesh import Mesh, Sign, block
from polyopt.distribution.overlap import Split, split
from polyopt.distribution.phases import Phase, Step, Together
from polyopt.distribution.pieces import Condition, Pieces, moved
from polyopt.distribution.transport import Transport
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import BinaryOp
from polyopt.ir.identity import identity
from polyopt.ir.integers import evaluate
from polyopt.never import assert_never

Arrays: TypeAlias = "dict[str, np.ndarray[Any, Any]]"
RunPhase: TypeAlias = "Callable[[Phase, str, Arrays, Mapping[str, int]], None]"
"""Runs a part of a phase: "all" of it, or what is "inner" or "outer" beside messages."""

COMBINE: dict[BinaryOp, Callable[[Any, Any], Any]] = {
    BinaryOp.ADD: np.add,
    BinaryOp.MUL: np.multiply,
    BinaryOp.MIN: np.minimum,
    BinaryOp.MAX: np.maximum,
    BinaryOp.AND: np.bitwise_and,
    BinaryOp.OR: np.bitwise_or,
    BinaryOp.XOR: np.bitwise_xor,
}


@dataclass(frozen=True, eq=False)
class Plan:
    """What all ranks do, for any number of them; pieces of transfers are remembered."""

    exchanges: Exchanges
    storage: Storage
    listed: tuple[Exchange, ...]

    @cached_property
    def splits(self) -> dict[Phase, Split]:
        """The phases of which a part runs while messages are on their way."""
        found = {e.phase: split(self.exchanges.phases, e) for e in self.listed}
        return {phase: parts for phase, parts in found.items() if parts is not None}

    def parts(self, phase: Phase) -> dict[str, Mapping[str, isl.Set]]:
        """Return the instances of each part of a phase that has a kernel of its own."""
        found = self.splits.get(phase)
        if found is None:
            return {"all": self.exchanges.phases.placement.domains}
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
    def conditions(self) -> dict[int, Condition]:
        """When each all-gather is called: at the same sizes and places by all ranks."""
        names = tuple(name for b in self.exchanges.own.blocks for name in b.names)
        return {
            id(transfer): Condition(transfer.received.values(), names)
            for exchange in self.listed
            for transfer in exchange.transfers
            if transfer.form is Form.ALL_GATHER
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
        """Return the first index of each block of a rank, and the first one after it."""
        at = self.mesh.coordinates(rank)
        return [
            (
                b,
                block(
                    evaluate(b.extent, self.sizes), self.mesh.shape[b.mesh_axis], at[b.mesh_axis]
                ),
            )
            for b in self.plan.exchanges.own.blocks
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
                    self._gather_all(transfer)
                case Form.BROADCAST:
                    self._broadcast(transfer)
                case Form.HALO | Form.MESSAGES:
                    pass
                case _:
                    assert_never(transfer.form)
        late = [t for t in exchange.transfers if t.late]
        self._begin(late, receive_only=True)()
        before = self._begin_partial(exchange.combinations)
        self.run_phase(phase, "all", self.arrays, self.values)
        self._begin(late, send_only=True)()
        self._combine(exchange.combinations, before)

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
                leaving = self._listed(transfers, True, sign, values)
                if leaving:
                    parts = [self._packed(array, index) for array, index in leaving]
                    sends[rank] = parts[0] if len(parts) == 1 else np.concatenate(parts)
            if not send_only:
                coming[rank] = self._listed(transfers, False, sign, values)
                if coming[rank]:
                    counts[rank] = sum(self._size(array, index) for array, index in coming[rank])
        name = "pipeline" if transfers[0].late else "messages"
        self.sent[name] += sum(message.size for message in sends.values())
        self.messages += len(sends)
        arriving = self.transport.begin(self._tag(transfers), sends, counts)

        def wait() -> None:
            for rank, message in arriving().items():
                self._unpack(coming[rank], message)

        return wait

    def _unpack(self, pieces: Sequence[tuple[str, Any]], message: Any) -> None:  # noqa: ANN401
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

    def _listed(
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

    def _packed(self, array: str, index: Any) -> Any:  # noqa: ANN401
        """Return a copy: the phase may write to the array while the message is on its way."""
        return self.arrays[array][index].flatten().view(np.uint8)

    def _size(self, array: str, index: Any) -> int:  # noqa: ANN401
        part = self.arrays[array][index]
        return int(part.size * part.dtype.itemsize)

    def _gather_all(self, transfer: Transfer) -> None:
        """Give every rank's block to all."""
        if not self.plan.conditions[id(transfer)].at(self.values):
            return
        (cut,) = self.plan.exchanges.own.cuts[transfer.array]
        memory, start = self.arrays[transfer.array], self.starts[transfer.array]
        boxes = []
        for rank in range(self.transport.size):
            bounds = dict(self.bounds_of(rank))[cut.blocks]
            low, high = (bound - cut.shift - start[cut.axis] for bound in bounds)
            low, high = max(0, low), min(high, memory.shape[cut.axis])
            boxes.append((slice(None),) * cut.axis + (slice(low, max(low, high)),))
        counts = [memory[box].size * memory.dtype.itemsize for box in boxes]
        mine = self._packed(transfer.array, boxes[self.transport.rank])
        self.sent[transfer.form.value] += mine.size * (self.transport.size - 1)
        parts = self.transport.gather_all(mine, counts)
        for rank, (box, part) in enumerate(zip(boxes, parts, strict=True)):
            if rank != self.transport.rank:
                memory[box] = part.view(memory.dtype).reshape(memory[box].shape)

    def _broadcast(self, transfer: Transfer) -> None:
        """Give what one rank has to all; every rank finds out which one that is."""
        for root in range(self.transport.size):
            index = self._pieces_of(transfer, root)
            if not index:
                continue
            at = [moved(one, self.starts[transfer.array]) for one in index]
            count = sum(self._size(transfer.array, one) for one in at)
            mine = None
            if root == self.transport.rank:
                mine = np.concatenate([self._packed(transfer.array, one) for one in at])
                self.sent[transfer.form.value] += count * (self.transport.size - 1)
            data, place = self.transport.broadcast(mine, root, count), 0
            for one in at:
                part = self.arrays[transfer.array][one]
                size = part.size * part.dtype.itemsize
                if root != self.transport.rank:
                    values = data[place : place + size].view(part.dtype)
                    self.arrays[transfer.array][one] = values.reshape(part.shape)
                place += size

    def _pieces_of(self, transfer: Transfer, root: int) -> tuple[Any, ...]:
        """Return what rank `root` has of a broadcast, as a rank with a block sees it."""
        for rank in range(self.transport.size):
            low_high = self.blocks_of(rank)
            if rank == root or any(
                low_high[b.low] == low_high[b.high] for b in self.plan.exchanges.own.blocks
            ):
                continue
            values = {**self.values, **low_high}
            for b, (low, high) in self.bounds_of(root):
                values |= {b.other_low: low, b.other_high: high}
            pieces = self.plan.pieces.get((id(transfer), False, self.mesh.sign(rank, root)))
            if pieces is not None:
                return pieces.at(values)[0]
        return ()

    def _begin_partial(self, combinations: Sequence[Combination]) -> Arrays:
        """Set what partial results are accumulated in to the neutral element; return what was."""
        before: Arrays = {}
        if self.transport.size == 1:
            return before
        for one in combinations:
            memory = self.arrays[one.array]
            neutral = identity(one.op, self.declared[one.array].dtype)
            assert neutral is not None
            before[one.array] = memory.copy()
            memory[...] = neutral.value
        return before

    def _combine(self, combinations: Sequence[Combination], before: Arrays) -> None:
        if self.transport.size == 1:
            return
        for one in combinations:
            memory, combine = self.arrays[one.array], COMBINE[one.op]
            whole = self.transport.reduce_all(np.ascontiguousarray(memory), one.op.value, combine)
            self.sent["all-reduce"] += memory.size * memory.dtype.itemsize
            with np.errstate(all="ignore"):
                memory[...] = combine(before[one.array], whole)
