"""Estimate the work of a loop as a formula that is evaluated when the loop is reached.

In: a loop of the loop AST.  Out: an INT64 expression over sizes and outer iterators, about the
number of assignments one execution of the loop runs.
"""

from __future__ import annotations

from functools import reduce

from polyopt.emit.extrema import noted_updates
from polyopt.emit.regions import declared_names
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Load,
    Symbol,
    VectorLoad,
    add,
    integer,
    is_function,
    mul,
    operands,
    sub,
    substitute,
    walk,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Body, For, If, LoopKind, Node, SetLocal, While
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType


def work(loop: For) -> Expr:
    """Return about how many assignments `loop` runs; inner bounds are taken at the middle."""
    return _loop(loop, {}, declared_names(loop.body))


def work_of_one(loop: For) -> Expr:
    """Return about how many assignments one iteration of `loop` runs, the one in the middle."""
    inside = declared_names(loop.body)
    if not has_known_bounds(loop, inside):
        return _body(loop.body, {loop.iter: integer(0)}, inside)
    return _once(loop, _pick(loop, {}), {}, inside)


GUESS = 16
"""Assumed iterations of a loop of data-dependent length."""
FUNCTION = 8  # assignments that take as long as a function such as exp
SHORT = 64  # iterations
REST = ".rest"
"""In the label of loops over what full tiles leave over."""


def _loop(loop: For, middles: dict[str, Expr], inside: frozenset[str]) -> Expr:
    if not has_known_bounds(loop, inside):
        guessed = middles | {loop.iter: integer(0)}
        return _product(integer(GUESS), _body(loop.body, guessed, inside))
    lower, upper = _pick(loop, middles)
    trip = normalize(sub(upper, lower))
    if loop.step != 1:
        trip = Binary(BinaryOp.FLOORDIV, trip, integer(loop.step), DType.INT64)
    once = _once(loop, (lower, upper), middles, inside)
    if isinstance(once, Const) and loop.kind is LoopKind.VECTOR:
        once = add(once, integer(len(noted_updates(loop))))  # flags are assignments, too
    return _product(trip, once)


def _once(
    loop: For, bounds: tuple[Expr, Expr], middles: dict[str, Expr], inside: frozenset[str]
) -> Expr:
    middle = Binary(BinaryOp.FLOORDIV, normalize(add(*bounds)), integer(2), DType.INT64)
    return _body(loop.body, middles | {loop.iter: middle}, inside)


def has_known_bounds(loop: For, inside: frozenset[str]) -> bool:
    """Tell whether a loop's bounds have no data in them and no locals `inside` the loops around."""
    return not any(
        isinstance(part, Load) or (isinstance(part, Symbol) and part.name in inside)
        for bound in (loop.lower, loop.upper)
        for part in walk(bound)
    )


def _product(left: Expr, right: Expr, *, whole: bool = False) -> Expr:
    """Return the product with its constant factors in front.

    `whole`: what full tiles leave over counts like them.
    """
    constant = 1
    factors: list[Expr] = []
    for part in (*operands(left, BinaryOp.MUL), *operands(right, BinaryOp.MUL)):
        if isinstance(part, Const):
            constant *= int(part.value.real)
        else:
            factors.append(part)
    for position, part in enumerate(factors):
        tiles = _tiles(part, whole=whole)
        if tiles is not None and constant % tiles[1] == 0:
            constant //= tiles[1]
            factors[position] = tiles[0]
    result: Expr = integer(constant)
    for factor in factors:
        result = mul(result, factor)
    return result


def _tiles(expr: Expr, *, whole: bool) -> tuple[Expr, int] | None:
    """Return (n, size) when `expr` is the number of tiles of `size` that cover n iterations.

    `whole`: also of those that are full.
    """
    match expr:
        case Binary(
            op=BinaryOp.ADD,
            left=Binary(op=BinaryOp.FLOORDIV, left=last, right=Const(value=int(size))),
            right=Const(value=1),
        ):
            return normalize(add(last, integer(1))), size
        case Binary(op=BinaryOp.FLOORDIV, left=raised, right=Const(value=int(size))):
            total = linear(raised)
            if total.terms and total.constant == size - 1:
                return normalize(sub(raised, integer(size - 1))), size
            return (raised, size) if whole else None
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB, left=tiles, right=Const(value=int(more))):
            found = _tiles(tiles, whole=whole) if whole else None
            if found is None:
                return None
            more = more if expr.op is BinaryOp.ADD else -more
            return normalize(add(found[0], integer(more * found[1]))), found[1]
        case _:
            return None


def _body(body: Body, middles: dict[str, Expr], inside: frozenset[str]) -> Expr:
    """Return the work of a body's deepest nest and functions, or how many assignments it has."""
    statements = 0
    nests: list[tuple[Body, Expr]] = []
    for node in body:
        match node:
            case For():
                nests.append(((node,), _loop(node, middles, inside)))
            case While():
                amount = _product(integer(GUESS), _body(node.body, middles, inside))
                nests.append(((node,), amount))
            case If() if any(isinstance(part, For | While) for part in all_nodes(node.then)):
                nests.append((node.then, _body(node.then, middles, inside)))
            case If():
                statements += sum(_elements(part) for part in all_nodes(node.then))
            case _:
                statements += _elements(node)
    if not nests:
        return integer(max(1, statements))
    return _of_nests(nests) if len(nests) > 1 else nests[0][1]


def _of_nests(nests: list[tuple[Body, Expr]]) -> Expr:
    """Return the work of the deepest nest and of functions in others.

    A nest that only moves values counts only where there is no other.  So does one of what full
    tiles leave over: its iterations count as theirs.
    """
    fullest: dict[str, int] = {}
    for nest, _ in nests:
        fullest[_root(nest)] = min(_rests(nest), fullest.get(_root(nest), _rests(nest)))

    def rank(nest: Body) -> tuple[bool, int, int, bool]:
        rests = _rests(nest) - fullest[_root(nest)]
        return _moves(nest), rests, -_depth(nest), _is_short(nest)

    best = min(nests, key=lambda nest: rank(nest[0]))
    if any(_rests(n) > _rests(best[0]) for n, _ in nests if _root(n) == _root(best[0])):
        best = best[0], _product(best[1], integer(1), whole=True)
    beside = [n for n in nests if n is not best and _calls(n[0]) and not _rests(n[0])]
    return reduce(add, (amount for _, amount in beside), best[1])


def _calls(body: Body) -> bool:
    """Tell whether functions are computed in `body`."""
    values = (n.value for n in all_nodes(body) if isinstance(n, Assign | SetLocal))
    return any(is_function(part) for value in values for part in walk(value))


def _moves(body: Body) -> bool:
    """Tell whether all that is computed in `body` is copies."""
    return not any(isinstance(n, Assign | SetLocal) and n.statement for n in all_nodes(body))


def _elements(node: Node) -> int:
    """Return how many elements a node itself computes; one with functions counts as several."""
    match node:
        case Assign():
            lanes = node.target.lanes if isinstance(node.target, VectorLoad) else 1
        case SetLocal():
            lanes = node.lanes
        case _:
            return 0
    return lanes * (1 + FUNCTION * sum(is_function(part) for part in walk(node.value)))


def _rests(body: Body) -> int:
    """Return how often what is left over is left over again, by the outermost loops of `body`."""
    found = [node.label.count(REST) for node in body if isinstance(node, For)]
    inner = [_rests(node.then) for node in body if isinstance(node, If)]
    return min((*found, *inner), default=0)


def _root(body: Body) -> str:
    """Return the name of the band that the outermost loop of `body` was made from."""
    for node in body:
        if isinstance(node, For):
            return node.label.partition(".")[0].partition("[")[0]
        if isinstance(node, If) and (found := _root(node.then)):
            return found
    return ""


def _depth(body: Body) -> int:
    """Return how many loops are nested below; lanes without a loop of their own count as one."""
    depths = [0]
    for node in body:
        match node:
            case For() | While():
                inner = _depth(node.body)
                is_of_lanes = isinstance(node, For) and node.step > 1 and _has_lanes(node.body)
                depths.append(inner if is_of_lanes else 1 + inner)
            case If():
                depths.append(_depth(node.then))
            case _:
                depths.append(int(_has_lanes((node,))))
    return max(depths)


def _is_short(body: Body) -> bool:
    """Tell whether no loop of `body` has more than a few iterations, whatever the sizes."""
    for loop in all_nodes(body):
        if isinstance(loop, While):
            return False
        if isinstance(loop, For):
            lower, upper = _pick(loop, {})
            trip = normalize(sub(upper, lower))
            if not isinstance(trip, Const) or trip.value.real > SHORT:
                return False
    return True


def _has_lanes(body: Body) -> bool:
    """Tell whether a node of `body` itself computes several elements at a time."""
    targets = (node.target for node in body if isinstance(node, Assign))
    return any(isinstance(target, VectorLoad) for target in targets)


def _pick(loop: For, middles: dict[str, Expr]) -> tuple[Expr, Expr]:
    """Return one lower and one upper bound: a pair whose distance is simplest."""
    pairs = [
        (low, high)
        for low in operands(loop.lower, BinaryOp.MAX)
        for high in operands(loop.upper, BinaryOp.MIN)
    ]

    def weight(pair: tuple[Expr, Expr]) -> tuple[int, int]:
        terms = linear(sub(pair[1], pair[0])).terms
        inner = sum(
            1 for atom, _ in terms for p in walk(atom) if isinstance(p, Iter) and p.name in middles
        )
        return inner, len(terms)

    low, high = min(pairs, key=weight)
    if weight((low, high))[0] == 0:
        terms = linear(sub(high, low)).terms
        if not any(has_iterator(a, middles) for (a, _) in terms):
            return _without(low, high, middles)
    return substitute(low, middles), substitute(high, middles)


def _without(low: Expr, high: Expr, middles: dict[str, Expr]) -> tuple[Expr, Expr]:
    """Return bounds of the same distance free of inner iterators."""
    return substitute(low, middles), normalize(
        add(substitute(low, middles), normalize(sub(high, low)))
    )
