"""Turn conditions on a loop's iterator into bounds, and unswitch invariant conditions.

In: loops around conditions.  Out: the same instances; VECTOR loops, whose iterations do not depend
on each other, are split first so that each part has bounds of its own.
Leaves: conditions on data that the loop changes or walks through.
"""

from __future__ import annotations

from itertools import groupby

from polyopt.dataclass import dataclass, replace
from polyopt.emit.passes.rewriting import (
    Names,
    bottom_up,
    local_names,
    renamed,
    statements,
)
from polyopt.emit.regions import declared_names, written_arrays
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    Symbol,
    VectorLoad,
    add,
    conjunction,
    integer,
    operands,
    sub,
    walk,
)
from polyopt.ir.integers import MIRRORED
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopFunction, LoopKind, Node, SetLocal
from polyopt.ir.names import depends_on_data, has_iterator
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType

MOST = 64
"""Nodes of a body with several conditions that is copied."""


def hoist_guards(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the conditions inside its loops turned into bounds where they are bounds."""

    names = Names(fn)

    def rule(node: Node) -> Body:
        if not isinstance(node, For):
            return (node,)
        unswitched = _unswitched(node)
        if unswitched is not None:
            return (unswitched,)
        cut = _cut(node, names)
        if cut is not None:
            return cut
        return tuple(part for loop in _split(node) for part in _tightened(loop))

    return replace(fn, body=bottom_up(fn.body, rule))


def _unswitched(loop: For) -> Node | None:
    """Return the loop once for each value of a condition on sizes beside its locals."""
    found = [node for node in loop.body if isinstance(node, If)]
    if len(found) != 1 or loop.reductions or not is_index(found[0].condition):
        return None
    (choice,) = found
    has_others = len(loop.body) > 1
    if has_others and not all(isinstance(n, Declare | If) for n in loop.body):
        return None
    if not (has_others or choice.otherwise) or not _is_fixed(choice.condition, loop):
        return None
    sides = []
    for side in (choice.then, choice.otherwise):
        parts = (side if node is choice else (node,) for node in loop.body)
        sides.append(replace(loop, body=tuple(part for nodes in parts for part in nodes)))
    then, otherwise = sides
    return If(choice.condition, (then,), (otherwise,) if otherwise.body else ())


def _split(loop: For) -> tuple[For, ...]:
    """Return a VECTOR loop as one loop per condition in its body."""
    if loop.kind is not LoopKind.VECTOR or loop.reductions:
        return (loop,)
    if not all(isinstance(node, Assign | If) for node in loop.body):
        return (loop,)
    if not any(isinstance(node, If) and is_index(node.condition) for node in loop.body):
        return (loop,)
    groups = [
        tuple(nodes)
        for _, nodes in groupby(
            loop.body, key=lambda node: node.condition if isinstance(node, If) else None
        )
    ]
    return tuple(replace(loop, body=group) for group in groups)


def _cut(loop: For, names: Names) -> Body | None:
    """Return a VECTOR loop with locals in three parts: where all its conditions hold, and around.

    Conditions that the loop does not change are asked before; where one does not hold, the loop is
    as it was.  None for other loops, and where the parts around are long for several conditions.
    (Index-set splitting: M. Griebl, P. Feautrier and C. Lengauer, International Journal of Parallel
    Programming 28 (6), 2000.)
    """
    if loop.kind is not LoopKind.VECTOR or loop.reductions or loop.step != 1:
        return None
    if not any(isinstance(node, Declare | SetLocal) for node in loop.body):
        return None
    guarded = [n for n in loop.body if isinstance(n, If) and is_index(n.condition)]
    conditions = list(dict.fromkeys(node.condition for node in guarded))
    found = _where_all(conditions, loop)
    if not conditions or found is None or any(node.otherwise for node in guarded):
        return None
    inner, fixed = found
    whole = (n.then if isinstance(n, If) and n in guarded else (n,) for n in loop.body)
    inner = replace(inner, body=tuple(part for nodes in whole for part in nodes))
    rest = loop.body if len(conditions) > 1 else tuple(n for n in loop.body if n not in guarded)
    if all(isinstance(node, Declare) for node in rest):
        return (If(conjunction(fixed), (inner,)),) if fixed else (inner,)
    begin = _joined_bound(BinaryOp.MIN, inner.lower, loop.upper)
    end = _joined_bound(BinaryOp.MAX, inner.lower, inner.upper)
    is_short = [_is_number(sub(inner.lower, loop.lower)), _is_number(sub(loop.upper, inner.upper))]
    if len(conditions) > 1 and not (all(is_short) and statements(loop.body) <= MOST):
        return None
    plain = replace(loop, body=rest)
    first = _copy(plain, loop.lower, begin, names, in_lanes=not is_short[0])
    last = _copy(plain, end, loop.upper, names, in_lanes=not is_short[1])
    inside: Body = (first, inner, last)
    if fixed:
        other = _copy(plain, loop.lower, loop.upper, names, in_lanes=True)
        return (If(conjunction(fixed), inside, (other,)),)
    return inside


def _where_all(conditions: list[Expr], loop: For) -> tuple[For, list[Expr]] | None:
    """Return the loop over the iterations in which all conditions hold, and those it leaves alone.

    None where one is no bound.
    """
    inner, fixed = loop, dict[Expr, None]()
    for condition in (c for whole in conditions for c in operands(whole, BinaryOp.AND)):
        if _is_fixed(condition, loop):
            fixed[condition] = None
            continue
        bounds = bounds_where(condition, inner)
        if bounds is None:
            return None
        inner = replace(inner, lower=bounds.lower, upper=bounds.upper)
    return inner, list(fixed)


def _is_number(expr: Expr) -> bool:
    return not linear(expr).terms


def _copy(loop: For, lower: Expr, upper: Expr, names: Names, *, in_lanes: bool) -> For:
    """Return a loop over other iterations, with locals of its own."""
    own = {name: names.fresh(name) for name in local_names(loop.body)}
    kind = loop.kind if in_lanes else LoopKind.SEQUENTIAL
    return replace(loop, lower=lower, upper=upper, kind=kind, body=renamed(loop.body, own))


def _tightened(loop: For) -> Body:
    guard = _common_guard(loop.body)
    if guard is None:
        return _under_shared(loop)
    body = tuple(part for node in loop.body if isinstance(node, If) for part in node.then)
    outside: list[Expr] = []
    inside: list[Expr] = []
    for condition in operands(guard, BinaryOp.AND):
        if _is_fixed(condition, loop):
            outside.append(condition)
            continue
        bounds = bounds_where(condition, loop) if is_index(condition) else None
        if bounds is None:
            inside.append(condition)
        else:
            loop = replace(loop, lower=bounds.lower, upper=bounds.upper)
    if inside:
        body = (If(conjunction(inside), body),)
    result: Node = replace(loop, body=body)
    return _before(outside, loop, result) if outside else (result,)


def _under_shared(loop: For) -> Body:
    """Return the loop under the fixed conditions that all of its body needs, if there are any.

    An element is read early only where every iteration reads it.
    """
    read = {found for node in loop.body for found in _evaluated(node)}
    outside = [
        condition
        for condition in _needed(loop.body) or ()
        if _is_fixed(condition, loop) and (condition in read or not depends_on_data(condition))
    ]
    if not outside:
        return (loop,)
    inner = replace(loop, body=_without(loop.body, frozenset(outside)))
    return _before(outside, loop, inner)


def _needed(body: Body) -> tuple[Expr, ...] | None:
    """Return the conditions under which all of `body` stands, None for a body without effect."""
    found: tuple[Expr, ...] | None = None
    for node in body:
        match node:
            case If(condition=condition, then=then, otherwise=()):
                needed = (*operands(condition, BinaryOp.AND), *(_needed(then) or ()))
            case If(then=then, otherwise=otherwise):
                other = _needed(otherwise) or ()
                needed = tuple(c for c in _needed(then) or () if c in other)
            case _:
                return ()
        found = needed if found is None else tuple(c for c in found if c in needed)
    return found


def _evaluated(node: Node) -> frozenset[Expr]:
    """Return the conditions that every execution of `node` evaluates."""
    if not isinstance(node, If):
        return frozenset()
    sides = [{c for n in side for c in _evaluated(n)} for side in (node.then, node.otherwise)]
    return frozenset(operands(node.condition, BinaryOp.AND)) | (sides[0] & sides[1])


def _without(body: Body, gone: frozenset[Expr]) -> Body:
    """Return `body` where the conditions in `gone` hold."""
    result: list[Node] = []
    for node in body:
        if not isinstance(node, If):
            result.append(node)
            continue
        left = [c for c in operands(node.condition, BinaryOp.AND) if c not in gone]
        then, otherwise = _without(node.then, gone), _without(node.otherwise, gone)
        result += [If(conjunction(left), then, otherwise)] if left else then
    return tuple(result)


def _before(outside: list[Expr], loop: For, result: Node) -> Body:
    """Return the loop under the conditions; an element is read only if an iteration would."""
    node = If(conjunction(outside), (result,))
    reads = (p for c in outside for p in walk(c) if isinstance(p, Load) and p.index)
    if next(reads, None) is None:
        return (node,)
    return (If(Compare(CompareOp.LT, loop.lower, loop.upper), (node,)),)


def _common_guard(body: Body) -> Expr | None:
    """Return the condition that guards the whole of `body`."""
    guards = {node.condition for node in body if isinstance(node, If) and not node.otherwise}
    if len(guards) != 1 or not all(isinstance(n, If) and not n.otherwise for n in body):
        return None
    return guards.pop()


def _is_fixed(condition: Expr, loop: For) -> bool:
    """Tell whether a condition has one value for the whole loop, and may be read before it.

    Elements are read early only where the loop runs at all: see `_before`.
    """
    changed = written_arrays(loop.body) | declared_names(loop.body)
    changed |= {node.name for node in all_nodes(loop.body) if isinstance(node, SetLocal)}
    for part in walk(condition):
        match part:
            case Iter(name=name) if name == loop.iter:
                return False
            case Symbol(name=name) if name in changed:
                return False
            case Load(array=array) if array in changed:
                return False
            case VectorLoad():
                return False
            case _:
                pass
    return True


def is_index(condition: Expr) -> bool:
    """Tell whether a condition is on iterators and sizes alone."""
    return not depends_on_data(condition)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Iterations from `lower` on, before `upper`."""

    lower: Expr
    upper: Expr


def bounds_where(condition: Expr, loop: For) -> Bounds | None:
    """Return `loop`'s bounds where `condition` holds, or None when it is not a bound.

    Those of the loop and those of the condition stand next to each other, under MAX and MIN.
    """
    if not isinstance(condition, Compare) or condition.left.dtype is not DType.INT64:
        return None
    value = linear(sub(condition.left, condition.right))
    factor = dict(value.terms).get(Iter(loop.iter), 0)
    rest = Linear(value.constant, tuple(t for t in value.terms if t[0] != Iter(loop.iter)))
    if abs(factor) != 1 or any(has_iterator(atom, (loop.iter,)) for atom, _ in rest.terms):
        return None
    # factor * iter + rest op 0, that is iter op' limit
    limit = normalize(from_linear(Linear(-factor * rest.constant, _scaled(rest, -factor))))
    op = condition.op if factor > 0 else MIRRORED[condition.op]
    above, below = _LIMITS.get(op, (None, None))
    if above is None and below is None:
        return None
    lower, upper = loop.lower, loop.upper
    if above is not None:
        if loop.step != 1:
            return None
        lower = _joined_bound(BinaryOp.MAX, lower, normalize(add(limit, integer(above))))
    if below is not None:
        upper = _joined_bound(BinaryOp.MIN, upper, normalize(add(limit, integer(below))))
    return Bounds(lower, upper)


def _scaled(value: Linear, by: int) -> tuple[tuple[Expr, int], ...]:
    return tuple((atom, by * factor) for atom, factor in value.terms)


def _joined_bound(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    apart = linear(sub(left, right))
    if apart.terms:
        return Binary(op, left, right, DType.INT64)
    return left if (apart.constant >= 0) is (op is BinaryOp.MAX) else right


_LIMITS: dict[CompareOp, tuple[int | None, int | None]] = {
    # iter >= limit + first, iter < limit + second
    CompareOp.LT: (None, 0),
    CompareOp.LE: (None, 1),
    CompareOp.GT: (1, None),
    CompareOp.GE: (0, None),
    CompareOp.EQ: (0, 1),
}
