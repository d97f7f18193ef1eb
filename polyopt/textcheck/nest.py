"""A C function as statements in loops: what is judged.

In: nothing.  Out: `Function` and its parts.  Iterators of different loops have different names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Expr

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Width:
    """An integer type of C."""

    bits: int
    signed: bool = True

    @property
    def least(self) -> int:
        """The least number."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def most(self) -> int:
        """The greatest number."""
        return (1 << (self.bits - self.signed)) - 1


INT, LONG = Width(32), Width(64)


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop; `conditions` hold of the iterator in the body, which goes up or down by `step`.

    `shared_out`: iterations may run at the same time, but for the names in `private`; `lanes`: as
    lanes of a vector.  `reductions` are the operators of variables that are combined at the end.
    """

    iter: str
    conditions: tuple[Expr, ...]
    step: int
    shared_out: bool
    lanes: bool
    private: frozenset[str]
    node: Node
    reductions: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Place:
    """Where code runs: loops, outermost first, and conditions; `exact` if wherever they hold."""

    loops: tuple[Loop, ...]
    conditions: tuple[Expr, ...]
    exact: bool


@dataclass(frozen=True, eq=False)
class Access:
    """An element that is read or written; `index` is None where it is not known.

    `depth`: loops around the declaration of the array.  `guard` names what excludes others.
    """

    array: str
    index: tuple[Expr, ...] | None
    is_write: bool
    depth: int
    guard: str
    place: Place
    node: Node


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """An integer operation, and the type that its result has to fit."""

    value: Expr
    width: Width
    place: Place
    node: Node


@dataclass(frozen=True, eq=False)
class Function:
    """What a function does; `unread` are pieces that nothing is known of, and why.

    `calls` are the functions of the file that are read where they are called.
    """

    name: str
    params: dict[str, Width]
    extents: dict[str, tuple[Expr | None, ...]]
    accesses: tuple[Access, ...]
    arithmetic: tuple[Arithmetic, ...]
    unread: tuple[tuple[Node, str], ...]
    calls: frozenset[str]
    node: Node
