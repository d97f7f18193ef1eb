"""Collectives of one call on a rank: blocks to all, what one rank has, sums, scans.

In: a call, a transfer or what a collective completes.  Out: the rank's arrays, changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.distribution.exchange import Combination, Transfer
from polyopt.distribution.forms import Form
from polyopt.distribution.ownership import Cut
from polyopt.distribution.pieces import Index, Pieces, moved
from polyopt.distribution.scans import Scanned
from polyopt.ir.expr import BinaryOp
from polyopt.ir.identity import identity

if TYPE_CHECKING:
    from polyopt.distribution.execution import Run

COMBINE: dict[BinaryOp, Callable[[Any, Any], Any]] = {
    BinaryOp.ADD: np.add,
    BinaryOp.MUL: np.multiply,
    BinaryOp.MIN: np.minimum,
    BinaryOp.MAX: np.maximum,
    BinaryOp.AND: np.bitwise_and,
    BinaryOp.OR: np.bitwise_or,
    BinaryOp.XOR: np.bitwise_xor,
}


class ScanPieces:
    """The pieces of a scan: all that is written, this rank's part, and where it begins anew."""

    def __init__(self, scan: Scanned) -> None:
        self.written, self.mine = Pieces(scan.written), Pieces(scan.mine)
        self.begun = {sign: Pieces(one) for sign, one in scan.begun.items()}


def blocks_of(run: Run, array: str, cut: Cut) -> Iterator[Index]:
    """Yield each rank's block of an array in this rank's memory."""
    memory, start = run.arrays[array], run.starts[array]
    for rank in range(run.transport.size):
        bounds = dict(run.bounds_of(rank))[cut.blocks]
        low, high = (bound - cut.shift - start[cut.axis] for bound in bounds)
        low, high = max(0, low), min(high, memory.shape[cut.axis])
        yield (slice(None),) * cut.axis + (slice(low, max(low, high)),)


def gather_all(run: Run, transfer: Transfer) -> None:
    """Give every rank's block to all."""
    if not run.plan.conditions[id(transfer)].at(run.values):
        return
    (cut,) = run.plan.exchanges.own.cuts[transfer.array]
    memory = run.arrays[transfer.array]
    boxes = list(blocks_of(run, transfer.array, cut))
    counts = [memory[box].size * memory.dtype.itemsize for box in boxes]
    mine = run.packed(transfer.array, boxes[run.transport.rank])
    run.sent[transfer.form.value] += mine.size * (run.transport.size - 1)
    parts = run.transport.gather_all(mine, counts)
    for rank, (box, part) in enumerate(zip(boxes, parts, strict=True)):
        if rank != run.transport.rank:
            memory[box] = part.view(memory.dtype).reshape(memory[box].shape)


def all_to_all(run: Run, transfer: Transfer) -> None:
    """Give each rank what it needs of this one."""
    if not run.plan.conditions[id(transfer)].at(run.values):
        return
    none = np.empty(0, np.uint8)
    sends, counts, coming = [none] * run.transport.size, [0] * run.transport.size, {}
    for rank, sign in run.others.items():
        values = {**run.values, **run.other_values[rank]}
        leaving = run.listed([transfer], True, sign, values)
        sends[rank] = np.concatenate([none, *(run.packed(*one) for one in leaving)])
        coming[rank] = run.listed([transfer], False, sign, values)
        counts[rank] = sum(run.size(*one) for one in coming[rank])
    run.sent[transfer.form.value] += sum(message.size for message in sends)
    parts = run.transport.all_to_all(sends, counts)
    for rank, pieces in coming.items():
        run.unpack(pieces, parts[rank])


def broadcast(run: Run, transfer: Transfer) -> None:
    """Give what one rank has to all; every rank finds out which one that is."""
    for root in range(run.transport.size):
        index = _pieces_of(run, transfer, root)
        if not index:
            continue
        at = [(transfer.array, moved(one, run.starts[transfer.array])) for one in index]
        count = sum(run.size(*one) for one in at)
        mine = None
        if root == run.transport.rank:
            mine = np.concatenate([run.packed(*one) for one in at])
            run.sent[transfer.form.value] += count * (run.transport.size - 1)
        data = run.transport.broadcast(mine, root, count)
        if root != run.transport.rank:
            run.unpack(at, data)


def _pieces_of(run: Run, transfer: Transfer, root: int) -> tuple[Index, ...]:
    """Return what rank `root` has of a broadcast, as a rank with a block sees it."""
    for rank in range(run.transport.size):
        low_high = run.blocks_of(rank)
        if rank == root or any(
            low_high[b.low] == low_high[b.high] for b in run.plan.exchanges.own.blocks
        ):
            continue
        values = {**run.values, **low_high}
        for b, (low, high) in run.bounds_of(root):
            values |= {b.other_low: low, b.other_high: high}
        pieces = run.plan.pieces.get((id(transfer), False, run.mesh.sign(rank, root)))
        if pieces is not None:
            return pieces.at(values)[0]
    return ()


def begin(run: Run, one: Combination) -> Callable[[], None]:
    """Prepare an array for a phase, and return what completes it afterwards."""
    if run.transport.size == 1:
        return lambda: None
    memory = run.arrays[one.array]
    neutral = identity(one.op, run.declared[one.array].dtype)
    assert neutral is not None
    if one.form is Form.SCAN:
        return _begin_scan(run, one, neutral.value)
    before = memory.copy()
    memory[...] = neutral.value
    act = _scatter if one.form is Form.REDUCE_SCATTER else _reduce
    return lambda: act(run, one, before)


def _reduce(run: Run, one: Combination, before: Any) -> None:  # noqa: ANN401
    memory, combine = run.arrays[one.array], COMBINE[one.op]
    whole = run.transport.reduce_all(np.ascontiguousarray(memory), one.op.value, combine)
    run.sent[one.form.value] += memory.size * memory.dtype.itemsize
    with np.errstate(all="ignore"):
        memory[...] = combine(before, whole)


def _scatter(run: Run, one: Combination, before: Any) -> None:  # noqa: ANN401
    """Give each owner the sum of its elements; the rest is as before."""
    (cut,) = run.plan.exchanges.own.cuts[one.array]
    memory, combine = run.arrays[one.array], COMBINE[one.op]
    boxes = list(blocks_of(run, one.array, cut))
    parts = [np.ascontiguousarray(memory[box]) for box in boxes]
    mine = boxes[run.transport.rank]
    run.sent[one.form.value] += sum(p.nbytes for p in parts) - parts[run.transport.rank].nbytes
    total = run.transport.reduce_scatter(parts, one.op.value, combine)
    memory[...] = before
    with np.errstate(all="ignore"):
        memory[mine] = combine(before[mine], total)


def _begin_scan(run: Run, one: Combination, neutral: object) -> Callable[[], None]:
    """Let a recurrence begin with the neutral element where ranks before this one write."""
    memory, start, pieces = run.arrays[one.array], run.starts[one.array], run.plan.scans[id(one)]
    assert one.scan is not None
    written, _ = pieces.written.at(run.values)
    if not written:
        return lambda: None
    for rank, sign in run.others.items():
        if sign in pieces.begun:
            for index in pieces.begun[sign].at({**run.values, **run.other_values[rank]})[0]:
                memory[moved(index, start)] = neutral
    combine, axis = COMBINE[one.op], one.scan.axis
    (whole,) = written
    shape = [1 if at == axis else side.stop - side.start for at, side in enumerate(whole)]

    def complete() -> None:
        mine = [moved(index, start) for index in pieces.mine.at(run.values)[0]]
        last = np.full(shape, neutral, memory.dtype)
        for index in mine:
            end = index[axis].stop
            slab = (*index[:axis], slice(end - 1, end), *index[axis + 1 :])
            last = memory[slab]
        if run.transport.rank < run.transport.size - 1:
            run.sent[one.form.value] += last.nbytes
        passed = run.transport.scan(np.ascontiguousarray(last), one.op.value, combine)
        with np.errstate(all="ignore"):
            for index in mine if passed is not None else ():
                memory[index] = combine(passed, memory[index])

    return complete
