"""Regroup sums of products, in statements that leave these roundings open.

In: a `LoopFunction`, whose `fusible` names the statements; whether the machine has fused
multiply-add.  Out: values with fewer operations: equal terms merged, constant factors taken out
(`c*a + c*b` becomes `c * (a + b)`), sums that several values of a body have in common made of the
same operands; or with fewer operations after a value of an earlier iteration, which joins last.
Leaves: sums of which a term cancels, products of sums, what comparisons and conversions decide,
the accumulators of updates.

The pairs of operands to share are chosen greedily, the most frequent first (Paar, "Optimized
arithmetic for Reed-Solomon encoders", 1997).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations

from polyopt.dataclass import dataclass, replace
from polyopt.emit.passes.fma import contracted
from polyopt.emit.regions import declared_names
from polyopt.ir.clock import checkpoint
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Const,
    Expr,
    Load,
    MathFunc,
    Symbol,
    Unary,
    UnaryOp,
    children,
    sub,
    walk,
    with_children,
)
from polyopt.ir.linear import linear, slope_of
from polyopt.ir.loops import Assign, Body, Declare, For, LoopFunction, LoopKind, Node, SetLocal
from polyopt.ir.nodes import all_nodes, map_bodies
from polyopt.ir.sums import REALS, coefficient, divisor, is_polynomial, sums_inside
from polyopt.ir.types import DType

MOST = 64
"""Terms of a sum: pairs of them are counted."""

LONG = 4
"""How many sums a quotient, a root or a function takes."""

Signed = tuple[int, Expr]
"""1 or -1, and what is added or subtracted."""

Setting = Assign | Declare | SetLocal


def regroup(fn: LoopFunction, *, fma: bool) -> LoopFunction:
    """Return `fn` with the sums of its fusible statements regrouped where that saves time."""
    return replace(fn, body=_body(fn.body, None, _Rules(fn, fma)))


def grouped_values(fn: LoopFunction, nodes: list[Setting], *, fma: bool) -> list[Expr]:
    """Return the values of nodes in a loop whose iterations are independent, as `regroup` does."""
    found = _straight(nodes, None, _Rules(fn, fma))
    return [contracted(node.value) if fma else node.value for node in found]


@dataclass(frozen=True, eq=False)
class _Rules:
    """What a function allows, and what products cost beside sums."""

    fn: LoopFunction
    fma: bool

    def allows(self, node: Node) -> bool:
        """Tell whether the value of a node may be regrouped."""
        if not isinstance(node, Assign | Declare | SetLocal) or node.value.dtype not in REALS:
            return False
        is_atomic = isinstance(node, Assign) and node.is_atomic
        return node.statement in self.fn.fusible and not is_atomic

    def cost(self, exprs: Iterable[Expr]) -> tuple[int, int]:
        """Return how many operations the distinct parts of `exprs` have, and how many products."""
        known: set[Expr] = set()
        for expr in exprs:
            known.update(walk(contracted(expr) if self.fma else expr))
        found = [part for part in known if part.dtype in REALS and is_polynomial(part)]
        return len(found), sum(not _adds(part) for part in found)


def _adds(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op in (BinaryOp.ADD, BinaryOp.SUB)


def _body(body: Body, loop: For | None, rules: _Rules) -> Body:
    checkpoint()
    found: list[Node] = []
    straight: list[Setting] = []
    for node in body:
        if isinstance(node, Assign | Declare | SetLocal):
            straight.append(node)
            continue
        found += _straight(straight, loop, rules)
        straight = []
        if isinstance(node, For) and node.kind is LoopKind.MATRIX:
            found.append(node)
            continue
        found.append(map_bodies(node, _body, node if isinstance(node, For) else loop, rules))
    return (*found, *_straight(straight, loop, rules))


def _straight(nodes: list[Setting], loop: For | None, rules: _Rules) -> list[Setting]:
    """Return nodes that run one after another with their values regrouped."""
    if not any(map(rules.allows, nodes)):
        return nodes
    carried = Carried({}) if loop is None else carried_by(loop)
    old = [node.value for node in nodes]
    alone = [_best(node, carried, rules) for node in nodes]
    shared = _together(nodes, carried, rules)
    waits = [sum(carried.latency(v, fma=rules.fma) for v in values) for values in (alone, shared)]
    saves = rules.cost(shared) < rules.cost(alone) and waits[1] <= waits[0]
    new = shared if saves else alone
    return [
        node if value is before else replace(node, value=value)
        for node, value, before in zip(nodes, new, old, strict=True)
    ]


def _best(node: Setting, carried: Carried, rules: _Rules) -> Expr:
    """Return the value of a node, regrouped by itself if that is better."""
    if not rules.allows(node):
        return node.value
    value = _value(node, _Builder(carried, {}), rules)
    old, new = rules.cost([node.value]), rules.cost([value])
    waits = carried.latency(node.value, fma=rules.fma), carried.latency(value, fma=rules.fma)
    is_sooner = waits[1] < waits[0] and new[0] <= old[0] + len(carried.within(node.value))
    is_later = waits[1] > waits[0]
    return value if is_sooner or (new < old and not is_later) else node.value


def _together(nodes: list[Setting], carried: Carried, rules: _Rules) -> list[Expr]:
    """Return the values of nodes, all regrouped so that they share sums."""
    groups = _Groups([])
    for node in nodes:
        if rules.allows(node):
            _value(node, _Builder(carried, {}, groups), rules)
    chosen = _pairs(groups.found)
    if not chosen:
        return [node.value for node in nodes]
    builder = _Builder(carried, chosen)
    return [_value(n, builder, rules) if rules.allows(n) else n.value for n in nodes]


def _value(node: Setting, builder: _Builder, rules: _Rules) -> Expr:
    """Return the value of a node as `builder` makes it; an update keeps its accumulator first."""
    value = node.value
    if node.statement not in rules.fn.reassociable:
        return builder.made(value)
    own = node.target if isinstance(node, Assign) else Symbol(node.name, node.dtype, node.lanes)
    if isinstance(value, Binary) and _adds(value) and value.left == own:
        return replace(value, right=builder.made(value.right))
    return value


@dataclass(frozen=True, eq=False)
class _Term:
    """A product: of a constant, the sign included, and of factors."""

    scale: Fraction
    factors: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class _Groups:
    """The sums of single values that are built, of which several may have parts in common."""

    found: list[list[Signed]]


@dataclass(frozen=True, eq=False)
class _Builder:
    """Builds expressions anew; `pairs` are the sums to share, in the order of their choice."""

    carried: Carried
    pairs: Mapping[tuple[Expr, Expr, int], Expr]
    groups: _Groups | None = None

    def made(self, expr: Expr) -> Expr:
        """Return `expr` with its sums regrouped."""
        if not is_polynomial(expr):
            inside = sums_inside(expr)
            return _with(expr, {part: self.made(part) for part in inside})
        found = self.terms(expr, Fraction(1))
        merged: dict[frozenset[tuple[Expr, int]], _Term] = {}
        for term in found:
            key = frozenset(Counter(term.factors).items())
            same = merged.get(key)
            scale = term.scale + (Fraction(0) if same is None else same.scale)
            merged[key] = _Term(scale, term.factors)
        if len(found) > MOST or any(not term.scale for term in merged.values()):
            return _with(expr, {part: self.made(part) for part in children(expr)})
        return self.sum(list(merged.values()), expr.dtype)

    def terms(self, expr: Expr, scale: Fraction) -> list[_Term]:
        """Return the products that the sum `expr` adds, times `scale`."""
        constant = coefficient(expr)
        if constant is not None:
            return [_Term(scale * constant, ())]
        match expr:
            case Binary(op=BinaryOp.ADD | BinaryOp.SUB):
                second = scale if expr.op is BinaryOp.ADD else -scale
                return [*self.terms(expr.left, scale), *self.terms(expr.right, second)]
            case Unary(op=UnaryOp.NEG):
                return self.terms(expr.operand, -scale)
            case Binary(op=BinaryOp.MUL):
                for factor, other in ((expr.left, expr.right), (expr.right, expr.left)):
                    constant = coefficient(factor)
                    if constant is not None:
                        return self.terms(other, scale * constant)
                return [self.product(expr, scale)]
            case Binary() if (part := divisor(expr)) is not None:
                return self.terms(expr.left, scale * part)
            case _:
                return [_Term(scale, (self.made(expr) if not _is_fma(expr) else expr,))]

    def product(self, expr: Expr, scale: Fraction) -> _Term:
        """Return a product of values, of which each may be a sum."""
        factors: list[Expr] = []
        waiting = [expr]
        while waiting:
            part = waiting.pop()
            constant = coefficient(part)
            if constant is not None:
                scale *= constant
            elif isinstance(part, Binary) and part.op is BinaryOp.MUL:
                waiting += (part.right, part.left)
            else:
                factors.append(self.made(part))
        return _Term(scale, tuple(factors))

    def sum(self, found: list[_Term], dtype: DType) -> Expr:
        """Return the sum of terms; what an earlier iteration computes joins last."""
        late = [(delay, t) for t in found if (delay := self.carried.delay(t.factors))]
        early = [term for term in found if not self.carried.delay(term.factors)]
        parts = self.grouped(early, dtype)
        result = _joined(parts, dtype) if parts else None
        for _, term in sorted(late, key=lambda item: -item[0]):
            part = _scaled(term.scale, _multiplied(term.factors), dtype)
            result = _plus(result, part)
        assert result is not None
        sign, expr = result
        return expr if sign > 0 else Unary(UnaryOp.NEG, expr, dtype)

    def grouped(self, found: list[_Term], dtype: DType) -> list[Signed]:
        """Return products of constants and sums, sums without a constant first."""
        groups: dict[Fraction, list[_Term]] = {}
        for term in found:
            groups.setdefault(abs(term.scale) if term.factors else Fraction(1), []).append(term)
        parts: list[Signed] = []
        for scale, group in sorted(groups.items(), key=lambda item: item[0] != 1):
            alone = [self.single(t, dtype) for t in group if len(t.factors) < 2]
            products = [
                (_sign(t.scale), _multiplied(t.factors)) for t in group if len(t.factors) > 1
            ]
            if scale == 1:
                parts += [self.balanced(alone), *products] if alone else products
                continue
            if alone:
                whole = _joined([self.balanced(alone), *products], dtype)
            elif len(products) == 1:
                parts.append(_by_first(scale, group[0], dtype))
                continue
            else:
                whole = _joined(products, dtype)
            parts.append(_scaled(scale * whole[0], whole[1], dtype))
        return parts

    def single(self, term: _Term, dtype: DType) -> Signed:
        """Return a value, or a constant, with its sign."""
        if term.factors:
            return _sign(term.scale), term.factors[0]
        return _sign(term.scale), _constant(abs(term.scale), dtype)

    def balanced(self, parts: list[Signed]) -> Signed:
        """Return the sum of values, added in pairs."""
        if self.groups is not None:
            self.groups.found.append(parts)
        parts = _with_pairs(parts, self.pairs)
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            odd = parts[-1:] if len(parts) % 2 else []
            parts = [_plus(one, other) for one, other in pairs] + odd
        return parts[0]


def _pairs(groups: list[list[Signed]]) -> dict[tuple[Expr, Expr, int], Expr]:
    """Return the pairs that several sums add, each the most frequent one after those before."""
    chosen: dict[tuple[Expr, Expr, int], Expr] = {}
    left = [group for group in groups if 1 < len(group) <= MOST]
    order: dict[Expr, int] = {}
    while True:
        checkpoint()
        count = Counter(key for group in left for key in _keys(group, order))
        if not count:
            return chosen
        key, most = max(count.items(), key=lambda item: item[1])
        if most < 2:
            return chosen
        chosen[key] = _plus((1, key[0]), (key[2], key[1]))[1]
        left = [_with_pairs(group, {key: chosen[key]}) for group in left]


def _keys(group: list[Signed], order: dict[Expr, int]) -> Iterable[tuple[Expr, Expr, int]]:
    """Yield the pairs of a sum, in the order of `order`, with the product of their signs."""
    for _, part in group:
        order.setdefault(part, len(order))
    ranked = sorted(group, key=lambda part: order[part[1]])
    for (one, first), (other, second) in combinations(ranked, 2):
        yield first, second, one * other


def _with_pairs(group: list[Signed], pairs: Mapping[tuple[Expr, Expr, int], Expr]) -> list[Signed]:
    """Return a sum with the pairs of operands that it has in common with others as one operand."""
    for (first, second, relation), expr in pairs.items():
        signs = {part: sign for sign, part in group}
        sign = signs.get(first, 0)
        if sign and signs.get(second, 0) == sign * relation:
            rest = [part for part in group if part[1] not in (first, second)]
            group = [(sign, expr), *rest]
    return group


def _plus(one: Signed | None, other: Signed) -> Signed:
    """Return the sum of two signed values."""
    if one is None:
        return other
    (left_sign, left), (right_sign, right) = one, other
    if left_sign == right_sign:
        return left_sign, Binary(BinaryOp.ADD, left, right, left.dtype)
    if left_sign > 0:
        return 1, Binary(BinaryOp.SUB, left, right, left.dtype)
    return 1, Binary(BinaryOp.SUB, right, left, left.dtype)


def _joined(parts: list[Signed], dtype: DType) -> Signed:
    """Return the sum of parts, one after another."""
    del dtype
    result: Signed | None = None
    for part in parts:
        result = _plus(result, part)
    assert result is not None
    return result


def _scaled(scale: Fraction, expr: Expr | None, dtype: DType) -> Signed:
    """Return a value times a constant."""
    if expr is None:
        return _sign(scale), _constant(abs(scale), dtype)
    if abs(scale) == 1:
        return _sign(scale), expr
    product = Binary(BinaryOp.MUL, _constant(abs(scale), dtype), expr, dtype)
    return _sign(scale), product


def _by_first(scale: Fraction, term: _Term, dtype: DType) -> Signed:
    """Return a product of values with its constant at the first factor."""
    first = Binary(BinaryOp.MUL, _constant(scale, dtype), term.factors[0], dtype)
    found = _multiplied((first, *term.factors[1:]))
    assert found is not None
    return _sign(term.scale), found


def _multiplied(factors: tuple[Expr, ...]) -> Expr:
    result = factors[0]
    for factor in factors[1:]:
        result = Binary(BinaryOp.MUL, result, factor, result.dtype)
    return result


def _sign(scale: Fraction) -> int:
    return 1 if scale > 0 else -1


def _constant(value: Fraction, dtype: DType) -> Const:
    number = float(value)
    if dtype is DType.FLOAT32:
        (number,) = struct.unpack("f", struct.pack("f", number))
    return Const(number, dtype)


def _with(expr: Expr, renewed: Mapping[Expr, Expr]) -> Expr:
    parts = children(expr)
    if all(renewed.get(part, part) is part for part in parts):
        return expr
    return with_children(expr, tuple(renewed.get(part, part) for part in parts))


def _is_fma(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.func is MathFunc.FMA


# -- values of earlier iterations ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Carried:
    """By value: after how many iterations the loop reads it."""

    values: Mapping[Expr, int]

    def delay(self, exprs: Iterable[Expr]) -> int:
        """Return how late values may join: 0 at any time, else the least number of iterations."""
        found = [self.values[p] for e in exprs for p in walk(e) if p in self.values]
        return min(found, default=0)

    def within(self, expr: Expr) -> list[Expr]:
        """Return the parts of `expr` that are such values."""
        return [part for part in walk(expr) if part in self.values]

    def latency(self, expr: Expr, *, fma: bool) -> float:
        """Return how many operations wait one for another between such a value and `expr`.

        Those read after several iterations count by the iteration.
        """
        if not self.values:
            return 0.0
        return self._latency(contracted(expr) if fma else expr)[0]

    def _latency(self, expr: Expr) -> tuple[float, bool]:
        if expr in self.values:
            return 0.0, True
        found = [(self._latency(part), part) for part in children(expr)]
        waits = [wait for (wait, is_late), _ in found if is_late]
        if not waits:
            return 0.0, False
        return max(waits) + _own(expr), True


def _own(expr: Expr) -> float:
    match expr:
        case Unary():
            return 0.0
        case Binary(op=BinaryOp.DIV) | Call(func=MathFunc.SQRT):
            return float(LONG)
        case Call(func=MathFunc.FMA) | Binary():
            return 1.0
        case Call():
            return float(LONG)
        case _:
            return 1.0


def carried_by(loop: For) -> Carried:
    """Return the values that the body of `loop` reads after earlier iterations wrote them."""
    if loop.kind not in (LoopKind.SEQUENTIAL, LoopKind.UNROLL):
        return Carried({})
    own = declared_names(loop.body)
    nodes = tuple(all_nodes(loop.body))
    targets = [n.target for n in nodes if isinstance(n, Assign) and isinstance(n.target, Load)]
    values = [n.value for n in nodes if isinstance(n, Assign | SetLocal)]
    found: dict[Expr, int] = {}
    for part in {part for value in values for part in walk(value)}:
        if not isinstance(part, Load):
            continue
        delays = [d for target in targets if (d := _distance(target, part, loop)) is not None]
        if delays:
            found[part] = min(delays)
    for node in nodes:
        if isinstance(node, SetLocal) and node.name not in own:
            found[Symbol(node.name, node.dtype, node.lanes)] = 1
    return Carried(found)


def _distance(target: Load, load: Load, loop: For) -> int | None:
    """Return after how many iterations an element is read at `load`, None if never or unknown."""
    if target.array != load.array or len(target.index) != len(load.index):
        return None
    found: int | None = None
    for mine, other in zip(target.index, load.index, strict=True):
        apart = linear(sub(mine, other))
        step = slope_of(mine, loop.iter) * loop.step
        if apart.terms or (step == 0 and apart.constant != 0):
            return None
        if step == 0:
            continue
        count, rest = divmod(apart.constant, step)
        if rest or (found is not None and found != count):
            return None
        found = count
    return found if found is not None and found > 0 else None
