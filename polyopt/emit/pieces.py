"""Print serial loops that ask for signals, so that a call ends within a second of Ctrl-C.

In: a loop that is not vectorized.  Out: its C; inner loops that turn out to be long run in pieces
and ask before each: what is short, and the loops inside, run as if nobody asked.
Leaves: loops over lanes, and inner loops without loops inside, which read or write an array at
every iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyopt.dataclass import replace
from polyopt.emit import outlining
from polyopt.emit.c_statements import (
    Branch,
    Code,
    Compound,
    Function,
    Line,
    calling,
    indented,
)
from polyopt.emit.early_exits import (
    INTERRUPTED,
    LEFT,
    STOPPED,
    Exit,
    ExitKind,
    has_pieces,
    is_long,
    leaves_early,
)
from polyopt.emit.regions import free_names
from polyopt.emit.work import work, work_of_one
from polyopt.ir.expr import Symbol
from polyopt.ir.loops import Body, For, While
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter


PIECE = 22
"""Two to so many assignments are between two questions: some milliseconds."""


UPTO = "po_upto"


PIECES = f"""#ifdef PO_STOPS
static inline int64_t {UPTO}(int64_t from, int64_t end, int64_t step, int64_t work)
{{
    const int shift = 63 - __builtin_clzll((uint64_t)work | 1);
    const int64_t piece = step * (((INT64_C(1) << {PIECE}) >> shift) + 1);
    return end - from <= piece ? end : from + piece;
}}
#else
#pragma GCC diagnostic ignored "-Wunused-function" /* what loops in pieces alone call */
#endif"""


def serial_loop(emitter: BodyEmitter, loop: For, inner: BodyEmitter) -> list[Code]:
    """Return the statements of a loop; `inner` prints its body."""
    if emitter.in_pieces:
        return [_pieces(emitter, loop, replace(inner, in_pieces=False))]
    asked = question(emitter, loop)
    nest = Compound(emitter.head(loop), [*asked, *inner.body(loop.body)])
    if asked or emitter.frame.edition.is_handed_over or not _is_pieced(emitter, loop):
        return [nest]
    is_long_here = f"{emitter.printer.text(work(loop), 7)} > INT64_C(1) << {PIECE}"
    return [_Either(is_long_here, _long(emitter, loop, inner), nest)]


def _long(emitter: BodyEmitter, loop: For, inner: BodyEmitter) -> list[Code]:
    """Return a loop in pieces; in a function of its own, which leaves what is around as it is."""
    free = free_names((loop,))
    if free.set_locals:
        return [_pieces(emitter, loop, inner)]
    inside = replace(emitter, in_pieces=True, exit=Exit(ExitKind.RETURN))
    left = emitter.left if emitter.is_parallel else ""
    name, arguments = outlining.outlined(
        inside, (loop,), f"{loop.iter}_pieces", free, leaves=True, left=left
    )
    emitter.regions[-1] = _WhereAsked(emitter.regions[-1])
    status = f"{name}_status"
    call = [Line(line) for line in calling(f"const int {status} = {name}", arguments, ";")]
    return [*call, Branch(status, _leave(emitter, status), [])]


def _pieces(emitter: BodyEmitter, loop: For, inner: BodyEmitter) -> Code:
    """Return a loop in pieces with questions between them."""
    name, text = emitter.name(loop.iter), emitter.printer.text
    begin, end = emitter.own(f"{name}_from"), emitter.own(f"{name}_to")
    here = replace(loop, lower=Symbol(begin, DType.INT64), upper=Symbol(end, DType.INT64))
    lower, upper = text(loop.lower), text(loop.upper, 9)
    first = Line(f"{end} = {UPTO}({begin}, {upper}, {loop.step}, {text(work_of_one(loop))});")
    head = f"for (int64_t {begin} = {lower}, {end}; {begin} < {upper}; {begin} = {end})"
    is_left = f"{LEFT}(*po_left)" if emitter.left else STOPPED
    asked = Branch(is_left, _leave(emitter, INTERRUPTED), [])
    return Compound(head, [asked, first, Compound(emitter.head(here), inner.body(loop.body))])


def _leave(emitter: BodyEmitter, status: str) -> list[Code]:
    if emitter.is_parallel and emitter.exit.kind is not ExitKind.RETURN:
        return [Line("return;")]  # `left` tells the other threads, and the loop that they share
    return emitter.exit.lines(status, emitter.printer)


def question(emitter: BodyEmitter, loop: For | While) -> list[Code]:
    """Return the statements with which an iteration of an outermost loop asks, if it does."""
    is_inner = emitter.is_repeated or emitter.is_parallel
    if is_inner or emitter.frame.edition.is_handed_over:
        return []
    return emitter.exit.question(loop, emitter.printer)


def _is_pieced(emitter: BodyEmitter, loop: For) -> bool:
    if emitter.is_parallel and (not emitter.left or leaves_early(loop.body)):
        return False
    if emitter.printer.part is not None or emitter.printer.streams:
        return False  # a function of its own would not know the lanes and streams around it
    is_inner = emitter.is_repeated or emitter.is_parallel
    return has_pieces(loop) if is_inner else is_long(loop)


def any_pieces(body: Body) -> bool:
    """Tell whether an inner loop of `body` runs in pieces."""
    return any(isinstance(node, For) and has_pieces(node) for node in all_nodes(body))


class _WhereAsked(Function):
    """A function that a text has where there is somebody to ask."""

    def __init__(self, function: Function) -> None:
        super().__init__(function.head, function.params, function.body)

    def generate(self) -> Iterator[str]:
        """Yield the lines."""
        yield "#ifdef PO_STOPS"
        yield from super().generate()
        yield "#endif"


class _Either(Code):
    """Statements for a nest that is long where there is somebody to ask, or else the nest."""

    def __init__(self, is_long: str, long: list[Code], nest: Code) -> None:
        self.is_long, self.long, self.nest = is_long, tuple(long), nest

    def generate(self) -> Iterator[str]:
        """Yield the lines."""
        yield "#ifdef PO_STOPS"
        yield f"if ({self.is_long}) {{"
        yield from indented(self.long)
        yield "} else"
        yield "#endif"
        yield from self.nest.generate()
