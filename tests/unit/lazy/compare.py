"""Compare a compiled graph with NumPy, and what was known of its results with what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import polyopt as po
from polyopt.tracing.compiling import CompiledGraph
from polyopt.tracing.sizes import value_of


def leaves(value: Any) -> Iterator[Any]:
    """The single values in a structure."""
    match value:
        case dict():
            for part in value.values():
                yield from leaves(part)
        case tuple() | list():
            for part in value:
                yield from leaves(part)
        case _:
            yield value


def same(found: Any, expected: Any) -> None:
    """Equal element types, shapes, and values as far as rounding allows."""
    for mine, other in zip(leaves(found), leaves(expected), strict=True):
        a, b = np.asarray(mine), np.asarray(other)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        single = b.dtype.str[1:] in ("f4", "c8")
        np.testing.assert_allclose(a, b, rtol=2e-4 if single else 1e-10, atol=1e-5 if single else 0)


def agree(graph: CompiledGraph, *args: Any, **kwargs: Any) -> Any:
    """Run both ways and compare; return the result."""
    found = graph(*args, **kwargs)
    same(found, graph.reference(*args, **kwargs))
    return found


def as_declared(outputs: Any, found: Any, sizes: Mapping[str, int]) -> None:
    """The shapes and element types that lazy arrays told are those of the results."""
    for lazy, value in zip(leaves(outputs), leaves(found), strict=True):
        if isinstance(lazy, po.LazyArray):
            result = np.asarray(value)
            told = tuple(value_of(extent, sizes) for extent in lazy.shape)
            assert (lazy.dtype, told) == (result.dtype, result.shape), lazy
