"""Random numbers that are functions of a key and the element's place: the same in every kernel.

Element `i` of an array, counted in C order, has word `offset + i` of NumPy's stream
`np.random.Philox(key=key).jumped(stream)`.  Kernels compute it where it is used, in any order, on
any target; here NumPy does.  `key`, `stream` and `offset` are integers modulo 2**64.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from polyopt.errors import ArgumentError
from polyopt.ir import random_words

__all__ = ["bits", "integers", "normal", "uniform"]

Function = TypeVar("Function", bound=Callable[..., Any])
_WORDS = 2**64


def _records(function: Function) -> Function:
    """Let lazy arrays record the call instead, as they do with NumPy's functions."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:  # noqa: ANN401
        for value in (*args, *options.values()):
            parts = value if isinstance(value, tuple | list) else (value,)
            for part in parts:
                if hasattr(part, "__array_function__") and not isinstance(part, np.ndarray):
                    return part.__array_function__(call, (type(part),), args, options)
        return function(*args, **options)

    return call  # type: ignore[return-value]


@_records
def bits(key: Any, shape: Any = (), *, stream: Any = 0, offset: Any = 0, dtype: Any = None) -> Any:  # noqa: ANN401
    """Return random words of 64 bits, or with `dtype=np.uint32` their halves, the lower first.

    >>> hex(bits(0))
    '0x2f4ba6408e4d89b'
    >>> int(bits(7, 3)[2]) == int(np.random.Philox(key=7).random_raw(3)[2])
    True
    """
    kind = _kind(dtype, (np.uint64, np.uint32))
    shape = _shape(shape)
    first, size = _integer(offset, "offset"), int(np.prod(shape, dtype=object))
    beyond = first + size - _WORDS
    if beyond > 0:  # the places, too, are taken modulo 2**64
        parts = ((first, size - beyond), (0, beyond))
        made = [bits(key, n, stream=stream, offset=at, dtype=kind) for at, n in parts]
        return np.concatenate(made).reshape(shape)[()]
    each = 4 * (8 // kind.itemsize)
    counter = np.array([first // each, 0, _integer(stream, "stream"), 0], np.uint64)
    source = np.random.Philox(key=_integer(key, "key"), counter=counter)
    before = first % each
    words = source.random_raw(-(-(before + size) * kind.itemsize // 8))
    found: np.ndarray = words.astype("<u8").view(f"<u{kind.itemsize}").astype(kind)
    return found[before : before + size].reshape(shape)[()]


@_records
def uniform(
    key: Any,  # noqa: ANN401
    shape: Any = (),  # noqa: ANN401
    low: Any = 0.0,  # noqa: ANN401
    high: Any = 1.0,  # noqa: ANN401
    *,
    stream: Any = 0,  # noqa: ANN401
    offset: Any = 0,  # noqa: ANN401
    dtype: Any = None,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return random numbers from `low` up to `high`, which is left out.

    They are those of `np.random.Generator(np.random.Philox(key=key)).random(shape, dtype)`, times
    `high - low`, plus `low`.

    >>> float(uniform(7)) == np.random.Generator(np.random.Philox(key=7)).random()
    True
    """
    kind = _kind(dtype, (np.float64, np.float32))
    word, shift, step = (np.uint64, 11, 53) if kind == np.float64 else (np.uint32, 8, 24)
    drawn = bits(key, shape, stream=stream, offset=offset, dtype=word)
    unit = (drawn >> word(shift)).astype(kind) * kind.type(2.0**-step)
    return _moved(unit, low, high, kind)


def _moved(unit: Any, low: Any, high: Any, kind: np.dtype[Any]) -> Any:  # noqa: ANN401
    """Return `low + (high - low) * unit`; the usual ends leave numbers as they are."""
    if type(low) in (int, float) and type(high) in (int, float) and (low, high) == (0, 1):
        return unit
    low, high = kind.type(low), kind.type(high)
    return low + (high - low) * unit


@_records
def normal(
    key: Any,  # noqa: ANN401
    shape: Any = (),  # noqa: ANN401
    mean: Any = 0.0,  # noqa: ANN401
    deviation: Any = 1.0,  # noqa: ANN401
    *,
    stream: Any = 0,  # noqa: ANN401
    offset: Any = 0,  # noqa: ANN401
    dtype: Any = None,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return random numbers of the normal distribution: `mean + deviation * quantile`.

    The quantile is that of the element's word, cut to 53 bits and a half; with `dtype=np.float32`
    that of its 32 bits.  NumPy's own normal numbers take an unknown number of words each.

    >>> float(normal(7))
    1.136247274644977
    """
    kind = _kind(dtype, (np.float64, np.float32))
    if kind == np.float64:
        words = bits(key, shape, stream=stream, offset=offset)
    else:
        halves = bits(key, shape, stream=stream, offset=offset, dtype=np.uint32)
        words = halves.astype(np.uint64) << np.uint64(32) | np.uint64(2**31)
    found = random_words.quantile(words).astype(kind)
    plain = type(mean) in (int, float) and type(deviation) in (int, float)
    if plain and (mean, deviation) == (0, 1):
        return found
    return kind.type(mean) + kind.type(deviation) * found


@_records
def integers(
    key: Any,  # noqa: ANN401
    low: Any,  # noqa: ANN401
    high: Any,  # noqa: ANN401
    shape: Any = (),  # noqa: ANN401
    *,
    stream: Any = 0,  # noqa: ANN401
    offset: Any = 0,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return random integers from `low` up to `high`, which is left out: `low + word * n // 2**64`.

    Of `n = high - low` integers none is more than `n / 2**64` likelier than another, relatively.

    >>> integers(7, 1, 7, 5).tolist()
    [6, 2, 3, 3, 1]
    """
    first, end = _bound(low, "low"), _bound(high, "high")
    if end <= first:
        raise ArgumentError("PO0156", f"there are no integers from {first} up to {end}")
    words = np.atleast_1d(bits(key, shape, stream=stream, offset=offset))
    lower, upper = words & np.uint64(2**32 - 1), words >> np.uint64(32)
    below, above = (np.uint64(part) for part in ((end - first) % 2**32, (end - first) >> 32))
    middle = upper * below + (lower * below >> np.uint64(32))
    other = (middle & np.uint64(2**32 - 1)) + lower * above
    found = upper * above + (middle >> np.uint64(32)) + (other >> np.uint64(32))
    moved = (found + np.uint64(first % _WORDS)).astype(np.int64)
    return moved.reshape(_shape(shape))[()]


def _integer(value: Any, name: str) -> int:  # noqa: ANN401
    """Return a key, stream or offset modulo 2**64."""
    if isinstance(value, bool | np.bool_):
        value = None
    try:
        return operator.index(value) % _WORDS
    except TypeError:
        hint = "use a Python integer or np.uint64"
        message = f"the {name} of random numbers is {value!r}, not an integer"
        raise ArgumentError("PO0155", message, hint=hint) from None


def _bound(value: Any, name: str) -> int:  # noqa: ANN401
    try:
        found = operator.index(value)
    except TypeError:
        message = f"the bound `{name}` is {value!r}, not an integer"
        raise ArgumentError("PO0156", message) from None
    if not -(2**63) <= found <= 2**63:
        raise ArgumentError("PO0156", f"the bound `{name}` of {found} does not fit int64")
    return found


def _kind(dtype: Any, kinds: tuple[type[np.generic], ...]) -> np.dtype[Any]:  # noqa: ANN401
    found = np.dtype(kinds[0] if dtype is None else dtype)
    if found.type not in kinds:
        names = " or ".join(kind.__name__ for kind in kinds)
        message = f"random numbers of type {found}"
        raise ArgumentError("PO0143", message, hint=f"use {names}")
    return found


def _shape(shape: Any) -> tuple[int, ...]:  # noqa: ANN401
    parts = shape if isinstance(shape, tuple | list) else (shape,)
    found = tuple(operator.index(part) for part in parts)
    if any(extent < 0 for extent in found):
        raise ArgumentError("PO0174", f"the shape {found} has a negative size")
    return found
