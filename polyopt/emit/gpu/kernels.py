"""Cut kernels out of the loops: device code, and the host's code around it.

In: lowered loops.  Out: BLOCK loops as the grid of a `Kernel`, THREAD loops without any as a kernel
of one block, other assignments as kernels of one thread; loops and conditions around kernels,
sizes found on the way, faults and library calls stay outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.gpu.distribution import distribute_loop
from polyopt.emit.gpu.each_block import under_grid
from polyopt.emit.gpu.grids import grid_of
from polyopt.emit.gpu.lane_reductions import (
    WARP,
    accessed_arrays,
    has_lane_reductions,
    reduce_across_lanes,
    serialize_oversized,
    spread_over_lanes,
)
from polyopt.emit.gpu.nests import thread_nest
from polyopt.emit.gpu.scan_printer import THREADS as SCANNING
from polyopt.emit.gpu.threads import (
    STRIP,
    block_body,
    outermost_nests,
    share_arrays,
    stripped,
    thread_body,
    with_named_bounds,
)
from polyopt.emit.regions import declared_names, leaves_itself, written_arrays
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Expr, Load, Symbol
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    Break,
    CallLibrary,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.nodes import all_nodes, bodies, changed, has_loop, map_bodies, own_changed
from polyopt.ir.scan import NoScan, scan_of

MOST_THREADS = 1024
"""Threads of a block that every device has room for."""

_MAPPED = (LoopKind.BLOCK, LoopKind.THREAD)
_HOST = (Fail, AllocateArray, CallLibrary)


def cut_kernels(fn: LoopFunction, conditional: bool = True) -> LoopFunction:
    """Return `fn` with all that sets elements of arrays in kernels.

    `conditional`: a block's threads may wait for one another under conditions in its loops.
    """
    taken = {array.name for array in fn.arrays} | set(fn.params) | declared_names(fn.body)
    body, scalars = demote_variables(
        select_scans(reduce_across_lanes(fn.body)), partial(is_device, conditional=conditional)
    )
    cutter = _Cutter(fn.name, taken, conditional)
    body = cutter.host(body)
    return replace(fn, body=body, arrays=(*fn.arrays, *scalars, *cutter.arrays))


def is_device(node: Node, conditional: bool = True) -> bool:
    """Tell whether a node becomes kernels as a whole; `conditional` as in `cut_kernels`."""
    match node:
        case For(kind=LoopKind.BLOCK | LoopKind.THREAD | LoopKind.SCAN):
            return True
        case For(kind=LoopKind.PARALLEL):
            return not has_loop(node.body, *_MAPPED) and not _needs_host((node,))
        case Declare() | DeclareArray() | Break():
            return False
        case If() if leaves_itself((node,)):
            return False
        case For() if has_loop(node.body, LoopKind.SCAN):
            return False
        case For() if has_loop(node.body, LoopKind.THREAD):
            return _is_of_one_block(node) and (conditional or not _has_conditions(node.body))
        case _:
            wide = (*_MAPPED, LoopKind.PARALLEL, LoopKind.SCAN)
            return not has_loop((node,), *wide) and not _needs_host((node,))


def _is_of_one_block(loop: For) -> bool:
    """Tell whether the threads of one block run a loop together: it has no grids inside."""
    if has_loop(loop.body, LoopKind.BLOCK, LoopKind.PARALLEL) or _needs_host((loop,)):
        return False
    return not any(isinstance(node, While | Break) for node in all_nodes((loop,)))


def _has_conditions(body: Body) -> bool:
    """Tell whether loops across threads are under conditions that the block's code has."""
    for node in body:
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            continue
        if isinstance(node, If) and has_loop((node,), LoopKind.THREAD):
            return True
        if any(_has_conditions(part) for part in bodies(node)):
            return True
    return False


def _needs_host(body: Body) -> bool:
    return any(isinstance(node, _HOST) for node in all_nodes(body))


@dataclass
class _Cutter:
    """Makes kernels; `arrays` are those that had been declared by code of the host."""

    name: str
    taken: set[str]
    conditional: bool
    arrays: list[Array] = field(default_factory=list)
    count: int = 0

    def is_device(self, node: Node) -> bool:
        """Tell whether a node becomes kernels as a whole."""
        return is_device(node, self.conditional)

    def host(self, body: Body) -> Body:
        """Return the host's code for `body`; neighbours that one block runs are one kernel.

        They may wait for grids that have nothing to do with them.
        """
        result: list[Node] = []
        together: list[Node] = []
        for node in body:
            if self.is_device(node) and _is_one_block(node):
                together.append(node)
                continue
            if together and self.is_device(node) and not _conflict((node,), tuple(together)):
                result += self.node(node)
                continue
            result += self.one_block(tuple(together))
            together = []
            result += self.node(node)
        return (*result, *self.one_block(tuple(together)))

    def node(self, node: Node) -> Body:
        """Return the host's code for a node that is not for one thread alone."""
        match node:
            case For(kind=LoopKind.BLOCK):
                return tuple(part for loop in distribute_loop(node) for part in self.grid(loop))
            case For(kind=LoopKind.PARALLEL) if self.is_device(node):
                return self.spread(node)
            case For(kind=LoopKind.SCAN):
                return (Kernel(self.kernel_name(), SCANNING, (node,)),)
            case DeclareArray():
                self.keep(node.array)
                return ()
            case For():
                body = self.host(node.body)
                kind = LoopKind.SEQUENTIAL
                return (replace(node, kind=kind, body=body).annotated(reductions=(), lanes=1),)
            case _:
                return (map_bodies(node, self.host),)

    def grid(self, loop: For) -> Body:
        """Return a kernel over the blocks of a nest."""
        loop, before = with_named_bounds(loop, self.taken)
        grid = grid_of(loop)
        return (*before, self.kernel(grid.loops, block_body(grid.body, self.taken)))

    def kernel(self, grid: tuple[For, ...], body: Body) -> Kernel:
        """Return a kernel over the blocks of `grid`."""
        threads = threads_of(body)
        if has_loop(body, LoopKind.SCAN):
            threads = max(SCANNING, 1 << (threads - 1).bit_length())
        if has_lane_reductions(body):
            threads = -(-threads // WARP) * WARP
            body = spread_over_lanes(serialize_oversized(body, threads), self.taken)
        if threads > 1:
            body = share_arrays(body)
        body = under_grid(grid, body)
        return Kernel(self.kernel_name(), threads, body)

    def kernel_name(self) -> str:
        """Return a name that nothing else has."""
        name = f"{self.name}_{self.count}"
        while name in self.taken:
            self.count += 1
            name = f"{self.name}_{self.count}"
        self.taken.add(name)
        self.count += 1
        return name

    def one_block(self, body: Body) -> Body:
        """Return the host's code for neighbours that need no more than a block, or a thread.

        Loops of one thread are not fused with those across threads, which would wait in each.
        """
        if not has_loop(body, LoopKind.THREAD):
            return self.one_thread(body)
        result: list[Node] = []
        for is_loop, group in groupby(body, _is_long):
            part = tuple(group)
            if is_loop or not has_loop(part, LoopKind.THREAD):
                result += self.one_thread(part)
            else:
                result.append(self.kernel((), block_body(part, self.taken)))
        return tuple(result)

    def one_thread(self, body: Body) -> Body:
        """Return the host's code for neighbours that need no more than a thread."""
        if not any(isinstance(node, Assign) for node in all_nodes(body)):
            return body
        return (Kernel(self.kernel_name(), 1, thread_body(body)),)

    def spread(self, loop: For) -> Body:
        """Return kernels for a loop that several CPUs would share: its strips are blocks."""
        loop = replace(loop, kind=LoopKind.THREAD).annotated(reductions=())
        loop, before = with_named_bounds(loop, self.taken)
        blocks, inner = stripped(loop, STRIP, self.taken, LoopKind.BLOCK)
        inner = replace(inner, body=thread_body(inner.body))
        return (*before, self.kernel((blocks,), (inner,)))

    def keep(self, array: Array) -> None:
        """Give an array of the host's code memory on the device for the whole call."""
        if not any(array.name == other.name for other in self.arrays):
            self.arrays.append(replace(array, role=Role.TEMP))


def _is_one_block(node: Node) -> bool:
    wide = (LoopKind.BLOCK, LoopKind.PARALLEL, LoopKind.SCAN)
    return not (isinstance(node, For) and node.kind in wide)


def _conflict(one: Body, two: Body) -> bool:
    """Tell whether code writes an array that other code accesses."""
    written = written_arrays(one), written_arrays(two)
    return bool(written[0] & accessed_arrays(two) or written[1] & accessed_arrays(one))


def _is_long(node: Node) -> bool:
    """Tell whether one thread runs a loop in the node."""
    if has_loop((node,), LoopKind.THREAD):
        return False
    return any(isinstance(part, For | While) for part in all_nodes((node,)))


def threads_of(body: Body) -> int:
    """Return how many threads the blocks need that run `body`.

    The largest nest that computes something has its iterations side by side; copies follow.
    """
    found: dict[bool, int] = {}
    for loop in outermost_nests(body):
        nest = thread_nest(loop)
        computes = nest.combined is not None or any(
            isinstance(n, Assign) and n.statement for n in all_nodes(nest.body)
        )
        found[computes] = max(found.get(computes, 1), nest.size)
    most = max(found.get(True, 1), 1)
    most = most if most > 1 else found.get(False, 1)
    return most if most <= MOST_THREADS else STRIP


# -- keep the SCAN loops that the threads of a block can run together ----------------------------


_ALONE = (LoopKind.THREAD, LoopKind.PARALLEL)
"""Loops whose iterations one thread runs."""


def select_scans(body: Body, *, is_alone: bool = False) -> Body:
    """Return `body` with SCAN loops that a block scans, or in order."""
    return tuple(_selected(node, is_alone) for node in body)


def _selected(node: Node, is_alone: bool) -> Node:
    if isinstance(node, For):
        is_alone = is_alone or node.kind in _ALONE
        if node.kind is LoopKind.SCAN and (is_alone or not _is_scan(node)):
            node = replace(node, kind=LoopKind.SEQUENTIAL)
    return map_bodies(node, select_scans, is_alone=is_alone)


def _is_scan(loop: For) -> bool:
    try:
        scan_of(loop)
    except NoScan:
        return False
    return True


# -- demote variables of the host's code that a device sets to elements of memory ----------------


def demote_variables(
    body: Body, is_device: Callable[[Node], bool]
) -> tuple[Body, tuple[Array, ...]]:
    """Return `body` with host variables that statements set as arrays of one element, and these."""
    declared = {node.name: node for node in _of_host(body, is_device)}
    again = {node.name for node in all_nodes(body) if isinstance(node, SetLocal)}
    chosen = {name: node for name, node in declared.items() if name in again or node.statement}
    if not chosen:
        return body, ()

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Symbol) and part.name in chosen:
            return Load(part.name, (), part.dtype)
        return None

    arrays = tuple(Array(n.name, n.dtype, (), Role.TEMP) for n in chosen.values())
    return _stored(body, frozenset(chosen), rule), arrays


def _of_host(body: Body, is_device: Callable[[Node], bool]) -> Iterator[Declare]:
    for node in body:
        if isinstance(node, Declare):
            yield node
        elif not is_device(node):
            for part in bodies(node):
                yield from _of_host(part, is_device)


def _stored(body: Body, names: frozenset[str], rule: Callable[[Expr], Expr | None]) -> Body:
    result: list[Node] = []
    for node in body:
        match node:
            case Declare() | SetLocal() if node.name in names:
                node = changed(node, rule)
                assert isinstance(node, Declare | SetLocal)
                if isinstance(node, Declare) and not node.statement:
                    continue  # it was set to nothing in particular
                target = Load(node.name, (), node.dtype)
                result.append(Assign(target, node.value, node.statement, node.instance, node.steps))
            case _:
                result.append(own_changed(map_bodies(node, _stored, names, rule), rule))
    return tuple(result)
