"""CUDA streams of other libraries, which calls keep in order with.

In: a stream as CuPy, PyTorch, pycuda or cuda.core have it; arrays.  Out: numbers; `on_stream`.
Refuses: what is no stream (PO0217).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from polyopt.errors import ArgumentError, PolyoptError
from polyopt.runtime.device.provider import Provider, Streamed

DEFAULT = 1
"""The number of the default stream: it waits for others, and they for it."""

_WORDS = ("cuda_stream", "ptr", "handle")  # of PyTorch, CuPy, pycuda
_CHOSEN: ContextVar[tuple[int, ...]] = ContextVar("polyopt_streams", default=())


@contextmanager
def on_stream(stream: object) -> Iterator[None]:
    """Have calls in the block start after what `stream` was asked for before, and end before
    what it is asked for afterwards; the host does not wait.

    `stream` is a stream of CuPy, PyTorch, pycuda or cuda.core, or its number.  It is for arrays
    whose own library does not tell its current stream, and for NumPy arrays it changes nothing.
    """
    token = _CHOSEN.set((*_CHOSEN.get(), number_of(stream)))
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def number_of(stream: object) -> int:
    """Return the number of a stream."""
    found: object = stream
    told = getattr(stream, "__cuda_stream__", None)
    if told is not None:
        found = (told() if callable(told) else told)[1]
    elif not isinstance(stream, int):
        found = next((getattr(stream, w) for w in _WORDS if hasattr(stream, w)), None)
    try:
        number = int(found)  # type: ignore[call-overload]  # whatever it is
    except (TypeError, ValueError):
        number = -1
    if isinstance(stream, bool) or number < 0:
        raise ArgumentError(
            "PO0217",
            f"a {type(stream).__name__} is no CUDA stream",
            hint="pass a stream of CuPy, PyTorch, pycuda or cuda.core, or its number",
        )
    return number or DEFAULT


def current_stream(array: object) -> int | None:
    """Return the stream that `array`'s library works in now, where only the library tells it."""
    library = sys.modules.get("torch")
    if library is None or not isinstance(array, library.Tensor):
        return None
    return number_of(library.cuda.current_stream(array.device))


@contextmanager
def in_order(provider: Provider, streams: Iterable[int | None]) -> Iterator[None]:
    """Have the block's work wait for `streams` and those chosen, and them for it, on the device."""
    if not isinstance(provider, Streamed):
        yield
        return
    numbers = {*streams, *_CHOSEN.get()} - {None, provider.stream}
    others = sorted(number for number in numbers if number is not None)
    for stream in others:
        provider.wait_for(stream)
    try:
        yield
    except BaseException:
        with suppress(PolyoptError):  # a device that has failed fails here, too
            _lead(provider, others)
        raise
    _lead(provider, others)


def _lead(provider: Streamed, streams: list[int]) -> None:
    for stream in streams:
        provider.lead(stream)
