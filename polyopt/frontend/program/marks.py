"""Places of a function that are no statements: dynamic sizes, their memory, library calls.

In: calls from the rules of the front end.  Out: marks with their place in the order.
A dynamic size is an integer found while the kernel runs; from its mark on it is a `Param`.
"""

from __future__ import annotations

from typing import TypeAlias

from polyopt.dataclass import dataclass
from polyopt.frontend.program.statement_domains import Scope
from polyopt.frontend.values.values import Buffer
from polyopt.ir.expr import Expr, Param, walk


@dataclass(frozen=True, slots=True)
class Binding:
    """`param` becomes `value`, an element of a 0-d buffer."""

    param: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Storage:
    """`buffer` gets memory here: its extents are dynamic."""

    buffer: Buffer


@dataclass(frozen=True, slots=True)
class Invocation:
    """Library call number `site` on whole buffers."""

    site: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


Place: TypeAlias = Binding | Storage | Invocation


@dataclass(frozen=True, slots=True)
class Mark:
    """What happens at the place given by `scope` (loops, order complete)."""

    scope: Scope
    what: Place


_SIGN = "@"  # in no identifier


def dynamic_name(wish: str, number: int) -> str:
    """Return the working name of a dynamic size."""
    return f"{wish}{_SIGN}{number}"


def is_dynamic_name(param: str) -> bool:
    """Whether a parameter's working name is that of a dynamic size."""
    return _SIGN in param


def title_of(param: str) -> str:
    """Return what a dynamic size is called in emitted text, before it is made unique."""
    return param.partition(_SIGN)[0]


def dynamic_params(*exprs: Expr) -> frozenset[str]:
    """Return the dynamic sizes in `exprs`."""
    return frozenset(
        part.name
        for expr in exprs
        for part in walk(expr)
        if isinstance(part, Param) and is_dynamic_name(part.name)
    )
