"""Collect the names in an expression, and find new ones.

In: an expression; names that are taken.  Out: names of iterators, sizes, locals or arrays.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from polyopt.ir.expr import Expr, Iter, Load, Param, Symbol, VectorLoad, walk


def iterators(*exprs: Expr) -> frozenset[str]:
    """Return the iterators that expressions use."""
    return frozenset(part.name for e in exprs for part in walk(e) if isinstance(part, Iter))


def has_iterator(expr: Expr, names: Container[str]) -> bool:
    """Tell whether an expression uses an iterator of `names`."""
    return any(isinstance(part, Iter) and part.name in names for part in walk(expr))


def params(*exprs: Expr) -> frozenset[str]:
    """Return the sizes that expressions use."""
    return frozenset(part.name for e in exprs for part in walk(e) if isinstance(part, Param))


def params_of(exprs: Iterable[Expr]) -> frozenset[str]:
    """Return the sizes that some expressions use."""
    return params(*exprs)


def symbols(*exprs: Expr) -> frozenset[str]:
    """Return the locals and scalars that expressions use."""
    return frozenset(part.name for e in exprs for part in walk(e) if isinstance(part, Symbol))


def reads(*exprs: Expr) -> frozenset[str]:
    """Return the arrays that expressions read."""
    parts = (part for expr in exprs for part in walk(expr))
    return frozenset(part.array for part in parts if isinstance(part, Load | VectorLoad))


def depends_on_data(expr: Expr) -> bool:
    """Tell whether an expression reads an element or a local, not iterators and sizes alone."""
    return any(isinstance(part, Load | Symbol) for part in walk(expr))


def fresh_name(wish: str, taken: Iterable[str]) -> str:
    """Return `wish`, numbered from 2 on if it is taken."""
    names, name, number = frozenset(taken), wish, 2
    while name in names:
        name, number = f"{wish}{number}", number + 1
    return name
