"""Narrow the storage scope of temporaries to the loop in which their values live.

In: a lowered body and, per temporary, the loops its values live in.  Out: the body with scalars and
small arrays declared in that loop instead of full arrays, and the names of those made local; dead
copies into locals are removed.
Temporaries of parallel loops: one array in the memory of each thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeGuard

from polyopt.dataclass import dataclass, replace
from polyopt.emit.dead_locals import remove_dead_copies
from polyopt.emit.footprints import Dim, needed_dimensions, with_array
from polyopt.emit.regions import expressions, whole_arrays
from polyopt.ir.expr import Const, Expr, Iter, Load, Param, Symbol, VectorLoad, integer, walk
from polyopt.ir.loops import (
    CONCURRENT,
    Assign,
    Body,
    Declare,
    DeclareArray,
    For,
    If,
    LoopKind,
    Node,
    SetLocal,
    Space,
)
from polyopt.ir.names import fresh_name
from polyopt.ir.nodes import Rule, all_nodes, bodies, changed, has_loop, map_bodies, with_bodies
from polyopt.ir.scop import Array, Role
from polyopt.ir.types import Kind
from polyopt.never import assert_never

MAX_ELEMENTS = 4096
MAX_OF_BLOCK = 65536
"""Elements of an array of a block: as many as its threads have registers."""


def declare_in_loops(
    body: Body,
    arrays: tuple[Array, ...],
    scopes: Mapping[str, frozenset[str]],
    taken: Collection[str] = (),
) -> tuple[Body, set[str]]:
    """Return the body with small temporaries declared in their scopes, and the names of these.

    Iterations that isl runs outside of their loop, at its edges, have locals of their own, whose
    names are not in `taken`.
    """
    done: set[str] = set()
    has_grid = has_loop(body, LoopKind.BLOCK, LoopKind.THREAD)
    taken = {*taken, *(n.iter for n in all_nodes(body) if isinstance(n, For))}
    names = _UsedArrays()
    for array in arrays:
        scope = scopes.get(array.name)
        if scope is None:
            continue
        edges = _Edges(array, names, taken, not has_grid)
        placed = _in_loop(body, array, scope, (), names, edges)
        left = () if placed is None else [n for n in placed if array.name in names.of(n)]
        if placed is not None and not any(mentions(node, array.name) for node in left):
            body = placed
            done.add(array.name)
    return remove_dead_copies(body, done), done


class _UsedArrays:
    """The arrays that nodes use in any way, found once for each node."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Node, frozenset[str]]] = {}  # nodes are kept alive

    def of(self, node: Node) -> frozenset[str]:
        """Return the arrays that a node and those in it use."""
        if id(node) not in self._known:
            found = set(whole_arrays(node))
            exprs = [*expressions(node), *getattr(node, "instance", ())]
            for part in (part for expr in exprs for part in walk(expr)):
                if isinstance(part, Load | VectorLoad):
                    found.add(part.array)
            for inner in (inner for body in bodies(node) for inner in body):
                found |= self.of(inner)
            self._known[id(node)] = node, frozenset(found)
        return self._known[id(node)][1]


def mentions(node: Node, array: str) -> bool:
    """Tell whether a node reads or writes an array that is not declared inside it."""
    for part in (part for body in bodies(node) for part in body):
        if isinstance(part, DeclareArray) and part.array.name == array:
            return False
        if mentions(part, array):
            return True
    return array in whole_arrays(node) or any(
        isinstance(part, Load | VectorLoad) and part.array == array
        for expr in expressions(node)
        for part in walk(expr)
    )


def _in_loop(
    body: Body,
    array: Array,
    scope: frozenset[str],
    around: tuple[For, ...],
    names: _UsedArrays,
    edges: _Edges,
    outside: frozenset[tuple[Expr, ...]] = frozenset(),
) -> Body | None:
    """Return the body with every loop in `scope` holding its own copy; None if one cannot.

    `outside`: elements that are set before this body, outside of these loops.
    """
    result: list[Node] = []
    before = set(outside)
    for node in body:
        if array.name not in names.of(node):
            result.append(node)
            continue
        loops = (*around, node) if isinstance(node, For) else around
        if isinstance(node, For) and node.label in scope:
            exposed = set(_exposed(node.body, array, set())) if before else set()
            if exposed and (
                exposed - before or any(_is_set(n, array) for n in all_nodes(node.body))
            ):
                return None
            if not exposed and any(mentions(p, array.name) for p in node.body):
                inner = _at_scope(loops, array, names)
                if inner is None:
                    return None
                node = replace(node, body=inner)
        else:
            known = frozenset(before)
            below = [
                _in_loop(inner, array, scope, loops, names, edges, known) for inner in bodies(node)
            ]
            sets = {n.target.index for n in all_nodes((node,)) if _is_set(n, array)}
            if None in below or (_is_set(node, array) and not outside.isdisjoint(sets)):
                return None
            before.update(sets)
            node = with_bodies(node, tuple(inner for inner in below if inner is not None))
        result.append(node)
    return edges.held(tuple(result))


def _exposed(body: Body, array: Array, done: set[tuple[Expr, ...]]) -> Iterator[tuple[Expr, ...]]:
    """Yield the elements that code may read before it sets them, other than those in `done`.

    What an inner loop sets may be any element.
    """
    for node in body:
        own: tuple[Expr, ...] = expressions(node)
        if isinstance(node, Assign):
            own = (
                (*node.target.index, node.value) if isinstance(node.target, Load) else (node.value,)
            )
        for part in (part for expr in own for part in walk(expr)):
            if isinstance(part, Load) and part.array == array.name and part.index not in done:
                yield part.index
        branches = [set(done) for _ in bodies(node)]
        for inner, known in zip(bodies(node), branches, strict=True):
            yield from _exposed(inner, array, known)
        if isinstance(node, If):
            done |= set.intersection(*branches)
        elif any(_is_set(n, array) for n in all_nodes((node,))):
            if not isinstance(node, Assign):
                return
            done.add(node.target.index)


def _is_set(node: Node, array: Array) -> TypeGuard[Assign]:
    """Tell whether a node itself sets an element."""
    return isinstance(node, Assign) and node.target.array == array.name


@dataclass
class _Edges:
    """Iterations outside of their loop, whose values of `array` are held in locals."""

    array: Array
    names: _UsedArrays
    taken: set[str]
    may_hold: bool

    def held(self, body: Body) -> Body:
        """Return a body with the elements that it sets before it reads them in locals.

        What it reads of others' elements stays as it is, and so do elements set in loops.
        """
        if not self.may_hold or not any(_is_set(node, self.array) for node in body):
            return body
        held: dict[tuple[Expr, ...], Symbol] = {}
        return tuple(self._held(node, held) for node in body)

    def _held(self, node: Node, held: dict[tuple[Expr, ...], Symbol]) -> Node:
        """Return a node with the elements in `held` as locals, to which it adds what it sets."""
        if self.array.name not in self.names.of(node):
            return node
        read = changed(node, self._rule(held))
        if not isinstance(read, Assign) or not _is_set(read, self.array):
            return read
        name = fresh_name(self.array.name, self.taken | {self.array.name})
        self.taken.add(name)
        assert isinstance(read.target, Load)
        held[read.target.index] = Symbol(name, self.array.dtype)
        return Declare(name, self.array.dtype, 1, read.value, read.statement, read.instance)

    def _rule(self, held: Mapping[tuple[Expr, ...], Symbol]) -> Rule:
        def rule(part: Expr) -> Expr | None:
            if not isinstance(part, Load) or part.array != self.array.name:
                return None
            return held.get(part.index)

        return rule


def _at_scope(loops: tuple[For, ...], array: Array, names: _UsedArrays) -> Body | None:
    """Return the body of the last loop with the array declared; None where it has to be memory.

    Threads of a block share one array; code around kernels of a grid has no arrays.
    """
    scope = loops[-1]
    kinds = [loop.kind for loop in loops]
    if LoopKind.THREAD in kinds:
        return _declare(scope, array, Space.LOCAL, names)
    if LoopKind.BLOCK in kinds:
        return _declare(scope, array, Space.SHARED, names)
    if has_loop(scope.body, LoopKind.BLOCK):
        return None
    is_block = has_loop(scope.body, LoopKind.THREAD)  # a block of its own runs the loop
    return _declare(scope, array, Space.SHARED if is_block else Space.LOCAL, names)


def _declare(loop: For, array: Array, space: Space, names: _UsedArrays) -> Body | None:
    using = tuple(node for node in loop.body if array.name in names.of(node))
    kept = needed_dimensions(replace(loop, body=using), array)
    elements = 1
    for dim in kept:
        if not isinstance(dim.extent, Const):
            return None
        elements *= int(dim.extent.value.real)
    if elements > (MAX_OF_BLOCK if space is Space.SHARED else MAX_ELEMENTS):
        return None
    if not kept and space is Space.LOCAL:
        return _scalar(loop.body, array, names)
    if not kept:
        return _single(loop.body, array)
    return with_array(loop, array, kept, space)


def _scalar(body: Body, array: Array, names: _UsedArrays) -> Body:
    """Return the body with the array as a local scalar, declared where it is first assigned."""
    symbol = Symbol(array.name, array.dtype)

    def rule(part: Expr) -> Expr | None:
        return symbol if isinstance(part, Load) and part.array == array.name else None

    result: list[Node] = []
    declared = False
    for node in body:
        if array.name not in names.of(node):
            result.append(node)
            continue
        used = mentions(node, array.name)
        made = changed(node, rule)
        if used and not declared:
            declared = True
            if isinstance(made, SetLocal) and made.name == array.name:
                result.append(
                    Declare(
                        array.name,
                        array.dtype,
                        1,
                        made.value,
                        made.statement,
                        made.instance,
                    )
                )
                continue
            result.append(Declare(array.name, array.dtype, 1, zero(array)))
        result.append(made)
    return tuple(result)


def _single(body: Body, array: Array) -> Body:
    """Return the body with the array as one element that the threads of a block share."""
    shared = replace(array, shape=(integer(1),), turn=None)

    def rule(part: Expr) -> Expr | None:
        is_own = isinstance(part, Load) and part.array == array.name
        return Load(array.name, (integer(0),), array.dtype) if is_own else None

    return (DeclareArray(shared, Space.SHARED), *(changed(node, rule) for node in body))


def zero(array: Array) -> Const:
    """Return the zero of an array's dtype."""
    match array.dtype.kind:
        case Kind.BOOL:
            return Const(False, array.dtype)
        case Kind.SIGNED | Kind.UNSIGNED:
            return Const(0, array.dtype)
        case Kind.FLOAT:
            return Const(0.0, array.dtype)
        case Kind.COMPLEX:
            return Const(0j, array.dtype)
        case _:
            assert_never(array.dtype.kind)


def privatize_by_thread(
    body: Body,
    arrays: tuple[Array, ...],
    scopes: Mapping[str, frozenset[str]],
    sizes: Collection[str],
) -> tuple[Body, tuple[Array, ...]]:
    """Return the body and the remaining arrays; `sizes` are known where threads begin."""
    left: list[Array] = []
    for array in arrays:
        scope = scopes.get(array.name)
        found = None if scope is None else _privatized(body, array, scope, sizes)
        if found is None:
            left.append(array)
        else:
            body = found
    return body, tuple(left)


def _privatized(
    body: Body, array: Array, scope: frozenset[str], sizes: Collection[str]
) -> Body | None:
    """Return the body with the array declared in the loops in `scope`, or None."""
    if array.role is not Role.TEMP or not array.shape or array.turn is not None:
        return None
    if any(array.name in whole_arrays(node) for node in all_nodes(body)):
        return None
    scopes = [loops for loops in _loops(body, scope, ()) if _mention(loops[-1], array)]
    if not scopes or not all(map(_is_of_threads, scopes)):
        return None
    needed = {id(loops[-1]): needed_dimensions(loops[-1], array, exact=True) for loops in scopes}
    extents = {tuple((dim.position, dim.extent) for dim in dims) for dims in needed.values()}
    first, *others = extents
    if others or not first or first == tuple(enumerate(array.shape)):
        return None
    if not all(_is_known(extent, sizes) for _, extent in first):
        return None
    placed = _declared(body, array, needed)
    return None if any(mentions(node, array.name) for node in placed) else placed


def _loops(body: Body, scope: frozenset[str], around: tuple[For, ...]) -> list[tuple[For, ...]]:
    """Return the loops in `scope`, each behind those around it."""
    found: list[tuple[For, ...]] = []
    for node in body:
        loops = (*around, node) if isinstance(node, For) else around
        if isinstance(node, For) and node.label in scope:
            found.append(loops)
        else:
            found += (one for inner in bodies(node) for one in _loops(inner, scope, loops))
    return found


def _mention(loop: For, array: Array) -> bool:
    return any(mentions(node, array.name) for node in loop.body)


def _is_of_threads(loops: tuple[For, ...]) -> bool:
    """Tell whether the concurrent loops around a scope are those of threads only."""
    return {loop.kind for loop in loops if loop.kind in CONCURRENT} == {LoopKind.PARALLEL}


def _is_known(extent: Expr, sizes: Collection[str]) -> bool:
    """Tell whether an extent is known where threads begin."""
    parts = list(walk(extent))
    if any(isinstance(part, Load | Symbol | Iter) for part in parts):
        return False
    return all(part.name in sizes for part in parts if isinstance(part, Param))


def _declared(body: Body, array: Array, needed: Mapping[int, list[Dim]]) -> Body:
    return tuple(_with_array(node, array, needed) for node in body)


def _with_array(node: Node, array: Array, needed: Mapping[int, list[Dim]]) -> Node:
    dims = needed.get(id(node))
    if isinstance(node, For) and dims is not None:
        return replace(node, body=with_array(node, array, dims, Space.THREAD))
    return map_bodies(node, _declared, array, needed)
