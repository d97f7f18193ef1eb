"""Print exits from an emitted function before its end, and the question that Ctrl-C answers.

In: where a statement stands, a status.  Out: the C lines that leave there with that status.
Outermost serial loops with loops inside ask for signals once an iteration, loops that threads share
do so as well; a text without a driver that knows of signals never stops.
A sweep meets an element of its own at every iteration, so memory bounds its length.
"""

from __future__ import annotations

from enum import Enum, unique

from polyopt.dataclass import dataclass
from polyopt.emit.c_statements import Branch, Code, Line
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.regions import thread_arrays
from polyopt.emit.work import work, work_of_one
from polyopt.ir.expr import Const, Expr, Iter, Load, VectorLoad, sub, walk
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    Break,
    CallLibrary,
    Fail,
    For,
    LoopKind,
    While,
)
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import all_nodes, own_expressions, unrepeated_nodes
from polyopt.never import assert_never

STATUS = "po_status"
END = "po_end"
FIRST_FAULT = 2
"""The status of fault 0."""
STOPPED = "PO_STOPPED"
LEFT = "PO_LEFT"
"""Asks in an iteration that one of several threads runs; `left` tells the others to end, too."""
INTERRUPTED = "-1"
"""What the entry returns where an exception of the interpreter waits."""
STOPS = f"""#ifdef PO_STOPS
extern struct {{ const volatile int *signalled; int (*ask)(void); }} po_stop;
#define {STOPPED} (*po_stop.signalled && po_stop.ask())
#define {LEFT}(left) (__atomic_load_n(&left, __ATOMIC_RELAXED) \\
    || ({STOPPED} && __atomic_add_fetch(&left, 1, __ATOMIC_RELAXED)))
#else
#define {STOPPED} 0
#define {LEFT}(left) (left)
#endif"""
_SERIAL = (LoopKind.SEQUENTIAL, LoopKind.UNROLL)


@unique
class ExitKind(Enum):
    """How control leaves at some place."""

    RETURN = "return"  # nothing to clean up
    GOTO = "goto"  # to the end of the entry, where everything is cleaned up
    REGION = "region"  # end an iteration of a parallel loop, whose body is a function
    LOOP = "loop"  # end an iteration of a parallel loop by a jump to `label`


@dataclass(frozen=True, slots=True)
class Exit:
    """The exit at some place."""

    kind: ExitKind
    label: str = END

    def lines(self, status: str, printer: ExprPrinter) -> list[Code]:
        """Return the statements that leave with `status`."""
        match self.kind:
            case ExitKind.RETURN:
                return [Line(f"return {status};")]
            case ExitKind.GOTO:
                own = [] if status == STATUS else [Line(f"{STATUS} = {status};")]
                return [*own, Line(f"goto {self.label};")]
            case ExitKind.REGION:
                fail = printer.helper(Helper(HelperKind.FAIL))
                return [Line(f"{fail}({STATUS}, {status});"), Line("return;")]
            case ExitKind.LOOP:
                fail = printer.helper(Helper(HelperKind.FAIL))
                jump = Line(f"goto {self.label};")
                return [Line(f"{fail}(&{STATUS}, {status});"), jump]
            case _:
                assert_never(self.kind)

    def question(self, loop: For | While, printer: ExprPrinter) -> list[Code]:
        """Return the statements with which an outermost loop asks for signals, if it does."""
        return [Branch(STOPPED, self.lines(INTERRUPTED, printer), [])] if asks(loop) else []

    def questions(
        self, left: str, printer: ExprPrinter
    ) -> tuple[list[Code], list[Code], list[Code]]:
        """Return how threads that share a loop ask: before the loop, in iterations, after it."""
        before: list[Code] = [Line(f"int {left} = 0;")]
        asked: list[Code] = [Branch(f"{LEFT}({left})", [Line("continue;")], [])]
        return before, asked, [Branch(left, self.lines(INTERRUPTED, printer), [])]


def leaves_early(body: Body) -> bool:
    """Tell whether `body` may end the kernel before its end."""
    return any(isinstance(n, Fail | AllocateArray | CallLibrary) for n in all_nodes(body))


def fails_in_parallel(body: Body) -> bool:
    """Tell whether an iteration of a parallel loop in `body` may end the kernel."""
    loops = (n for n in all_nodes(body) if isinstance(n, For) and n.kind is LoopKind.PARALLEL)
    return any(leaves_early(loop.body) or thread_arrays(loop.body) for loop in loops)


def asks(loop: For | While) -> bool:
    """Tell whether an outermost loop asks: one that nothing counts, or that has loops inside."""
    if isinstance(loop, While):
        return True
    inside = any(isinstance(node, For | While) for node in all_nodes(loop.body))
    return inside and loop.kind in _SERIAL and loop.lanes == 1


LARGE = 40
"""Nodes of a nest that is not printed again in pieces: blocks for registers, which are in tiles."""


def has_pieces(loop: For) -> bool:
    """Tell whether an inner loop runs in pieces: the innermost of those around loops that may
    take long, unless it does no more than to go through arrays, which are no larger than memory.
    """
    if not _is_serial(loop) or isinstance(work_of_one(loop), Const):
        return False
    inside = [node for node in all_nodes(loop.body) if isinstance(node, For)]
    if not inside or len(list(all_nodes(loop.body))) > LARGE or sweeps_elements(loop):
        return False
    return not any(n.kind is _SHARED or has_pieces(n) for n in inside)


_SHARED = LoopKind.PARALLEL
"""Such loops ask themselves, and their bodies may have labels, which cannot stand twice."""


def is_long(loop: For) -> bool:
    """Tell whether an outermost loop runs in pieces: it has no loop inside, and its length is not
    known.
    """
    return _is_serial(loop) and not asks(loop) and not isinstance(work(loop), Const)


def _is_serial(loop: For) -> bool:
    """Tell whether a loop is printed as it is and left at its end alone, and needs no memory."""
    if loop.kind not in (LoopKind.SEQUENTIAL, LoopKind.PARALLEL) or loop.lanes > 1:
        return False
    own = unrepeated_nodes(loop.body)
    if any(isinstance(node, Break) for node in own) or thread_arrays((loop,)):
        return False
    return not any(isinstance(n, AllocateArray | CallLibrary) for n in all_nodes(loop.body))


def sweeps_elements(loop: For) -> bool:
    """Tell whether no iteration of the nests in `loop` meets the elements of another one."""
    return _is_sweep(loop.body, (loop,))


def _is_sweep(body: Body, levels: tuple[For, ...]) -> bool:
    nodes = list(unrepeated_nodes(body))
    loops = [node for node in nodes if isinstance(node, For)]
    if loops:
        return all(_is_sweep(loop.body, (*levels, loop)) for loop in loops)
    values = [expr for node in nodes for expr in own_expressions(node)]
    values += [node.target for node in nodes if isinstance(node, Assign)]
    return any(
        _tells_apart(part.index, levels)
        for value in values
        for part in walk(value)
        if isinstance(part, Load | VectorLoad)
    )


def _tells_apart(index: tuple[Expr, ...], levels: tuple[For, ...]) -> bool:
    """Tell whether subscripts differ between any two iterations of all loops of unknown length.

    Each subscript has one of their iterators at most.  The number of a tile is told by what runs
    from a multiple of it on.
    """
    lengths = {loop.iter: normalize(sub(loop.upper, loop.lower)) for loop in levels}
    long = {name for name, length in lengths.items() if not isinstance(length, Const)}
    told: set[str] = set()
    for part in index:
        used = {name for name in long if has_iterator(part, {name})}
        if len(used) > 1:
            return False
        told |= used
    for loop in reversed(levels):
        if loop.iter in told:
            terms = linear(loop.lower).terms
            told |= {atom.name for atom, c in terms if isinstance(atom, Iter) and abs(c) > 1}
    return long <= told
