"""Localize: give temporaries the storage one loop iteration needs.

In: a lowered body and, per temporary, the loop its values live in.  Out: the body with scalars and
small arrays declared in that loop instead of full arrays, and the names of those made local; what
is copied into a local that nobody reads is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from typing_extensions import assert_never

from polyopt.emit.idle import without_copies
from polyopt.emit.nodes import expressions, map_node, nested, with_nested
from polyopt.emit.regions import whole_arrays
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Linear,
    Load,
    Symbol,
    VectorLoad,
    from_linear,
    integer,
    linear,
    walk,
)
from polyopt.ir.loops import (
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
from polyopt.ir.scop import Array
from polyopt.ir.types import Kind

MAX_ELEMENTS = 4096
MAX_OF_BLOCK = 65536
"""Elements of an array of a block: as many as its threads have registers."""
MAX_PADDING = 64
"""Elements that a layout adds to a dimension."""
MOST_BOUNDS = 16
"""Bounds of a subscript that are compared."""


def localize(body: Body, arrays: tuple[Array, ...], homes: dict[str, str]) -> tuple[Body, set[str]]:
    """Return the body with temporaries of constant extent made local, and their names."""
    done: set[str] = set()
    for array in arrays:
        home = homes.get(array.name)
        if home is None:
            continue
        changed = _in_loop(body, array, home, ())
        if changed is not None and not any(mentions(node, array.name) for node in changed):
            body = changed
            done.add(array.name)
    return without_copies(body, done), done


def mentions(node: Node, array: str) -> bool:
    """Tell whether a node reads or writes an array that is not declared inside it."""
    for part in (part for body in nested(node) for part in body):
        if isinstance(part, DeclareArray) and part.array.name == array:
            return False
        if mentions(part, array):
            return True
    return array in whole_arrays(node) or any(
        isinstance(part, Load | VectorLoad) and part.array == array
        for expr in expressions(node)
        for part in walk(expr)
    )


def _in_loop(body: Body, array: Array, home: str, around: tuple[For, ...]) -> Body | None:
    """Return the body with every loop labelled `home` holding its own copy; None if one cannot."""
    result: list[Node] = []
    for node in body:
        loops = (*around, node) if isinstance(node, For) else around
        if isinstance(node, For) and node.label == home:
            if any(mentions(part, array.name) for part in node.body):
                inner = _at_home(loops, array)
                if inner is None:
                    return None
                node = replace(node, body=inner)
        else:
            below = [_in_loop(inner, array, home, loops) for inner in nested(node)]
            if None in below:
                return None
            node = with_nested(node, tuple(inner for inner in below if inner is not None))
        result.append(node)
    return tuple(result)


def _at_home(loops: tuple[For, ...], array: Array) -> Body | None:
    """Return the body of the last loop with the array declared; None where it has to be memory.

    Threads of a block see one array; code around kernels of a grid has no arrays.
    """
    home = loops[-1]
    kinds = [loop.kind for loop in loops]
    if LoopKind.THREAD in kinds:
        return _declare(home, array, Space.LOCAL)
    if LoopKind.BLOCK in kinds:
        return _declare(home, array, Space.SHARED)
    if _has(home.body, LoopKind.BLOCK):
        return None
    is_block = _has(home.body, LoopKind.THREAD)  # a block of its own runs the loop
    return _declare(home, array, Space.SHARED if is_block else Space.LOCAL)


def _has(body: Body, kind: LoopKind) -> bool:
    """Tell whether loops of a kind are in the body."""
    return any(
        (isinstance(node, For) and node.kind is kind)
        or any(_has(part, kind) for part in nested(node))
        for node in body
    )


@dataclass(frozen=True, slots=True)
class _Dim:
    """One dimension kept: `origin` is subtracted from each subscript; `extent` is its size."""

    position: int
    origin: Expr
    extent: int


def _declare(loop: For, array: Array, space: Space) -> Body | None:
    uses = [(load, ranges) for node in loop.body for load, ranges in _uses(node, array.name, {})]
    known = _equalities(loop.body, array.name, {})
    kept: list[_Dim] = []
    for position in range(len(array.shape)):
        indices = [load.index[position] for load, _ in uses]
        if _is_one(indices, known) and not any(
            _inner(index, ranges) for index, (_, ranges) in zip(indices, uses, strict=True)
        ):
            continue
        dim = _box(position, [(load.index[position], ranges) for load, ranges in uses])
        dim = dim or _declared(array, position)
        if dim is None:
            return None
        kept.append(_padded(dim, array))
    elements = 1
    for dim in kept:
        elements *= dim.extent
    if elements > (MAX_OF_BLOCK if space is Space.SHARED else MAX_ELEMENTS):
        return None
    if not kept and space is Space.LOCAL:
        return _scalar(loop.body, array)
    if not kept:
        return _single(loop.body, array)
    shape = tuple(integer(dim.extent) for dim in kept)
    turn = array.turn if _is_turned(array, kept, shape) else None
    local = replace(array, shape=shape, turn=turn)

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load | VectorLoad) and part.array == array.name:
            index = tuple(_minus(part.index[dim.position], dim.origin) for dim in kept)
            return replace(part, index=index)
        return None

    return (DeclareArray(local, space), *(map_node(node, rule) for node in loop.body))


def _is_turned(array: Array, kept: list[_Dim], shape: tuple[Expr, ...]) -> bool:
    """Tell whether rows of the local array lie as those of `array` would."""
    turn, rank = array.turn, len(array.shape)
    if turn is None or not turn.fits(shape):
        return False
    return [dim.position for dim in kept[-1 - turn.back :]] == [*range(rank - 1 - turn.back, rank)]


def _declared(array: Array, position: int) -> _Dim | None:
    """Return a dimension as the array has it, if that is a number."""
    extent = array.shape[position]
    if not isinstance(extent, Const):
        return None
    return _Dim(position, integer(0), int(extent.value.real))


def _padded(dim: _Dim, array: Array) -> _Dim:
    """Return a dimension with what its layout adds behind it."""
    declared = array.shape[dim.position]
    if not isinstance(declared, Const) or dim.origin != integer(0):
        return dim
    added = int(declared.value.real) - dim.extent
    return replace(dim, extent=dim.extent + added) if 0 < added <= MAX_PADDING else dim


_Known = dict[str, Expr]
"""What conditions around a place say that iterators are."""


def _equalities(body: Body, array: str, known: _Known) -> list[_Known]:
    """Return what is known at each access, in the order of `_uses`."""
    found: list[_Known] = []
    for node in body:
        found += [
            known
            for expr in expressions(node)
            for part in walk(expr)
            if isinstance(part, Load | VectorLoad) and part.array == array
        ]
        for number, inner in enumerate(nested(node)):
            holds = isinstance(node, If) and number == 0
            more = _told(node.condition) if isinstance(node, If) and holds else {}
            found += _equalities(inner, array, known | more)
    return found


def _told(condition: Expr) -> _Known:
    match condition:
        case Binary(op=BinaryOp.AND):
            return _told(condition.left) | _told(condition.right)
        case Compare(op=CompareOp.EQ, left=Iter(name=name)):
            return {name: condition.right}
        case _:
            return {}


def _is_one(indices: list[Expr], known: list[_Known]) -> bool:
    """Tell whether subscripts are the same value, by what is known at each of them."""
    common = next((index for index in indices if isinstance(index, Iter)), indices[0])
    return all(
        index == common or (isinstance(common, Iter) and here.get(common.name) == index)
        for index, here in zip(indices, known, strict=True)
    )


def _inner(index: Expr, ranges: dict[str, tuple[Expr, Expr]]) -> bool:
    return any(isinstance(part, Iter) and part.name in ranges for part in walk(index))


def _uses(
    node: Node, array: str, ranges: dict[str, tuple[Expr, Expr]]
) -> list[tuple[Load | VectorLoad, dict[str, tuple[Expr, Expr]]]]:
    """Return the accesses with the bounds of the loops between the home and each of them."""
    found = [
        (part, ranges)
        for expr in expressions(node)
        for part in walk(expr)
        if isinstance(part, Load | VectorLoad) and part.array == array
    ]
    inside = ranges | {node.iter: (node.lower, node.upper)} if isinstance(node, For) else ranges
    for part in (part for body in nested(node) for part in body):
        found += _uses(part, array, inside)
    return found


def _box(position: int, uses: list[tuple[Expr, dict[str, tuple[Expr, Expr]]]]) -> _Dim | None:
    """Return the constant box that holds all subscripts of one dimension, or None."""
    lowers = [_extremes(index, ranges, 0) for index, ranges in uses]
    uppers = [_extremes(index, ranges, 1) for index, ranges in uses]
    best: tuple[int, Linear] | None = None
    for base in {frozenset(bound.terms): bound for found in lowers for bound in found}.values():
        spread = _widest(base, lowers, uppers)
        if spread is not None and (best is None or spread[0] < best[0]):
            best = spread
    if best is None:
        return None
    return _Dim(position, from_linear(best[1]), best[0] + 1)


def _widest(
    base: Linear, lowers: list[list[Linear]], uppers: list[list[Linear]]
) -> tuple[int, Linear] | None:
    """Return (extent - 1, origin) when bounds of all uses differ from `base` by constants."""
    terms = set(base.terms)
    least = [[o.constant for o in found if set(o.terms) == terms] for found in lowers]
    most = [[o.constant for o in found if set(o.terms) == terms] for found in uppers]
    if not all(least) or not all(most):
        return None
    first = min(map(max, least))
    return max(map(min, most)) - first, Linear(first, base.terms)


def _extremes(index: Expr, ranges: dict[str, tuple[Expr, Expr]], side: int) -> list[Linear]:
    """Return bounds of a subscript over the inner loops, below (side 0) or above it (side 1)."""
    found: list[Linear] = []
    waiting = [(linear(index), len(ranges))]
    while waiting and len(found) < MOST_BOUNDS:
        value, left = waiting.pop(0)
        inner = next(
            ((a, c) for a, c in value.terms if isinstance(a, Iter) and a.name in ranges), None
        )
        if inner is None:
            if not any(_inner(atom, ranges) for atom, _ in value.terms):
                found.append(value)
            continue
        if not left:
            continue
        atom, factor = inner
        assert isinstance(atom, Iter)
        low, high = ranges[atom.name]
        take_low = (side == 0) == (factor > 0)
        shift = 0 if take_low else -factor
        terms = [(a, c) for a, c in value.terms if a != atom]
        combined = from_linear(Linear(value.constant + shift, tuple(terms)))
        for bound in _picks(low, BinaryOp.MAX) if take_low else _picks(high, BinaryOp.MIN):
            scaled = Binary(BinaryOp.MUL, integer(factor), bound, bound.dtype)
            total = linear(Binary(BinaryOp.ADD, combined, scaled, bound.dtype))
            waiting.append((total, left - 1))
    return found


def _picks(bound: Expr, op: BinaryOp) -> list[Expr]:
    """Return a bound, or the operands of a min or max that are of tiles: over iterators alone."""
    if not (isinstance(bound, Binary) and bound.op in (BinaryOp.MIN, BinaryOp.MAX)):
        return [bound]
    if bound.op is not op:
        return []
    parts = [part for side in (bound.left, bound.right) for part in _picks(side, op)]
    return [p for p in parts if all(isinstance(a, Iter) for a, _ in linear(p).terms)]


def _minus(index: Expr, origin: Expr) -> Expr:
    difference = Binary(BinaryOp.SUB, index, origin, index.dtype)
    return from_linear(linear(difference))


def _scalar(body: Body, array: Array) -> Body:
    """Return the body with the array as a local scalar, declared where it is first assigned."""
    symbol = Symbol(array.name, array.dtype)

    def rule(part: Expr) -> Expr | None:
        return symbol if isinstance(part, Load) and part.array == array.name else None

    result: list[Node] = []
    declared = False
    for node in body:
        used = mentions(node, array.name)
        changed = map_node(node, rule)
        if used and not declared:
            declared = True
            if isinstance(changed, SetLocal) and changed.name == array.name:
                result.append(
                    Declare(
                        array.name,
                        array.dtype,
                        1,
                        changed.value,
                        changed.statement,
                        changed.instance,
                    )
                )
                continue
            result.append(Declare(array.name, array.dtype, 1, zero(array)))
        result.append(changed)
    return tuple(result)


def _single(body: Body, array: Array) -> Body:
    """Return the body with the array as one element that the threads of a block share."""
    shared = replace(array, shape=(integer(1),), turn=None)

    def rule(part: Expr) -> Expr | None:
        is_own = isinstance(part, Load) and part.array == array.name
        return Load(array.name, (integer(0),), array.dtype) if is_own else None

    return (DeclareArray(shared, Space.SHARED), *(map_node(node, rule) for node in body))


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
