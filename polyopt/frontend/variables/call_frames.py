"""The names of one function call while it is read.

In: the function's tree.  Out: `Frame`, mutable: what each name stands for now.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Protocol, TypeAlias

from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.frontend.program.facts import Occurrence
from polyopt.frontend.program.statement_domains import Scope
from polyopt.frontend.syntax.liveness import Liveness
from polyopt.frontend.syntax.pysource import PyFunction
from polyopt.frontend.values.values import Buffer, Index, Tensor, Value
from polyopt.ir.expr import Load

if TYPE_CHECKING:
    from polyopt.frontend.program.builder import Builder
    from polyopt.frontend.program.snapshots import Copied, WriteBack


class Reader(Protocol):
    """Reads statements; expressions and loops call back through it."""

    def block(self, b: Builder, frame: Frame, body: list[ast.stmt]) -> Value | None:
        """Read statements in order; return the value of a `return` among them."""

    def function(self, b: Builder, frame: Frame) -> Value | None:
        """Read a whole function; return what it returns."""


@dataclass(frozen=True, eq=False)
class Pin:
    """A name that lives in memory because loops or branches meet: every assignment stores there."""

    buffer: Buffer
    weak: bool
    place: Occurrence
    shape: Index
    source: Buffer | None = None  # the array it was copied from, if that has other names
    start: int = 0  # drafts before it
    flag: Load | None = None  # of a number that may have no value yet
    length: Load | None = None  # of an array whose first extent changes
    back: WriteBack | None = None  # how writes reach the array it was copied from
    made: Copied | None = None


@dataclass(frozen=True, eq=False)
class Watch:
    """An array name that gets memory at the next reading if it is bound again."""

    value: Value
    place: Occurrence
    rebound: list[tuple[Value, Loc | None]] = field(default_factory=list)


Bound: TypeAlias = tuple[Buffer, Tensor, Loc | None]
"""Memory that became another name of a view, and where."""


@dataclass(eq=False)
class Frame:
    """One call of `function`; `calls` are the places of the calls that led here.

    `said`: where the user called a function that polyopt itself wrote, and that line's text.
    """

    function: PyFunction
    reader: Reader
    calls: tuple[object, ...] = ()
    callers: tuple[object, ...] = ()
    env: dict[str, Value] = field(default_factory=dict)
    pins: dict[str, Pin] = field(default_factory=dict)
    watched: dict[str, Watch] = field(default_factory=dict)
    awaited: dict[str, Occurrence] = field(default_factory=dict)  # results of loops not yet known
    said: tuple[Loc | None, str] | None = None
    lists: dict[str, Scope] = field(default_factory=dict)  # where lists that may grow were made
    fixed: frozenset[str] = frozenset()  # lists that a loop around runs over
    caller: Frame | None = None  # or, of a function in a function, where that was defined
    made: dict[str, Occurrence] = field(default_factory=dict)  # the statements that made them
    home: Scope | None = None  # where the function's body begins
    backs: list[WriteBack] = field(default_factory=list)
    results: list[Bound] = field(default_factory=list)  # what a loop or branch returns
    scopes: dict[str, Scope] = field(default_factory=dict)  # where names of arrays were bound

    @property
    def live(self) -> Liveness:
        """Which names may be read later."""
        return self.function.live

    @property
    def locals(self) -> frozenset[str]:
        """The names the function assigns."""
        return self.function.locals

    def place(self, node: ast.AST, name: str) -> Occurrence:
        """Return what identifies `name` at `node` from one reading to the next."""
        return (*self.calls, getattr(node, "lineno", 0), getattr(node, "col_offset", 0), name)

    def loc(self, node: ast.AST) -> Loc:
        """Return the place of `node` in the user's file."""
        if self.said is not None and self.said[0] is not None:
            return self.said[0]
        return self.function.loc(node)

    def text(self, node: ast.AST) -> str:
        """Return the first source line of `node` in the user's file, stripped."""
        return self.function.text(node) if self.said is None else self.said[1]
