"""Shapes of functions without a rule: NumPy runs them on small arrays, extents are fitted.

In: a function and its operands.  Out: the kinds of its results; None for an extent nothing fits.
Refuses: operands that the function does not take (PO0146).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.tracing.kinds import element_type
from polyopt.tracing.nodes import Node, leaves
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import Extent, Name, Size, atoms, minus, named, plus, times, value_of

_PRIMES = (5, 7, 11, 13, 17, 19, 23)


@dataclass(frozen=True, slots=True)
class Found:
    """A result's extents and element type."""

    shape: tuple[Extent | None, ...]
    dtype: np.dtype[np.generic]
    weak: bool


def probe(
    function: Callable[..., object], operands: tuple[object, ...], keywords: Mapping[str, object]
) -> tuple[tuple[Found, ...], bool]:
    """Return what the function gives, and whether that is a tuple."""
    inputs = list(_extents((operands, dict(keywords))))
    names = sorted({part.text for e in inputs for part in atoms(e) if isinstance(part, Name)})
    base = {name: _PRIMES[n % len(_PRIMES)] for n, name in enumerate(names)}
    samples = [base, *({**base, name: base[name] + 4} for name in names)]
    samples.append({name: value + 6 for name, value in base.items()})
    runs = [_run(function, operands, keywords, sample) for sample in samples]
    results = [_parts(run) for run in runs]
    if len({tuple(np.ndim(part) for part in parts) for parts in results}) > 1:
        name = getattr(function, "__name__", str(function))
        refuse("PO0146", f"the rank of the result of `{name}` depends on sizes")
    found = []
    for number, first in enumerate(results[0]):
        columns = zip(*(np.shape(parts[number]) for parts in results), strict=True)
        shape = tuple(_fitted(column, inputs, names, samples) for column in columns)
        found.append(Found(shape, *element_type(first)))
    return tuple(found), isinstance(runs[0], tuple | list)


def _parts(result: object) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def _extents(value: object) -> Iterator[Extent]:
    for leaf in leaves(value):
        if isinstance(leaf, Node):
            yield from leaf.shape
        elif isinstance(leaf, Size):
            yield leaf


def _run(
    function: Callable[..., object],
    operands: tuple[object, ...],
    keywords: Mapping[str, object],
    sizes: Mapping[str, int],
) -> object:
    def stand_in(value: object) -> object:
        match value:
            case Node(kind=kind):
                shape = tuple(_number(extent, sizes) for extent in kind.shape)
                return _stand_in(shape, kind.dtype)
            case Size():
                return _number(value, sizes)
            case tuple():
                return tuple(stand_in(part) for part in value)
            case list():
                return [stand_in(part) for part in value]
            case _:
                return value

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(
                *(stand_in(value) for value in operands),
                **{name: stand_in(value) for name, value in keywords.items()},
            )
        except Exception as error:  # whatever a function of any library raises
            name = getattr(function, "__name__", str(function))
            hint = "check the operands, or convert them first"
            refuse("PO0146", f"`{name}` does not take these operands: {error}", hint=hint)


def _stand_in(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> object:
    """Return an array that functions accept: integers that are subscripts, regular matrices."""
    if len(shape) >= 2 and dtype.kind in "fc":
        return np.broadcast_to(np.eye(shape[-2], shape[-1], dtype=dtype), shape)
    one = dtype.type(0 if dtype.kind in "iu" else 1)
    return one if shape == () else np.broadcast_to(one, shape)


def _number(extent: Extent, sizes: Mapping[str, int]) -> int:
    found = value_of(extent, sizes)
    if found is None:
        refuse("PO0803", f"the size `{extent}` is needed to find the shape of a result")
    return max(found, 0)


def _fitted(
    column: Sequence[int],
    inputs: Sequence[Extent],
    names: Sequence[str],
    samples: Sequence[Mapping[str, int]],
) -> Extent | None:
    """Return an extent with these values at the samples: known, a number, or affine in names."""
    for extent in inputs:
        if isinstance(extent, Size) and _values(extent, samples) == list(column):
            return extent
    if len(set(column)) == 1:
        return column[0]
    guess: Extent = column[0]
    for name, value, at in zip(names, column[1:], samples[1:], strict=False):
        slope, rest = divmod(value - column[0], at[name] - samples[0][name])
        if rest:
            return None
        guess = plus(guess, times(minus(named(name), samples[0][name]), slope))
    return guess if _values(guess, samples) == list(column) else None


def _values(extent: Extent, samples: Sequence[Mapping[str, int]]) -> list[int | None]:
    return [value_of(extent, sizes) for sizes in samples]
