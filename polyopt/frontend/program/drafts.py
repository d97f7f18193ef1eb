"""What is collected while a function is read: drafts of statements, demands, limits.

Out: records that `builder.py` fills and `assembly.py` turns into the parts of a program.
Marks are places that are no statements: dynamic sizes, their memory, library calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import floordiv, maximum, minimum, plus, times
from polyopt.frontend.integers.ranges import WORD
from polyopt.frontend.program.statement_domains import Loop, Scope
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Buffer, Tensor
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    integer,
    walk,
)
from polyopt.ir.linear import linear
from polyopt.ir.names import iterators
from polyopt.ir.scop import Reduction
from polyopt.ir.showing import show

ITERATORS = ("i", "j", "k", "l", "m", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z")


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement before its domain is an isl set; `scope.order` is complete."""

    scope: Scope
    target: Load
    value: Expr
    reduction: Reduction | None
    loc: Loc | None
    text: str
    written: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """A sum behind a mean: two drafts from `first` on; `marks` marks were there before it."""

    first: int
    marks: int
    sums: Tensor


@dataclass(frozen=True, slots=True)
class Demand:
    """`condition` must hold at every instance of `scope`, else the call is refused."""

    scope: Scope
    condition: Expr
    code: str
    message: str
    loc: Loc | None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """`value`, which a call decides, must fit 64 bits in all iterations of `loops`.

    `most`: and must not be larger.
    """

    loops: tuple[Loop, ...]
    value: Expr
    words: str
    loc: Loc | None
    most: int = WORD.high


def iterator_names() -> Iterator[str]:
    yield from ITERATORS
    number = 0
    while True:
        yield f"i{number}"
        number += 1


def largest(extent: Expr, loop: Loop, loc: Loc | None) -> Expr:
    """Return an expression without `loop`'s iterator, at least `extent` in every iteration."""
    if loop.iter not in iterators(extent):
        return extent
    match extent:
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
            left, right = largest(extent.left, loop, loc), largest(extent.right, loop, loc)
            return minimum(left, right) if extent.op is BinaryOp.MIN else maximum(left, right)
        case Binary(op=BinaryOp.FLOORDIV, right=Const(value=int(divisor))) if divisor > 0:
            return floordiv(largest(extent.left, loop, loc), extent.right)
        case Select():
            then, otherwise = (largest(e, loop, loc) for e in (extent.then, extent.otherwise))
            return maximum(then, otherwise)
        case _:
            pass
    first, last = loop.lower, plus(loop.upper, -1)
    if loop.step < 0:
        first, last = plus(loop.upper, 1), loop.lower
    value = linear(extent)
    total: Expr = integer(value.constant)
    for atom, factor in value.terms:
        if atom == Iter(loop.iter):
            total = plus(total, times(last if factor > 0 else first, factor))
        elif loop.iter in iterators(atom) and (factor < 0 or atom == extent):
            refuse("PO0137", f"no bound is known for the size `{show(extent)}`", loc)
        else:
            total = plus(total, times(largest(atom, loop, loc), factor))
    return total


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


Marked: TypeAlias = Binding | Storage | Invocation


@dataclass(frozen=True, slots=True)
class Mark:
    """What happens at the place given by `scope` (loops, order complete)."""

    scope: Scope
    what: Marked


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
