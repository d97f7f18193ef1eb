"""Print minima and maxima of floats in lanes, in a form for which compilers have an instruction.

In: a loop, what prints its parts.  Out: pieces of C.
A VECTOR loop's MIN or MAX, which keeps NaN, is printed as a choice, `m = x > m ? x : m`, and a flag
that notes NaN.  An EXTREMUM loop is a choice in lanes, into a copy; its result stands unless it is
a zero, of which the order tells the sign, or the accumulator began as NaN, which it then stays:
then the loop runs in order.  Leaves alone: halves, whose minima are declared reductions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from polyopt.dataclass import dataclass
from polyopt.emit.c_statements import Branch, Code, Compound, Line, Pragma
from polyopt.emit.cexpr import ExprPrinter
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Const, Expr, Select, Symbol
from polyopt.ir.extremum import Extremum
from polyopt.ir.loops import For, SetLocal
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType

Fresh = Callable[[str], str]

_EXTREMA = frozenset({BinaryOp.MIN, BinaryOp.MAX})
_FLAG = {DType.FLOAT32: DType.INT32, DType.FLOAT64: DType.INT64}  # as wide as a lane


def is_chosen(op: BinaryOp, symbol: Symbol) -> bool:
    """Tell whether a VECTOR loop's reduction is printed as a choice."""
    return op in _EXTREMA and symbol.dtype in _FLAG


@dataclass(frozen=True, slots=True)
class NanFlags:
    """C's names of flags: of each accumulator, and of those whose loop may set them, by local."""

    every: Mapping[str, Symbol]
    noting: Mapping[str, Symbol]
    symbols: tuple[Symbol, ...]

    def around(self, printer: ExprPrinter, loop: list[Code]) -> list[Code]:
        """Return a loop between what sets the flags and what they make of the accumulators."""
        before: list[Code] = []
        after: list[Code] = []
        for symbol in self.symbols:
            flag = self.every[symbol.name]
            start = printer.text(_noted(symbol, flag))
            before.append(Line(f"{flag.dtype.value_ctype} {flag.name} = {start};"))
            is_set = Compare(CompareOp.NE, flag, Const(0, flag.dtype))
            nan = printer.text(Const(float("nan"), symbol.dtype))
            kept = Line(f"{printer.text(symbol)} = {nan};")
            after.append(Branch(printer.text(is_set), [kept], []))
        return [*before, *loop, *after]

    @property
    def clauses(self) -> str:
        """The reduction clauses of the flags, each with a leading space."""
        return "".join(f" reduction(| : {flag.name})" for flag in self.noting.values())


def nan_flags(loop: For, fresh: Fresh) -> NanFlags:
    """Return the flags that a VECTOR loop needs beside its accumulators."""
    symbols = tuple(symbol for op, symbol in loop.reductions if is_chosen(op, symbol))
    every = {s.name: Symbol(fresh(f"{s.name}_nan"), _FLAG[s.dtype]) for s in symbols}
    updated = {node.name for node in noted_updates(loop)}
    noting = {name: flag for name, flag in every.items() if name in updated}
    return NanFlags(every, noting, symbols)


def noted_updates(loop: For) -> tuple[SetLocal, ...]:
    """Return the updates in a VECTOR loop that set a flag as well."""
    names = {symbol.name for op, symbol in loop.reductions if is_chosen(op, symbol)}
    if not names:
        return ()
    found = (node for node in all_nodes(loop.body) if isinstance(node, SetLocal))
    return tuple(node for node in found if node.name in names and _term(node) is not None)


def noting_update(
    node: SetLocal, flag: Symbol, printer: ExprPrinter, fresh: Fresh
) -> Iterator[Code]:
    """Yield an update of an accumulator as a choice, and whether what it reads is NaN."""
    symbol, term = Symbol(node.name, node.dtype), _term(node)
    if term is None:  # a choice already
        yield Line(f"{printer.text(symbol)} = {printer.text(node.value)};")
        return
    if not isinstance(term, Symbol):
        name = fresh(f"{symbol.name}_next")
        yield Line(f"{symbol.dtype.value_ctype} {name} = {printer.text(term)};")
        term = Symbol(name, symbol.dtype)
    assert isinstance(node.value, Binary)
    choice = printer.text(_choice(node.value.op, term, symbol))
    yield Line(f"{printer.text(symbol)} = {choice};")
    noted = Binary(BinaryOp.OR, flag, _noted(term, flag), flag.dtype)
    yield Line(f"{flag.name} = {printer.text(noted)};")


def extremum_in_lanes(
    found: Extremum,
    printer: ExprPrinter,
    fresh: Fresh,
    head: str,
    before: list[Code],
    in_order: list[Code],
) -> list[Code]:
    """Return an EXTREMUM loop: `head` over `before` and a choice in lanes, else over `in_order`."""
    symbol = found.symbol
    extreme = Symbol(fresh(f"{symbol.name}_any"), symbol.dtype)
    name = printer.text(symbol)
    choice = printer.text(_choice(found.op, found.value, extreme))
    is_zero = Compare(CompareOp.EQ, extreme, Const(0.0, symbol.dtype))
    is_nan = Compare(CompareOp.NE, symbol, symbol)
    is_open = printer.text(Binary(BinaryOp.OR, is_zero, is_nan, DType.BOOL))
    lanes = Compound(head, [*before, Line(f"{extreme.name} = {choice};")])
    return [
        Line(f"{symbol.dtype.value_ctype} {extreme.name} = {name};"),
        Pragma(f"omp simd reduction({_NAMES[found.op]} : {extreme.name})"),
        lanes,
        Branch(is_open, [Compound(head, in_order)], [Line(f"{name} = {extreme.name};")]),
    ]


_NAMES = {BinaryOp.MIN: "min", BinaryOp.MAX: "max"}


def _choice(op: BinaryOp, value: Expr, symbol: Symbol) -> Select:
    sign = CompareOp.GT if op is BinaryOp.MAX else CompareOp.LT
    return Select(Compare(sign, value, symbol), value, symbol, symbol.dtype)


def _noted(value: Expr, flag: Symbol) -> Expr:
    """Return whether `value` is NaN, as a number."""
    is_nan = Compare(CompareOp.NE, value, value)
    return Select(is_nan, Const(1, flag.dtype), Const(0, flag.dtype), flag.dtype)


def _term(node: SetLocal) -> Expr | None:
    """Return what a MIN or MAX takes beside its target; None for other values."""
    match node.value:
        case Binary(op=op, left=left, right=right) if op in _EXTREMA:
            is_first = isinstance(left, Symbol) and left.name == node.name
            return right if is_first else left
        case _:
            return None
