"""Undo versions of loops: branches that run the same where their condition holds.

In: a loop AST with such branches.  Out: the same with the general version alone.
Numbers found at run time count as unknown sizes if the condition keeps a sum with them in an array,
which makes the sum no larger than that: one of 64 bits that wraps around has another value at one
of its two ends.  Neither version may change such numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Param,
    Select,
    Symbol,
    Unary,
    add,
    children,
    integer,
    mul,
    walk,
    with_children,
)
from polyopt.ir.linear import Linear, from_linear, linear
from polyopt.ir.loops import (
    Assign,
    Body,
    Comment,
    Declare,
    For,
    If,
    LoopKind,
    Node,
    SetLocal,
)
from polyopt.ir.types import DType
from polyopt.proof.affine import Frame, NotAffine
from polyopt.proof.declarations import renamed_alike
from polyopt.proof.nodes import is_stable
from polyopt.proof.paths import Path, conjuncts, map_paths
from polyopt.proof.widths import fits

Terms: TypeAlias = tuple[tuple[Expr, int], ...]

_IN_TURN = (LoopKind.SEQUENTIAL, LoopKind.UNROLL)


def without_versions(body: Body, path: Path) -> Body:
    """Return `body`, reached by `path`, with such branches undone."""
    found: list[Node] = []
    for node in body:
        node = map_paths(node, path, without_versions)
        if isinstance(node, If) and node.otherwise and _is_version(node, path.into(node, 0)):
            found += node.otherwise
        else:
            found.append(node)
    return tuple(found)


def _is_version(node: If, path: Path) -> bool:
    """Tell whether both branches run the same where the condition holds, which is at `path`."""
    both = (*node.then, *node.otherwise)
    told = [part for part in conjuncts(node.condition) if is_stable(part, both, path)]
    return _Version(_Known.of(told, path)).same(*renamed_alike(node.then, node.otherwise), path)


@dataclass(frozen=True, eq=False)
class _Known:
    """What the condition tells of numbers found at run time: `limits`, over unknown sizes.

    `unknowns` are sums of such numbers, by the names of their sizes; `sizes` are known ones.
    """

    sizes: frozenset[str]
    unknowns: dict[Terms, str]
    limits: tuple[Expr, ...] = ()

    @staticmethod
    def of(told: list[Expr], path: Path) -> _Known:
        """Return what the conditions `told` say of sums that they keep between two sizes."""
        known = _Known(frozenset(path.params), {})
        ends: dict[CompareOp, set[Linear]] = {CompareOp.GE: set(), CompareOp.LT: set()}
        for part in told:
            if isinstance(part, Compare) and part.op in ends and not known.split(part.right)[1]:
                ends[part.op].add(linear(part.left))
        for one in ends[CompareOp.GE] & ends[CompareOp.LT]:
            plain, key = known.split(from_linear(one))
            if key and fits(mul(integer(_MARGIN), plain), path.loops, path.params):
                known.unknowns.setdefault(key, f"?{len(known.unknowns)}")
        limits = []
        for part in told:
            with suppress(NotAffine):
                limits.append(known.plain(part))
        return replace(known, limits=tuple(limits))

    def split(self, value: Expr) -> tuple[Expr, Terms]:
        """Return the part of a sum over sizes and iterators, and the other terms in one order."""
        found = linear(value)
        plain = tuple(term for term in found.terms if self._is_size(term[0]))
        other = (term for term in found.terms if term not in plain)
        return from_linear(Linear(found.constant, plain)), tuple(sorted(other, key=repr))

    def _is_size(self, atom: Expr) -> bool:
        match atom:
            case Const() | Iter() | Param():
                return True
            case Symbol():
                return atom.name in self.sizes
            case Binary(op=BinaryOp.MUL | BinaryOp.FLOORDIV | BinaryOp.MOD):
                return isinstance(atom.right, Const) and self._is_size(atom.left)
            case Unary() | Binary() | Select() | Compare():
                return all(map(self._is_size, children(atom)))
            case _:
                return False

    def plain(self, expr: Expr) -> Expr:
        """Return index arithmetic over sizes, some unknown; raises `NotAffine`."""
        if self._is_size(expr):
            return expr
        if expr.dtype is DType.INT64:
            plain, key = self.split(expr)
            if key in self.unknowns:
                return add(Param(self.unknowns[key]), plain)
        if not isinstance(expr, Unary | Binary | Select | Compare):
            raise NotAffine(expr)
        return with_children(expr, tuple(map(self.plain, children(expr))))


_MARGIN = 8  # how far below 2**63 the rest of a sum has to stay


@dataclass(frozen=True, eq=False)
class _Version:
    """Compares two versions, given what is known of numbers found at run time."""

    known: _Known

    def same(self, one: Body, two: Body, path: Path) -> bool:
        """Tell whether two bodies run the same at all iterations of `path`."""
        first, second = (list(self._running(body, path)) for body in (one, two))
        if len(first) != len(second):
            return False
        return all(self._same_node(a, b, path) for a, b in zip(first, second, strict=True))

    def _running(self, body: Body, path: Path) -> Iterator[Node]:
        """Yield the nodes of a body, those of conditions that hold in their place."""
        for node in body:
            match node:
                case Comment():
                    pass
                case If(then=then, otherwise=()) if self._holds(node.condition, path):
                    yield from self._running(then, path)
                case _:
                    yield node

    def _same_node(self, one: Node, two: Node, path: Path) -> bool:
        match one, two:
            case For(), For():
                in_turn = one.kind in _IN_TURN and two.kind in _IN_TURN
                kinds = (one.kind, one.annotations) == (two.kind, two.annotations)
                return (
                    one.iter == two.iter
                    and one.step == two.step
                    and (kinds or (in_turn and not (one.reductions or two.reductions)))
                    and self._equal(one.lower, two.lower, path)
                    and self._equal(one.upper, two.upper, path)
                    and self.same(one.body, two.body, path.into(one, 0))
                )
            case If(), If():
                return (
                    self._equal(one.condition, two.condition, path)
                    and self.same(one.then, two.then, path.into(one, 0))
                    and self.same(one.otherwise, two.otherwise, path.into(one, 1))
                )
            case Assign(), Assign():
                alike = replace(one, target=two.target, value=two.value) == two
                targets = alike and self._equal(one.target, two.target, path)
                return targets and self._equal(one.value, two.value, path)
            case Declare(), Declare():
                alike = replace(one, value=two.value) == two
                return alike and self._equal(one.value, two.value, path)
            case SetLocal(), SetLocal():
                alike = replace(one, value=two.value) == two
                return alike and self._equal(one.value, two.value, path)
            case _:
                return one == two

    def _holds(self, condition: Expr, path: Path) -> bool:
        """Tell whether a condition is true at all iterations of `path`."""
        try:
            frame, domain, (plain,) = self._over_sizes(path, condition)
            return bool(domain.is_subset(frame.condition(plain)))
        except NotAffine:
            return False

    def _equal(self, one: Expr, two: Expr, path: Path) -> bool:
        """Tell whether two expressions have equal values at all iterations of `path`."""
        if one == two:
            return True
        if one.dtype is two.dtype and one.dtype in (DType.INT64, DType.BOOL):
            try:
                if self._equal_index(one, two, path):
                    return True
            except NotAffine:
                pass
        parts, others = children(one), children(two)
        if not parts or len(parts) != len(others) or type(one) is not type(two):
            return False
        if with_children(two, parts) != one:
            return False
        return all(self._equal(a, b, path) for a, b in zip(parts, others, strict=True))

    def _equal_index(self, one: Expr, two: Expr, path: Path) -> bool:
        frame, domain, (a, b) = self._over_sizes(path, one, two)
        if one.dtype is DType.BOOL:
            first, second = (frame.condition(e).intersect(domain) for e in (a, b))
            return bool(first.is_equal(second))
        return bool(frame.pw(a).ne_set(frame.pw(b)).intersect(domain).is_empty())

    def _over_sizes(self, path: Path, *exprs: Expr) -> tuple[Frame, isl.Set, list[Expr]]:
        """Return expressions over sizes that may be unknown, and where `path` leads."""
        plain = [self.known.plain(expr) for expr in exprs]
        used = {part.name for e in plain for part in walk(e) if isinstance(part, Param)}
        if used.isdisjoint(self.known.unknowns.values()):
            return path.frame, path.domain, plain
        params = (*path.params, *self.known.unknowns.values())
        if not all(fits(mul(integer(_MARGIN), e), path.loops, params) for e in plain):
            raise NotAffine(exprs[0])
        frame = Frame(params, path.frame.dims)
        domain = path.domain.align_params(frame.space).intersect(frame.universe)
        for limit in self.known.limits:
            domain = domain.intersect(frame.condition(limit))
        return frame, domain, plain
