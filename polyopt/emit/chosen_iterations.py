"""Print loops that do something in one iteration alone, whose number an expression tells.

In: the emitter of the loop, the loop.  Out: its body for that number, if the loop has it; None for
loops that may do something in other iterations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.dataclass import replace
from polyopt.emit.c_statements import Block, Branch, Code, Line
from polyopt.emit.regions import leaves_itself, written_arrays
from polyopt.ir.expr import (
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    Symbol,
    VectorLoad,
    operands,
    walk,
)
from polyopt.ir.loops import For, If, LoopKind, SetLocal
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter


def chosen_iteration(emitter: BodyEmitter, loop: For) -> list[Code] | None:
    """Return the text of a loop over nothing but `if i == number and ...:`, without the loop.

    The number is read only where the loop has an iteration, which would read it as well.
    """
    number = _number(loop)
    if number is None or emitter.is_for_threads(loop):
        return None
    printer = replace(emitter.printer, ranges=emitter.printer.ranges.inside(loop))
    inner, name = replace(emitter, printer=printer), emitter.name(loop.iter)
    begins: list[str] = []
    bounds = (emitter.bound(loop.lower, f"{name}_lo", begins),
              emitter.bound(loop.upper, f"{name}_hi", begins))  # fmt: skip
    low, high = (printer.text(bound, 9) for bound in bounds)
    found = Line(f"const int64_t {name} = {emitter.printer.text(number)};")
    inside = Branch(f"{name} >= {low} && {name} < {high}", inner.body(loop.body), [])
    whole = Branch(f"{low} < {high}", [found, inside], [])
    return [Block([Line(f"const int64_t {', '.join(begins)};"), whole])] if begins else [whole]


def _number(loop: For) -> Expr | None:
    """Return what the iterator has to equal for an iteration to do something, or None."""
    if loop.step != 1 or loop.lanes > 1 or leaves_itself(loop.body):
        return None
    if loop.kind not in (LoopKind.SEQUENTIAL, LoopKind.VECTOR, LoopKind.PARALLEL):
        return None
    match loop.body:
        case (If(condition=condition, otherwise=()),):
            pass
        case _:
            return None
    for part in operands(condition, BinaryOp.AND):
        match part:
            case Compare(op=CompareOp.EQ, left=Iter(name=name), right=number):
                pass
            case Compare(op=CompareOp.EQ, left=number, right=Iter(name=name)):
                pass
            case _:
                continue
        if name == loop.iter and number.dtype is DType.INT64 and _is_fixed(number, loop):
            return number
    return None


def _is_fixed(number: Expr, loop: For) -> bool:
    """Tell whether a number is the same in all iterations, whatever these store."""
    written = written_arrays(loop.body)
    changed = {node.name for node in all_nodes(loop.body) if isinstance(node, SetLocal)}
    for part in walk(number):
        match part:
            case Load() | VectorLoad() if part.array in written:
                return False
            case Symbol() if part.name in changed:
                return False
            case Iter() if part.name == loop.iter:
                return False
            case _:
                pass
    return True
