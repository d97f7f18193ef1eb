"""The table of functions that a kernel calls back for: name -> shapes of its results.

In: the arrays and constants of a call.  Out: `LibraryRule`s; dtypes are those that NumPy gives for
small arrays of the same types.
Refuses: calls whose result's shape or type depends on values (PO0151).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import ONE, floordiv, minimum, plus, times
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Index
from polyopt.ir.expr import Expr, integer
from polyopt.ir.source import Operand
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Operands:
    """What a rule sees of a call: dtypes and shapes of the arrays, the other arguments' values.

    `named` are the shapes of arrays by parameter, `operands` those of arrays among the options.
    """

    name: str
    arrays: tuple[tuple[DType, Index], ...]
    named: Mapping[str, Index]
    operands: tuple[Index, ...]
    options: Mapping[str, Any]
    loc: Loc | None
    equal: Callable[[Expr, Expr], Expr]
    count: Callable[[Index], Expr]

    def shape(self, number: int = 0) -> Index:
        """Return the shape of an array."""
        return self.arrays[number][1]

    def refuse_unless(self, holds: bool, what: str, hint: str) -> None:
        """Refuse the call unless `holds`."""
        if not holds:
            refuse("PO0151", f"`{self.name}` {what}", self.loc, hint)


Shapes: TypeAlias = tuple[Index, ...]
ShapeRule: TypeAlias = Callable[[Operands], Shapes]


@dataclass(frozen=True, slots=True)
class LibraryRule:
    """`arrays` and `options` are the function's parameters that are taken, in its order.

    An array parameter ending in `*` is a tuple or list of arrays, one ending in `?` may be None or,
    if it is an option as well, something else than an array.
    `shapes` gives the results' shapes.  Dtypes are found with arrays of extent `example`.
    """

    arrays: str
    options: str
    shapes: ShapeRule
    example: int = 3


# -- shapes -----------------------------------------------------------------------------------


def like(call: Operands) -> Shapes:
    """The shape of the first array."""
    return (call.shape(),)


def stacked(*ends: Callable[[Index], Index]) -> ShapeRule:
    """For each result: the leading dimensions of the first array, then `end` of its last two."""

    def rule(call: Operands) -> Shapes:
        shape = _matrix(call)
        return tuple((*shape[:-2], *end(shape[-2:])) for end in ends)

    return rule


def square(*ends: Callable[[Index], Index]) -> ShapeRule:
    """Like `stacked`, of square matrices."""

    def rule(call: Operands) -> Shapes:
        *stack, m, n = _matrix(call)
        m = call.equal(m, n)
        return tuple((*stack, *end((m, m))) for end in ends)

    return rule


def _none(_: Index) -> Index:
    return ()


def _same(last: Index) -> Index:
    return last


def _row(last: Index) -> Index:
    return (last[1],)


def _swapped(last: Index) -> Index:
    return (last[1], last[0])


def _solved(call: Operands) -> Shapes:
    a, b = call.shape(0), call.shape(1)
    fits = len(a) >= 2 and (len(b) == 1 or len(b) == len(a))
    call.refuse_unless(fits, "with these ranks", "pass a matrix and a vector or a matrix")
    n = call.equal(a[-1], a[-2])
    if len(b) == 1:
        call.refuse_unless(len(a) == 2, "with a stack and one vector", "add a dimension")
        return ((call.equal(n, b[0]),),)
    stack = tuple(call.equal(m, k) for m, k in zip(a[:-2], b[:-2], strict=True))
    return ((*stack, call.equal(n, b[-2]), b[-1]),)


def _qr(call: Operands) -> Shapes:
    *stack, m, n = _matrix(call)
    mode, k = call.options.get("mode", "reduced"), minimum(m, n)
    if mode == "r":
        return ((*stack, k, n),)
    call.refuse_unless(mode in ("reduced", "complete"), f"with mode {mode!r}", 'use "reduced"')
    if mode == "complete":
        return (*stack, m, m), (*stack, m, n)
    return (*stack, m, k), (*stack, k, n)


def _svd(call: Operands) -> Shapes:
    *stack, m, n = _matrix(call)
    k = minimum(m, n)
    if not call.options.get("compute_uv", True):
        return ((*stack, k),)
    if call.options.get("full_matrices", True):
        return (*stack, m, m), (*stack, k), (*stack, n, n)
    return (*stack, m, k), (*stack, k), (*stack, k, n)


def _singular_values(call: Operands) -> Shapes:
    *stack, m, n = _matrix(call)
    return ((*stack, minimum(m, n)),)


def _matrix(call: Operands) -> Index:
    shape = call.shape()
    call.refuse_unless(len(shape) >= 2, f"of an array of rank {len(shape)}", "pass a matrix")
    return shape


def _eigen(*ends: Callable[[Index], Index]) -> ShapeRule:
    plain = square(*ends)

    def rule(call: Operands) -> Shapes:
        hint = "use eigh for symmetric matrices, or pass a.astype(complex)"
        whole = call.arrays[0][0].is_complex
        call.refuse_unless(whole, "of a real matrix: its values decide the result's type", hint)
        return plain(call)

    return rule


def _axis(call: Operands, rank: int, default: int = -1) -> int:
    axis = call.options.get("axis", default)
    inside = isinstance(axis, int) and -rank <= axis < rank
    call.refuse_unless(inside, f"along axis {axis!r}", "name one axis of the array")
    return int(axis) % rank


def _along(length: Callable[[Operands, Expr], Expr]) -> ShapeRule:
    """Transforms along one axis: `n` or what the axis' own extent gives."""

    def rule(call: Operands) -> Shapes:
        shape = list(call.shape())
        call.refuse_unless(bool(shape), "of a number", "pass an array")
        axis = _axis(call, len(shape))
        shape[axis] = length(call, shape[axis])
        return (tuple(shape),)

    return rule


def _transformed(call: Operands, extent: Expr) -> Expr:
    n = call.options.get("n")
    return extent if n is None else integer(n)


def _half(call: Operands, extent: Expr) -> Expr:
    return plus(floordiv(_transformed(call, extent), integer(2)), 1)


def _doubled(call: Operands, extent: Expr) -> Expr:
    n = call.options.get("n")
    return times(plus(extent, -1), 2) if n is None else integer(n)


def _plane(call: Operands) -> Shapes:
    hint = "leave out `s` and `axes`, or pad and transpose before"
    plain = call.options.get("s") is None and "axes" not in call.options
    call.refuse_unless(plain, "with `s` or `axes`", hint)
    return (call.shape(),)


def _half_plane(call: Operands) -> Shapes:
    (shape,) = _plane(call)
    call.refuse_unless(bool(shape), "of a number", "pass an array")
    return ((*shape[:-1], plus(floordiv(shape[-1], integer(2)), 1)),)


def _ordered(call: Operands) -> Shapes:
    """Sorted along an axis; None sorts all elements as one row."""
    shape = call.shape()
    if "axis" in call.options and call.options["axis"] is None:
        return ((call.count(shape),),)
    _axis(call, len(shape))
    return (shape,)


def _reduced(call: Operands, first: Index = ()) -> Shapes:
    """One number for each line along the axes."""
    shape, axis = call.shape(), call.options.get("axis")
    gone = _gone(call, axis, len(shape))
    if call.options.get("keepdims", False):
        return ((*first, *(ONE if d in gone else e for d, e in enumerate(shape))),)
    return ((*first, *(e for d, e in enumerate(shape) if d not in gone)),)


def _gone(call: Operands, axis: object, rank: int) -> frozenset[int]:
    if axis is None:
        return frozenset(range(rank))
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    inside = all(isinstance(a, int) and -rank <= a < rank for a in axes)
    call.refuse_unless(inside, f"along {axis!r}", "name axes of the array")
    return frozenset(int(a) % rank for a in axes if isinstance(a, int))


def _quantiles(call: Operands) -> Shapes:
    return _reduced(call, call.shape(1))


def _lexicographic(call: Operands) -> Shapes:
    shape = call.shape()
    return (shape[1:] if len(call.arrays) == 1 else shape,)


def _second(call: Operands) -> Shapes:
    return (call.shape(1),)


def _interpolated(call: Operands) -> Shapes:
    call.equal(call.shape(1)[0], call.shape(2)[0])
    return (call.shape(),)


def _histogram(call: Operands) -> Shapes:
    (edges,) = _bin_edges(call)
    return (plus(edges[0], -1),), edges


def _bin_edges(call: Operands) -> Shapes:
    shape, weights = call.shape(), call.named.get("weights")
    if weights is not None:
        call.refuse_unless(len(weights) == len(shape), "with weights of another rank", _WEIGHTS)
        for one, other in zip(shape, weights, strict=True):
            call.equal(one, other)
    edges = call.named.get("bins")
    return ((_edges(call, call.options.get("bins", 10)),) if edges is None else edges,)


def _histogram2d(call: Operands) -> Shapes:
    length = call.equal(call.shape(0)[0], call.shape(1)[0])
    weights = call.named.get("weights")
    if weights is not None:
        call.refuse_unless(len(weights) == 1, "with weights of another rank", _WEIGHTS)
        call.equal(length, weights[0])
    bins = call.options.get("bins", 10)
    both = bins if isinstance(bins, tuple) else (bins, bins)
    call.refuse_unless(len(both) == 2, f"with bins={bins!r}", "give the number of bins")
    rows, columns = (_edges(call, part) for part in both)
    return (plus(rows, -1), plus(columns, -1)), (rows,), (columns,)


_WEIGHTS = "give a weight for each number"


def _edges(call: Operands, bins: object) -> Expr:
    """Return how many edges so many bins have, or how many are given."""
    if isinstance(bins, Operand) and len(call.operands[bins.number]) == 1:
        return call.operands[bins.number][0]
    hint = "give the number of bins, or an array of edges"
    call.refuse_unless(isinstance(bins, int), f"with bins={bins!r}", hint)
    assert isinstance(bins, int)
    return integer(bins + 1)


def _fitted(call: Operands) -> Shapes:
    call.equal(call.shape(0)[0], call.shape(1)[0])
    degree = call.options.get("deg")
    plain = isinstance(degree, int) and not call.options.get("full") and not call.options.get("cov")
    call.refuse_unless(plain, "with these arguments", "give the degree as a number")
    return ((integer(int(degree or 0) + 1), *call.shape(1)[1:]),)


def _triangular(call: Operands) -> Shapes:
    call.equal(call.equal(*_matrix(call)[-2:]), call.shape(1)[0])
    return (call.shape(1),)


def _lu(call: Operands) -> Shapes:
    *stack, m, n = _matrix(call)
    k = minimum(m, n)
    plain = not call.options.get("permute_l") and not call.options.get("p_indices")
    call.refuse_unless(plain, "with these arguments", "leave them out")
    return (*stack, m, m), (*stack, m, k), (*stack, k, n)


def _toeplitz(call: Operands) -> Shapes:
    rows = call.shape(0)[0]
    return ((rows, call.shape(1)[0] if len(call.arrays) > 1 else rows),)


# -- the table --------------------------------------------------------------------------------

_FFT = "n axis norm"
_FFTN = "s axes norm"
_MEDIAN = LibraryRule("a", "axis keepdims", lambda call: _reduced(call))
_QUANTILE = LibraryRule("a q", "axis method keepdims", _quantiles)

LIBRARY: dict[str, LibraryRule] = {
    "numpy.linalg.solve": LibraryRule("a b", "", _solved),
    "numpy.linalg.inv": LibraryRule("a", "", square(_same)),
    "numpy.linalg.det": LibraryRule("a", "", square(_none)),
    "numpy.linalg.slogdet": LibraryRule("a", "", square(_none, _none)),
    "numpy.linalg.cholesky": LibraryRule("a", "upper", square(_same)),
    "numpy.linalg.qr": LibraryRule("a", "mode", _qr),
    "numpy.linalg.svd": LibraryRule("a", "full_matrices compute_uv hermitian", _svd),
    "numpy.linalg.svdvals": LibraryRule("x", "", _singular_values),
    "numpy.linalg.eig": LibraryRule("a", "", _eigen(_row, _same)),
    "numpy.linalg.eigvals": LibraryRule("a", "", _eigen(_row)),
    "numpy.linalg.eigh": LibraryRule("a", "UPLO", square(_row, _same)),
    "numpy.linalg.eigvalsh": LibraryRule("a", "UPLO", square(_row)),
    "numpy.linalg.pinv": LibraryRule("a", "rcond hermitian", stacked(_swapped)),
    "numpy.linalg.matrix_rank": LibraryRule("A", "tol hermitian", stacked(_none)),
    "numpy.linalg.cond": LibraryRule("x", "p", stacked(_none)),
    "numpy.fft.fft": LibraryRule("a", _FFT, _along(_transformed)),
    "numpy.fft.ifft": LibraryRule("a", _FFT, _along(_transformed)),
    "numpy.fft.rfft": LibraryRule("a", _FFT, _along(_half)),
    "numpy.fft.irfft": LibraryRule("a", _FFT, _along(_doubled)),
    "numpy.fft.hfft": LibraryRule("a", _FFT, _along(_doubled)),
    "numpy.fft.ihfft": LibraryRule("a", _FFT, _along(_half)),
    "numpy.fft.fft2": LibraryRule("a", _FFTN, _plane),
    "numpy.fft.ifft2": LibraryRule("a", _FFTN, _plane),
    "numpy.fft.fftn": LibraryRule("a", _FFTN, _plane),
    "numpy.fft.ifftn": LibraryRule("a", _FFTN, _plane),
    "numpy.fft.rfft2": LibraryRule("a", _FFTN, _half_plane),
    "numpy.fft.rfftn": LibraryRule("a", _FFTN, _half_plane),
    "numpy.sort": LibraryRule("a", "axis kind order stable", _ordered),
    "numpy.argsort": LibraryRule("a", "axis kind order stable", _ordered),
    "numpy.partition": LibraryRule("a", "kth axis kind order", _ordered),
    "numpy.argpartition": LibraryRule("a", "kth axis kind order", _ordered),
    "numpy.lexsort": LibraryRule("keys*", "axis", _lexicographic),
    "numpy.median": _MEDIAN,
    "numpy.nanmedian": _MEDIAN,
    "numpy.percentile": _QUANTILE,
    "numpy.quantile": _QUANTILE,
    "numpy.nanpercentile": _QUANTILE,
    "numpy.nanquantile": _QUANTILE,
    "numpy.searchsorted": LibraryRule("a v", "side", _second),
    "numpy.digitize": LibraryRule("x bins", "right", like),
    "numpy.interp": LibraryRule("x xp fp", "left right period", _interpolated),
    "numpy.histogram": LibraryRule("a bins? weights?", "bins range density", _histogram),
    "numpy.histogram_bin_edges": LibraryRule("a bins? weights?", "bins range", _bin_edges),
    "numpy.histogram2d": LibraryRule("x y weights?", "bins range density", _histogram2d),
    "numpy.polyfit": LibraryRule("x y", "deg rcond full w cov", _fitted, 4),
    "numpy.unwrap": LibraryRule("p", "discont axis period", like),
    "numpy.i0": LibraryRule("x", "", like),
    "scipy.linalg.solve": LibraryRule("a b", "assume_a", _solved),
    "scipy.linalg.inv": LibraryRule("a", "", square(_same)),
    "scipy.linalg.det": LibraryRule("a", "", square(_none)),
    "scipy.linalg.pinv": LibraryRule("a", "", stacked(_swapped)),
    "scipy.linalg.expm": LibraryRule("A", "", square(_same)),
    "scipy.linalg.cholesky": LibraryRule("a", "lower", square(_same)),
    "scipy.linalg.eigh": LibraryRule("a", "", square(_row, _same)),
    "scipy.linalg.eigvalsh": LibraryRule("a", "", square(_row)),
    "scipy.linalg.lu": LibraryRule("a", "permute_l p_indices", _lu),
    "scipy.linalg.solve_triangular": LibraryRule("a b", "trans lower unit_diagonal", _triangular),
    "scipy.linalg.toeplitz": LibraryRule("c r?", "", _toeplitz),
}

OF_COMPLEX: dict[str, LibraryRule] = {
    f"numpy.{name}": LibraryRule("a", "axis keepdims", _reduced)
    for name in ("max", "min", "argmax", "argmin")
}
"""Functions that are called back for where the numbers are complex: NumPy orders these by parts."""
"""Full name -> rule; besides, every other ufunc of NumPy and SciPy is called."""


_BY_NAME = {
    own: tuple(full for full in LIBRARY if full.endswith(f".{own}"))
    for own in (full.rpartition(".")[2] for full in LIBRARY)
}


def resolve(full: str) -> object:
    """Return the object with this name, None when its module was not imported."""
    package, *parts = full.split(".")
    found: object = sys.modules.get(package)
    for count, part in enumerate(parts, start=1):
        module = sys.modules.get(".".join([package, *parts[:count]]))
        found = module if module is not None else getattr(found, part, None)
    return found


def called_name(function: object) -> str | None:
    """Return the full name of a function of the table."""
    names = _BY_NAME.get(getattr(function, "__name__", ""), ())
    return next((name for name in names if resolve(name) is function), None)
