"""Find the sliding windows of a vector loop: reads of a row at neighbouring positions.

In: the body of a VECTOR loop on whole vectors.  Out: its windows: overlapping reads of one row,
so that one load for each vector suffices and the others are shuffles of two registers.
Refuses: rows that the body may write.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.emit.nodes import expressions
from polyopt.emit.regions import written_arrays
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, VectorLoad, integer, sub, walk
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Body
from polyopt.ir.types import DType

REGISTER_BYTES = 64  # of registers that one instruction takes neighbouring elements of two of
MOST_WINDOWS = 8  # three registers each


@dataclass(frozen=True, slots=True)
class Window:
    """Overlapping reads of one row: `here` is loaded, each of `others` has an offset from it."""

    here: VectorLoad
    others: tuple[tuple[VectorLoad, int], ...]

    @property
    def looks_back(self) -> bool:
        """Some elements are those of the vector before."""
        return any(distance < 0 for _, distance in self.others)


def windows(body: Body) -> tuple[Window, ...]:
    """Return the windows of a loop's body, those with the most reads first."""
    written = [n.target for n in body if isinstance(n, Assign) and isinstance(n.target, VectorLoad)]
    if written_arrays(body) != {target.array for target in written}:
        return ()
    rows: dict[tuple[object, ...], dict[int, VectorLoad]] = {}
    for load in _loads(body):
        if not _fills_register(load) or any(_may_alias(load, target) for target in written):
            continue
        *outer, last = load.index
        place = linear(last)
        row = (load.array, tuple(map(normalize, outer)), frozenset(place.terms))
        rows.setdefault(row, {}).setdefault(place.constant, load)
    aligned = _aligned(body)
    found = [_window(reads, aligned) for reads in rows.values() if len(reads) > 1]
    found = [window for window in found if window.others]
    return tuple(sorted(found, key=lambda window: -len(window.others))[:MOST_WINDOWS])


def _window(reads: dict[int, VectorLoad], aligned: Expr | None) -> Window:
    """Return the window around the read that is aligned as what is written, or a middle one."""
    places = sorted(reads)
    middle = places[len(places) // 2]
    for place in places:
        if aligned is not None and normalize(sub(reads[place].index[-1], aligned)) == integer(0):
            middle = place
    here = reads[middle]
    near = (p for p in places if p != middle and abs(p - middle) < here.lanes)
    return Window(here, tuple((reads[p], p - middle) for p in near))


def _aligned(body: Body) -> Expr | None:
    """Return the last subscript of what is written first: its place is a multiple of the lanes."""
    for node in body:
        if isinstance(node, Assign) and isinstance(node.target, VectorLoad):
            return node.target.index[-1]
    return None


def _may_alias(load: VectorLoad, target: VectorLoad) -> bool:
    """Tell whether two rows may alias: of one array, without a subscript that differs."""
    if load.array != target.array:
        return False
    return not any(map(_differ, load.index[:-1], target.index[:-1]))


def _differ(one: Expr, other: Expr) -> bool:
    """Tell whether subscripts are always different: `i` and `i + 1`, `t % 3` and `(t + 1) % 3`."""
    match one, other:
        case (
            Binary(op=BinaryOp.MOD, left=left, right=Const(value=int(count))),
            Binary(op=BinaryOp.MOD, left=right, right=Const(value=int(same))),
        ) if count == same and count > 0:
            distance = normalize(sub(left, right))
            return isinstance(distance, Const) and int(distance.value.real) % count != 0
        case _:
            distance = normalize(sub(one, other))
            return isinstance(distance, Const) and distance != integer(0)


def _fills_register(load: VectorLoad) -> bool:
    return load.dtype in (DType.FLOAT32, DType.FLOAT64) and (
        load.dtype.size * load.lanes == REGISTER_BYTES and load.step == 1
    )


def _loads(body: Body) -> Iterator[VectorLoad]:
    for node in body:
        for expr in expressions(node):
            for part in walk(expr):
                if isinstance(part, VectorLoad):
                    yield part


def moved(load: VectorLoad, elements: int) -> VectorLoad:
    """Return the load so many elements behind."""
    *outer, last = load.index
    return replace(load, index=(*outer, normalize(sub(last, integer(-elements)))))
