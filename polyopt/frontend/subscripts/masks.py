"""Elements picked by a mask: `A[mask]`.

In: an array and a BOOL array of its shape.  Out: `Masked` values, which keep the full shape and
know where they count; elementwise operations, sums and masked assignment understand them.
Refuses: uses that need to know how many elements there are (PO0135).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Items

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import combine
from polyopt.frontend.arithmetic.operators import operand
from polyopt.frontend.integers.affine_integers import select
from polyopt.frontend.numpy.axis_reductions import REDUCERS, reduced, summation_dtype
from polyopt.frontend.numpy.call_arguments import Arguments, dtype, known_axes, known_bool
from polyopt.frontend.numpy.products import accumulator_dtype
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.subscripts.compaction import compacted
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import (
    Masked,
    Number,
    Operandish,
    Sequence,
    Tensor,
    Value,
    as_tensor,
)
from polyopt.ir.expr import Const, Expr, Iter
from polyopt.ir.types import DType

HINT = "use np.where(mask, x, y) with arrays of the full shape"


def picked(b: Builder, value: Tensor, mask: Tensor, name: str, loc: Loc | None) -> Masked:
    """Return `value[mask]`."""
    if mask.rank != value.rank:
        refuse("PO0135", f"`{name}` under a mask of rank {mask.rank}", loc, HINT)
    for ours, theirs in zip(value.shape, mask.shape, strict=True):
        equate(b, ours, theirs, "mask", loc)
    return Masked(value, mask)


def is_same_mask(left: Tensor, right: Tensor) -> bool:
    """Whether two masks pick the same elements, seen from how they are computed."""
    probe = tuple(Iter(f"?{d}") for d in range(left.rank))
    return left.rank == right.rank and left.at(probe) == right.at(probe)


def through(
    b: Builder,
    values: Items[Value],
    function: Callable[[tuple[Value, ...]], Value],
    loc: Loc | None,
) -> Value:
    """Apply an elementwise function to values, some of which are masked alike."""
    masks = [value.mask for value in values if isinstance(value, Masked)]
    if not masks:
        return function(tuple(values))
    others = [value for value in values if not isinstance(value, Masked)]
    alike = all(is_same_mask(masks[0], mask) for mask in masks[1:])
    if not alike or any(as_tensor(operand(value, loc)).rank for value in others):
        return function(tuple(plain(b, value) for value in values))
    result = function(tuple(v.tensor if isinstance(v, Masked) else v for v in values))
    assert isinstance(result, Tensor)
    return Masked(result, masks[0])


def plain(b: Builder, value: Value) -> Value:
    """Return elements under a mask, and those in a tuple or list, as arrays."""
    match value:
        case Masked():
            return compacted(b, value)
        case Sequence(items=items) if any(isinstance(item, Masked) for item in items):
            return replace(value, items=tuple(plain(b, item) for item in items))
        case _:
            return value


def chosen(
    b: Builder, mask: Tensor, then: Operandish, otherwise: Operandish, loc: Loc | None
) -> Operandish:
    """Return `where(mask, then, otherwise)` of two values of one dtype."""
    kind = then.dtype
    kinds = (DType.BOOL, kind, kind)
    return combine(b, "mask", (mask, then, otherwise), kinds, kind, lambda p, _: select(*p), loc)


def reduction(name: str, b: Builder, args: Arguments) -> Value:
    """Return the sum, product, mean, any, all or count of elements under a mask."""
    found, axis, kind, keepdims = args.take("a", "axis dtype keepdims")
    assert isinstance(found, Masked)
    if known_axes(b, axis, args.loc) is not None or known_bool(keepdims, "keepdims", args.loc):
        refuse("PO0135", f"`{args.name}` of masked elements along an axis", args.loc, HINT)
    wanted = dtype(kind, args.loc)
    if name == "mean":
        return _mean(b, found, wanted, args.loc)
    if name not in ("sum", "prod", "any", "all"):
        refuse("PO0135", f"`{args.name}` of elements under a mask", args.loc, HINT)
    return _folded(b, name, found, wanted or summation_dtype(name, found.tensor.dtype), args.loc)


def _folded(b: Builder, name: str, value: Masked, kind: DType, loc: Loc | None) -> Operandish:
    identity = cast(Const(REDUCERS[name].identity or 0, DType.INT64), kind)
    tensor = value.tensor
    converted = replace(
        tensor, dtype=kind, at=lambda i: cast(tensor.at(i), kind), view=None, fold=None
    )
    filled = chosen(b, value.mask, converted, Number(identity, False), loc)
    return reduced(b, name, as_tensor(filled), None, False, loc, kind)


def count(b: Builder, value: Masked, loc: Loc | None) -> Operandish:
    """Return how many elements the mask picks."""
    return reduced(b, "sum", value.mask, None, False, loc, DType.INT64)


def _mean(b: Builder, value: Masked, wanted: DType | None, loc: Loc | None) -> Operandish:
    own = value.tensor.dtype
    kind = wanted or (own if own.is_float or own.is_complex else DType.FLOAT64)
    wide = accumulator_dtype(kind)
    total = _folded(b, "sum", value, wide, loc)
    number = count(b, value, loc)

    def rule(parts: tuple[Expr, ...], out: DType) -> Expr:
        return cast(UFUNCS["divide"].rule(parts, wide), out)

    return combine(b, "mean", (total, number), (wide, wide), kind, rule, loc)
