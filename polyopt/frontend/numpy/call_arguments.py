"""The arguments of a call to a known function, and what rules want to know about them.

In: evaluated positional and keyword arguments.  Out: Python constants, sizes, dtypes, arrays.
Refuses: arguments a rule does not know (PO0151), sizes that are not affine (PO0137).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.folding import integer_text
from polyopt.frontend.arithmetic.operators import describe, operand
from polyopt.frontend.integers.affine_integers import (
    ZERO,
    at_least,
    is_nonnegative,
    is_size,
    strip_casts,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, settled
from polyopt.frontend.syntax.annotations import NeedConstant
from polyopt.frontend.values.codes import refuse, refuse_raising
from polyopt.frontend.values.constants import array_or_number, as_sequence, nested
from polyopt.frontend.values.values import (
    Index,
    Known,
    Number,
    Operandish,
    Sequence,
    Tensor,
    Value,
    as_tensor,
)
from polyopt.ir.expr import Const, Expr, Param, walk
from polyopt.ir.showing import show
from polyopt.ir.types import DType

NONE = Known(None)


@dataclass(frozen=True, eq=False)
class Arguments:
    """Arguments of a call of `name`."""

    name: str
    values: tuple[Value, ...]
    keywords: Mapping[str, Value]
    loc: Loc | None

    def take(self, required: str, optional: str = "") -> list[Value]:
        """Return the arguments named in `required` and `optional`, None for those not given."""
        names = [*required.split(), *optional.split()]
        if len(self.values) > len(names):
            refuse("PO0151", f"`{self.name}` with {len(self.values)} arguments", self.loc)
        found: dict[str, Value] = dict(zip(names, self.values, strict=False))
        for keyword, value in self.keywords.items():
            if keyword in found:
                refuse("PO0151", f"`{self.name}` got `{keyword}` twice", self.loc)
            if keyword not in names:
                hint = f"supported arguments: {', '.join(names)}"
                refuse(
                    "PO0151", f"`{self.name}` with `{keyword}=` is not supported", self.loc, hint
                )
            found[keyword] = value
        for name in required.split():
            if name not in found:
                refuse("PO0151", f"`{self.name}` needs the argument `{name}`", self.loc)
        return [found.get(name, NONE) for name in names]


def tensor(b: Builder, value: Value, loc: Loc | None) -> Tensor:
    """Return the argument as an array (a number as one of rank 0)."""
    return as_tensor(array_or_number(b, value, loc))


def array_of(b: Builder, value: Value, loc: Loc | None) -> Tensor:
    """Return the argument as an array whose elements can be read; it may be written as a list."""
    found = as_sequence(value)
    if isinstance(found, Sequence):
        return nested(b, found, None, loc)
    return forced(b, tensor(b, found, loc))


def number(b: Builder, value: Value, what: str, loc: Loc | None) -> Number:
    """Return the argument as a number."""
    found: Operandish = settled(b, operand(value, loc))
    if isinstance(found, Tensor):
        refuse("PO0142", f"{what} is an array of rank {found.rank}, not a number", loc)
    return found


def real_number(b: Builder, value: Value, what: str, loc: Loc | None) -> Number:
    """Return the argument of a function of real numbers, which drops no imaginary part.

    Python raises for its own complex numbers; NumPy's lose their imaginary parts with a warning.
    """
    found = number(b, value, what, loc)
    if found.dtype.is_complex:
        refuses = refuse_raising if found.weak else refuse
        refuses("PO0144", f"{what} is a complex number", loc, "take `.real`")
    return found


def is_none(value: Value) -> bool:
    """Whether the argument is None or was not given."""
    return isinstance(value, Known) and value.value is None


HUGE = 2**62
"""Integers that decide the shape of the code stay below this."""


def known_int(b: Builder, value: Value, what: str, loc: Loc | None) -> int:
    """Return an integer that must be known while compiling."""
    match value:
        case Known(value=bool()):
            pass
        case Known(value=int(found)):
            if abs(found) >= HUGE:
                refuse(
                    "PO0145",
                    f"{what} of {integer_text(found)} does not fit int64",
                    loc,
                    "use a smaller one",
                )
            return found
        case Known(value=np.integer() as numpy_int):
            return int(numpy_int)
        case Number(expr=Const(value=int(found))):
            return int(found)
        case Number(expr=expr):
            for part in walk(expr):
                if isinstance(part, Param) and not is_size(part.name):
                    raise NeedConstant(part.name)
        case _:
            pass
    refuse("PO0151", f"{what} must be a constant integer", loc, "write the number itself")


def known_bool(value: Value, what: str, loc: Loc | None) -> bool:
    """Return a truth value that must be known while compiling; None is False."""
    match value:
        case Known(value=bool() | np.bool_() | None):
            return bool(value.value)
        case _:
            refuse("PO0151", f"{what} must be True or False", loc)


def known_axes(b: Builder, value: Value, loc: Loc | None) -> tuple[int, ...] | None:
    """Return an `axis` argument; None means all axes."""
    match value:
        case Known(value=None):
            return None
        case Known(value=tuple(parts)) | Known(value=list(parts)):
            return tuple(known_int(b, Known(part), "an axis", loc) for part in parts)
        case Sequence(items=items):
            return tuple(known_int(b, item, "an axis", loc) for item in items)
        case _:
            return (known_int(b, value, "an axis", loc),)


def size(b: Builder, value: Value, what: str, loc: Loc | None) -> Expr:
    """Return an integer argument as an affine INT64 expression."""
    found = number(b, value, what, loc)
    expr = strip_casts(found.expr)
    if not found.dtype.is_integer:
        refuse(
            "PO0137",
            f"{what} is {describe(found)}, not an integer",
            loc,
            "use `//`, or pass an integer",
        )
    return b.dynamic(expr, "size")


def extents(b: Builder, value: Value, loc: Loc | None) -> Index:
    """Return a shape argument: an integer or a tuple of them, each required to be at least 0."""
    match value:
        case Sequence(items=items):
            parts = items
        case Known(value=tuple(known)) | Known(value=list(known)):
            parts = tuple(Known(part) for part in known)
        case _:
            parts = (value,)
    shape = tuple(size(b, part, "a size", loc) for part in parts)
    for extent in shape:
        if not is_nonnegative(extent) and not b.nonnegative(extent):
            message = f"the size `{show(extent)}` must not be negative"
            b.demand(at_least(extent, ZERO), "PO0174", message, loc)
            b.require_size(extent)
    return shape


def dtype(value: Value, loc: Loc | None) -> DType | None:
    """Return a `dtype` argument, None when it was not given."""
    if is_none(value):
        return None
    if isinstance(value, Known):
        known = value.value
        try:
            return DType(np.dtype(known).name)  # type: ignore[call-overload]
        except (TypeError, ValueError):
            refuse("PO0143", f"{known!r} as a dtype", loc, "use np.float64, np.int32 and the like")
    refuse("PO0143", f"{describe(value)} as a dtype", loc, "use np.float64, np.int32 and the like")
