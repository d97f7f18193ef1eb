"""The results of a call by name: written arguments and returned values.

In: a Program, the arguments after the call, what it returned.  Out: arrays and numbers by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyopt.ir.arranging import flat
from polyopt.ir.program import Program
from polyopt.ir.source import ArrayArg


def named_results(program: Program, arguments: Sequence[Any], returned: object) -> dict[str, Any]:
    """Return the written arguments and the returned values (`result`, or `result0` and so on)."""
    found = {
        argument.name: value
        for argument, value in zip(program.signature.arguments, arguments, strict=True)
        if isinstance(argument, ArrayArg) and argument.written
    }
    results = flat(program.signature.nesting, returned)
    if not results:
        return found
    if len(results) == 1:
        return {**found, "result": results[0]}
    return {**found, **{f"result{n}": value for n, value in enumerate(results)}}


def result_arrays(program: Program) -> dict[str, str]:
    """Return the array behind every name that `named_results` gives."""
    signature = program.signature
    found = {a.name: a.array for a in signature.arguments if isinstance(a, ArrayArg)}
    one = len(signature.results) == 1
    for number, result in enumerate(signature.results):
        name = "result" if one else f"result{number}"
        found[name] = found.get(result.array, result.array)
    return found
