"""Statements are split along affine conditions in subscripts and values.

In: a draft.  Out: pieces with disjoint domains whose subscripts are plain affine: the part of the
domain where `A[i - 1]` wraps around is a statement of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.frontend.integers.affine_integers import FALSE, both, either, is_affine
from polyopt.frontend.program.drafts import Draft
from polyopt.frontend.program.statement_domains import domain_of
from polyopt.frontend.values.values import has_loads
from polyopt.ir.affine import condition_set, in_one_piece
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Load,
    Select,
    children,
    rewrite,
)
from polyopt.ir.linear import normalize
from polyopt.ir.names import iterators
from polyopt.ir.parameters import bare, mentioned
from polyopt.ir.scop import SizeFacts
from polyopt.ir.types import DType

MAX_PIECES = 64
FEW = 16
"""In so many parts, at most, a statement is split where it could choose in its subscripts."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a statement."""

    domain: isl.Set
    target: Load
    value: Expr
    guard: Expr


class Sizes:
    """What is known of the sizes: they are in `context` and in each of the sets `passing`."""

    def __init__(self, context: isl.Set, passing: Sequence[isl.Set] = ()) -> None:
        self.passing = passing
        self._facts = SizeFacts(context)
        self._sets = [(one, _involved(one)) for one in passing]
        self._is_empty = bool(context.is_empty())
        self._asked: dict[str, bool] = {}

    def exclude(self, domain: isl.Set) -> bool:
        """Tell whether one of the sets leaves nothing of a domain."""
        sizes = bare(domain.params())
        key = str(sizes)
        if key not in self._asked:
            names = _involved(sizes)
            linked = [(self._facts.about(names), names), *self._sets]
            self._asked[key] = (
                self._is_empty
                or bool(sizes.is_empty())
                or any(
                    one.is_empty() if names.isdisjoint(own) else sizes.intersect(one).is_empty()
                    for one, own in linked
                )
            )
        return self._asked[key]


def _involved(sizes: isl.Set) -> frozenset[str]:
    """Return the parameters that a parameter set says something of."""
    return frozenset(mentioned(sizes, sizes.get_space()))


def pieces_of(
    draft: Draft, params: tuple[str, ...], sizes: Sizes, *, narrows: bool = False
) -> list[Piece]:
    """Return the non-empty parts of a draft, in which no choice between elements is left.

    Nor is one in a subscript, if that makes few parts: then each has loops of its own.  With
    `narrows` the parts say which `sizes` pass checks, where that is one condition.
    """
    domain = domain_of(draft.scope, params, "S")
    for allowed in sizes.passing if narrows else ():
        within = domain.intersect_params(allowed).coalesce()
        if within.n_basic_set() <= domain.n_basic_set():
            domain = within
    whole = Piece(domain, draft.target, draft.value, draft.scope.guard)
    found = _split([whole], sizes, MAX_PIECES, subscripts=False)
    further = _split(found, sizes, FEW + 1, subscripts=True)
    if len(further) <= FEW:
        found = further
    return [replace(piece, domain=in_one_piece(piece.domain)) for piece in found]


def _split(pieces: list[Piece], sizes: Sizes, most: int, *, subscripts: bool) -> list[Piece]:
    """Return the non-empty parts of `pieces` after choices in subscripts, or others, are made."""
    done: list[Piece] = []
    waiting = pieces[::-1]
    while waiting:
        piece = waiting.pop()
        if piece.guard == FALSE or sizes.exclude(piece.domain):
            continue
        parts = (piece.target, piece.value, piece.guard)
        choice = next((c for part in parts for c in _choices(part, subscripts)), None)
        if choice is None or len(done) + len(waiting) >= most:
            done.append(piece)
            continue
        condition = _condition(choice)
        holds = condition_set(condition, piece.domain.get_space())
        waiting.append(_resolved(piece, condition, False, piece.domain.subtract(holds)))
        waiting.append(_resolved(piece, condition, True, piece.domain.intersect(holds)))
    return done


def split_conditions(draft: Draft) -> list[Expr]:
    """Return the conditions a draft is split along."""
    parts = (draft.target, draft.value, draft.scope.guard)
    kinds = (False, True)
    return [_condition(c) for kind in kinds for part in parts for c in _choices(part, kind)]


def _choices(expr: Expr, subscripts: bool, inside: bool = False) -> Iterator[Expr]:
    """Yield choices in subscripts, or else choices between values that read memory."""
    match expr:
        case Select() if not subscripts and is_affine(expr.condition) and has_loads(expr):
            yield expr
        case Select() if inside and is_affine(expr.condition) and _is_of_one_loop(expr):
            yield expr
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX) if (
            inside and is_affine(expr) and _is_of_one_loop(expr)
        ):
            yield expr
        case _:
            pass
    for child in children(expr):
        yield from _choices(child, subscripts, inside or (subscripts and isinstance(expr, Load)))


def _is_of_one_loop(choice: Expr) -> bool:
    """Tell whether a choice cuts the domain across one loop: the parts are loops then.

    Where neighbours at distances that a loop counts are clamped, `x[min(i + d, n - 1)]`, the parts
    are no boxes: choosing in the loop is less code, and quicker than a test for each part.
    """
    return len(iterators(_condition(choice))) <= 1


def _condition(choice: Expr) -> Expr:
    match choice:
        case Select(condition=condition):
            return condition
        case Binary(op=BinaryOp.MIN):
            return Compare(CompareOp.LE, choice.left, choice.right)
        case Binary():
            return Compare(CompareOp.GE, choice.left, choice.right)
        case _:
            raise AssertionError(choice)


def _resolved(piece: Piece, condition: Expr, holds: bool, domain: isl.Set) -> Piece:
    """Return the piece with every choice along `condition` made."""

    def rule(expr: Expr) -> Expr | None:
        match expr:
            case Select() if expr.condition == condition:
                return rewrite(expr.then if holds else expr.otherwise, rule)
            case Binary(op=BinaryOp.MIN | BinaryOp.MAX) if _condition(expr) == condition:
                return rewrite(expr.left if holds else expr.right, rule)
            case Load():
                parts = tuple(normalize(rewrite(part, rule)) for part in expr.index)
                return Load(expr.array, parts, expr.dtype)
            case _:
                return None

    target = rewrite(piece.target, rule)
    assert isinstance(target, Load)
    return Piece(domain, target, rewrite(piece.value, rule), _folded(rewrite(piece.guard, rule)))


def _folded(guard: Expr) -> Expr:
    """Return a guard without the constants that choices have left in it."""
    match guard:
        case Binary(op=BinaryOp.AND, dtype=DType.BOOL):
            return both(_folded(guard.left), _folded(guard.right))
        case Binary(op=BinaryOp.OR, dtype=DType.BOOL):
            return either(_folded(guard.left), _folded(guard.right))
        case _:
            return guard
