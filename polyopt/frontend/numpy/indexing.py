"""Functions that subscript by arrays: take, put, take_along_axis, ix_, `np.add.at`.

In: arguments of the call.  Out: new arrays, or the statements that write.
Refuses: modes and shapes that have no one meaning while compiling (PO0151).
"""

from __future__ import annotations

from operator import itemgetter

from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import Elementwise, operand_kinds
from polyopt.frontend.arithmetic.operators import operand
from polyopt.frontend.integers.affine_integers import (
    ONE,
    constant,
    less,
    modulo,
    select,
)
from polyopt.frontend.numpy.axis_reductions import one_axis
from polyopt.frontend.numpy.call_arguments import Arguments, array_of, is_none, tensor
from polyopt.frontend.numpy.regrouping import flat_vector
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced
from polyopt.frontend.subscripts.basic import By, Cut, Mask, Part
from polyopt.frontend.subscripts.index_arrays import accumulate, gathered, scatter
from polyopt.frontend.subscripts.runtime_subscripts import limited
from polyopt.frontend.subscripts.subscript_parts import by_array, part_of
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.promote import cast, dtypes_of, is_castable
from polyopt.frontend.values.values import (
    Index,
    Known,
    Sequence,
    Tensor,
    Value,
    as_value,
    remapped,
)
from polyopt.frontend.variables.memory_variables import refuse_write
from polyopt.ir.expr import BinaryOp, Expr
from polyopt.ir.scop import Reduction
from polyopt.ir.types import DType

WHOLE = Cut(None, None, 1)


def _mode(value: Value, loc: Loc | None) -> str:
    match value:
        case Known(value=None):
            return "raise"
        case Known(value="raise" | "wrap" | "clip" as mode):
            return str(mode)
        case _:
            refuse("PO0151", "this `mode`", loc, 'use "raise", "wrap" or "clip"')


def _moded(part: By, extent: Expr, mode: str) -> By:
    """Return the index array as `mode` asks: as it is, modulo the extent, or cut to it."""
    if mode == "raise":
        return part
    inner = part.index

    def at(index: Index) -> Expr:
        element = inner.at(index)
        if mode == "wrap":
            divisor = extent if constant(extent) else select(less(extent, ONE), ONE, extent)
            return modulo(element, divisor)
        return limited(element, extent)

    return By(Tensor(inner.shape, DType.INT64, at, cost=inner.cost + 1), part.text)


def _positions(b: Builder, value: Value, text: str, loc: Loc | None) -> By:
    found = part_of(b, value, text, loc)
    match found:
        case By():
            return found
        case Mask():
            refuse("PO0135", f"`{text}` is a mask", loc, "use np.where or np.compress")
        case _:
            array = forced(b, tensor(b, value, loc))
            return By(Tensor((), DType.INT64, lambda i: cast(array.at(i), DType.INT64)), text)


# -- reading ----------------------------------------------------------------------------------


def take(b: Builder, args: Arguments) -> Value:
    """np.take"""
    array, indices, axis, out, mode = args.take("a indices", "axis out mode")
    if not is_none(out):
        refuse("PO0151", "np.take with `out=`", args.loc, "assign the result: out[...] = ...")
    value = array_of(b, array, args.loc)
    along = 0
    if is_none(axis):
        value = flat_vector(b, value, args.loc)
    else:
        along = one_axis(b, axis, value.rank, args.loc)
    by = _moded(
        _positions(b, indices, "indices", args.loc), value.shape[along], _mode(mode, args.loc)
    )
    parts: list[Part] = [*(WHOLE for _ in range(along)), by]
    return as_value(gathered(b, value, parts, "the array", args.loc))


def take_along_axis(b: Builder, args: Arguments) -> Value:
    """np.take_along_axis"""
    array, indices, axis = args.take("arr indices", "axis")
    value, parts = _along(b, array, indices, axis, args)
    return gathered(b, value, parts, "the array", args.loc)


def put_along_axis(b: Builder, args: Arguments) -> Value:
    """np.put_along_axis"""
    array, indices, values, axis = args.take("arr indices values axis")
    value, parts = _along(b, array, indices, axis, args)
    new = array_of(b, values, args.loc)
    _written(b, value, args.loc)
    scatter(b, value, parts, "the array", lambda _: new, args.loc)
    return Known(None)


def _along(
    b: Builder, array: Value, indices: Value, axis: Value, args: Arguments
) -> tuple[Tensor, list[Part]]:
    value, index = array_of(b, array, args.loc), array_of(b, indices, args.loc)
    if isinstance(axis, Known) and axis.value is None and ("axis" in args.keywords or len(
        args.values) > 2):  # fmt: skip
        value = flat_vector(b, value, args.loc)
    if value.rank != index.rank:
        message = f"indices of rank {index.rank} for an array of rank {value.rank}"
        refuse("PO0140", message, args.loc, "give both the same number of dimensions")
    along = one_axis(b, axis, value.rank, args.loc, -1)
    found = by_array(b, index, "indices", args.loc)
    assert isinstance(found, By)
    parts: list[Part] = []
    for d, extent in enumerate(value.shape):
        parts.append(found if d == along else _own(d, value.rank, extent))
    return value, parts


def _own(d: int, rank: int, extent: Expr) -> By:
    """Return the positions of dimension `d` itself, shaped to broadcast with the others."""
    shape = tuple(extent if other == d else ONE for other in range(rank))
    return By(Tensor(shape, DType.INT64, lambda index: index[d]), "indices")


def ix_(b: Builder, args: Arguments) -> Value:
    """np.ix_ of integer arrays"""
    found = [array_of(b, value, args.loc) for value in args.values]
    for array in found:
        _positions(b, array, "np.ix_", args.loc)
    rank = len(found)
    result: list[Value] = []
    for d, array in enumerate(found):
        if array.rank != 1:
            refuse("PO0140", "np.ix_ takes arrays of one dimension", args.loc)
        shape = tuple(array.shape[0] if other == d else ONE for other in range(rank))
        result.append(remapped(array, shape, itemgetter(slice(d, d + 1))))
    return Sequence(tuple(result))


# -- writing ----------------------------------------------------------------------------------


def _written(b: Builder, view: Tensor, loc: Loc | None) -> None:
    if view.view is None:
        refuse("PO0163", "this expression is no array that can be written", loc)
    refuse_write(b, view, loc)


def put(b: Builder, args: Arguments) -> Value:
    """np.put into an array of one dimension"""
    array, indices, values, mode = args.take("a ind v", "mode")
    view = array_of(b, array, args.loc)
    if view.rank != 1:
        hint = "subscript the array: a[rows, columns] = v"
        refuse("PO0151", "np.put into an array of more than one dimension", args.loc, hint)
    _written(b, view, args.loc)
    by = _positions(b, indices, "ind", args.loc)
    flat = By(flat_vector(b, by.index, args.loc), by.text) if by.index.rank else by
    new = array_of(b, values, args.loc)
    where = _moded(flat, view.shape[0], _mode(mode, args.loc))
    scatter(b, view, [where], "the array", lambda _: new, args.loc)
    return Known(None)


_ACCUMULATING = {
    "add": BinaryOp.ADD,
    "multiply": BinaryOp.MUL,
    "minimum": BinaryOp.MIN,
    "maximum": BinaryOp.MAX,
    "bitwise_and": BinaryOp.AND,
    "bitwise_or": BinaryOp.OR,
    "bitwise_xor": BinaryOp.XOR,
}


def at_of(op: Elementwise) -> Rule:
    """Return the rule of `np.<ufunc>.at(a, indices, b)`: one element after the other."""

    def rule(b: Builder, args: Arguments) -> Value:
        names = "a indices" if op.ufunc.nin == 1 else "a indices b"
        array, indices, *rest = args.take(names)
        view = array_of(b, array, args.loc)
        _written(b, view, args.loc)
        found = as_sequence(indices)
        is_tuple = isinstance(found, Sequence) and not found.is_list
        items = found.items if is_tuple and isinstance(found, Sequence) else (indices,)
        parts = [_index_part(b, item, args.loc) for item in items]
        value = array_of(b, rest[0], args.loc) if rest else None
        weak = rest[0] if rest else None
        kinds = [(view.dtype, False)]
        if value is not None and weak is not None:
            kinds += operand_kinds(
                [value if isinstance(weak, Sequence) else operand(weak, args.loc)]
            )
        *inputs, output = dtypes_of(op.ufunc, tuple(kinds), args.loc)
        if not is_castable(output, view.dtype, "same_kind"):
            message = f"{output} cannot be put into an array of {view.dtype} in place"
            refuse("PO0144", message, args.loc, "convert the values with `.astype`")

        def one(old: tuple[Expr, ...]) -> Expr:
            ready = tuple(cast(e, k, args.loc) for e, k in zip(old, inputs, strict=True))
            return cast(op.rule(ready, output), view.dtype, args.loc)

        binary = _ACCUMULATING.get(op.name)
        same = binary is not None and inputs[0] is output is view.dtype
        reduction = _reduction(binary, view.dtype) if same else None
        accumulate(b, view, parts, value, one, reduction, args.loc)
        return Known(None)

    return rule


def _reduction(op: BinaryOp | None, dtype: DType) -> Reduction | None:
    if op is None or (dtype is DType.BOOL and op in (BinaryOp.ADD, BinaryOp.MUL)):
        return None
    return Reduction(op, False)


def _index_part(b: Builder, value: Value, loc: Loc | None) -> Part:
    match value:
        case Known(value=slice(start=None, stop=None, step=None)):
            return WHOLE
        case _:
            return part_of(b, value, "indices", loc)
