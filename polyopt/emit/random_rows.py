"""Print loops over neighbouring elements of a random stream: rows of words first, then the loop.

In: a loop without loops inside, whose iterations use one word after the other.  Out: a loop over
chunks, each of which fills a row with words, four for each counter, and runs the loop over them.
Leaves: words that lie apart, words of a key that the iterations change, loops that may be left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass, replace
from polyopt.emit.c_statements import Block, Code, Compound, Line
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.passes.rewriting import trip_count
from polyopt.emit.ranges import extent_of
from polyopt.emit.regions import written_arrays
from polyopt.emit.views import View
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Symbol,
    add,
    integer,
    substitute,
    walk,
)
from polyopt.ir.linear import linear
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopKind, SetLocal
from polyopt.ir.nodes import all_nodes, changed, own_expressions
from polyopt.ir.types import DType

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter

CHUNK = 512
"""Words of a row: few enough for the innermost cache, many enough to hide where a row begins."""
MORE = 8
"""Words of the first counter before the row's first, and of the last one after its last."""
SHORT = 4
"""Iterations up to which a loop computes each word by itself."""


def in_rows(emitter: BodyEmitter, loop: For) -> list[Code]:
    """Return the loop in chunks; nothing where no word of it is one of a row."""
    if emitter.is_for_threads(loop) or not _is_plain(loop):
        return []
    calls = tuple(dict.fromkeys(_neighbours(loop)))
    return _Chunks(emitter, loop).lines(calls) if calls else []


def _is_plain(loop: For) -> bool:
    kinds = (LoopKind.SEQUENTIAL, LoopKind.VECTOR, LoopKind.PARALLEL)
    inner = (Assign, Declare, SetLocal, If)
    count = trip_count(loop)
    return (
        loop.kind in kinds
        and loop.step == 1
        and loop.lanes == 1
        and (count is None or count > SHORT)
        and all(isinstance(node, inner) for node in all_nodes(loop.body))
    )


def _neighbours(loop: For) -> Iterator[Call]:
    """Yield the words of a body of which each iteration uses the one after the last one's."""
    changing = {loop.iter, *written_arrays(loop.body)}
    changing.update(n.name for n in all_nodes(loop.body) if isinstance(n, Declare | SetLocal))
    for call, always in _words(loop.body):
        *others, position, stream = call.args
        fixed = (*others, stream)
        if any(isinstance(p, Load) for e in call.args for p in walk(e)) and not always:
            continue  # what is read may not be there in all iterations
        if _names(fixed) & changing or _names((position,)) & (changing - {loop.iter}):
            continue
        if _step(position, loop.iter) == 1:
            yield call


def _words(body: Body, *, always: bool = True) -> Iterator[tuple[Call, bool]]:
    """Yield the words of a body, and whether each iteration uses them."""
    for node in body:
        for expr in own_expressions(node):
            for part in walk(expr):
                if isinstance(part, Call) and part.func is MathFunc.PHILOX:
                    yield part, always
        if isinstance(node, If):
            yield from _words((*node.then, *node.otherwise), always=False)


def _names(exprs: tuple[Expr, ...]) -> set[str]:
    named = (Iter, Param, Symbol)
    parts = [part for expr in exprs for part in walk(expr)]
    arrays = {part.array for part in parts if isinstance(part, Load)}
    return arrays | {part.name for part in parts if isinstance(part, named)}


def _step(expr: Expr, name: str) -> int | None:
    """Return by how much an integer grows with an iterator, modulo 2**64; None if unknown."""
    if name not in _names((expr,)):
        return 0
    match expr:
        case Cast(operand=operand, dtype=DType.UINT64) if operand.dtype is DType.INT64:
            return _linear_step(operand, name)
        case Binary(op=BinaryOp.ADD, dtype=DType.UINT64):
            left, right = _step(expr.left, name), _step(expr.right, name)
            return None if left is None or right is None else left + right
        case Binary(op=BinaryOp.MUL, left=Const(value=int(factor)), dtype=DType.UINT64):
            step = _step(expr.right, name)
            return None if step is None else factor * step
        case Binary(op=BinaryOp.MUL, right=Const(value=int(factor)), dtype=DType.UINT64):
            step = _step(expr.left, name)
            return None if step is None else factor * step
        case _:
            return None


def _linear_step(expr: Expr, name: str) -> int | None:
    step = 0
    for atom, factor in linear(expr).terms:
        if atom == Iter(name):
            step = factor
        elif name in _names((atom,)):
            return None
    return step


@dataclass(frozen=True, slots=True)
class _Chunks:
    """Prints `loop` in chunks."""

    emitter: BodyEmitter
    loop: For

    def lines(self, calls: tuple[Call, ...]) -> list[Code]:
        """Return the loop over chunks; `calls` are elements of rows in them."""
        emitter, loop = self.emitter, self.loop
        name = emitter.name(loop.iter)
        begin, end = emitter.own(f"{name}_row"), emitter.own(f"{name}_row_end")
        outer = replace(loop, iter=begin, step=CHUNK, kind=LoopKind.SEQUENTIAL, annotations=())
        ranges = emitter.printer.ranges.inside(outer)
        printer = replace(emitter.printer, ranges=ranges, is_repeated=True)
        inner = replace(emitter, printer=printer, is_repeated=True)
        lower, upper = printer.text(loop.lower), printer.text(loop.upper)
        bounds = extent_of(loop)
        is_one = bounds is not None and bounds.size <= CHUNK
        if not is_one:
            least = printer.helper(Helper(HelperKind.MIN))
            upper = f"{least}({upper}, {begin} + {CHUNK})"
        filled: list[Code] = [Line(f"const int64_t {end} = {upper};")]
        rows: dict[Expr, Load] = {}
        views: dict[str, View] = {}
        for number, call in enumerate(calls):
            row = emitter.own("words" if number == 0 else f"words{number + 1}")
            start = emitter.own(f"{row}_from")
            array = Array(row, call.dtype, (integer(CHUNK + MORE),), Role.TEMP)
            views[row] = View(array, row, row, written=True)
            rows[call] = Load(row, (add(Symbol(start, DType.INT64), Iter(loop.iter)),), call.dtype)
            filled += self.row(inner, call, (row, start), (begin, end))
        part = replace(
            loop,
            lower=Iter(begin),
            upper=Symbol(end, DType.INT64),
            body=tuple(changed(node, rows.get) for node in loop.body),
        )
        seen = {**emitter.frame.views, **views}
        frame = replace(emitter.frame, views=seen)
        inner = replace(inner, frame=frame, printer=replace(printer, views=seen))
        lines = [*filled, *inner.settled_loop(part)]
        if is_one:
            return [Block([Line(f"const int64_t {begin} = {lower};"), *lines])]
        upper = printer.text(loop.upper)
        head = f"for (int64_t {begin} = {lower}; {begin} < {upper}; {begin} += {CHUNK})"
        return [Compound(head, lines)]

    def row(
        self, inner: BodyEmitter, call: Call, names: tuple[str, str], bounds: tuple[str, str]
    ) -> list[Code]:
        """Return what declares and fills a row of words."""
        (row, start), (begin, end) = names, bounds
        first = tuple(substitute(arg, {self.loop.iter: Iter(begin)}) for arg in call.args)
        fill = inner.printer.helper(Helper(HelperKind.PHILOX_ROW, call.dtype))
        words = ", ".join(map(inner.printer.text, first))
        return [
            Line(f"{call.dtype.ctype} {row}[{CHUNK + MORE}];"),
            Line(f"const int64_t {start} = {fill}({words}, {row}, {end} - {begin}) - {begin};"),
        ]
