"""Check that an assignment computes the source's expression.

In: a statement, an assignment that claims to be one of its instances.  Out: the accesses that go
to other storage than the source's; `Differs` where the operations are not the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import reduce
from typing import TypeGuard

from polyopt import proof
from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    children,
    integer,
    mul,
    operands,
    rewrite,
    sub,
    substitute,
    walk,
    with_children,
)
from polyopt.ir.linear import Linear, from_linear, linear
from polyopt.ir.loops import If
from polyopt.ir.names import depends_on_data
from polyopt.ir.scop import Statement
from polyopt.ir.showing import show
from polyopt.ir.sums import added_products, is_polynomial
from polyopt.ir.types import DType
from polyopt.proof.affine import NotAffine
from polyopt.proof.paths import Path, conjuncts
from polyopt.proof.reading import Run
from polyopt.proof.tested_subscripts import Tests, either, is_two_sided, two_sided
from polyopt.proof.widths import fits


class Differs(Exception):
    """An assignment computes something else than the statement."""


@dataclass(frozen=True, slots=True)
class MovedAccess:
    """An access of the source (`load`, over the statement's iterators) and its new storage."""

    load: Load
    place: Load | Symbol


@dataclass(frozen=True)
class Match:
    """How a run computes its statement: its reads of other storage, and its target."""

    reads: tuple[MovedAccess, ...]
    target: MovedAccess | None


def match_statement(statement: Statement, run: Run) -> Match:
    """Return the accesses of `run` that moved; raises `Differs`."""
    if len(run.instance) != len(statement.iters):
        raise Differs(f"{statement.name} has {len(statement.iters)} iterators")
    values = dict(zip(statement.iters, run.instance, strict=True))
    matcher = Matcher(values, run.path, statement.fuses)
    left = matcher.guard(statement.guard, run.path.data)
    place = statement.target
    target: MovedAccess | None = None
    if not isinstance(run.target, Load) or not matcher.same_element(place, run.target):
        target = MovedAccess(place, run.target)
    if statement.is_reassociable and _is_contracted(statement.value, run.value):
        matcher.either(statement.value, run.value, Matcher.update)
    else:
        matcher.value(statement.value, run.value)
    matcher.check_told(left)
    reads = tuple(dict.fromkeys(matcher.moved))
    if len({moved.load for moved in reads}) != len(reads):
        raise Differs("one element of the source is read from several places")
    return Match(reads, target)


def is_same(want: Expr, found: Expr, path: Path) -> bool:
    """Tell whether two expressions outside of statements, over the same names, are equal."""
    matcher = Matcher({}, path, fuses=False)
    try:
        matcher.value(want, found)
    except Differs:
        return False
    return not matcher.moved


@dataclass(frozen=True)
class Matcher:
    """Compares expressions over a statement's iterators, `values`, with those at `path`.

    `fuses`: sums of products may be regrouped, and each product and sum round once.
    """

    values: Mapping[str, Expr]
    path: Path
    fuses: bool
    regroups: bool = True  # here; what a regrouped sum is made of was compared as a whole
    moved: list[MovedAccess] = field(default_factory=list)

    # -- conditions on data

    def guard(self, guard: Expr | None, data: tuple[Expr, ...]) -> list[Expr]:
        """Check that conditions on data are the statement's; raises `Differs`.

        Returns the others of the statement's, which have to hold all the same.
        """
        wanted = [] if guard is None else list(conjuncts(guard))
        if any(map(is_two_sided, found := list(data))):
            wanted = [rewrite(self._possible(part), two_sided) for part in wanted]
            found = [self._possible(part) for part in found]
        rest = list(wanted)
        for part in found:
            hit = next((want for want in rest if self._is_same(want, part)), None)
            if hit is None and not any(self._is_same(want, part) for want in wanted):
                raise Differs(f"runs only where {show(part)}")
            if hit is not None:
                rest.remove(hit)
        return [want for want in rest if not any(self._is_same(want, part) for part in found)]

    def check_told(self, conditions: list[Expr]) -> None:
        """Check that conditions hold without being tested here; raises `Differs`."""
        for condition in conditions:
            if not self._holds(condition):
                raise Differs(f"runs also where not {show(condition)}")

    def _holds(self, part: Expr) -> bool:
        """Tell whether a condition on sizes and iterators is true at all iterations of the run."""
        if depends_on_data(part):
            return self._tests.tell(part)
        try:
            here = self.path.frame.condition(_one_kind(self.at_instance(part)))
        except NotAffine:
            return False
        return bool(self.path.domain.is_subset(here))

    def _is_same(self, want: Expr, found: Expr) -> bool:
        before = len(self.moved)
        try:
            self.value(want, found)
        except Differs:
            del self.moved[before:]
            return False
        return True

    def _both(self, want: Binary, found: Select) -> None:
        """Compare a conjunction with one whose right side counts only where the left holds."""
        self.value(want.left, found.condition)
        path = self.path.into(If(found.condition, ()), 0)
        replace(self, path=path).value(want.right, found.then)

    @property
    def _tests(self) -> Tests:
        """What tests and conditions say of subscripts."""
        return Tests(self.path, self._is_same, self.moved)

    def _possible(self, part: Expr) -> Expr:
        """Return a condition without alternatives that sizes and iterators rule out."""
        found = operands(part, BinaryOp.OR)
        rest = [one for one in found if not self._holds(Unary(UnaryOp.INVERT, one, DType.BOOL))]
        return part if len(rest) in (0, len(found)) else reduce(either, rest)

    # -- values

    def value(self, want: Expr, found: Expr) -> None:
        """Check that `found` computes `want`; raises `Differs`."""
        if self.fuses and self.regroups and (is_polynomial(want) or is_polynomial(found)):
            self.either(want, found, Matcher.value)
        elif _is_alike_outside(want, found):
            self._as_written(want, found)
        elif _is_and(want) and _is_choice_of_both(found):
            self._both(want, found)
        else:
            self._as_written(self._tests.inside(want, found), found)

    def either(
        self, want: Expr, found: Expr, compare: Callable[[Matcher, Expr, Expr], None]
    ) -> None:
        """Check `found` by `compare`, or as `want` regrouped where the statement allows that.

        Elements in the storage of the source come first: any other may stand for any element.
        """
        before = len(self.moved)
        error: Differs | None = None
        try:
            compare(replace(self, regroups=False), want, found)
        except Differs as differs:
            error = differs
        moved = self.moved[before:]
        if not self.fuses or (error is None and not moved):
            if error is not None:
                raise error
            return
        for moves in (False, True):
            if moves and error is None:
                self.moved[before:] = moved
                return
            del self.moved[before:]
            try:
                proof.regrouping.compare_polynomials(
                    want, found, _normal, self.at_instance, self.value, moves=moves
                )
            except (proof.regrouping.NotRegrouped, Differs):
                continue
            return
        raise Differs(f"{show(found)} instead of {show(want)}")

    def _as_written(self, want: Expr, found: Expr) -> None:
        if self._is_index(want) and self._is_index(found):
            self._index(want, found)
            return
        if isinstance(want, Load):
            self._read(want, found)
            return
        compare = self._in_any_order(want, found)
        if compare is not None:
            compare(want, found)
            return
        if isinstance(want, Const) and isinstance(found, Const) and _same_constant(want, found):
            return
        if _is_contracted(want, found):
            self.product(want, found)
            return
        if _is_ratio(want) and isinstance(found, Binary) and found.op is BinaryOp.DIV:
            found = replace(found, op=BinaryOp.RATIO)  # it rounds once
        if type(want) is not type(found):
            raise Differs(f"{show(found)} instead of {show(want)}")
        parts, others = children(want), children(found)
        is_constant = isinstance(want, Const)
        if is_constant or len(parts) != len(others) or with_children(found, parts) != want:
            raise Differs(f"{show(found)} instead of {show(want)}")
        for part, other in zip(parts, others, strict=True):
            self.value(part, other)

    def _in_any_order(self, want: Expr, found: Expr) -> Callable[[Expr, Expr], None] | None:
        """Return the comparison of commutative integer operations, None for others."""
        if not want.dtype is found.dtype is DType.INT64:
            return None
        if _is_sum(want) or _is_sum(found):
            return self._sum
        return self._product if _is_product(want) and _is_product(found) else None

    def _sum(self, want: Expr, found: Expr) -> None:
        """Compare sums: their index arithmetic as a whole, their data term by term."""
        index, data = self._parts(want)
        other, others = self._parts(found)
        self._index(index, other)
        if len(data) != len(others):
            raise Differs(f"{show(found)} instead of {show(want)}")
        rest = list(others)
        for atom, factor in data:
            hit = self._hit(atom, [o for o, number in rest if number == factor])
            if hit is None:
                raise Differs(f"{show(found)} instead of {show(want)}")
            rest.remove((hit, factor))

    def _product(self, want: Expr, found: Expr) -> None:
        """Compare products of integers: the same factors in any order, which wraps the same."""
        number, factors = _factors(want)
        other, others = _factors(found)
        rest = list(others.elements())
        for factor in factors.elements():
            hit = self._hit(factor, rest)
            if hit is None:
                raise Differs(f"{show(found)} instead of {show(want)}")
            rest.remove(hit)
        if rest or number != other:
            raise Differs(f"{show(found)} instead of {show(want)}")

    def _hit(self, want: Expr, found: list[Expr]) -> Expr | None:
        """Return the one of `found` that computes `want`, preferably with the same elements."""
        moving = None
        for candidate in found:
            before = len(self.moved)
            if self._is_same(want, candidate):
                if len(self.moved) == before:
                    return candidate
                del self.moved[before:]
                moving = candidate if moving is None else moving
        if moving is not None:
            self.value(want, moving)
        return moving

    def _parts(self, expr: Expr) -> tuple[Expr, list[tuple[Expr, int]]]:
        """Split a sum into index arithmetic and data terms."""
        total = linear(expr)
        index = tuple(term for term in total.terms if self._is_index(term[0]))
        data = [term for term in total.terms if not self._is_index(term[0])]
        return from_linear(Linear(total.constant, index)), data

    def _is_index(self, expr: Expr) -> bool:
        """Tell whether an expression is index arithmetic: a function of the iteration."""
        if expr.dtype not in (DType.INT64, DType.BOOL):
            return False
        return not any(map(self._is_data, walk(expr)))

    def _is_data(self, part: Expr) -> bool:
        if isinstance(part, Symbol):
            return part.name not in self.path.params
        return isinstance(part, Load | Call | Cast)

    def update(self, want: Expr, found: Expr) -> None:
        """Check that `found` adds the products of an update whose order is open, one by one."""
        self._products(want, found, most=None)

    def product(self, want: Expr, found: Expr) -> None:
        """Check that `found` adds one product, where the statement lets both round once."""
        if not self.fuses:
            raise Differs(f"{show(found)} rounds once, the source twice")
        self._products(want, found, most=1)

    def _products(self, want: Expr, found: Expr, most: int | None) -> None:
        """Compare nested `fma(a, b, c)` with `c + a * b`, of at most so many products."""
        parts = added_products(want)
        if parts is None or (most is not None and len(parts[1]) > most):
            raise Differs(f"{show(found)} instead of {show(want)}")
        other, wanted = parts
        rest: Expr = found
        for is_negative, product in reversed(wanted):
            if not isinstance(rest, Call) or rest.func is not MathFunc.FMA:
                raise Differs(f"{show(found)} instead of {show(want)}")
            a, b, rest = rest.args
            if is_negative:
                if not isinstance(a, Unary) or a.op is not UnaryOp.NEG:
                    raise Differs(f"{show(found)} instead of {show(want)}")
                a = a.operand
            self.value(product.left, a)
            self.value(product.right, b)
        self.value(other, rest)

    def _read(self, want: Load, found: Expr) -> None:
        if not isinstance(found, Load | Symbol) or found.dtype is not want.dtype:
            raise Differs(f"{show(found)} instead of {show(want)}")
        if not isinstance(found, Load) or not self.same_element(want, found):
            self.moved.append(MovedAccess(want, found))

    def same_element(self, want: Load, found: Load) -> bool:
        """Tell whether two accesses are to one element."""
        if want.array != found.array or len(want.index) != len(found.index):
            return False
        return all(self._is_same(a, b) for a, b in zip(want.index, found.index, strict=True))

    def _index(self, want: Expr, found: Expr) -> None:
        if want.dtype is not found.dtype:
            raise Differs(f"{show(found)} instead of {show(want)}")
        expected = _one_kind(self.at_instance(want))
        actual = _one_kind(found)
        if _is_alike(_ordered(expected), _ordered(actual)):
            return
        if fits(found, self.path.loops, self.path.params) and self._is_equal(expected, actual):
            return
        raise Differs(f"{show(found)} instead of {show(expected)}")

    def _is_equal(self, want: Expr, found: Expr) -> bool:
        frame, domain = self.path.frame, self.path.domain
        try:
            if want.dtype is DType.INT64:
                differ = frame.pw(want).ne_set(frame.pw(found)).intersect(domain)
                return bool(differ.is_empty())
            one, two = frame.condition(want), frame.condition(found)
        except NotAffine:
            return False
        return bool(one.intersect(domain).is_equal(two.intersect(domain)))

    def at_instance(self, expr: Expr) -> Expr:
        """Return an expression over the statement's iterators at the run's instance."""
        values = self.values
        return substitute(expr, values)


def _is_alike_outside(one: Expr, two: Expr) -> bool:
    """Tell whether two expressions are of one operation."""
    return type(one) is type(two) and getattr(one, "op", None) is getattr(two, "op", None)


def _is_and(expr: Expr) -> TypeGuard[Binary]:
    return isinstance(expr, Binary) and expr.op is BinaryOp.AND and expr.dtype is DType.BOOL


def _is_choice_of_both(expr: Expr) -> TypeGuard[Select]:
    return isinstance(expr, Select) and expr.otherwise == Const(False, DType.BOOL)


def _is_alike(want: Expr, found: Expr) -> bool:
    """Tell whether two expressions differ in the order of sums and factors alone.

    Both orders wrap the same.
    """
    if want == found:
        return True
    if want.dtype is found.dtype is DType.INT64:
        distance = linear(sub(want, found))
        if not distance.terms and distance.constant == 0:
            return True
    parts, others = children(want), children(found)
    if type(want) is not type(found) or not parts or len(parts) != len(others):
        return False
    same = with_children(found, parts) == want
    return same and all(map(_is_alike, parts, others))


def _is_sum(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op in (BinaryOp.ADD, BinaryOp.SUB)


def _is_product(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op is BinaryOp.MUL and expr.dtype is DType.INT64


def _factors(expr: Expr) -> tuple[int, Counter[Expr]]:
    """Return the constant coefficient of a product, and its other factors."""
    number, others = 1, Counter[Expr]()
    for factor in operands(expr, BinaryOp.MUL):
        if isinstance(factor, Const):
            number *= int(factor.value.real)
        else:
            others[factor] += 1
    return number, others


def _ordered(expr: Expr) -> Expr:
    """Return an index with the factors of its products sorted."""

    def rule(part: Expr) -> Expr | None:
        if not _is_product(part):
            return None
        number, factors = _factors(part)
        found: Expr = integer(number)
        for factor in sorted(factors.elements(), key=show):
            found = mul(found, factor)
        return found

    return rewrite(expr, rule)


def _normal(expr: Expr) -> Expr:
    """Return an expression with its index arithmetic in one form."""

    def rule(part: Expr) -> Expr | None:
        if part.dtype is not DType.INT64:
            return None
        found = linear(_one_kind(part))
        terms = sorted(found.terms, key=lambda term: show(term[0]))
        return from_linear(Linear(found.constant, tuple(terms)))

    return rewrite(expr, rule)


def _is_ratio(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op is BinaryOp.RATIO


def _is_contracted(want: Expr, found: Expr) -> bool:
    """Tell whether `found` rounds a product and its sum once, unlike `want`."""
    return _is_fma(found) and not _is_fma(want)


def _is_fma(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.func is MathFunc.FMA


def _same_constant(one: Const, two: Const) -> bool:
    if one.dtype is not two.dtype:
        return False
    return repr(one.value) == repr(two.value)


def _one_kind(expr: Expr) -> Expr:
    """Return `expr` with names of all kinds as sizes."""

    def rule(part: Expr) -> Expr | None:
        match part:
            case Iter(name=name):
                return Param(name)
            case Symbol(name=name, dtype=DType.INT64, lanes=1):
                return Param(name)
            case _:
                return None

    return rewrite(expr, rule)
