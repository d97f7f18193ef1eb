"""Plan the memory of temporaries: short lifetimes, and those that do not meet in one memory.

In: a `LoopFunction` for the host.  Out: an equal one with its `turns`.
A nest that only gives temporaries their first values runs directly before the first node that names
what it names: schedules run independent nests in any order.
A lifetime goes from the first node of the function's body that names an array to the last; nodes
are counted through branches, not through loops.  Arrays are placed greedily, the largest first,
each in the first memory in which it meets nobody (Pisarchyk and Lee, "Efficient memory management
for deep neural net inference", 2020: shared objects, greedy by size).  Sizes are compared as far as
they are known: by how many of their extents are sizes of the call, then by the product of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from polyopt.dataclass import replace
from polyopt.emit.frame import used_arrays
from polyopt.emit.regions import free_names, written_arrays
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Const, Load, VectorLoad, walk
from polyopt.ir.loops import AllocateArray, Body, DeclareView, For, If, LoopFunction, Node
from polyopt.ir.nodes import all_nodes, kernels_of, map_bodies, own_expressions
from polyopt.ir.views import without_views

Span = tuple[int, int]


def plan_memory(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with its temporaries begun late, and the groups of them that share memory.

    Each memory is its first array's, the largest as far as that is known.
    """
    temporaries = tuple(a for a in fn.arrays if a.role is Role.TEMP and a.shape)
    if len(temporaries) < 2 or any(kernels_of(fn.body)):
        return fn
    views = (n.array.name for n in all_nodes(fn.body) if isinstance(n, DeclareView))
    names = frozenset((*(a.name for a in temporaries), *views))
    fn = replace(fn, body=_begun_late(fn.body, names))
    return replace(fn, turns=tuple(_turns(without_views(fn.body), temporaries)))


def _turns(body: Body, temporaries: tuple[Array, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the arrays of each memory that several have."""
    late = {node.array.name for node in all_nodes(body) if isinstance(node, AllocateArray)}
    spans = lifetimes(body)
    placed = [array for array in temporaries if array.name in spans and array.name not in late]
    groups: list[list[Array]] = []
    for array in sorted(placed, key=_largest_first):
        fitting = [group for group in groups if _fits(array, group, spans)]
        alike = [group for group in fitting if group[0].shape == array.shape]
        if fitting:
            (alike or fitting)[0].append(array)
        else:
            groups.append([array])
    return (tuple(array.name for array in group) for group in groups if len(group) > 1)


def lifetimes(body: Body) -> dict[str, Span]:
    """Return the first and the last place in `body` at which each array is named."""
    spans: dict[str, Span] = {}
    for place, names in enumerate(_places(body)):
        for name in names:
            spans[name] = (spans.get(name, (place, 0))[0], place)
    return spans


def _places(body: Iterable[Node]) -> Iterator[frozenset[str]]:
    """Yield the arrays that each node names; a branch counts as its condition and both sides."""
    for node in body:
        if isinstance(node, If):
            yield used_arrays((replace(node, then=(), otherwise=()),))
            yield from _places(node.then)
            yield from _places(node.otherwise)
        else:
            yield used_arrays((node,))


def _largest_first(array: Array) -> tuple[int, int]:
    known = [int(extent.value.real) for extent in array.shape if isinstance(extent, Const)]
    return len(known) - len(array.shape), -prod(known)


def _fits(array: Array, group: list[Array], spans: dict[str, Span]) -> bool:
    """Whether an array lives before or after all of a group."""
    first, last = spans[array.name]
    others = [spans[other.name] for other in group]
    return array.dtype is group[0].dtype and all(
        last < begin or end < first for begin, end in others
    )


def _begun_late(body: Body, temporaries: frozenset[str]) -> Body:
    found: list[Node] = []
    for node in reversed(body):
        if isinstance(node, If):
            node = map_bodies(node, _begun_late, temporaries)
        place = _place(node, found) if _begins(node, temporaries) else 0
        while place and _begins(found[place - 1], temporaries):
            place -= 1  # those that begin others stay behind it
        found.insert(place, node)
    return tuple(found)


def _begins(node: Node, temporaries: frozenset[str]) -> bool:
    """Whether a nest gives values to temporaries, and loads from no temporary."""
    if not isinstance(node, For) or free_names((node,)).set_locals:
        return False
    read = {load.array for inner in all_nodes((node,)) for load in _loads(inner)}
    return written_arrays((node,)) <= temporaries and temporaries.isdisjoint(read)


def _loads(node: Node) -> Iterator[Load | VectorLoad]:
    parts = (part for expr in own_expressions(node) for part in walk(expr))
    return (part for part in parts if isinstance(part, Load | VectorLoad))


def _place(node: Node, following: list[Node]) -> int:
    """Return how many of the nodes behind may run before `node`."""
    free = free_names((node,))
    arrays, locals = used_arrays((node,)), {local.name for local in free.locals}
    for place, other in enumerate(following):
        if arrays & used_arrays((other,)) or locals.intersection(free_names((other,)).set_locals):
            return place
    return 0
