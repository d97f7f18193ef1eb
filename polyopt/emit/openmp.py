"""Print OpenMP pragmas for loops whose kind was proven.

In: a `For`.  Out: the pragma's text.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.dataclass import dataclass
from polyopt.emit.c_statements import Line
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.dialect import SHIFT
from polyopt.emit.early_exits import asks, has_pieces, is_long, leaves_early
from polyopt.emit.extrema import is_chosen
from polyopt.emit.helpers import ENOUGH_WORK, Helper, HelperKind
from polyopt.emit.regions import declared_names, is_settled, thread_arrays
from polyopt.emit.work import has_known_bounds, work
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Symbol,
    add,
    integer,
    operands,
    sub,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Body, DeclareArray, For, If, LoopKind, Space, While
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType

_NAN_KEEPING = {
    BinaryOp.MIN: (HelperKind.MIN, HelperKind.REDUCE_MIN),
    BinaryOp.MAX: (HelperKind.MAX, HelperKind.REDUCE_MAX),
}
_REDUCTION = {
    BinaryOp.ADD: "+",
    BinaryOp.MUL: "*",
    BinaryOp.MIN: "min",
    BinaryOp.MAX: "max",
    BinaryOp.AND: "&",
    BinaryOp.OR: "|",
    BinaryOp.XOR: "^",
}


def reduction_clauses(loop: For, printer: ExprPrinter) -> str:
    """Return the reduction clauses of `loop`, each with a leading space."""
    return "".join(
        f" reduction({_reduction(loop, op, symbol, printer)} : {printer.text(symbol)})"
        for op, symbol in loop.reductions
    )


def _reduction(loop: For, op: BinaryOp, symbol: Symbol, printer: ExprPrinter) -> str:
    """Return OpenMP's name of an operator; what has to keep NaN is declared by the file."""
    if not symbol.dtype.is_float or op not in _NAN_KEEPING:
        return _REDUCTION[op]
    if loop.kind is LoopKind.VECTOR and is_chosen(op, symbol):
        return _REDUCTION[op]
    joins, declared = _NAN_KEEPING[op]
    printer.helper(Helper(joins, symbol.dtype))
    return printer.helper(Helper(declared, symbol.dtype))


CHUNKS = 256  # as many pieces of iterations of unknown length keep threads busy


def is_small(loop: For) -> bool:
    """Tell whether a parallel loop never has enough work for threads."""
    amount = work(loop)
    return isinstance(amount, Const) and int(amount.value.real) <= ENOUGH_WORK


def shared_loops(loop: For) -> tuple[For, ...]:
    """Return `loop` and the parallel loops directly inside whose bounds are the same throughout.

    Their iterations are shared out together: a box with few rows may have many columns.
    """
    found = [loop]
    while len(found[-1].body) == 1 and not loop.reductions:
        (inner,) = found[-1].body
        if not isinstance(inner, For) or inner.kind is not LoopKind.PARALLEL or inner.reductions:
            break
        outer = {one.iter for one in found}
        bounds = (inner.lower, inner.upper)
        if any(has_iterator(bound, outer) or not is_settled(bound, inner.body) for bound in bounds):
            break
        found.append(inner)
    return tuple(found)


def is_shared(loop: For) -> bool:
    """Tell whether threads share the iterations of a loop, unless it is inside of such a one."""
    if loop.kind is not LoopKind.PARALLEL:
        return False
    return bool(thread_arrays(loop.body)) or not is_small(loop)


def asks_together(loop: For) -> bool:
    """Tell whether threads that share a loop ask for signals: its iterations have loops inside."""
    inside = all_nodes(shared_loops(loop)[-1].body)
    return is_shared(loop) and any(isinstance(node, For | While) for node in inside)


def any_asks(body: Body) -> bool:
    """Tell whether a loop of `body` asks for signals: an outermost one, or one for threads."""
    outermost = [node for node in body if isinstance(node, For | While | If)]
    for node in outermost:
        if isinstance(node, If):
            found = any_asks(node.then) or any_asks(node.otherwise)
        else:
            found = asks(node) or (isinstance(node, For) and is_long(node))
        if found:
            return True
    loops = (node for node in all_nodes(body) if isinstance(node, For))
    return any(asks_together(loop) or has_pieces(loop) for loop in loops)


def enough(loop: For, printer: ExprPrinter) -> str:
    """Return the condition under which sharing `loop` among threads pays; empty: always."""
    amount = work(loop)
    many = ""
    if not isinstance(amount, Const):
        name = printer.helper(Helper(HelperKind.MANY))
        many = f"{name}({printer.text(amount)})"
    if _has_own_copies(loop):
        several = f"({_several(loop, printer)})"
        return f"{several} && {many}" if many else several
    lowers, uppers = operands(loop.lower, BinaryOp.MAX), operands(loop.upper, BinaryOp.MIN)
    if len(lowers) == len(uppers) == 1:
        return many
    # the work is that of the simplest bounds; a band of tiles may be one tile wide
    least = printer.text(normalize(add(loop.lower, integer(1))), SHIFT)
    several = f"{least} < {printer.text(loop.upper, SHIFT)}"
    return f"{several} && {many}" if many else several


@dataclass(frozen=True, slots=True)
class Pragmas:
    """Pragmas that share out a loop: of the region and of the loop, where these are two, and both
    in one.
    """

    region: str
    loop: str
    whole: str


class Named:
    """Gives long conditions names: `lines` declare them.  `longest` None: all stay as they are."""

    def __init__(self, fresh: Callable[[str], str], longest: int | None) -> None:
        self.lines: list[Line] = []
        self._fresh, self._longest = fresh, longest

    def short(self, condition: str) -> str:
        """Return `condition`, or a name for it."""
        if self._longest is None or len(condition) <= self._longest:
            return condition
        name = self._fresh("enough")
        self.lines.append(Line(f"const bool {name} __attribute__((unused)) = {condition};"))
        return name


def parallel_pragmas(
    loop: For, printer: ExprPrinter, named: Named, *, simd: bool = False, always: bool = False
) -> Pragmas:
    """Return the pragmas that share the iterations of `loop` among threads, if there are enough.

    Loops inside are shared out together with it where they can.  `always`: the text around asks.
    """
    amount = work(loop)
    loops = len(shared_loops(loop))
    several = f" && ({_several(loop, printer)})" if _has_own_copies(loop) else ""
    test = f"{printer.text(amount)} > {ENOUGH_WORK}{several}"
    is_asked = not (isinstance(amount, Const) or always)
    condition = f" if ({named.short(test)})" if is_asked else ""
    kind = "for simd" if simd else "for"
    together = f" collapse({loops})" if loops > 1 else ""
    clauses = f"{together} schedule({_sharing(loop, printer)}){reduction_clauses(loop, printer)}"
    of_both = condition.replace("if (", "if (parallel : ", 1) if simd else condition
    return Pragmas(
        f"omp parallel{condition}",
        f"omp {kind}{clauses} nowait",
        f"omp parallel {kind}{clauses}{of_both}",
    )


def begins_last(loop: For, printer: ExprPrinter) -> bool:
    """Tell whether a loop that threads share goes from its last iteration, the longest, down."""
    is_plain = loop.step == 1 and not loop.reductions and not leaves_early(loop.body)
    return is_plain and _sharing(loop, printer) == "dynamic" and has_growing_work(loop)


def _sharing(loop: For, printer: ExprPrinter) -> str:
    """Return the schedule of iterations: dynamic chunks where their length depends on data."""
    inner = [node for node in all_nodes(loop.body) if isinstance(node, For | While)]
    own = declared_names(loop.body)
    if any(isinstance(node, While) or not has_known_bounds(node, own) for node in inner):
        is_deep = any(isinstance(part, For | While) for n in inner for part in all_nodes(n.body))
        return "dynamic" if is_deep else f"dynamic, {_chunk(loop, printer)}"
    is_uneven = has_varying_work(loop) or has_growing_work(loop)
    return "dynamic" if is_uneven or _has_own_copies(loop) else "static"


def _has_own_copies(loop: For) -> bool:
    """Tell whether iterations are blocks that copy what they read: few, long, the last ones short.

    A copy made in a thread's cache is not worth more to the thread that ran the block before, so
    that whichever thread is free takes the next.
    """
    copies = any(
        isinstance(node, DeclareArray) and node.space is not Space.THREAD
        for node in all_nodes(loop.body)
    )
    return copies and len(shared_loops(loop)) > 1


def _several(loop: For, printer: ExprPrinter) -> str:
    """Return the condition that loops shared out together have more than one iteration."""
    found = []
    for one in shared_loops(loop):
        least = printer.text(normalize(add(one.lower, integer(1))), SHIFT)
        found.append(f"{least} < {printer.text(one.upper, SHIFT)}")
    return " || ".join(found)


def _chunk(loop: For, printer: ExprPrinter) -> str:
    """Return how many iterations are handed out at once: many make up for what that costs."""
    trip = normalize(sub(loop.upper, loop.lower))
    if not printer.ranges.is_nonnegative(trip):
        trip = Binary(BinaryOp.MAX, trip, integer(0), DType.INT64)
    return f"{printer.text(Binary(BinaryOp.FLOORDIV, trip, integer(CHUNKS), DType.INT64))} + 1"


def simd_pragma(loop: For, printer: ExprPrinter) -> str:
    """Return the pragma that spreads the iterations of `loop` over SIMD lanes."""
    lanes = f" simdlen({loop.simd_length})" if loop.simd_length else ""
    return f"omp simd{lanes}{reduction_clauses(loop, printer)}"


def has_varying_work(loop: For) -> bool:
    """Tell whether some inner trip count depends on which iteration of `loop` runs.

    Bounds of tiles (`32*it` to `min(N, 32*it + 32)`) count as constant.
    """
    tainted = {loop.iter}
    for node in all_nodes(loop.body):
        if not isinstance(node, For):
            continue
        if has_iterator(node.lower, tainted) or has_iterator(node.upper, tainted):
            if not any(_is_steady(trip, tainted) for trip in _trips(node)):
                return True
            tainted.add(node.iter)
    return False


def has_growing_work(loop: For) -> bool:
    """Tell whether later iterations of `loop` have more to do: bounds of its deepest nest grow.

    Whoever shares such iterations out one by one begins with the last: a long one at the end keeps
    one thread busy while the others have nothing left (Graham, "Bounds on multiprocessing timing
    anomalies", 1969).
    """
    found: list[tuple[int, bool]] = []
    for node in all_nodes(loop.body):
        if not isinstance(node, For) or any(isinstance(trip, Const) for trip in _trips(node)):
            continue  # a tile is as long wherever it begins
        terms = [term for trip in _trips(node) for term in linear(trip).terms]
        own = [(atom, f) for atom, f in terms if has_iterator(atom, {loop.iter})]
        own = [(atom, f) for atom, f in own if not _is_remainder(atom)]
        if own:
            found.append((_depth(node), all(f > 0 and _grows(a, loop.iter) for a, f in own)))
    return bool(found) and max(found, key=lambda one: one[0])[1]  # the first of the deepest


def _trips(loop: For) -> list[Expr]:
    """Return what is the trip count where it is least: each upper bound less each lower one."""
    lowers = operands(loop.lower, BinaryOp.MAX)
    return [normalize(sub(u, low)) for u in operands(loop.upper, BinaryOp.MIN) for low in lowers]


def _depth(loop: For) -> int:
    """Return how many loops are nested in one another, with `loop` itself."""
    return 1 + max(
        (_depth(node) for node in all_nodes(loop.body) if isinstance(node, For)), default=0
    )


def _grows(atom: Expr, name: str) -> bool:
    """Tell whether an atom is known to grow with the iterator in it."""
    match atom:
        case Iter():
            return True
        case Binary(op=BinaryOp.FLOORDIV, left=whole, right=Const()):
            parts = [(p, factor) for p, factor in linear(whole).terms if has_iterator(p, {name})]
            return all(factor > 0 and _grows(part, name) for part, factor in parts)
        case _:
            return False


def _is_steady(trip: Expr, tainted: set[str]) -> bool:
    atoms = (atom for atom, _ in linear(trip).terms if not _is_remainder(atom))
    return not any(has_iterator(atom, tainted) for atom in atoms)


def _is_remainder(expr: Expr) -> bool:
    """Tell whether an expression is a remainder by a number: it changes a trip count little."""
    return isinstance(expr, Binary) and expr.op is BinaryOp.MOD and isinstance(expr.right, Const)
