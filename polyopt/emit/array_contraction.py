"""Contract temporary arrays: sequential iterations reuse the same memory.

In: a lowered body and, per temporary, the loops its values live in.  Out: the body without the
dimensions of temporaries that only distinguish sequential iterations, and the arrays so contracted.
Concurrent iterations keep memory of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polyopt.dataclass import dataclass, replace
from polyopt.emit.regions import expressions, whole_arrays
from polyopt.ir.array import Turn
from polyopt.ir.expr import Expr, Iter, Load, VectorLoad, rewrite, walk
from polyopt.ir.linear import linear
from polyopt.ir.loops import CONCURRENT, Body, For, Node
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import bodies, changed
from polyopt.ir.scop import Array


def contract_arrays(
    body: Body, arrays: tuple[Array, ...], scopes: Mapping[str, frozenset[str]]
) -> tuple[Body, tuple[Array, ...]]:
    """Return the body and the arrays, those with a scope contracted to what one iteration needs."""
    result: list[Array] = []
    for array in arrays:
        scope = scopes.get(array.name)
        dropped = (
            _contractible(body, array, scope) if scope is not None and array.shape else frozenset()
        )
        if not dropped:
            result.append(array)
            continue
        kept = tuple(d for d in range(len(array.shape)) if d not in dropped)
        body = tuple(_without(node, array.name, kept) for node in body)
        shape = tuple(array.shape[d] for d in kept)
        result.append(replace(array, shape=shape, turn=_kept_swizzle(array, kept)))
    return body, tuple(result)


def _kept_swizzle(array: Array, kept: tuple[int, ...]) -> Turn | None:
    """Return the swizzle, if the dimensions that determine it are left."""
    rank = len(array.shape)
    own = () if array.turn is None else range(rank - 1 - array.turn.back, rank)
    return array.turn if set(own) <= set(kept) else None


def _without(node: Node, array: str, kept: tuple[int, ...]) -> Node:
    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load | VectorLoad) and part.array == array:
            return replace(part, index=tuple(rewrite(part.index[d], rule) for d in kept))
        return None

    return changed(node, rule)


@dataclass(frozen=True, slots=True)
class _ScopedAccess:
    """An access: its subscripts, the number of the scope's execution, loops around the scope."""

    index: tuple[Expr, ...]
    scope: int
    around: tuple[For, ...]
    inside: frozenset[str]


def _contractible(body: Body, array: Array, scope: frozenset[str]) -> frozenset[int]:
    """Return the dimensions that have one value in every iteration of the loop in `scope`."""
    if any(array.name in whole_arrays(node) for node in body):
        return frozenset()
    uses = list(_uses(body, array.name, scope, (), None, frozenset()))
    if not uses or any(use.scope == 0 for use in uses):
        return frozenset()
    fixed = {d for d in range(len(array.shape)) if _is_fixed(d, uses)}
    distinct = {d for d in fixed if all(_tells_one(use.index[d], _together(use)) for use in uses)}
    if any(not _together(use) <= _told(use, distinct) for use in uses):
        return frozenset()
    return frozenset(fixed - distinct)


def _together(use: _ScopedAccess) -> set[str]:
    """Return the iterators of concurrent loops around."""
    return {f.iter for f in use.around if f.kind in CONCURRENT}


def _told(use: _ScopedAccess, dims: set[int]) -> set[str]:
    """Return the iterators that one of the subscripts determines by itself."""
    return {name for d in dims for name in _together(use) if _is_plain(use.index[d], name)}


def _tells_one(index: Expr, names: set[str]) -> bool:
    return any(_is_plain(index, name) for name in names)


def _is_fixed(dim: int, uses: list[_ScopedAccess]) -> bool:
    by_scope: dict[int, Expr] = {}
    for use in uses:
        index = use.index[dim]
        if by_scope.setdefault(use.scope, index) != index or has_iterator(index, use.inside):
            return False
        if any(isinstance(part, Load) for part in walk(index)):
            return False
    return True


def _is_plain(index: Expr, name: str) -> bool:
    """Tell whether a subscript is the iterator and a constant."""
    return linear(index).terms == ((Iter(name), 1),)


def _uses(
    body: Body,
    array: str,
    scope: frozenset[str],
    around: tuple[For, ...],
    found: tuple[int, tuple[For, ...]] | None,
    inside: frozenset[str],
) -> Iterator[_ScopedAccess]:
    for node in body:
        for expr in expressions(node):
            for part in walk(expr):
                if isinstance(part, Load | VectorLoad) and part.array == array:
                    number, loops = found or (0, around)
                    yield _ScopedAccess(part.index, number, loops, inside)
        for inner in bodies(node):
            if isinstance(node, For):
                if found is not None:
                    yield from _uses(inner, array, scope, around, found, inside | {node.iter})
                    continue
                outer = (*around, node)
                here = (id(node), outer) if node.label in scope else None
                yield from _uses(inner, array, scope, outer, here, inside)
            else:
                yield from _uses(inner, array, scope, around, found, inside)
