"""Collectives of one call on a rank: blocks to all, what one rank has, sums, scans.

In: a call, a transfer or what a collective completes.  Out: the rank's arrays, changed in place.
Elements to send as pieces of arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import islpy as isl
import numpy as np

from polyopt.distribution.exchange import Combination, Transfer
from polyopt.distribution.forms import Form
from polyopt.distribution.ownership import Cut
from polyopt.distribution.placement import Scanned
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import BinaryOp
from polyopt.ir.identity import identity
from polyopt.ir.interp import fix_params, points

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
    """Return what rank `root` has of a broadcast, as a rank with a block sees it, if there is one.

    Ranks without a block may need it, too: where these are all, the first that does tells.
    """
    others = [rank for rank in range(run.transport.size) if rank != root]
    busy = [rank for rank in others if all(low < high for _, (low, high) in run.bounds_of(rank))]
    found: tuple[Index, ...] = ()
    for rank in busy[:1] or others:
        values = {**run.values, **run.blocks_of(rank)}
        for b, (low, high) in run.bounds_of(root):
            values |= {b.other_low: low, b.other_high: high}
        pieces = run.plan.pieces.get((id(transfer), False, run.mesh.sign(rank, root)))
        found = found or (() if pieces is None else pieces.at(values)[0])
    return found


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


Index: TypeAlias = "tuple[Any, ...]"


class Pieces:
    """The pieces of one set for any values of its parameters; they are computed once."""

    def __init__(self, elements: isl.Set) -> None:
        kind = isl.dim_type.param
        for position in reversed(range(elements.dim(kind))):
            if not elements.involves_dims(kind, position, 1):
                elements = elements.project_out(kind, position, 1)
        self._elements, self._names = elements, tuple(_names(elements))
        self._known: dict[tuple[int, ...], tuple[tuple[Index, ...], int]] = {}

    def at(self, values: Mapping[str, int]) -> tuple[tuple[Index, ...], int]:
        """Return subscripts of disjoint pieces in a fixed order, and the number of elements."""
        key = tuple([values[name] for name in self._names])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _pieces(self._elements, values)
        return found


class Condition:
    """Whether anything of some sets is there, for any ranks."""

    def __init__(self, sets: Iterable[isl.Set], blocks: Iterable[str]) -> None:
        self._sets: list[isl.Set] = []
        for one in sets:
            anyone = one.params()
            for name in blocks:
                position = anyone.find_dim_by_name(isl.dim_type.param, name)
                anyone = anyone.eliminate(isl.dim_type.param, position, 1)
                anyone = anyone.fix_val(isl.dim_type.param, position, isl.Val(0))
            self._sets.append(anyone)
        self._blocks = tuple(blocks)
        self._known: dict[tuple[int, ...], bool] = {}

    def at(self, values: Mapping[str, int]) -> bool:
        """Tell whether it holds for these sizes and places."""
        known = {**values, **dict.fromkeys(self._blocks, 0)}
        names = _names(self._sets[0])
        key = tuple([known[name] for name in names])
        if key not in self._known:
            self._known[key] = any(
                not fix_params(one, {name: known[name] for name in names}).is_empty()
                for one in self._sets
            )
        return self._known[key]


def _names(value: isl.Set) -> list[str]:
    kind, space = isl.dim_type.param, value.get_space()
    return [str(space.get_dim_name(kind, p)) for p in range(space.dim(kind))]


SHORT = 16
"""Elements of a box that are worth a copy of its own, in the mean of a set."""


def _pieces(elements: isl.Set, values: Mapping[str, int]) -> tuple[tuple[Index, ...], int]:
    """Return boxes, or one list of points: the same ones for every text of a set.

    Sender and receiver make their pieces from sets that are equal and written differently.
    """
    names = _names(elements)
    known = {name: values[name] for name in names}
    fixed = fix_params(elements, known)
    if fixed.is_empty():
        return (), 0
    parts = coalesced(fixed).make_disjoint().get_basic_sets()
    boxes: list[_Box] = []
    for part in map(isl.Set.from_basic_set, parts):
        box = _box(part)
        boxes += (_unit(p) for p in points(part, known)) if box is None else (box,)
    found = tuple(_slabs(boxes))
    count = sum(math.prod(side.stop - side.start for side in box) for box in found)
    if len(found) > SHORT and len(found) * SHORT > count:
        listed = points(elements, known)
        return (tuple(np.array(column) for column in zip(*listed, strict=True)),), count
    return found, count


_Box: TypeAlias = tuple[slice, ...]


def _box(part: isl.Set) -> _Box | None:
    """Return the box that a set is, or None."""
    rank = part.dim(isl.dim_type.set)
    low = [int(part.dim_min_val(d).to_python()) for d in range(rank)]
    high = [int(part.dim_max_val(d).to_python()) + 1 for d in range(rank)]
    box = isl.Set.universe(part.get_space())
    for d in range(rank):
        box = box.lower_bound_val(isl.dim_type.set, d, isl.Val(low[d]))
        box = box.upper_bound_val(isl.dim_type.set, d, isl.Val(high[d] - 1))
    is_full = box.intersect_params(part.params()).is_subset(part)
    return tuple(map(slice, low, high)) if is_full else None


def _unit(point: tuple[int, ...]) -> _Box:
    return tuple(slice(place, place + 1) for place in point)


def _slabs(boxes: Sequence[_Box]) -> Iterator[_Box]:
    """Yield the elements of disjoint boxes as boxes, in order, however they were divided.

    Along the first dimension these are the longest runs of indices with the same other ones.
    """
    if not boxes[0]:
        yield ()
        return
    begun: dict[int, list[_Box]] = {}
    for box in boxes:
        begun.setdefault(box[0].start, []).append(box)
        begun.setdefault(box[0].stop, [])
    runs: list[tuple[int, int, tuple[_Box, ...]]] = []
    here: list[_Box] = []
    for low, high in pairwise(sorted(begun)):
        here = [box for box in here if box[0].stop > low] + begun[low]
        inner = tuple(_slabs([box[1:] for box in here])) if here else ()
        if runs and runs[-1][1:] == (low, inner):
            runs[-1] = (runs[-1][0], high, inner)
        elif inner:
            runs.append((low, high, inner))
    for low, high, inner in runs:
        for others in inner:
            yield (slice(low, high), *others)


def moved(index: Index, starts: tuple[int, ...]) -> Index:
    """Return subscripts in memory that begins with the element `starts`."""
    pairs = zip(index, starts, strict=True)
    return tuple(
        slice(i.start - s, i.stop - s) if isinstance(i, slice) else i - s for i, s in pairs
    )
