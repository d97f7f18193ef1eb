"""List the memory that a kernel takes besides its arguments and results.

In: a `LoopFunction`, as it is printed.  Out: its temporaries with their storage class.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, unique

from polyopt.dataclass import dataclass
from polyopt.emit.frame import used_arrays
from polyopt.ir.array import Array, Role
from polyopt.ir.loops import AllocateArray, DeclareArray, Kernel, LoopFunction, Space
from polyopt.ir.nodes import all_nodes


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
