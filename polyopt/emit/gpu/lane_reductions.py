"""Map reduction loops of kind LANE to the lanes of a warp.

In: lowered loops.  Out: a LANE loop as the innermost THREAD loop of a nest, with its reduction,
where it is one assignment to one element by the threads of a warp; all others run in order.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.gpu.distribution import in_order
from polyopt.emit.gpu.nests import Unbounded, extent, thread_nest
from polyopt.emit.gpu.threads import fresh, outermost_nests
from polyopt.emit.regions import expressions, written_arrays
from polyopt.ir.expr import Load, Symbol, integer, loads
from polyopt.ir.extremum import Update, update_by
from polyopt.ir.identity import identity
from polyopt.ir.loops import Assign, Body, For, If, LoopKind, Node
from polyopt.ir.names import has_iterator, reads
from polyopt.ir.nodes import all_nodes, map_bodies, map_inner
from polyopt.ir.types import Kind

WARP = 32
"""Threads that pass values on to one another."""
PASSED = (4, 8)
"""Bytes of what a thread may pass on."""


def reduce_across_lanes(body: Body) -> Body:
    """Return `body` with LANE loops as reductions across lanes, or in order."""
    return tuple(_across_lanes(node) for node in body)


def _across_lanes(node: Node) -> Node:
    node = map_bodies(node, reduce_across_lanes)
    if not isinstance(node, For) or node.kind is not LoopKind.LANE:
        return node
    update = reduction_of(node.body)
    if update is None or not _has_lanes(node) or _depends(update, node.iter):
        return replace(node, kind=LoopKind.SEQUENTIAL)
    target, by = update
    local = Symbol(target.array, target.dtype)
    return replace(node, kind=LoopKind.THREAD).annotated(reductions=((by.op, local),))


def _has_lanes(loop: For) -> bool:
    try:
        size = extent(loop)
    except Unbounded:
        return False
    return loop.step == 1 and 1 < size <= WARP and size & (size - 1) == 0


def _depends(update: tuple[Load, Update], name: str) -> bool:
    target, _ = update
    return any(has_iterator(e, (name,)) for e in target.index)


def reduction_of(body: Body) -> tuple[Load, Update] | None:
    """Return the target and its update where `body` is `target = target op value`, or None.

    Conditions around it do not depend on data.
    """
    match body:
        case (If(condition=condition, then=then, otherwise=()),) if not loads(condition):
            return reduction_of(then)
        case (Assign(target=Load() as target, value=value),):
            update = update_by(value, target)
            if update is None or update.fresh.dtype is not target.dtype:
                return None
            is_own = target.array in reads(update.fresh)
            fits = target.dtype.size in PASSED and target.dtype.kind is not Kind.COMPLEX
            if fits and not is_own and identity(update.op, target.dtype) is not None:
                return target, update
            return None
        case _:
            return None


def serialize_oversized(body: Body, threads: int) -> Body:
    """Return a block's code with reductions in order where they need more lanes than threads."""
    result: list[Node] = []
    for node in body:
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            nest = thread_nest(node)
            too_large = bool(nest.loops[-1].reductions) and nest.size > threads
            result.append(_with_order(node) if too_large else node)
        else:
            result.append(map_bodies(node, serialize_oversized, threads))
    return tuple(result)


def _with_order(node: Node) -> Node:
    """Return a nest with its reduction loop in order."""
    if isinstance(node, For) and node.reductions:
        return in_order((node,), LoopKind.THREAD)[0]
    return map_inner(node, _with_order)


def has_lane_reductions(body: Body) -> bool:
    """Tell whether a block's code reduces across lanes."""
    loops = (node for node in all_nodes(body) if isinstance(node, For))
    return any(loop.kind is LoopKind.THREAD and loop.reductions for loop in loops)


# -- the threads of what is combined


def spread_over_lanes(body: Body, taken: set[str]) -> Body:
    """Return a block's code where the lane that holds a result also runs what produces and uses it.

    A nest over the results of a reduction gets the lanes of the reduction, of which the first one
    runs it: no other thread needs to wait for it.  So does what is computed from such results,
    before or after.
    """
    widths = _widths(body)
    known = -1
    while known != len(widths):
        known = len(widths)
        _Spread(set(taken), widths).body(body)
    return _Spread(taken, widths).body(body)


def _widths(body: Body) -> dict[str, tuple[int, int]]:
    """Return the number of elements of an array that are reduced at once, and the lanes of each."""
    found: dict[str, tuple[int, int]] = {}
    for loop in outermost_nests(body):
        nest = thread_nest(loop)
        last = nest.loops[-1]
        if last.reductions:
            width = nest.extents[-1]
            found[last.reductions[0][1].name] = nest.size // width, width
    return found


class _Spread:
    def __init__(self, taken: set[str], widths: dict[str, tuple[int, int]]) -> None:
        self.taken = taken
        self.widths = widths

    def body(self, body: Body) -> Body:
        return tuple(self.node(node) for node in body)

    def node(self, node: Node) -> Node:
        if not isinstance(node, For) or node.kind is not LoopKind.THREAD:
            return map_bodies(node, self.body)
        nest = thread_nest(node)
        if nest.loops[-1].reductions:
            return node
        accessed = accessed_arrays(nest.body)
        found = {self.widths[name] for name in accessed if name in self.widths}
        if len(found) != 1 or nest.size != min(found)[0]:
            return node
        size = min(found)
        for name in written_arrays(nest.body):
            self.widths.setdefault(name, size)
        return _inside(node, len(nest.loops), fresh("first", self.taken), size[1])


def _inside(node: Node, depth: int, name: str, width: int) -> Node:
    """Return a nest of `depth` loops with `width` places for each iteration; the first one runs."""
    if isinstance(node, For) and node.kind is LoopKind.THREAD:
        if depth == 1:
            inner = For(name, integer(0), integer(1), 1, LoopKind.THREAD, node.body)
            inner = inner.annotated(lanes=width)
            return replace(node, body=(inner,))
        depth -= 1
    return map_inner(node, _inside, depth, name, width)


def accessed_arrays(body: Body) -> set[str]:
    """Return the arrays that code reads or writes."""
    read = {load.array for n in all_nodes(body) for e in expressions(n) for load in loads(e)}
    return read | written_arrays(body)
