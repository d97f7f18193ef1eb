"""`po.comprehend[i, j](term)`: a tensor comprehension as an explicit loop nest.

In: output indices and a term.  Out: a lazy array whose node writes the loops.
Refuses: indices without extents, subscripts that leave their arrays (PO0807).
Sums run in the order of their indices, the last fastest; `fp="reassociate"` may split them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.tracing import recording
from polyopt.tracing.arrays import LazyArray
from polyopt.tracing.loopnest import Nest
from polyopt.tracing.nodes import Kind, Loops, Node
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import Extent, minus, plus, quotient, times
from polyopt.tracing.terms import (
    Affine,
    Apply,
    Element,
    Index,
    Number,
    Reduce,
    Term,
    affine,
    bound,
    parts_of,
    term,
    type_of,
)

_Extents = dict[Index, Extent]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`comprehend[i, j]`, which waits for its term."""

    outer: tuple[tuple[Index, Extent | None], ...]

    def __call__(self, body: object) -> LazyArray:
        """Return the lazy array of the term at every value of the indices."""
        found = term(body)
        outer = tuple(index for index, _ in self.outer)
        _check_bound(found, outer, outer)
        extents = _extents(self.outer, found)
        for one in _unguarded(found):
            _check_inside(one, extents)
        arrays = _arrays(found)
        dtype = recording.known(type_of(found))
        nest = Nest(outer, found, extents, arrays, dtype)
        shape = tuple(extents[index] for index in outer)
        return LazyArray(recording.make(Loops(nest), nest.operands, Kind(shape, dtype)))


class _Comprehend:
    """Subscripted by the output's indices, `i` or `i:n` with an extent; then called with a term.

    >>> import numpy as np, polyopt as po
    >>> i, j, k = po.indices("i j k")
    >>> A, B = po.tensor("A", po.f64["N,K"]), po.tensor("B", po.f64["K,M"])
    >>> po.comprehend[i, j](po.sum(A[i, k] * B[k, j], over=k))
    <LazyArray (N, M) float64>
    """

    def __getitem__(self, key: object) -> Comprehension:
        parts = key if isinstance(key, tuple) else (key,)
        outer = tuple(bound(part) for part in parts)
        if len({index for index, _ in outer}) != len(outer):
            refuse("PO0807", "an index of the output stands twice")
        return Comprehension(outer)


comprehend = _Comprehend()


# -- what a term is made of -------------------------------------------------------------------


def _check_bound(body: Term, known: tuple[Index, ...], outer: tuple[Index, ...]) -> None:
    """Every index is of the output or of a reduction around it, the innermost if of several."""
    match body:
        case Index() | Affine():
            whole = affine(body)
            assert whole is not None
            _check_known(whole, known)
        case Element(subscripts=subscripts):
            for part in subscripts:
                _check_known(part, known)
        case Apply(operands=operands):
            for operand in operands:
                _check_bound(operand, known, outer)
        case Reduce(body=inner, over=over):
            new = tuple(index for index, _ in over)
            if any(index is other for index in new for other in outer):
                refuse("PO0807", "an index is summed inside its own loop",
                       hint="use another index")  # fmt: skip
            _check_bound(inner, (*known, *new), outer)
        case Number():
            return


def _check_known(part: Affine, known: tuple[Index, ...]) -> None:
    for index, _ in part.terms:
        if not any(index is other for other in known):
            refuse("PO0807", f"the index `{index}` is neither of the output nor reduced over",
                   hint=f"write po.comprehend[{index}, ...] or over={index}")  # fmt: skip


def _arrays(body: Term) -> tuple[Node, ...]:
    found: dict[int, Node] = {}
    for part in parts_of(body):
        if isinstance(part, Element):
            found[id(part.node)] = part.node
    return tuple(found.values())


# -- extents ----------------------------------------------------------------------------------


def _extents(outer: Sequence[tuple[Index, Extent | None]], body: Term) -> _Extents:
    """Return the extent of every index: given, or the largest that keeps subscripts inside."""
    bounds = [*outer]
    for part in parts_of(body):
        if isinstance(part, Reduce):
            bounds += part.over
    found: _Extents = {index: extent for index, extent in bounds if extent is not None}
    open_ones = [index for index, extent in bounds if extent is None]
    plain = {id(one) for one in _unguarded(body)}
    subscripts = [
        (part if id(one) in plain else _centred(part), extent)
        for one in parts_of(body)
        if isinstance(one, Element)
        for part, extent in zip(one.subscripts, one.node.shape, strict=True)
    ]
    for part, extent in subscripts:
        if part.offset == 0 and len(part.terms) == 1 and part.terms[0][1] == 1:
            found.setdefault(part.terms[0][0], extent)
    for _ in open_ones:
        for part, extent in subscripts:
            _infer(part, extent, found)
    for index in open_ones:
        if index not in found:
            refuse("PO0807", f"the extent of the index `{index}` is not known")
    return found


def _centred(part: Affine) -> Affine:
    """A choice keeps `A[i - 1]` inside: the index may run as far as the array is long."""
    return Affine(part.terms, 0) if isinstance(part.offset, int) else part


def _infer(part: Affine, extent: Extent, found: _Extents) -> None:
    missing = [(index, c) for index, c in part.terms if index not in found]
    if len(missing) != 1 or missing[0][1] < 0:
        return
    index, step = missing[0]
    room = minus(minus(extent, 1), _largest(part, found))
    found[index] = plus(quotient(room, step), 1)


def _largest(part: Affine, extents: _Extents) -> Extent:
    """Return the largest value of the subscript, as far as extents are known."""
    steps = (times(minus(extents[i], 1), c) for i, c in part.terms if c > 0 and i in extents)
    return plus(part.offset, *steps)


def _least(part: Affine, extents: _Extents) -> Extent:
    steps = (times(minus(extents[i], 1), c) for i, c in part.terms if c < 0)
    return plus(part.offset, *steps)


def _unguarded(body: Term) -> Iterator[Element]:
    """Yield the elements that are read at every value of the indices."""
    match body:
        case Element():
            yield body
        case Apply(function=function, operands=operands):
            for operand in operands[:1] if function is np.where else operands:
                yield from _unguarded(operand)
        case Reduce(body=inner):
            yield from _unguarded(inner)
        case _:
            return


def _check_inside(one: Element, extents: _Extents) -> None:
    for dim, (part, extent) in enumerate(zip(one.subscripts, one.node.shape, strict=True)):
        room = minus(minus(extent, 1), _largest(part, extents))
        least = _least(part, extents)
        if (isinstance(room, int) and room < 0) or (isinstance(least, int) and least < 0):
            refuse("PO0807", f"a subscript leaves dimension {dim} of extent {extent}",
                   hint="choose with po.where(i > 0, A[i - 1], 0.0)")  # fmt: skip
