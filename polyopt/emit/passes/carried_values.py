"""Find the values of a loop's body that earlier iterations compute, and what waits for them.

In: a loop whose iterations run in order.  Out: `Carried`: how many iterations ago a value was made.
Leaves: elements whose distance from what the body writes is not a constant number of iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polyopt.dataclass import dataclass
from polyopt.emit.passes.fma import contracted
from polyopt.emit.regions import declared_names
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Expr,
    Iter,
    Load,
    MathFunc,
    Symbol,
    Unary,
    children,
    sub,
    walk,
)
from polyopt.ir.linear import linear
from polyopt.ir.loops import Assign, For, LoopKind, SetLocal
from polyopt.ir.nodes import all_nodes

LONG = 4
"""How many sums a quotient, a root or a function takes."""


@dataclass(frozen=True, eq=False)
class Carried:
    """By value: after how many iterations the loop reads it."""

    values: Mapping[Expr, int]

    def delay(self, exprs: Iterable[Expr]) -> int:
        """Return how late values may join: 0 at any time, else the least number of iterations."""
        found = [self.values[p] for e in exprs for p in walk(e) if p in self.values]
        return min(found, default=0)

    def within(self, expr: Expr) -> list[Expr]:
        """Return the parts of `expr` that are such values."""
        return [part for part in walk(expr) if part in self.values]

    def latency(self, expr: Expr, *, fma: bool) -> float:
        """Return how many operations wait one for another between such a value and `expr`.

        Those read after several iterations count by the iteration.
        """
        if not self.values:
            return 0.0
        return self._latency(contracted(expr) if fma else expr)[0]

    def _latency(self, expr: Expr) -> tuple[float, bool]:
        if expr in self.values:
            return 0.0, True
        found = [(self._latency(part), part) for part in children(expr)]
        waits = [wait for (wait, is_late), _ in found if is_late]
        if not waits:
            return 0.0, False
        return max(waits) + _own(expr), True


def _own(expr: Expr) -> float:
    match expr:
        case Unary():
            return 0.0
        case Binary(op=BinaryOp.DIV) | Call(func=MathFunc.SQRT):
            return float(LONG)
        case Call(func=MathFunc.FMA) | Binary():
            return 1.0
        case Call():
            return float(LONG)
        case _:
            return 1.0


def carried_by(loop: For) -> Carried:
    """Return the values that the body of `loop` reads after earlier iterations wrote them."""
    if loop.kind not in (LoopKind.SEQUENTIAL, LoopKind.UNROLL):
        return Carried({})
    own = declared_names(loop.body)
    nodes = tuple(all_nodes(loop.body))
    targets = [n.target for n in nodes if isinstance(n, Assign) and isinstance(n.target, Load)]
    values = [n.value for n in nodes if isinstance(n, Assign | SetLocal)]
    found: dict[Expr, int] = {}
    for part in {part for value in values for part in walk(value)}:
        if not isinstance(part, Load):
            continue
        delays = [d for target in targets if (d := _distance(target, part, loop)) is not None]
        if delays:
            found[part] = min(delays)
    for node in nodes:
        if isinstance(node, SetLocal) and node.name not in own:
            found[Symbol(node.name, node.dtype, node.lanes)] = 1
    return Carried(found)


def _distance(target: Load, load: Load, loop: For) -> int | None:
    """Return after how many iterations an element is read at `load`, None if never or unknown."""
    if target.array != load.array or len(target.index) != len(load.index):
        return None
    found: int | None = None
    for mine, other in zip(target.index, load.index, strict=True):
        apart = linear(sub(mine, other))
        step = dict(linear(mine).terms).get(Iter(loop.iter), 0) * loop.step
        if apart.terms or (step == 0 and apart.constant != 0):
            return None
        if step == 0:
            continue
        count, rest = divmod(apart.constant, step)
        if rest or (found is not None and found != count):
            return None
        found = count
    return found if found is not None and found > 0 else None
