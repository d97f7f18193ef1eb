"""Know the limits of subscripts that are found while the kernel runs.

In: tests that were made before a node, conditions around it, locals with subscripts.  Out: which
subscripts are inside, and expressions that use them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.regions import declared_names, written_arrays
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    Select,
    Symbol,
    add,
    children,
    integer,
    is_function,
    operands,
    sub,
    walk,
    with_children,
)
from polyopt.ir.linear import Linear, from_linear, linear
from polyopt.ir.loops import For, Node, SetLocal
from polyopt.ir.names import iterators, reads, symbols
from polyopt.ir.nodes import all_nodes
from polyopt.ir.types import DType

TRUE = Const(True, DType.BOOL)
_FALSE = Const(False, DType.BOOL)


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound of a subscript: not negative if `extent` is None, else below `extent`.

    It is known where all of `guards` hold.
    """

    index: Expr
    extent: Linear | None
    guards: frozenset[Expr] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """What holds at a node: limits, conditions around it, and locals that have subscripts.

    `chooses`: one side of a choice can be left out, which lanes do not.
    """

    limits: tuple[Limit, ...] = ()
    conditions: frozenset[Expr] = frozenset()
    locals: Mapping[Expr, Symbol] = field(default_factory=dict)
    chooses: bool = True

    def where(self, condition: Expr) -> Known:
        """Return what holds where a condition does, too."""
        more = map(normal, operands(condition, BinaryOp.AND))
        return replace(self, conditions=self.conditions.union(more))

    def inside(self, loop: For) -> Known:
        """Return what holds in the iterations of a loop from a constant: there is one."""
        match loop.lower:
            case Const(value=int(first)) if loop.step > 0:
                some = Compare(CompareOp.GE, loop.upper, integer(first + 1))
                return self.where(some).after(loop)
            case _:
                return self

    def after(self, node: Node) -> Known:
        """Return what still holds after a node, or in a loop with it."""
        changes = changes_of(node)
        if not changes:
            return self

        def stays(expr: Expr) -> bool:
            return names_of(expr).isdisjoint(changes)

        limits = (
            limit
            for limit in self.limits
            if stays(limit.index)
            and all(map(stays, limit.guards))
            and (limit.extent is None or stays(from_linear(limit.extent)))
        )
        kept = {value: name for value, name in self.locals.items() if stays(value)}
        conditions = frozenset(filter(stays, self.conditions))
        return Known(tuple(limits), conditions, kept, self.chooses)

    def is_low(self, index: Expr) -> bool:
        """Tell whether a subscript is known not to be negative."""
        match index:
            case Select(condition=Compare(op=CompareOp.LT, left=raw, right=Const(value=0))):
                if index.otherwise == raw and self.is_low(index.then):
                    return True
            case _:
                pass
        return any(
            far == 0 or (far > 0 and self._is_limited(limit.index, high=True))
            for limit, far in self._limits_of(index)
            if limit.extent is None
        )

    def is_below(self, index: Expr, extent: Expr) -> bool:
        """Tell whether a subscript is known to be below an extent."""
        most = linear(normal(extent))
        for limit, far in self._limits_of(index):
            if limit.extent is not None and limit.extent.terms == most.terms:
                fits = limit.extent.constant + far <= most.constant
                if fits and (far >= 0 or self._is_limited(limit.index, high=False)):
                    return True
        match index:
            case Select(condition=Compare(op=CompareOp.LT, left=raw, right=Const(value=0))):
                wraps = index.otherwise == raw and linear(normal(sub(index.then, raw))) == most
                return wraps and self.is_below(raw, extent)
            case _:
                return False

    def _limits_of(self, index: Expr) -> Iterator[tuple[Limit, int]]:
        """Yield limits that hold of a subscript less a constant, and the constant."""
        if index.dtype is not DType.INT64:
            return
        found = linear(normal(index))
        for limit in (*self.limits, *_limits_with(self.conditions)):
            known = linear(limit.index)
            if known.terms == found.terms and limit.guards <= self.conditions:
                yield limit, found.constant - known.constant

    def _is_limited(self, index: Expr, *, high: bool) -> bool:
        """Tell whether a subscript has a limit at one end, so that a sum does not wrap around."""
        return any(
            far == 0 and (limit.extent is not None) == high for limit, far in self._limits_of(index)
        )


def changes_of(node: Node) -> frozenset[str]:
    """Return the arrays and locals that a node sets, and the iterators of its loops."""
    sets = {n.name for n in all_nodes((node,)) if isinstance(n, SetLocal)}
    return written_arrays((node,)) | declared_names((node,)) | sets


def names_of(expr: Expr) -> frozenset[str]:
    """Return the iterators, arrays and locals in an expression."""
    return iterators(expr) | reads(expr) | symbols(expr)


@lru_cache(maxsize=1 << 12)
def normal(expr: Expr) -> Expr:
    """Return an expression with all sums in it collected; sizes are at least a constant."""
    parts = children(expr)
    if not parts:
        return expr
    expr = with_children(expr, tuple(map(normal, parts)))
    if isinstance(expr, Compare) and expr.op in _LEAST:
        return _least(expr)
    is_sum = isinstance(expr, Binary) and expr.op in (BinaryOp.ADD, BinaryOp.SUB)
    return from_linear(linear(expr)) if is_sum and expr.dtype is DType.INT64 else expr


_LEAST = {CompareOp.GE: 0, CompareOp.GT: 1, CompareOp.LE: 0, CompareOp.LT: 1}
"""By how much one side is greater than the other one at least."""


def _least(expr: Compare) -> Compare:
    """Return a comparison of sizes as one of their sum with a constant."""
    if expr.left.dtype is not DType.INT64 or _is_index(expr.left) or _is_index(expr.right):
        return expr
    sides = (expr.left, expr.right) if expr.op.value.startswith(">") else (expr.right, expr.left)
    far = linear(sub(*sides))
    if not far.terms:
        return expr
    least = integer(_LEAST[expr.op] - far.constant)
    return Compare(CompareOp.GE, from_linear(Linear(0, far.terms)), least)


def limits_without(condition: Expr) -> Iterator[Limit]:
    """Yield the limits of subscripts that hold where a condition does not."""
    parts = operands(condition, BinaryOp.AND)
    for number, part in enumerate(parts):
        guards = frozenset(map(normal, (*parts[:number], *parts[number + 1 :])))
        for one in operands(part, BinaryOp.OR):
            for index, extent in limits_left(one):
                told = None if extent is None else linear(normal(extent))
                yield Limit(normal(index), told, guards)


@lru_cache(maxsize=1 << 8)
def _limits_with(conditions: frozenset[Expr]) -> tuple[Limit, ...]:
    """Return the limits of subscripts that hold where all of some conditions do."""
    found: list[Limit] = []
    for one in conditions:
        match one:
            case Compare(op=CompareOp.GE, left=index, right=Const(value=0)) if _is_index(index):
                found.append(Limit(index, None))
            case Compare(op=CompareOp.LE, left=Const(value=0), right=index) if _is_index(index):
                found.append(Limit(index, None))
            case Compare(op=CompareOp.LT, left=index, right=extent) if _is_index(index):
                found.append(Limit(index, linear(extent)))
            case _:
                pass
    return tuple(found)


def limits_left(condition: Expr) -> tuple[tuple[Expr, Expr | None], ...]:
    """Return the limits that a subscript has left where a condition holds."""
    match condition:
        case Compare(op=CompareOp.LT, left=index, right=Const(value=0)) if _is_index(index):
            return ((index, None),)
        case Compare(op=CompareOp.GE, left=index, right=extent) if _is_index(index):
            return ((index, extent),)
        case Compare(op=CompareOp.NE, left=inside, right=index) if _is_index(index):
            match inside:
                case Binary(
                    op=BinaryOp.MIN,
                    left=Binary(op=BinaryOp.MAX, left=moved, right=Const(value=0)),
                    right=last,
                ) if moved == index:
                    return ((index, None), (index, add(last, integer(1))))
                case _:
                    return ()
        case _:
            return ()


def _is_index(expr: Expr) -> bool:
    """Tell whether an expression is found at run time: the proof knows all of iterators."""
    if isinstance(expr, Binary) and expr.op in (BinaryOp.AND, BinaryOp.XOR):
        return False  # the sign of what wrapped around
    return expr.dtype is DType.INT64 and bool(reads(expr) or symbols(expr))


def simple(expr: Expr, known: Known) -> Expr:
    """Return an expression as it is where what is known holds."""
    local = known.locals.get(normal(expr)) if expr.dtype is DType.INT64 else None
    if local is not None:
        return local
    decided = _decided(expr, known)
    if decided is not expr:
        return simple(decided, known)
    if isinstance(expr, Binary) and expr.op is BinaryOp.AND and expr.dtype is DType.BOOL:
        return _both(expr, known)
    parts = tuple(simple(part, known) for part in children(expr))
    return expr if parts == children(expr) else _decided(with_children(expr, parts), known)


def _decided(expr: Expr, known: Known) -> Expr:
    """Return what an expression is known to be, itself where that is not known."""
    match expr:
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
            return _inside(expr, known)
        case Compare() if expr.left.dtype is DType.INT64:
            holds = _holds(expr, known)
            return expr if holds is None else TRUE if holds else _FALSE
        case Select(condition=condition) if condition in (TRUE, _FALSE):
            return expr.then if condition == TRUE else expr.otherwise
        case _:
            return expr


def _both(expr: Binary, known: Known) -> Expr:
    """Return a conjunction; its right side is evaluated second where that lets it be simpler."""
    left, right = simple(expr.left, known), simple(expr.right, known)
    inner = known.where(expr.left)
    second = simple(expr.right, inner)
    if TRUE in (left, second):
        return left if second == TRUE else right
    if known.chooses and (second != right or _is_slow(second)) and _may_fail(second):
        return Select(left, second, _FALSE, DType.BOOL)
    return replace(expr, left=left, right=right if _may_fail(second) else second)


def _may_fail(expr: Expr) -> bool:
    """Tell whether an expression reads elements, which may lie outside where it is not needed."""
    return any(isinstance(part, Load) and part.index for part in walk(expr))


def _is_slow(expr: Expr) -> bool:
    """Tell whether a test costs as much as a wrong guess of a branch."""
    return any(is_function(part) or _divides(part) for part in walk(expr))


def _divides(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op in (BinaryOp.DIV, BinaryOp.RATIO)


def _inside(expr: Binary, known: Known) -> Expr:
    """Return the subscript that a minimum or maximum keeps inside, if it is known to be."""
    match expr:
        case Binary(op=BinaryOp.MAX, left=index, right=Const(value=0)) if known.is_low(index):
            return index
        case Binary(op=BinaryOp.MIN, left=left, right=last) if expr.dtype is DType.INT64:
            index = _inside(left, known) if isinstance(left, Binary) else left
            return index if known.is_below(index, add(last, integer(1))) else expr
        case _:
            return expr


def _holds(expr: Compare, known: Known) -> bool | None:
    """Tell whether a comparison holds, None if that is not known."""
    match expr:
        case Compare(op=CompareOp.GE, left=index, right=Const(value=0)) if known.is_low(index):
            return True
        case Compare(op=CompareOp.LT, left=index, right=Const(value=0)) if known.is_low(index):
            return False
        case Compare(op=CompareOp.LT, left=index, right=extent) if known.is_below(index, extent):
            return True
        case _:
            return None
