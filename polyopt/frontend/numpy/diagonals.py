"""Diagonals and triangles: diag, diagonal, trace, tri, tril, triu, fill_diagonal.

In: arguments of the call.  Out: views of the diagonal, or lazy matrices that compare subscripts.
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    ZERO,
    at_least,
    compare,
    constant,
    maximum,
    minimum,
    minus,
    plus,
)
from polyopt.frontend.numpy.axis_reductions import normal_axes
from polyopt.frontend.numpy.call_arguments import (
    Arguments,
    is_none,
    known_bool,
    known_int,
    size,
    tensor,
)
from polyopt.frontend.numpy.reshaping import permuted
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, store
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.values import Index, Known, Tensor, Value, fixed, remapped
from polyopt.ir.expr import CompareOp, Const, Expr, Select, Unary, UnaryOp
from polyopt.ir.types import DType


def diagonal_of(
    b: Builder, value: Tensor, offset: Expr, first: int, second: int, loc: Loc | None
) -> Tensor:
    """Return the diagonal of two dimensions as the last dimension of a view."""
    one, two = (normal_axes((axis,), value.rank, loc)[0] for axis in (first, second))
    if one == two:
        refuse("PO0153", "a diagonal needs two different axes", loc)
    kept = [d for d in range(value.rank) if d not in (one, two)]
    moved = permuted(value, (*kept, one, two))
    down, right = _starts(offset)
    rows, columns = (b.extent(moved.shape[d]) for d in (-2, -1))
    if down == right == ZERO:
        length = minimum(rows, columns)
    else:
        length = b.extent(minimum(minus(rows, down), minus(columns, right)))

    def index(new: Index) -> Index:
        return (*new[:-1], plus(new[-1], down), plus(new[-1], right))

    return remapped(moved, (*moved.shape[:-2], length), index)


def _starts(offset: Expr) -> tuple[Expr, Expr]:
    """Return row and column of the diagonal's first element."""
    known = constant(offset)
    if known is not None:
        return plus(ZERO, max(-known, 0)), plus(ZERO, max(known, 0))
    back = Unary(UnaryOp.NEG, offset, DType.INT64)
    return maximum(back, ZERO), maximum(offset, ZERO)


def diagonal(b: Builder, args: Arguments) -> Value:
    """np.diagonal"""
    array, offset, first, second = args.take("a", "offset axis1 axis2")
    value = forced(b, tensor(b, array, args.loc))
    if value.rank < 2:
        refuse("PO0141", f"`{args.name}` of an array with less than two dimensions", args.loc)
    shift = ZERO if is_none(offset) else size(b, offset, "the offset", args.loc)
    one = 0 if is_none(first) else known_int(b, first, "an axis", args.loc)
    two = 1 if is_none(second) else known_int(b, second, "an axis", args.loc)
    return fixed(diagonal_of(b, value, shift, one, two, args.loc))


def diag(b: Builder, args: Arguments) -> Value:
    """np.diag: the diagonal of a matrix, or a matrix with this diagonal"""
    array, offset = args.take("v", "k")
    value = forced(b, tensor(b, array, args.loc))
    shift = ZERO if is_none(offset) else size(b, offset, "k", args.loc)
    if value.rank == 2:
        return fixed(diagonal_of(b, value, shift, 0, 1, args.loc))
    if value.rank != 1:
        refuse("PO0151", "np.diag of anything but a vector or matrix", args.loc)
    return _matrix_of(b, value, shift)


def _matrix_of(b: Builder, value: Tensor, shift: Expr) -> Tensor:
    zero = cast(Const(0, DType.INT64), value.dtype)
    down, right = _starts(shift)
    extent = plus(plus(b.extent(value.shape[0]), down), right)

    def at(index: Index) -> Expr:
        on_it = compare(CompareOp.EQ, plus(index[0], shift), index[1])
        return Select(on_it, value.at((minus(index[0], down),)), zero, value.dtype)

    return Tensor((extent, extent), value.dtype, at, cost=value.cost + 2)


def _triangle(name: str) -> Rule:
    """Return the rule of np.tril or np.triu."""

    def rule(b: Builder, args: Arguments) -> Value:
        array, diagonal_ = args.take("m", "k")
        value = forced(b, tensor(b, array, args.loc))
        if value.rank == 0:
            refuse("PO0141", f"`{args.name}` of a number", args.loc)
        if value.rank == 1:  # NumPy makes a matrix of it: every row is the vector
            row = value
            value = remapped(row, (row.shape[0], row.shape[0]), lambda index: index[1:])
        whole = value
        shift = ZERO if is_none(diagonal_) else size(b, diagonal_, "k", args.loc)
        zero = cast(Const(0, DType.INT64), whole.dtype)

        def at(index: Index) -> Expr:
            edge = plus(index[-2], shift)
            kept = at_least(edge, index[-1]) if name == "tril" else at_least(index[-1], edge)
            return Select(kept, whole.at(index), zero, whole.dtype)

        return Tensor(whole.shape, whole.dtype, at, cost=whole.cost + 2)

    return rule


def fill_diagonal(b: Builder, args: Arguments) -> Value:
    """np.fill_diagonal: a number, or one for each element of the diagonal"""
    array, value, wrap = args.take("a val", "wrap")
    target = tensor(b, array, args.loc)
    if known_bool(wrap, "wrap", args.loc):
        refuse("PO0151", "np.fill_diagonal with `wrap=`", args.loc, "write a loop")
    if target.rank < 2:
        refuse("PO0141", "np.fill_diagonal of an array with less than two dimensions", args.loc)
    length = b.extent(target.shape[0])
    for extent in target.shape[1:]:
        length = minimum(length, b.extent(extent))
    line = remapped(target, (length,), lambda index: index * target.rank)
    store(b, line, forced(b, tensor(b, value, args.loc)), args.loc)
    return Known(None)


tril = _triangle("tril")
triu = _triangle("triu")
