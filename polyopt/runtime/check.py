"""Judge a call's arguments against a signature, and say exactly what does not fit.

In: a `Signature`, one value per argument.  Out: `Bound`: arrays, sizes, numbers by their names.
Refuses: with a coded `ArgumentError` everything that the C wrapper refuses without words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import ArgumentError, Loc
from polyopt.ir.expr import Compare, CompareOp, Const, Expr, Param, Symbol, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.showing import show
from polyopt.ir.source import (
    LARGEST_SIZE,
    OUTSIDE,
    ArrayArg,
    Check,
    Computed,
    ConstArg,
    IntegerOf,
    Layout,
    ScalarArg,
    Signature,
    SizeOf,
)
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never
from polyopt.runtime.sharing import arrays_around, check_overlap, find_starts, overlaps_itself
from polyopt.runtime.values import AnyArray, array_of, dtype_known, native_array, type_name

SIZE_LIMIT = LARGEST_SIZE


class ShapeError(ArgumentError):
    """Shapes do not fit; `broadcast` are the (argument, dimension) pairs of length 1 involved."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        broadcast: tuple[tuple[int, int], ...],
        loc: Loc | None,
        notes: tuple[str, ...],
        hint: str | None,
    ) -> None:
        super().__init__(code, message, loc=loc, notes=notes, hint=hint)
        self.broadcast = broadcast


class OutsideError(ShapeError, IndexError):
    """A subscript would leave its array."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A call's values by name: arrays and symbols as the Scop calls them, sizes by parameter.

    An array that others lie around is their memory, too.
    """

    arrays: Mapping[str, AnyArray]
    symbols: Mapping[str, object]
    sizes: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]


def check_call(signature: Signature, values: Sequence[object], *, alone: bool = False) -> Bound:
    """Return the call's values by name; raises `ArgumentError` (`ShapeError` for shapes).

    `alone`: there is no function behind the kernel that other types could be compiled from.
    """
    if len(values) != len(signature.arguments):
        raise ArgumentError(
            "PO0201",
            f"`{signature.name}` takes {len(signature.arguments)} arguments, got {len(values)}",
            hint=f"pass {', '.join(a.name for a in signature.arguments) or 'nothing'}",
        )
    arrays: dict[str, AnyArray] = {}
    symbols: dict[str, object] = {}
    for argument, value in zip(signature.arguments, values, strict=True):
        match argument:
            case ArrayArg():
                arrays[argument.array] = _array(argument, value, alone)
            case ScalarArg():
                symbols[argument.symbol] = converted(
                    argument.name, argument.dtype, value, _MADE, _others(alone, "types")
                )
            case ConstArg():
                _constant(argument, value, alone)
            case _:
                assert_never(argument)
    sizes = _sizes(signature, arrays, symbols)
    _check_shapes(signature, arrays, sizes)
    for check in signature.checks:
        if not evaluate(check.condition, sizes):
            raise _failed(signature, check, sizes)
    _check_limits(signature, symbols, sizes)
    around = arrays_around(signature, arrays, sizes)
    check_overlap(signature, arrays)
    arrays.update(around)
    return Bound(arrays, symbols, sizes, _output_shapes(signature, sizes))


def sizes_fit(signature: Signature, values: Sequence[object]) -> bool:
    """Tell whether a call's sizes are what the signature asks for; False where it does not fit."""
    arrays: dict[str, Any] = {}
    symbols: dict[str, object] = {}
    for argument, value in zip(signature.arguments, values, strict=False):
        if isinstance(argument, ArrayArg):
            arrays[argument.array] = value
        elif isinstance(argument, ScalarArg):
            symbols[argument.symbol] = value
    try:
        sizes = _sizes(signature, arrays, symbols)
    except (ArgumentError, AttributeError, LookupError, TypeError, ValueError, OverflowError):
        return False
    return all(evaluate(check.condition, sizes) for check in signature.checks)


def _check_limits(
    signature: Signature, symbols: Mapping[str, object], sizes: Mapping[str, int]
) -> None:
    """Check that arithmetic on sizes and integer arguments fits 64 bits."""
    if not signature.limits:
        return
    integers = {name: int(v) for name, v in symbols.items() if isinstance(v, np.integer)}
    known = {**integers, **sizes}
    for limit in signature.limits:
        if not evaluate(limit.condition, known):
            used = dict.fromkeys(
                part.name for part in walk(limit.condition) if isinstance(part, Param | Symbol)
            )
            values = ", ".join(f"{name} = {known[name]}" for name in used)
            raise ArgumentError(
                limit.code,
                limit.message,
                loc=limit.loc,
                notes=(values,) if values else (),
                hint=limit.hint,
            )


def _others(alone: bool, what: str) -> str:
    """Return the end of a hint: what else to do where there is a function to compile again."""
    return "" if alone else f", or call the kernel itself: it compiles for the {what} it meets"


def conversion(name: str, found: DType, dtype: DType, written: bool = True) -> str:
    """Return the hint that makes an array of type `dtype`; a copy of a written one is kept."""
    made = f"{name}.astype({dtype.spelled})"
    if found.is_complex and not dtype.is_complex:
        made = f"{name}.real.astype({dtype.spelled})"
    return f"convert it before the call: `{name} = {made}`" if written else f"pass `{made}`"


def _array(argument: ArrayArg, value: object, alone: bool) -> AnyArray:
    array = native_array(argument.name, value, argument.loc)
    found = dtype_known(argument.name, array.dtype, argument.loc)
    name, loc = argument.name, argument.loc
    if array.ndim != len(argument.shape):
        raise ArgumentError(
            "PO0208",
            f"`{name}` has {array.ndim} dimensions, this kernel was compiled for "
            f"{len(argument.shape)}",
            loc=loc,
            hint=f"pass an array of rank {len(argument.shape)}{_others(alone, 'ranks')}",
        )
    if found is not argument.dtype:
        raise ArgumentError(
            "PO0207",
            f"`{name}` is an array of {found}, this kernel was compiled for {argument.dtype}",
            loc=loc,
            hint=conversion(name, found, argument.dtype, argument.written)
            + _others(alone, "types"),
        )
    if argument.written and not array.flags.writeable:
        raise ArgumentError(
            "PO0204",
            f"`{name}` is read-only and the kernel writes it",
            loc=loc,
            hint=f"pass a copy: `{name}.copy()`",
        )
    _check_memory(argument, array, alone)
    return array


def _check_memory(argument: ArrayArg, array: AnyArray, alone: bool) -> None:
    name, loc, item = argument.name, argument.loc, array.itemsize
    strides = [s for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    if array.size and (not array.flags.aligned or any(s % item for s in strides)):
        raise ArgumentError(
            "PO0211",
            f"the elements of `{name}` are not aligned (strides {array.strides} of {item} bytes)",
            loc=loc,
            hint=f"pass a copy: `{name}.copy()`",
        )
    coincide = overlaps_itself(array.strides, array.shape, item)
    if argument.written and array.size and coincide:
        raise ArgumentError(
            "PO0212",
            f"elements of `{name}` share memory with each other and the kernel writes it",
            loc=loc,
            hint=f"pass a copy: `{name}.copy()`",
        )
    if argument.layout not in layouts_of(array):
        wanted = {Layout.C: "contiguous rows", Layout.ROWS: "a last dimension of stride one"}
        raise ArgumentError(
            "PO0209",
            f"`{name}` has strides {array.strides}, this kernel was compiled for "
            f"{wanted.get(argument.layout, 'any strides')}",
            loc=loc,
            hint=(
                f"copy it before the call: `{name} = np.ascontiguousarray({name})`"
                if argument.written
                else f"pass `np.ascontiguousarray({name})`"
            )
            + _others(alone, "layouts"),
        )


def layouts_of(array: AnyArray) -> tuple[Layout, ...]:
    """Return the layouts `array` has, the most regular first."""
    if array.flags.c_contiguous:
        return (Layout.C, Layout.ROWS, Layout.STRIDED)
    if array.shape[-1] == 1 or array.strides[-1] == array.itemsize:
        return (Layout.ROWS, Layout.STRIDED)
    return (Layout.STRIDED,)


_MADE = "this kernel was compiled for"


def converted(name: str, dtype: DType, value: object, says: str, others: str = "") -> object:
    """Return `value` as the NumPy scalar of type `dtype`, if no information is lost.

    Python's floats fit every floating type.  Raises `ArgumentError` PO0207, PO0215; `says` and
    `others` are parts of its message: what asks for the type, what else to do.
    """
    array = array_of(value)
    if array is not None and array.ndim > 0:
        raise ArgumentError(
            "PO0215",
            f"`{name}` is an array of rank {array.ndim}, {says} {dtype}",
            hint=f"pass one of its elements: `{name}[{', '.join('0' * array.ndim)}]`{others}",
        )
    if array is not None:
        value = array[()]
    if not isinstance(value, bool | int | float | complex | np.generic):
        raise ArgumentError(
            "PO0215",
            f"`{name}` is {type_name(value)}, the kernel takes a number",
            hint=f"pass a number of type {dtype}",
        )
    large = type(value) is int and value.bit_length() > 256
    text = "a very large integer" if large else repr(value)
    if not _takes(dtype, value):
        raise ArgumentError(
            "PO0207",
            f"`{name}` is {text}, {says} {dtype}",
            hint=f"{_number_hint(name, dtype, value)}{others}",
        )
    return dtype.numpy.type(value)


def _number_hint(name: str, dtype: DType, value: object) -> str:
    """Return the hint for a number that does not fit `dtype` without loss."""
    if isinstance(value, complex | np.complexfloating) and not dtype.is_complex:
        return f"pass its real part: `{dtype.spelled}({name}.real)`"
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if is_integer and dtype.is_integer:
        least, most = integer_range(dtype)
        return f"pass an integer from {least} to {most}"
    return f"convert it: `{dtype.spelled}({name})`"


def _takes(dtype: DType, value: object) -> bool:
    """Tell whether `dtype` holds `value` without loss; Python's floats fit every float type."""
    if isinstance(value, bool | np.bool_) or dtype is DType.BOOL:
        return dtype is DType.BOOL and isinstance(value, bool | np.bool_)
    if isinstance(value, int | np.integer):
        if not dtype.is_integer:
            return abs(int(value)) <= 1 << dtype.digits
        low, high = integer_range(dtype)
        return low <= int(value) <= high
    if type(value) is float:
        return dtype.is_float or dtype.is_complex
    if type(value) is complex:
        return dtype.is_complex
    return isinstance(value, np.generic) and np.can_cast(value.dtype, dtype.numpy, "safe")


def _constant(argument: ConstArg, value: object, alone: bool) -> None:
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) is not type(argument.value) or plain != argument.value:
        raise ArgumentError(
            "PO0213",
            f"`{argument.name}` is {value!r}, this kernel was compiled for {argument.value!r}",
            hint=f"pass {argument.value!r}{_others(alone, 'values')}",
        )


def _sizes(
    signature: Signature, arrays: Mapping[str, AnyArray], symbols: Mapping[str, object]
) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for size in signature.sizes:
        argument = signature.arguments[size.argument]
        match size:
            case SizeOf():
                assert isinstance(argument, ArrayArg)
                sizes[size.param] = int(arrays[argument.array].shape[size.dim])
            case IntegerOf():
                assert isinstance(argument, ScalarArg)
                value = int(symbols[argument.symbol])  # type: ignore[call-overload]
                if abs(value) > SIZE_LIMIT:
                    raise ArgumentError(
                        "PO0210",
                        f"`{argument.name}` is {value}; sizes, bounds and subscripts go to 2**48",
                        hint="pass a smaller integer",
                    )
                sizes[size.param] = value
            case _:
                assert_never(size)
    find_starts(signature, arrays, sizes)
    for computed in signature.computed:
        sizes[computed.param] = _computed(computed, sizes)
    return sizes


def _computed(computed: Computed, sizes: Mapping[str, int]) -> int:
    value = evaluate(computed.value, sizes)
    if abs(value) > SIZE_LIMIT:
        raise ArgumentError(
            "PO0210",
            f"`{show(computed.value)}` is {value}; sizes, bounds and subscripts go to 2**48",
            hint="pass smaller arrays or integers",
        )
    return value


def _check_shapes(
    signature: Signature, arrays: Mapping[str, AnyArray], sizes: Mapping[str, int]
) -> None:
    for number, argument in enumerate(signature.arguments):
        if not isinstance(argument, ArrayArg):
            continue
        shape = arrays[argument.array].shape
        for dim, extent in enumerate(argument.shape):
            wanted = evaluate(extent, sizes)
            if shape[dim] != wanted:
                ones = ((number, dim),) if shape[dim] == 1 else ()
                raise ShapeError(
                    "PO0203",
                    f"`{argument.name}` has shape {shape}; its dimension {dim} is {shape[dim]} and "
                    f"must be {wanted}{_origin(signature, extent)}",
                    broadcast=ones + _ones(signature, extent, sizes),
                    loc=(argument.asked[dim] if argument.asked else None) or argument.loc,
                    notes=_origins(signature, extent, sizes),
                    hint="make the two lengths equal",
                )


def _failed(signature: Signature, check: Check, sizes: Mapping[str, int]) -> ShapeError:
    kind = OutsideError if check.code == OUTSIDE else ShapeError
    return kind(
        check.code,
        check.message,
        broadcast=tuple(
            place
            for part in walk(check.condition)
            if isinstance(part, Compare) and part.op is CompareOp.EQ and not evaluate(part, sizes)
            for place in _ones(signature, part, sizes)
        ),
        loc=check.loc,
        notes=(
            f"`{show(check.condition)}` does not hold",
            *_origins(signature, check.condition, sizes),
        ),
        hint=check.hint,
    )


def _params(expr: Expr) -> list[str]:
    return list(dict.fromkeys(part.name for part in walk(expr) if isinstance(part, Param)))


def _ones(
    signature: Signature, expr: Expr, sizes: Mapping[str, int]
) -> tuple[tuple[int, int], ...]:
    """Return the array dimensions of length 1 that `expr` depends on."""
    names = [name for name in _params(expr) if sizes[name] == 1]
    return tuple(
        (size.argument, size.dim)
        for size in signature.sizes
        if isinstance(size, SizeOf) and size.param in names
    )


def _origin(signature: Signature, extent: Expr) -> str:
    """Return what a length is, to follow its number; nothing where the program says the number."""
    match extent:
        case Param(name=name):
            return f", {_place(signature, name)}"
        case Const():
            return ""
        case _:
            return f", the value of `{show(extent)}`"


def _origins(signature: Signature, expr: Expr, sizes: Mapping[str, int]) -> tuple[str, ...]:
    if isinstance(expr, Param):
        return ()
    return tuple(f"{name} = {sizes[name]}, {_place(signature, name)}" for name in _params(expr))


def _place(signature: Signature, param: str) -> str:
    for size in signature.sizes:
        if size.param == param:
            name = signature.arguments[size.argument].name
            if isinstance(size, SizeOf):
                return f"the length of dimension {size.dim} of `{name}`"
            return f"the value of `{name}`"
    for computed in signature.computed:
        if computed.param == param:
            return f"the value of `{show(computed.value)}`"
    raise AssertionError(f"no size {param}")


def _output_shapes(signature: Signature, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    shapes = {}
    for output in signature.outputs:
        shape = tuple(evaluate(extent, sizes) for extent in output.shape)
        for dim, extent in enumerate(shape):
            if not 0 <= extent <= SIZE_LIMIT:
                raise ArgumentError(
                    "PO0214",
                    f"an array of shape {shape} would be made; dimension {dim} is {extent}",
                    notes=_origins(signature, output.shape[dim], sizes),
                    hint="choose sizes that make it zero or more",
                )
        shapes[output.array] = shape
    return shapes


def integer_range(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest value of an integer dtype."""
    bits = 8 * dtype.size
    if dtype.kind is Kind.UNSIGNED:
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
