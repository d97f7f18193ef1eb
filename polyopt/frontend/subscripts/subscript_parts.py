"""What one value between the brackets of a subscript means.

In: a value.  Out: a part: a position, a new axis, an ellipsis, a mask, an index array.
Refuses: what NumPy does not take as a subscript (PO0135).
"""

from __future__ import annotations

from polyopt import frontend
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import operand
from polyopt.frontend.integers.affine_integers import is_affine, strip_casts
from polyopt.frontend.numpy.call_arguments import is_none
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, settled
from polyopt.frontend.subscripts.basic import At, By, Cut, Dots, Mask, NewAxis, Part, Stepped
from polyopt.frontend.subscripts.compaction import compacted
from polyopt.frontend.subscripts.index_arrays import SHORT, index_list
from polyopt.frontend.values.codes import refuse, refuse_raising
from polyopt.frontend.values.constants import as_sequence, nested
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.values import Known, Masked, Number, Sequence, Slice, Tensor, Value
from polyopt.ir.expr import Expr
from polyopt.ir.types import DType


def is_tuple(value: Value) -> bool:
    """Whether a value between the brackets is a tuple: one subscript for each dimension."""
    match value:
        case Sequence(is_list=is_list):
            return not is_list
        case Known(value=known):
            return isinstance(known, tuple)
        case _:
            return False


def part_of(b: Builder, value: Value, text: str, loc: Loc | None) -> Part:
    """Return the part of a subscript that a value stands for."""
    match value:
        case Known(value=None):
            return NewAxis()
        case Known(value=found) if found is Ellipsis:
            return Dots()
        case Slice():
            return slice_part(b, value, text, loc)
        case Known(value=slice() as known):
            bounds = (Known(known.start), Known(known.stop), Known(known.step))
            return slice_part(b, Slice(*bounds), text, loc)
        case Sequence() | Known(value=tuple() | list()):
            return _listed(b, as_sequence(value), text, loc)
        case Tensor() if value.rank:
            return by_array(b, value, text, loc)
        case Masked() if value.tensor.dtype.is_integer:
            found = by_array(b, value.tensor, text, loc)
            assert isinstance(found, By)
            return By(found.index, text, forced(b, value.mask))
        case Masked():
            return by_array(b, compacted(b, value), text, loc)
        case _:
            return At(subscript(b, value, f"the subscript `{text}`", loc), text)


def slice_part(b: Builder, value: Slice, text: str, loc: Loc | None) -> Cut | Stepped:
    """Return the part for a slice."""
    by: int | Expr = 1
    if not is_none(value.step):
        by = frontend.subscripts.strides.step_of(b, value.step, "a slice's step", loc)
    if by == 0:
        refuse("PO0134", "a slice with step zero", loc)
    first, last = (_bound(b, bound, text, loc) for bound in (value.start, value.stop))
    return Cut(first, last, by) if isinstance(by, int) else Stepped(first, last, by)


def _bound(b: Builder, value: Value, text: str, loc: Loc | None) -> Expr | None:
    if is_none(value):
        return None
    return b.dynamic(whole_number(b, value, f"a bound of the slice `{text}`", loc).expr, "bound")


def by_array(b: Builder, value: Tensor, text: str, loc: Loc | None) -> By | Mask:
    """Return the part for an array: a mask, or positions."""
    array = forced(b, value)
    if array.dtype is DType.BOOL:
        return Mask(array)
    if not array.dtype.is_integer:
        hint = "convert it, for example with `.astype(np.int64)`"
        refuse("PO0135", f"the subscript `{text}` is an array of {array.dtype}", loc, hint)
    return By(Tensor(array.shape, DType.INT64, lambda i: _wide(array.at(i)), cost=array.cost), text)


def _wide(element: Expr) -> Expr:
    plain = strip_casts(element)
    return plain if is_affine(plain) else cast(element, DType.INT64)


def _listed(b: Builder, value: Value, text: str, loc: Loc | None) -> By | Mask:
    """Return the part for a list of subscripts."""
    assert isinstance(value, Sequence)
    items = [settled(b, operand(v, loc)) for v in value.items if not isinstance(v, Sequence)]
    numbers = [item for item in items if isinstance(item, Number)]
    if numbers and len(numbers) == len(value.items) <= SHORT:
        plain = [strip_casts(number.expr) for number in numbers]
        whole = all(number.dtype.is_integer for number in numbers)
        if whole and all(is_affine(expr) for expr in plain):
            return By(index_list(plain), text)
    return by_array(b, nested(b, value, None, loc), text, loc)


def subscript(b: Builder, value: Value, what: str, loc: Loc | None) -> Expr:
    """Return a subscript as an INT64 integer, one that is found while the kernel runs too."""
    found = whole_number(b, value, what, loc)
    return _wide(found.expr)


def whole_number(b: Builder, value: Value, what: str, loc: Loc | None) -> Number:
    """Return an integer, or refuse with the reason."""
    found = settled(b, operand(value, loc))
    if isinstance(found, Tensor):
        refuse("PO0135", f"{what} is an array", loc, "loop over the elements")
    if found.dtype is DType.BOOL:
        refuse("PO0135", f"{what} is a truth value", loc, "use np.where for masks")
    if not found.dtype.is_integer:
        refuse_raising("PO0135", f"{what} is no integer", loc, "use `//` for whole quotients")
    return found
