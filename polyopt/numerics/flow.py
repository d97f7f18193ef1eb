"""Which values of a kernel are inexact: what flows from reductions of open order and functions.

In: a `LoopFunction`, the statements whose order the source leaves open.  Out: `Flow`: for every
array and local, the causes that reach it.  Arrays count as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from polyopt.dataclass import dataclass, field
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Compare,
    Expr,
    Iter,
    Load,
    MathFunc,
    Select,
    Symbol,
    VectorLoad,
    walk,
)
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    Break,
    CallLibrary,
    Comment,
    CommitCopies,
    Declare,
    DeclareArray,
    DeclareView,
    Fail,
    For,
    If,
    Kernel,
    LoopFunction,
    SetLocal,
    While,
)
from polyopt.ir.nodes import all_nodes
from polyopt.ir.program import Program
from polyopt.ir.scop import Role, Statement
from polyopt.ir.views import without_views
from polyopt.never import assert_never
from polyopt.numerics.accuracy import Accuracy, accuracy

ROUNDING = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV, BinaryOp.RATIO})
"""Operators whose result depends on the order they are applied in."""


@dataclass(frozen=True, slots=True)
class Reordered:
    """A statement whose terms come together in another order than the reference's."""

    statement: str


@dataclass(frozen=True, slots=True)
class Decided:
    """Inexact data decide what is computed."""


@dataclass(frozen=True, slots=True)
class Called:
    """A library function of inexact arrays, or one whose bits depend on how arrays lie in memory.

    Its error is not known.
    """

    function: str


Cause: TypeAlias = Reordered | Accuracy | Decided | Called


@dataclass(frozen=True, slots=True)
class Flow:
    """The causes that reach each array and local; a name without any is exact.

    `rounded` are statements whose roundings may be others than the reference's: each is a cause.
    """

    causes: dict[str, frozenset[Cause]]
    rounded: frozenset[str] = frozenset()

    def of(self, name: str) -> frozenset[Cause]:
        """Return the causes that reach `name`."""
        return self.causes.get(name, frozenset())

    def is_inexact(self, name: str) -> bool:
        """Tell whether an element of `name` may differ from the reference's."""
        return bool(self.causes.get(name))

    def reaches(self, expr: Expr, statement: str = "") -> bool:
        """Tell whether the value of `expr`, of that statement, may differ from the reference's."""
        all_count = statement in self.rounded
        return any(
            ((name := name_of(part)) is not None and self.is_inexact(name))
            or accuracy(part) is not None
            or (all_count and rounds(part))
            for part in walk(expr)
        )


LAYOUT_DEPENDENT = ("numpy.linalg.", "scipy.linalg.", "numpy.polyfit")
"""Functions of LAPACK: how arrays lie in memory decides the order of their sums."""


def rounds(expr: Expr) -> bool:
    """Tell whether the operation at the root of `expr` rounds."""
    match expr:
        case Binary():
            return expr.op in ROUNDING and not expr.dtype.is_integer
        case Call():
            return expr.func is MathFunc.SQRT
        case _:
            return False


def name_of(expr: Expr) -> str | None:
    """Return the array or local that `expr` itself reads."""
    match expr:
        case Load() | VectorLoad():
            return expr.array
        case Symbol() | Iter():
            return expr.name
        case _:
            return None


def open_statements(program: Program) -> dict[str, Statement]:
    """Return the updates whose order the source leaves open, where that matters."""
    return {
        s.name: s
        for scop in program.scops
        for s in scop.statements
        if _open_operator(s) in ROUNDING and (s.target.dtype.is_float or s.target.dtype.is_complex)
    }


def _open_operator(statement: Statement) -> BinaryOp | None:
    if statement.regroups and isinstance(statement.value, Binary):
        return statement.value.op
    reduction = statement.reduction
    return None if reduction is None or not reduction.reassociable else reduction.op


def written_statements(program: Program) -> frozenset[str]:
    """Return the statements of functions that polyopt wrote in place of NumPy's."""
    return frozenset(s.name for scop in program.scops for s in scop.statements if s.written)


def fusible_statements(program: Program) -> frozenset[str]:
    """Return the statements in whose values products and their sums may round once."""
    return frozenset(s.name for scop in program.scops for s in scop.statements if s.fuses)


def flow(fn: LoopFunction, reordered: Iterable[str], rounded: frozenset[str]) -> Flow:
    """Return what reaches each array and local of `fn`; see `Reordered` and `Flow.rounded`."""
    collector = _Collector(frozenset(reordered), rounded, fn)
    collector.body(without_views(fn.body), ())
    for array in fn.arrays:
        if array.role is Role.FAULT:  # notes errors, holds no result
            collector.own.pop(array.name, None)
            collector.sources.pop(array.name, None)
            collector.chosen.pop(array.name, None)
    return Flow(_closure(collector), rounded)


@dataclass(slots=True)
class _Collector:
    """`sources`: name -> names its values are made from; `own`: name -> causes of its statements.

    `chosen`: name -> names that decide whether or how often it is written.
    """

    reordered: frozenset[str]
    rounded: frozenset[str]
    fn: LoopFunction
    sources: dict[str, set[str]] = field(default_factory=dict)
    own: dict[str, set[Cause]] = field(default_factory=dict)
    chosen: dict[str, set[str]] = field(default_factory=dict)
    called: dict[str, set[str]] = field(default_factory=dict)

    def body(  # noqa: C901 - one case per node
        self, body: Body, deciding: tuple[Expr, ...]
    ) -> None:
        for node in body:
            match node:
                case Assign():
                    self.write(node.target.array, node, deciding)
                    self.reads(node.target.array, (*node.target.index, node.value))
                case Declare() | SetLocal():
                    self.write(node.name, node, deciding)
                    self.reads(node.name, (node.value,))
                case If():
                    self.body(node.then, (*deciding, node.condition))
                    self.body(node.otherwise, (*deciding, node.condition))
                case While():
                    self.body(node.body, (*deciding, node.condition))
                case For():
                    stops = tuple(_exits(node.body))
                    bounds = (node.lower, node.upper)
                    self.reads(node.iter, (node.lower,))
                    self.body(node.body, (*deciding, *bounds, *stops))
                    for op, symbol in node.reductions:
                        if op in ROUNDING and not symbol.dtype.is_integer:
                            inside = tuple(_updates(node.body, symbol.name))
                            causes = {Reordered(statement) for statement in inside}
                            self.own.setdefault(symbol.name, set()).update(causes)
                case CallLibrary():
                    function = self.fn.signature.library[node.site].function
                    for array in node.outputs:
                        self.sources.setdefault(array.name, set()).update(
                            given.name for given in node.inputs
                        )
                        self.called.setdefault(array.name, set()).add(function)
                        if function.startswith(LAYOUT_DEPENDENT):
                            self.own.setdefault(array.name, set()).add(Called(function))
                case Kernel():
                    self.body(node.body, deciding)
                    self.body(node.finish, deciding)
                case DeclareArray() | AllocateArray() | Break() | Fail() | Comment() | Barrier():
                    pass
                case CommitCopies() | AwaitCopies() | DeclareView():
                    pass
                case _:
                    assert_never(node)

    def write(
        self, name: str, node: Assign | Declare | SetLocal, deciding: tuple[Expr, ...]
    ) -> None:
        own = node.statement in self.rounded and any(map(rounds, walk(node.value)))
        if own or node.statement in self.reordered:
            self.own.setdefault(name, set()).add(Reordered(node.statement))
        found = self.chosen.setdefault(name, set())
        for condition in (*deciding, *_kept_by(node)):
            found.update(_names(condition))

    def reads(self, name: str, exprs: tuple[Expr, ...]) -> None:
        for expr in exprs:
            self.sources.setdefault(name, set()).update(_names(expr))
            found = {a for part in walk(expr) if (a := accuracy(part)) is not None}
            if found:
                self.own.setdefault(name, set()).update(found)


def _kept_by(node: Assign | Declare | SetLocal) -> Iterator[Expr]:
    """Yield the condition under which alone a node changes its target.

    The larger or smaller of two values is no such choice: it changes as little as they do.
    """
    value = node.value
    if not isinstance(value, Select):
        return
    kept = node.target if isinstance(node, Assign) else Symbol(node.name, node.dtype, node.lanes)
    condition = value.condition
    sides = (condition.left, condition.right) if isinstance(condition, Compare) else ()
    if value.otherwise == kept and not (value.then in sides and kept in sides):
        yield condition


def _names(expr: Expr) -> Iterator[str]:
    for part in walk(expr):
        name = name_of(part)
        if name is not None:
            yield name


def _exits(body: Body) -> Iterator[Expr]:
    """Yield the conditions under which a loop's body leaves it."""
    for node in body:
        if isinstance(node, If):
            if any(isinstance(part, Break) for part in (*node.then, *node.otherwise)):
                yield node.condition
            yield from _exits(node.then)
            yield from _exits(node.otherwise)


def _updates(body: Body, local: str) -> Iterator[str]:
    """Yield the statements that set `local`."""
    found = (node for node in all_nodes(body) if isinstance(node, SetLocal))
    return (node.statement for node in found if node.name == local)


def _closure(found: _Collector) -> dict[str, frozenset[Cause]]:
    """Return the causes of every name once they have passed along all sources."""
    names = {*found.sources, *found.own, *found.chosen}
    causes: dict[str, set[Cause]] = {name: set(found.own.get(name, ())) for name in names}
    changed = True
    while changed:
        changed = False
        for name in names:
            new = set(causes[name])
            for source in found.sources.get(name, ()):
                new |= causes.get(source, set())
            if new and name in found.called:
                new |= {Called(function) for function in found.called[name]}
            deciding = [c for c in found.chosen.get(name, ()) if causes.get(c)]
            if deciding:
                new.add(Decided())
                for source in deciding:
                    new |= causes[source]
            if new != causes[name]:
                causes[name] = new
                changed = True
    return {name: frozenset(found) for name, found in causes.items() if found}
