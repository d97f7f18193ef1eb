"""What a kernel takes and gives, in words and as JSON, for its users outside Python.

In: a `Source`.  Out: meanings of sizes, the parts of a manifest.
"""

from __future__ import annotations

from typing import Any

from polyopt.emit.early_exits import FIRST_FAULT
from polyopt.ir.showing import show
from polyopt.ir.source import (
    ArrayArg,
    ConstArg,
    IntegerOf,
    Result,
    ResultKind,
    ScalarArg,
    Signature,
    SizeOf,
    Source,
)
from polyopt.never import assert_never


def size_meanings(signature: Signature) -> dict[str, str]:
    """Return what each size parameter is: an extent, an integer, or a value of others."""
    found = {}
    for size in signature.sizes:
        argument = signature.arguments[size.argument].name
        match size:
            case SizeOf():
                found[size.param] = f"the extent of dimension {size.dim} of `{argument}`"
            case IntegerOf():
                found[size.param] = f"the integer `{argument}`"
            case _:
                assert_never(size)
    for made in signature.computed:
        found[made.param] = f"the value of `{show(made.value)}`"
    return found


def result_names(signature: Signature, prefix: str) -> list[str]:
    """Return a name for each result: `prefix`, or numbered where there are several."""
    if len(signature.results) == 1:
        return [prefix]
    return [f"{prefix}{number}" for number in range(len(signature.results))]


def described(source: Source, prefix: str) -> dict[str, Any]:
    """Return what a program that calls the kernel has to know, as values of JSON."""
    signature = source.signature
    names = result_names(signature, prefix)
    return {
        "arguments": [_argument(argument) for argument in signature.arguments],
        "sizes": [
            {"name": name, "is": meaning} for name, meaning in size_meanings(signature).items()
        ],
        "results": [
            {"name": name, **_result(signature, result)}
            for name, result in zip(names, signature.results, strict=True)
        ],
        "parameters": [
            {"name": param.text, "kind": param.kind.value, "dtype": param.dtype.value,
             "written": param.written}
            for param in source.params
        ],
        "requires": [
            {"condition": show(check.condition), "otherwise": check.message}
            for check in (*signature.checks, *signature.limits)
        ],
        "status": {
            str(FIRST_FAULT + number): fault.message
            for number, fault in enumerate(signature.faults)
        },
    }  # fmt: skip


def _argument(argument: object) -> dict[str, Any]:
    match argument:
        case ArrayArg():
            return {
                "name": argument.name,
                "kind": "array",
                "dtype": argument.dtype.value,
                "rank": len(argument.shape),
                "shape": [show(extent) for extent in argument.shape],
                "layout": argument.layout.value,
                "mode": "inout" if argument.written else "in",
            }
        case ScalarArg():
            return {"name": argument.name, "kind": "number", "dtype": argument.dtype.value,
                    "mode": "in"}  # fmt: skip
        case ConstArg():
            return {"name": argument.name, "kind": "constant", "value": repr(argument.value)}
    raise TypeError(f"{argument!r} is no argument")


def _result(signature: Signature, result: Result) -> dict[str, Any]:
    if result.kind is ResultKind.ARGUMENT:
        names = {a.array: a.name for a in signature.arguments if isinstance(a, ArrayArg)}
        return {"is": names[result.array]}
    output = next(one for one in signature.outputs if one.array == result.array)
    return {
        "dtype": output.dtype.value,
        "rank": len(output.shape),
        "shape": [show(extent) for extent in output.shape],
        **({"at_most_along": output.axis} if output.length is not None else {}),
    }
