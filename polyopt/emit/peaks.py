"""Sum up the memory that a kernel's temporaries take at once.

In: a `LoopFunction`, as it is printed, of known sizes.  Out: bytes, and the largest arrays.
Refuses: temporaries whose sizes only the call tells (PO0709).
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce

from polyopt.emit.allocations import StorageClass, allocations
from polyopt.errors import ScheduleError
from polyopt.ir.array import Array
from polyopt.ir.expr import Expr, Iter, Load, Param, Symbol, integer, mul, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import For, LoopFunction, LoopKind
from polyopt.ir.nodes import all_nodes
from polyopt.ir.program import Program


def planned_peak(
    loops: LoopFunction, program: Program, threads: int
) -> tuple[int, tuple[str, ...]]:
    """Return the bytes that temporary arrays take, and their names, the largest first.

    A thread's own, and those on the stack, count once for each of the threads, if loops are
    parallel; arrays that share memory in turn count as the largest of them.  Scalars do not count.
    Raises `ScheduleError` PO0709 for unknown bytes.
    """
    is_parallel = any(isinstance(node, For) and node.kind is LoopKind.PARALLEL
                      for node in all_nodes(loops.body))  # fmt: skip
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
