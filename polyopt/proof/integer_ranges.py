"""Bound integer scalars that loops count, at each node.

In: nodes in the order in which they run.  Out: bounds over iterators and sizes of scalars that
start with a known value and to which loops only add constants.
Values that loops find while they run: what is known of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from polyopt.dataclass import dataclass, field
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    add,
    children,
    integer,
    mul,
    sub,
    walk,
    with_children,
)
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Body, Declare, Fail, For, If, LoopKind, Node, SetLocal, While
from polyopt.ir.nodes import bodies
from polyopt.ir.types import DType, Kind
from polyopt.proof.nodes import own_written

_LARGEST_STEP = 2**10
_LARGEST_BOUND = 40  # nodes of an expression


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """The least and the greatest value, over iterators, sizes and numbers."""

    low: Expr
    high: Expr

    def plus(self, other: IntegerRange) -> IntegerRange:
        """Return the range of sums."""
        return IntegerRange(_sum(self.low, other.low), _sum(self.high, other.high))


Spans = Mapping[Expr, IntegerRange]  # by the scalar: a local, or an array of no dimension


def conditions(scalars: Iterable[Expr], spans: Spans) -> Iterator[Expr]:
    """Yield the bounds of those of `scalars` that have a range."""
    for scalar in scalars:
        if scalar in spans:
            yield Compare(CompareOp.GE, scalar, spans[scalar].low)
            yield Compare(CompareOp.LE, scalar, spans[scalar].high)


def ranges_after(node: Node, spans: Spans) -> Spans:
    """Return the ranges after `node`, given those before it."""
    match node:
        case Assign() | Declare() | SetLocal():
            scalar = _scalar(node)
            if scalar is None:
                return spans
            value = _range_of(node.value, spans)
            rest = {known: span for known, span in spans.items() if known != scalar}
            return rest if value is None else {**rest, scalar: value}
        case For():
            return {
                scalar: span if step is None else _after_loop(node, span, step)
                for scalar, span in spans.items()
                for step in (_step(scalar, node.body),)
                if step is None or _is_counted(node, scalar, step)
            }
        case If():
            return _union_of_branches(
                [_through(part, spans) for part in bodies(node) if not _ends(part)]
            )
        case While():
            return {s: span for s, span in spans.items() if _step(s, node.body) is None}
        case _:
            gone = own_written(node)
            return {s: span for s, span in spans.items() if getattr(s, "array", None) not in gone}


def ranges_inside(node: For | While, spans: Spans) -> Spans:
    """Return the ranges at the start of an iteration of a loop, given those before the loop."""
    if isinstance(node, While):
        return ranges_after(node, spans)
    result = {}
    for scalar, span in spans.items():
        step = _step(scalar, node.body)
        if step is None:
            result[scalar] = span
        elif _is_counted(node, scalar, step):
            result[scalar] = _counted(span, step, sub(Iter(node.iter), node.lower))
    return result


def _scalar(node: Assign | Declare | SetLocal) -> Expr | None:
    """Return the target of a node, if it is a single integer of its own."""
    match node:
        case Assign(target=Load(index=()) as target) if target.dtype is DType.INT64:
            return target
        case Declare(dtype=DType.INT64, lanes=1) | SetLocal(dtype=DType.INT64, lanes=1):
            return Symbol(node.name, node.dtype)
        case _:
            return None


def _through(body: Body, spans: Spans) -> Spans:
    for node in body:
        spans = ranges_after(node, spans)
    return spans


def _ends(body: Body) -> bool:
    """Tell whether `body` ends in a fault, so that nothing runs after it."""
    return bool(body) and isinstance(body[-1], Fail)


def _union_of_branches(ways: list[Spans]) -> Spans:
    """Return the ranges that hold on all branches."""
    if not ways:
        return {}
    first, *others = ways
    result = {}
    for scalar, span in first.items():
        whole: IntegerRange | None = span
        for other in others:
            whole = _union(whole, other.get(scalar))
        if whole is not None:
            result[scalar] = whole
    return result


def _union(one: IntegerRange | None, two: IntegerRange | None) -> IntegerRange | None:
    if one is None or two is None:
        return None
    low = _outer(BinaryOp.MIN, one.low, two.low)
    high = _outer(BinaryOp.MAX, one.high, two.high)
    return None if low is None or high is None else IntegerRange(low, high)


def _outer(op: BinaryOp, one: Expr, two: Expr) -> Expr | None:
    """Return the smaller or the larger of two bounds."""
    match sub(two, one):
        case Const(value=int(distance)):
            return two if (distance < 0) == (op is BinaryOp.MIN) else one
        case _:
            both = Binary(op, one, two, DType.INT64)
            return both if len(list(walk(both))) <= _LARGEST_BOUND else None


def _range_of(value: Expr, spans: Spans) -> IntegerRange | None:
    """Return the range of a value, if it is known."""
    match value:
        case Const() | Iter() | Param():
            return IntegerRange(value, value)
        case Load() | Symbol() if value in spans:
            return spans[value]
        case Cast(operand=operand) if operand.dtype is DType.BOOL:
            return IntegerRange(integer(0), integer(1))
        case Cast(operand=operand) if operand.dtype is DType.INT64:
            return _range_of(operand, spans)
        case Select():
            return _union(_range_of(value.then, spans), _range_of(value.otherwise, spans))
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB):
            left, right = _range_of(value.left, spans), _range_of(value.right, spans)
            if left is None or right is None:
                return None
            if value.op is BinaryOp.SUB:
                right = IntegerRange(_negated(right.high), _negated(right.low))
            return left.plus(right)
        case _:
            return None


# -- loops


@dataclass(frozen=True, slots=True)
class _Step:
    """The sum of a body's additions to a scalar: at least `low` <= 0, at most `high` >= 0."""

    low: int = 0
    high: int = 0
    is_known: bool = True


def _step(scalar: Expr, body: Body) -> _Step | None:
    """Return a body's additions to `scalar`; None if it leaves the scalar alone."""
    steps = [step for node in body if (step := _own_step(scalar, node)) is not None]
    if not steps:
        return None
    return _Step(
        sum(step.low for step in steps),
        sum(step.high for step in steps),
        all(step.is_known for step in steps),
    )


def _own_step(scalar: Expr, node: Node) -> _Step | None:
    match node:
        case Assign() | SetLocal() | Declare():
            if _scalar(node) == scalar and not isinstance(node, Declare):
                return _added(scalar, node.value)
        case For() | While():
            if any(symbol == scalar for _, symbol in getattr(node, "reductions", ())):
                return _Step(is_known=False)
            return None if _step(scalar, node.body) is None else _Step(is_known=False)
        case If():
            ways = [_step(scalar, part) for part in bodies(node)]
            known = [step for step in ways if step is not None]
            if not known:
                return None
            return _Step(
                min(0, *(step.low for step in known)),
                max(0, *(step.high for step in known)),
                all(step.is_known for step in known),
            )
        case _:
            pass
    names = {getattr(scalar, "array", None), getattr(scalar, "name", None)}
    others = {*own_written(node), *((node.name,) if isinstance(node, Declare) else ())}
    return _Step(is_known=False) if names & others else None


def _added(scalar: Expr, value: Expr) -> _Step:
    """Return the value that an assignment of `value` adds to `scalar`."""
    match value:
        case Binary(op=BinaryOp.ADD, left=left, right=right) if scalar in (left, right):
            added = _range_of(right if left == scalar else left, {})
        case Binary(op=BinaryOp.SUB, left=left, right=right) if left == scalar:
            added = _range_of(right, {})
            added = added and IntegerRange(_negated(added.high), _negated(added.low))
        case _:
            return _Step(is_known=False)
    match added:
        case IntegerRange(low=Const(value=int(low)), high=Const(value=int(high))):
            is_known = max(-low, high) <= _LARGEST_STEP
            return _Step(min(low, 0), max(high, 0), is_known)
        case _:
            return _Step(is_known=False)


def _is_counted(loop: For, scalar: Expr, step: _Step) -> bool:
    """Tell whether the iterations of a loop add to `scalar` sequentially."""
    plain = (Iter, Param, Const, Binary)
    bounds = [part for bound in (loop.lower, loop.upper) for part in walk(bound)]
    return (
        step.is_known
        and loop.kind in (LoopKind.SEQUENTIAL, LoopKind.UNROLL)
        and all(symbol != scalar for _, symbol in loop.reductions)
        and all(isinstance(part, plain) for part in bounds)
    )


def _counted(span: IntegerRange, step: _Step, trips: Expr) -> IntegerRange:
    low = _sum(span.low, mul(integer(step.low), trips)) if step.low else span.low
    high = _sum(span.high, mul(integer(step.high), trips)) if step.high else span.high
    return IntegerRange(low, high)


def _after_loop(loop: For, span: IntegerRange, step: _Step) -> IntegerRange:
    trips = normalize(sub(loop.upper, loop.lower))
    return _counted(span, step, Binary(BinaryOp.MAX, trips, integer(0), DType.INT64))


def _sum(left: Expr, right: Expr) -> Expr:
    return normalize(add(left, right))


def _negated(value: Expr) -> Expr:
    return normalize(sub(integer(0), value))


AFFINE = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MIN, BinaryOp.MAX)


@dataclass
class ValueRange:
    """The smallest and the largest constant beside the same terms."""

    low: int
    high: int


@dataclass
class Unknowns:
    """Parameters for values that are not affine, one for each expression."""

    names: dict[Expr, str] = field(default_factory=dict)
    products: set[str] = field(default_factory=set)
    truths: set[str] = field(default_factory=set)

    def of(self, expr: Expr) -> Param:
        """Return the parameter for `expr`."""
        return Param(self.names.setdefault(expr, f"?{len(self.names)}"))

    def abstracted(self, expr: Expr) -> Expr:
        """Return `expr` with values that are not affine as unknown parameters."""
        match expr:
            case Const() | Iter() | Param():
                return expr
            case Symbol(lanes=1, dtype=DType.INT64):
                return Param(expr.name)
            case Load() | VectorLoad() | Call() | Cast() | Symbol():
                return self.of(expr) if expr.dtype.is_integer else expr
            case Binary(op=BinaryOp.MUL | BinaryOp.FLOORDIV | BinaryOp.MOD):
                left, right = self.abstracted(expr.left), self.abstracted(expr.right)
                fixed = isinstance(right, Const) or (
                    expr.op is BinaryOp.MUL and isinstance(left, Const)
                )
                if fixed:
                    return with_children(expr, (left, right))
                if not any(isinstance(p, Load | VectorLoad) for p in walk(expr)):
                    self.products.add(self.of(expr).name)
                return self.of(expr)
            case Binary() if expr.dtype is DType.INT64 and expr.op not in AFFINE:
                return self.of(expr)
            case Select():
                arms = map(self.abstracted, (expr.then, expr.otherwise))
                return with_children(expr, (self.decided(expr.condition), *arms))
            case Binary() | Unary() | Compare():
                return with_children(expr, tuple(map(self.abstracted, children(expr))))
            case _:
                return expr

    def decided(self, condition: Expr) -> Expr:
        """Return the condition of a choice, parts that are not affine as unknown truth values."""
        match condition:
            case Const():
                return condition
            case Unary(op=UnaryOp.INVERT) | Binary(op=BinaryOp.AND | BinaryOp.OR | BinaryOp.XOR):
                return with_children(condition, tuple(map(self.decided, children(condition))))
            case Compare():
                plain = self.abstracted(condition)
                sides = children(plain)
                if all(isinstance(s, Const | Param) or s.dtype is DType.INT64 for s in sides):
                    return plain
            case _:
                pass
        self.truths.add(self.of(condition).name)
        return Compare(CompareOp.NE, self.of(condition), integer(0))


def limits_of(expr: Expr) -> tuple[int, int] | None:
    """Return the least and the greatest value of an integer type."""
    match expr:
        case Binary(op=BinaryOp.AND, right=Const(value=int(mask))) if mask >= 0:
            return 0, mask
        case Cast(operand=operand) if operand.dtype.is_integer or operand.dtype is DType.BOOL:
            inner, own = limits_of(operand), _of_dtype(expr.dtype)
            if expr.dtype is DType.INT64 or inner is None or own is None:
                return inner if expr.dtype is DType.INT64 else own
            return inner if own[0] <= inner[0] and inner[1] <= own[1] else own  # it wraps
        case _:
            return _of_dtype(expr.dtype)


def _of_dtype(dtype: DType) -> tuple[int, int] | None:
    if dtype is DType.BOOL:
        return 0, 1
    if not dtype.is_integer or dtype.size > 4:
        return None
    bits = 8 * dtype.size
    if dtype.kind is Kind.UNSIGNED:
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
