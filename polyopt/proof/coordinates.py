"""Express the loops' iterators as functions of the instance that an iteration runs.

In: a run.  Out: every iterator that is found, linear over the statement's iterators, sizes and
quotients `floor(linear / constant)`; the quotients have names, so that tiles stay linear.
Derived from bounds and tags; `instances` checks the result before it is used.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, field
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Expr,
    Iter,
    Param,
    Symbol,
    add,
    integer,
    mul,
    operands,
    rewrite,
    sub,
)
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.loops import For
from polyopt.ir.names import has_iterator
from polyopt.ir.scop import Statement
from polyopt.ir.types import DType
from polyopt.proof.affine import Frame
from polyopt.proof.reading import Run


@dataclass(frozen=True)
class Quotient:
    """`floor(value / by)`, `value` over iterators, sizes and earlier quotients."""

    name: str
    value: Expr
    by: int


@dataclass
class Quotients:
    """All quotients of one statement, shared by its runs."""

    statement: Statement
    params: tuple[str, ...]
    found: dict[tuple[Expr, int], Quotient] = field(default_factory=dict)
    links: list[tuple[Expr, Quotient, int]] = field(default_factory=list)

    def of(self, value: Expr, by: int) -> Expr:
        """Return the name of `floor(value / by)`."""
        value = normalize(value)
        if by == 1:
            return value
        inner = self._single(value)
        if inner is None:
            return Param(self._named(value, by).name)
        # floor((floor(v / a) + e) / b) is floor((v + a * e) / (a * b))
        quotient, offset = inner
        whole = self._named(
            normalize(add(quotient.value, integer(quotient.by * offset))), quotient.by * by
        )
        self.links.append((value, whole, by))
        return Param(whole.name)

    def _single(self, value: Expr) -> tuple[Quotient, int] | None:
        parts = linear(value)
        if len(parts.terms) != 1 or parts.terms[0][1] != 1:
            return None
        atom = parts.terms[0][0]
        named = {q.name: q for q in self.found.values()}
        if isinstance(atom, Param) and atom.name in named:
            return named[atom.name], parts.constant
        return None

    def _named(self, value: Expr, by: int) -> Quotient:
        known = self.found.get((value, by))
        if known is None:
            known = Quotient(f"{self.statement.name}/{len(self.found)}", value, by)
            self.found[(value, by)] = known
        return known

    @property
    def all(self) -> tuple[Quotient, ...]:
        """The quotients, each after those that it uses."""
        return tuple(self.found.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the quotients."""
        return tuple(q.name for q in self.all)

    @property
    def frame(self) -> Frame:
        """Sizes and quotients as parameters, the statement's iterators as dimensions."""
        return Frame((*self.params, *self.names), self.statement.iters)

    def defined(self) -> isl.Set:
        """Return `{ statement[iters] }` where every quotient has its value."""
        frame = self.frame
        result = frame.universe
        for quotient in self.all:
            result = result.intersect(_is_floor(frame, quotient.value, quotient.name, quotient.by))
        for value, quotient, by in self.links:
            result = result.intersect(_is_floor(frame, value, quotient.name, by))
        return result.set_tuple_name(self.statement.name)

    def function(self, expr: Expr) -> isl.Map:
        """Return `{ statement[iters] -> [value] }` of a coordinate."""
        frame = Frame(self.params, self.statement.iters)
        value = isl.Map.from_pw_aff(frame.pw(self.spelled(expr)))
        return value.set_tuple_name(isl.dim_type.in_, self.statement.name)

    def element(self, name: str, index: tuple[Expr, ...]) -> isl.Map:
        """Return `{ statement[iters] -> name[index] }` of coordinates; raises `NotAffine`."""
        frame = Frame(self.params, self.statement.iters)
        value = frame.map_to(name, tuple(self.spelled(part) for part in index))
        return value.set_tuple_name(isl.dim_type.in_, self.statement.name)

    def named(self, expr: Expr) -> Quotient | None:
        """Return the quotient whose name `expr` is, if any."""
        found = (q for q in self.all if isinstance(expr, Param) and q.name == expr.name)
        return next(found, None)

    def spelled(self, expr: Expr) -> Expr:
        """Return `expr` with quotients as divisions."""
        named = {q.name: q for q in self.all}

        def rule(part: Expr) -> Expr | None:
            if isinstance(part, Param) and part.name in named:
                quotient = named[part.name]
                value = rewrite(quotient.value, rule)
                return Binary(BinaryOp.FLOORDIV, value, integer(quotient.by), DType.INT64)
            return None

        return rewrite(expr, rule)

    def where(self, expr: Expr, name: str) -> isl.Set:
        """Return `{ statement[iters] : expr = name }` for a further parameter `name`."""
        frame = Frame((*self.params, name), self.statement.iters)
        quotient = self.named(expr)
        if quotient is not None:
            result = _is_floor(frame, self.spelled(quotient.value), name, quotient.by)
        else:
            result = frame.aff(self.spelled(expr)).eq_set(frame.aff(Param(name)))
        return result.set_tuple_name(self.statement.name)


def _is_floor(frame: Frame, value: Expr, name: str, by: int) -> isl.Set:
    """Return the set where `by * name <= value < by * name + by`."""
    start = frame.aff(mul(integer(by), Param(name)))
    top = start.add(frame.constant(by))
    found = frame.aff(value)
    return found.ge_set(start).intersect(found.lt_set(top))


def coordinates(run: Run, quotients: Quotients) -> dict[str, Expr]:
    """Return loop iterator -> value, for the iterators of `run` that are found."""
    loops = run.path.loops
    names = {loop.iter for loop in loops}
    ranges = {loop.iter: width for loop in loops if (width := _constant_range(loop)) is not None}
    known: dict[str, Expr] = {}
    tags = tuple(
        zip((run.statement and quotients.statement.iters) or (), run.instance, strict=False)
    )
    while True:
        before = len(known)
        for name, value in tags:
            _from_tag(Iter(name), value, names, ranges, known, quotients)
        for outer in loops:
            if outer.iter not in known:
                _from_bounds(outer, loops, names, known, quotients)
        if len(known) == before:
            return known


def _constant_range(loop: For) -> tuple[int, int] | None:
    """Return first value and width of a loop with constant bounds and step 1."""
    low, high = linear(loop.lower), linear(loop.upper)
    if low.terms or high.terms or loop.step != 1:
        return None
    return low.constant, high.constant - low.constant


def _split(value: Expr, names: set[str]) -> tuple[dict[str, int], Expr] | None:
    """Return iterator -> coefficient and the rest, or None when an iterator is inside an atom."""
    factors: dict[str, int] = {}
    rest: list[tuple[Expr, int]] = []
    parts = linear(value)
    for atom, factor in parts.terms:
        if isinstance(atom, Iter) and atom.name in names:
            factors[atom.name] = factor
        elif has_iterator(atom, names):
            return None
        else:
            rest.append((atom, factor))
    return factors, from_linear(Linear(parts.constant, tuple(rest)))


def over_instance(expr: Expr, known: dict[str, Expr], names: set[str]) -> Expr | None:
    """Return index `expr` over the instance, or None when an iterator in it is unknown."""
    if has_iterator(expr, names - set(known)):
        return None
    return _resolved(expr, known)


def _resolved(expr: Expr, known: dict[str, Expr]) -> Expr:
    def rule(part: Expr) -> Expr | None:
        match part:
            case Iter(name=name) if name in known:
                return known[name]
            case Iter(name=name) | Symbol(name=name):
                return Param(name)
            case _:
                return None

    return normalize(rewrite(expr, rule))


def _from_tag(
    instance: Iter,
    value: Expr,
    names: set[str],
    ranges: dict[str, tuple[int, int]],
    known: dict[str, Expr],
    quotients: Quotients,
) -> None:
    """Solve `instance = value` for the only unknown iterator, or the tile of a remainder."""
    split = _split(value, names)
    if split is None:
        return
    factors, rest = split
    open_ = {name: f for name, f in factors.items() if name not in known}
    told = _resolved(rest, {})
    for name, factor in factors.items():
        if name in known:
            told = add(told, mul(integer(factor), known[name]))
    left = normalize(sub(instance, told))
    if len(open_) == 1:
        ((name, factor),) = open_.items()
        if abs(factor) == 1:
            known[name] = normalize(mul(integer(factor), left)) if factor < 0 else left
            return
    by_size = sorted(open_.items(), key=lambda item: -abs(item[1]))
    if not by_size:
        return
    (name, factor), small = by_size[0], by_size[1:]
    if factor <= 1 or any(n not in ranges for n, _ in small):
        return
    low = sum(f * (ranges[n][0] if f > 0 else ranges[n][0] + ranges[n][1] - 1) for n, f in small)
    width = 1 + sum(abs(f) * (ranges[n][1] - 1) for n, f in small)
    if width <= factor:
        known[name] = quotients.of(sub(left, integer(low)), factor)


def _from_bounds(
    outer: For,
    loops: tuple[For, ...],
    names: set[str],
    known: dict[str, Expr],
    quotients: Quotients,
) -> None:
    """Derive `outer` from an inner loop that runs over one of its tiles."""
    for inner in loops:
        if inner is outer or inner.iter not in known:
            continue
        for low in operands(inner.lower, BinaryOp.MAX):
            split = _split(low, names)
            if split is None:
                continue
            factor = split[0].get(outer.iter, 0)
            others = [n for n in split[0] if n != outer.iter]
            if factor < 1 or any(n not in known for n in others):
                continue
            for high in operands(inner.upper, BinaryOp.MIN):
                distance = linear(sub(high, low))
                if distance.terms or not 0 < distance.constant <= factor:
                    continue
                offset = normalize(sub(low, mul(integer(factor), Iter(outer.iter))))
                value = sub(known[inner.iter], _resolved(offset, known))
                known[outer.iter] = quotients.of(value, factor)
                return
