"""What a call returns, made of the arrays that it wrote.

In: a signature, arrays by their names in the Scop, the caller's values.  Out: what `return` gives.
What a running kernel needs from Python: errors, library functions, arrays cut to length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import BudgetError, InternalError, KernelFault, PolyoptError, kernel_fault
from polyopt.ir.library import call_library
from polyopt.ir.source import (
    ArrayArg,
    Fault,
    Result,
    ResultKind,
    Signature,
    Subscripts,
)
from polyopt.ir.types import DType
from polyopt.never import assert_never
from polyopt.runtime.values import AnyArray, array_at


def trimmed(
    signature: Signature, arrays: Mapping[str, AnyArray], support: Support
) -> dict[str, AnyArray]:
    """Return `arrays` with the results cut to the lengths that the call found."""
    final = dict(arrays)
    for output in signature.outputs:
        if output.length is not None:
            length = int(final[output.length][()])
            final[output.array] = support.trim(final[output.array], length, output.axis)
    return final


def results_of(
    signature: Signature, arrays: Mapping[str, Any], values: tuple[object, ...]
) -> object:
    """Return the results of a call with `values`: arrays, numbers, the caller's own arrays."""
    results = tuple(_result(signature, result, arrays, values) for result in signature.results)
    return signature.returned(results)


def _result(
    signature: Signature,
    result: Result,
    arrays: Mapping[str, Any],
    values: tuple[object, ...],
) -> object:
    match result.kind:
        case ResultKind.OUTPUT:
            return arrays[result.array]
        case ResultKind.SCALAR:
            return arrays[result.array][()]
        case ResultKind.ARGUMENT:
            for argument, value in zip(signature.arguments, values, strict=True):
                if isinstance(argument, ArrayArg) and argument.array == result.array:
                    return value
            raise AssertionError(f"no argument {result.array}")
        case _:
            assert_never(result.kind)


def _error(signature: Signature, fault: Fault, values: tuple[object, ...] | None) -> KernelFault:
    """Return the error of a fault, in a call with these values."""
    error = kernel_fault(fault.code, fault.message, loc=fault.loc, hint=fault.hint)
    if values is not None and fault.subscripts is not None:
        error.notes = _facts(signature, fault.subscripts, values)
    return error


def _facts(
    signature: Signature, subscripts: Subscripts, values: tuple[object, ...]
) -> tuple[str, ...]:
    """Return notes: the extent that subscripts leave, and those arguments' elements that do."""
    from polyopt.ir.expr import Const
    from polyopt.ir.integers import evaluate
    from polyopt.runtime.check import check_call

    try:
        bound = check_call(signature, values)
        extent = evaluate(subscripts.extent, bound.sizes)
    except (PolyoptError, KeyError, TypeError):  # it was found while the kernel ran
        return ()
    said = () if isinstance(subscripts.extent, Const) else (f"the extent is {extent} in this call",)
    kept = {a.array for a in signature.arguments if isinstance(a, ArrayArg) and not a.written}
    if subscripts.array not in kept:
        return said
    given = bound.arrays[subscripts.array]
    least = -extent if subscripts.wraps else 0
    places = np.argwhere((given < least) | (given >= extent))
    if not len(places):
        return said
    first = tuple(places[0].tolist())
    name = next(a.name for a in signature.arguments if getattr(a, "array", "") == subscripts.array)
    where = f"{name}[{', '.join(map(str, first))}]" if first else name
    others = f"; so are {len(places) - 1} more of its elements" if len(places) > 1 else ""
    return (*said, f"{where} is {given[first]}, outside of {least} to {extent - 1}{others}")


NO_MEMORY = 1
FIRST_FAULT = 2


@dataclass(frozen=True, slots=True)
class Support:
    """The functions that the call wrapper of one kernel calls."""

    signature: Signature

    def fail(self, status: int, values: tuple[object, ...] | None = None) -> NoReturn:
        """Raise the error that a kernel's status stands for, in a call with these values."""
        if status == NO_MEMORY:
            raise BudgetError(
                "PO0702",
                f"there is not enough memory for `{self.signature.name}`'s temporaries and results",
                hint="use smaller arrays",
            )
        number = status - FIRST_FAULT
        if not 0 <= number < len(self.signature.faults):
            raise InternalError("PO0904", f"`{self.signature.name}` ended with status {status}")
        fault = self.signature.faults[number]
        raise _error(self.signature, fault, values)  # no local of this frame has the error

    def library(self, site: int, addresses: Sequence[int], extents: Sequence[int]) -> None:
        """Call library function `site` on the arrays at `addresses`."""
        try:
            self._library(site, addresses, extents)
        except BaseException as error:
            _forget_frames(error)
            raise error from None

    def _library(self, site: int, addresses: Sequence[int], extents: Sequence[int]) -> None:
        call = self.signature.library[site]
        arrays: list[AnyArray] = []
        first = 0
        for address, (dtype, rank) in zip(addresses, (*call.inputs, *call.outputs), strict=True):
            arrays.append(_array_at(address, dtype, tuple(extents[first : first + rank])))
            first += rank
        given = len(call.inputs)
        call_library(call, arrays[:given], arrays[given:])

    def trim(self, array: AnyArray, length: int, axis: int) -> AnyArray:
        """Return the first `length` entries of dimension `axis` of an array that the call made."""
        extent = array.shape[axis]
        if not 0 <= length <= extent:
            raise InternalError(
                "PO0904", f"`{self.signature.name}` made {length} of {extent} entries"
            )
        if axis:
            part: AnyArray = array[(slice(None),) * axis + (slice(length),)].copy()
            return part
        array.resize((length, *array.shape[1:]), refcheck=False)
        return array


def _array_at(address: int, dtype: DType, shape: tuple[int, ...]) -> AnyArray:
    return np.empty(shape, dtype.numpy) if 0 in shape else array_at(address, dtype.numpy, shape)


def _forget_frames(error: BaseException) -> None:
    """Drop the frames below: their variables see memory that is given back when the kernel ends."""
    found: BaseException | None = error
    seen: set[int] = set()
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        found.__traceback__ = None
        found = found.__cause__ or found.__context__
