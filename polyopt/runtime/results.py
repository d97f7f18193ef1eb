"""What a call returns, made of the arrays that it wrote.

In: a signature, arrays by their names in the Scop, the caller's values.  Out: what `return` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyopt.ir.source import ArrayArg, Result, ResultKind, Signature
from polyopt.never import assert_never
from polyopt.runtime.support import Support
from polyopt.runtime.values import AnyArray


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
    if signature.returns_tuple:
        return results
    return results[0] if len(results) == 1 else (results or None)


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
