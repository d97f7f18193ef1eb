"""Arguments and results of a call on ranks, and the memory that stands for them.

In: arguments, NumPy's or distributed.  Out: each rank's arrays; afterwards the results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.distribution.arrays import AnyArray, DistributedArray
from polyopt.distribution.collectives import Index, moved
from polyopt.distribution.execution import Arrays, Plan
from polyopt.distribution.mesh import Mesh
from polyopt.distribution.ownership import Cut, ends_of, indices_of
from polyopt.distribution.transport import Transport
from polyopt.errors import InternalError, UsageError
from polyopt.ir.arranging import flat
from polyopt.ir.array import Array, Role
from polyopt.ir.integers import evaluate
from polyopt.ir.program import Program
from polyopt.ir.source import ArrayArg, Result, ResultKind
from polyopt.never import assert_never


@dataclass(frozen=True, eq=False)
class Call:
    """A call on one rank."""

    plan: Plan
    program: Program
    mesh: Mesh
    transport: Transport
    sizes: dict[str, int]
    given: tuple[object, ...]

    @property
    def arguments(self) -> list[tuple[ArrayArg, Any]]:
        """The arrays with what was passed for them."""
        pairs = zip(self.program.signature.arguments, self.given, strict=True)
        return [(a, value) for a, value in pairs if isinstance(a, ArrayArg)]

    def box(self, array: Array, rank: int) -> Index:
        """Return the elements of an array that a rank owns: slices, or indices of its blocks."""
        shape = tuple(evaluate(extent, self.sizes) for extent in array.shape)
        found: list[Any] = [slice(0, extent) for extent in shape]
        for cut in self.plan.exchanges.own.cuts.get(array.name, ()):
            if cut.blocks.size is not None:
                listed = indices_of(cut.blocks, self.mesh, rank, self.sizes) - cut.shift
                found[cut.axis] = listed[(listed >= 0) & (listed < shape[cut.axis])]
                continue
            low, high = (
                min(max(0, e - cut.shift), shape[cut.axis])
                for e in ends_of(cut.blocks, self.mesh, rank, self.sizes)
            )
            found[cut.axis] = slice(low, max(low, high))
        if all(isinstance(side, slice) for side in found):
            return tuple(found)
        sides = (np.arange(s.start, s.stop) if isinstance(s, slice) else s for s in found)
        return np.ix_(*sides)

    def owners(self, array: Array) -> list[int]:
        """Return the ranks that own different elements of an array."""
        axes = {c.blocks.mesh_axis for c in self.plan.exchanges.own.cuts.get(array.name, ())}
        return [
            rank for rank in range(self.transport.size)
            if all(c == 0 for a, c in enumerate(self.mesh.coordinates(rank)) if a not in axes)
        ]  # fmt: skip

    def values(self) -> dict[str, int]:
        """Return sizes and this rank's blocks."""
        found = dict(self.sizes)
        for b in self.plan.exchanges.own.blocks:
            ends = ends_of(b, self.mesh, self.transport.rank, self.sizes)
            found[b.low], found[b.high] = ends
        return found

    def mine(self, array: Array) -> Index:
        """Return where this rank's elements are in its memory."""
        starts = self.plan.storage.starts(array, self.values())
        return moved(self.box(array, self.transport.rank), starts)


def check_distributed(call: Call) -> None:
    """Raise `UsageError` PO0857 for arrays that are distributed in another way."""
    seen: set[int] = set()
    for argument, value in call.arguments:
        if id(value) in seen and isinstance(value, DistributedArray):
            raise UsageError(
                "PO0857",
                f"`{argument.name}` is a distributed array that is passed twice",
                hint="distribute a copy",
            )
        seen.add(id(value))
        if isinstance(value, DistributedArray):
            _require_same(call, call.plan.exchanges.own.scop.array(argument.array), value)


def bound_arrays(call: Call) -> Arrays:
    """Return this rank's memory, with its elements of the arguments."""
    check_distributed(call)
    storage, values = call.plan.storage, call.values()
    passed = {a.array: value for a, value in call.arguments}
    found: Arrays = {}
    for array in call.plan.exchanges.own.scop.arrays:
        if array.role is Role.TEMP and array.name not in storage.shared:
            continue
        value = passed.get(array.name)
        is_cut = array.name in call.plan.exchanges.own.cuts
        if value is not None and not is_cut:
            found[array.name] = np.ascontiguousarray(value).reshape(np.shape(value))
            continue
        shape = tuple(max(0, evaluate(e, values)) for e in storage.shape(array))
        if isinstance(value, DistributedArray):
            found[array.name] = value.within(shape, call.mine(array))
            continue
        memory = found[array.name] = np.empty(shape, array.dtype.numpy)
        if value is not None:
            memory[call.mine(array)] = np.asarray(value)[call.box(array, call.transport.rank)]
    return found


def results(call: Call, arrays: Arrays) -> Any:  # noqa: ANN401
    """Write what the caller's arrays hold now, and return what the function returns."""
    declared = {array.name: array for array in call.program.arrays}
    for argument, value in call.arguments:
        if not argument.written:
            continue
        array, memory = declared[argument.array], arrays[argument.array]
        if isinstance(value, DistributedArray):
            continue  # it is this memory
        if argument.array in call.plan.exchanges.own.cuts:
            _gather(call, array, memory, np.asarray(value))
        elif memory is not value:
            np.asarray(value)[...] = memory
    found = tuple(
        _result(call, result, declared, arrays) for result in call.program.signature.results
    )
    return call.program.signature.returned(found)


def distributed_results(call: Call, result: Any) -> Any:  # noqa: ANN401
    """Return what an ordinary kernel returned for a call with distributed arrays."""
    listed, nesting = call.program.signature.results, call.program.signature.nesting
    declared = {array.name: array for array in call.program.arrays}
    found: list[object] = []
    values: tuple[Any, ...] = flat(nesting, result)
    for one, value in zip(listed, values, strict=True):
        cuts = call.plan.exchanges.own.cuts.get(one.array, ())
        if one.kind is ResultKind.ARGUMENT:
            found.append(_result(call, one, declared, {}))
        elif one.kind is ResultKind.OUTPUT and cuts and _is_plain(call, cuts, value.shape):
            found.append(DistributedArray(value, value.shape, cuts[0].axis, call.transport))
        else:
            found.append(value)
    return call.program.signature.returned(found)


def _result(call: Call, result: Result, declared: dict[str, Array], arrays: Arrays) -> object:
    match result.kind:
        case ResultKind.SCALAR:
            return arrays[result.array][()]
        case ResultKind.OUTPUT:
            array, memory = declared[result.array], arrays[result.array]
            cuts = call.plan.exchanges.own.cuts.get(result.array, ())
            if not cuts:
                return memory
            shape = tuple(evaluate(extent, call.sizes) for extent in array.shape)
            if _is_distributed(call) and _is_plain(call, cuts, shape):
                local = np.ascontiguousarray(memory[call.mine(array)])
                return DistributedArray(local, shape, cuts[0].axis, call.transport)
            whole = np.empty(shape, array.dtype.numpy)
            _gather(call, array, memory, whole)
            return whole
        case ResultKind.ARGUMENT:
            for argument, value in call.arguments:
                if result.array in (argument.array, argument.name):
                    return value
            raise InternalError("PO0911", f"{call.program.name} returns no argument")
        case _:
            assert_never(result.kind)


def _is_plain(call: Call, cuts: tuple[Cut, ...], shape: tuple[int, ...]) -> bool:
    """Tell whether blocks are those of a `DistributedArray` with that shape."""
    (cut, *others) = cuts
    return (
        not others
        and cut.shift == 0
        and cut.blocks.size is None
        and evaluate(cut.blocks.extent, call.sizes) == shape[cut.axis]
    )


def _is_distributed(call: Call) -> bool:
    return any(isinstance(value, DistributedArray) for _, value in call.arguments)


def _gather(call: Call, array: Array, memory: AnyArray, whole: AnyArray) -> None:
    """Fill `whole` with the elements of all ranks."""
    mine = np.ascontiguousarray(memory[call.mine(array)]).reshape(-1)
    owners = call.owners(array)
    boxes = {rank: call.box(array, rank) for rank in owners}
    counts = [
        whole[boxes[rank]].size * whole.dtype.itemsize if rank in boxes else 0
        for rank in range(call.transport.size)
    ]
    sent = mine.view(np.uint8) if call.transport.rank in boxes else np.empty(0, np.uint8)
    parts = call.transport.gather_all(sent, counts)
    for rank, box in boxes.items():
        whole[box] = parts[rank].view(memory.dtype).reshape(whole[box].shape)


def _require_same(call: Call, array: Array, value: DistributedArray) -> None:
    cuts = call.plan.exchanges.own.cuts.get(array.name, ())
    if not cuts:
        raise UsageError(
            "PO0857",
            f"`{array.name}` is distributed, but the kernel has it whole on each rank",
            hint=f'add it to `shard={{"{array.name}": …}}`, or pass the whole array',
        )
    same = cuts[0].axis == value.axis and _is_plain(call, cuts, value.shape)
    if same and value.transport.size == call.transport.size:
        return
    if any(cut.blocks.size is not None for cut in cuts):
        raise UsageError(
            "PO0857",
            f"`{array.name}` is distributed in one block, the kernel deals blocks in turn",
            hint="pass the whole array, or cut it in one block for each rank",
        )
    axes = ", ".join(str(cut.axis) for cut in cuts)
    raise UsageError(
        "PO0857",
        f"`{array.name}` is cut along axis {value.axis}, the kernel has it along {axes}",
        hint=f"distribute it along axis {axes}, or pass the whole array",
    )
