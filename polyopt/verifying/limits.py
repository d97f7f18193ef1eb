"""Calls that are ended after a time: a function of data may run for ever.

In: a call, seconds of the processor.  Out: its result, or `TooLong`.
Lines that Python runs are counted, on this thread only; nothing is interrupted inside of NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from polyopt.ir.clock import now

_T = TypeVar("_T")


class TooLong(BaseException):
    """A call took longer than it may; no handler of the function's own catches it."""


def limited(call: Callable[[], _T], seconds: float) -> _T:
    """Return what `call` returns; raises `TooLong`."""
    end = now() + seconds
    before = sys.gettrace()
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:  # noqa: ANN401
        nonlocal count
        del frame, argument
        count += 1
        if count % 64 == 0 and event in ("line", "call") and now() > end:
            raise TooLong
        return trace

    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(before)
