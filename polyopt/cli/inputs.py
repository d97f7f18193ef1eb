"""Argument values for a run: random ones of chosen sizes.

In: a Program's signature, the user's annotations, sizes.  Out: values in argument order.
Refuses: sizes that the program does not allow (PO0619).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyopt.errors import UsageError
from polyopt.ir.integers import evaluate
from polyopt.ir.source import ArrayArg, ConstArg, IntegerOf, ScalarArg, Signature
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never

Values: TypeAlias = tuple[Any, ...]


def random_values(signature: Signature, sizes: Mapping[str, int], seed: int) -> Values:
    """Return seeded values of every argument; square matrices get a dominant diagonal."""
    for check in signature.checks:
        if not evaluate(check.condition, sizes):
            chosen = ", ".join(f"{name}={value}" for name, value in sorted(sizes.items()))
            raise UsageError(
                "PO0619",
                f"these sizes do not fit the program: {check.message}",
                loc=check.loc,
                notes=(f"sizes: {chosen}",),
                hint="choose others with --sizes NAME=VALUE,…",
            )
    rng = np.random.default_rng(seed)
    integers = {
        signature.arguments[size.argument].name: sizes[size.param]
        for size in signature.sizes
        if isinstance(size, IntegerOf)
    }
    values: list[Any] = []
    for argument in signature.arguments:
        match argument:
            case ArrayArg(dtype=dtype, shape=shape):
                values.append(_random_array(rng, dtype, tuple(evaluate(s, sizes) for s in shape)))
            case ScalarArg(name=name) if name in integers:
                values.append(integers[name])
            case ScalarArg(dtype=dtype):
                number = _random_array(rng, dtype, ())
                values.append(number[()] if dtype.is_half else number.item())
            case ConstArg():
                values.append(argument.known)
            case _:
                assert_never(argument)
    return tuple(values)


def _random_array(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    if any(extent < 0 for extent in shape):
        raise UsageError(
            "PO0619", f"an array would have the shape {shape}", hint="choose larger sizes"
        )
    match dtype.kind:
        case Kind.BOOL:
            return rng.integers(0, 2, shape).astype(dtype.numpy)
        case Kind.SIGNED | Kind.UNSIGNED:
            limit = min([10, *shape])
            return np.asarray(rng.integers(0, max(1, limit), shape)).astype(dtype.numpy)
        case Kind.FLOAT | Kind.COMPLEX:
            values = np.asarray(rng.uniform(0.5, 1.5, shape))
            if len(shape) == 2 and shape[0] == shape[1]:
                values = values + 2.0 * shape[0] * np.eye(shape[0])
            if dtype.kind is Kind.COMPLEX:
                values = values + 1j * rng.uniform(0.5, 1.5, shape)
            return values.astype(dtype.numpy)
        case _:
            assert_never(dtype.kind)
