"""Sum up the memory that a kernel's temporaries take at once.

In: a `LoopFunction`, as it is printed, of known sizes.  Out: bytes, and the largest arrays.
Refuses: temporaries whose sizes only the call tells (PO0709).
Lists the memory that a kernel takes besides its arguments and results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from enum import Enum, unique
from functools import reduce

from polyopt.dataclass import dataclass
from polyopt.emit.frame import used_arrays
from polyopt.errors import ScheduleError
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Expr, Iter, Load, Param, Symbol, integer, mul, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import AllocateArray, DeclareArray, Kernel, LoopFunction, LoopKind, Space
from polyopt.ir.nodes import all_nodes, has_loop
from polyopt.ir.program import Program


def planned_peak(
    loops: LoopFunction, program: Program, threads: int
) -> tuple[int, tuple[str, ...]]:
    """Return the bytes that temporary arrays take, and their names, the largest first.

    A thread's own, and those on the stack, count once for each of the threads, if loops are
    parallel; arrays that share memory in turn count as the largest of them.  Scalars do not count.
    Raises `ScheduleError` PO0709 for unknown bytes.
    """
    is_parallel = has_loop(loops.body, LoopKind.PARALLEL)
    threads = threads if is_parallel else 1
    hosts = {name: group[0] for group in loops.turns for name in group}
    memories: dict[str, int] = defaultdict(int)
    arrays: dict[str, int] = {}
    for one in allocations(loops):
        if not one.array.shape:
            continue
        count = 1 if one.storage in (StorageClass.HEAP, StorageClass.DEVICE) else threads
        arrays[one.array.name] = size = _bytes(one.array, program) * count
        host = hosts.get(one.array.name, one.array.name)
        memories[host] = max(memories[host], size)
    return sum(memories.values()), tuple(sorted(arrays, key=lambda name: -arrays[name]))


def _bytes(array: Array, program: Program) -> int:
    size: Expr = integer(array.dtype.size)
    whole = reduce(mul, array.shape, size)
    if any(isinstance(part, Param | Symbol | Iter | Load) for part in walk(whole)):
        makers = (s for scop in program.scops for s in scop.statements)
        raise ScheduleError(
            "PO0709",
            f"the bytes of {array.name} are not known, which `memory` limits",
            loc=next((s.loc for s in makers if s.target.array == array.name), None),
            hint="leave `memory` out: an argument or data decide this size",
        )
    return max(evaluate(whole, {}), 0)


@unique
class StorageClass(Enum):
    """The memory of a temporary: one for the call, for each thread or for each block."""

    HEAP = "heap"
    THREAD = "heap of each thread"
    STACK = "stack"
    DEVICE = "memory of the device"
    SHARED = "shared memory of each block"
    REGISTER = "registers of each thread"


_DECLARED = {
    Space.LOCAL: StorageClass.STACK,
    Space.SHARED: StorageClass.SHARED,
    Space.REGISTER: StorageClass.REGISTER,
    Space.THREAD: StorageClass.THREAD,
}


@dataclass(frozen=True, slots=True)
class Allocation:
    """A temporary array and its storage class; one without extents is a scalar."""

    array: Array
    storage: StorageClass


def allocations(function: LoopFunction) -> tuple[Allocation, ...]:
    """Return the temporaries that a kernel has memory for, those of the whole call first."""
    return tuple(dict.fromkeys(_allocations(function)))


def _allocations(function: LoopFunction) -> Iterator[Allocation]:
    every = list(all_nodes(function.body))
    on_device = any(isinstance(node, Kernel) for node in every)
    memory = StorageClass.DEVICE if on_device else StorageClass.HEAP
    used = used_arrays(function.body)
    late = {node.array.name: node.array for node in every if isinstance(node, AllocateArray)}
    for array in function.arrays:
        if array.role is Role.TEMP and array.name in used and array.name not in late:
            yield Allocation(array, memory if array.shape or on_device else StorageClass.STACK)
    yield from (Allocation(array, memory) for array in late.values())
    for node in every:
        if isinstance(node, DeclareArray):
            yield Allocation(node.array, _DECLARED[node.space])
