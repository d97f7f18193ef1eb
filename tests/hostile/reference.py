"""Run Python within limits.

In: a function, arguments.  Out: what it returned, raised, or that it went on for too long.
"""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, TypeAlias

import numpy as np

LINES = 6000
BITS = 4096
"""Lines that a program may run, bits that an integer of its may have."""
SECONDS = 10.0
"""Of the processor, that a program may take: a line alone may go on for ever (`2 ** (1 << 63)`)."""


@dataclass(slots=True)
class Returned:
    """A result; `largest`: the largest finite magnitude of a float seen on the way.

    `big`: an integer left 64 bits.  `mixed`: a name had values of several types, or there are lines
    that were not run.
    """

    value: Any
    largest: float = 0.0
    big: bool = False
    lines: int = 0
    mixed: bool = False


@dataclass(slots=True)
class Raised:
    """An exception; `mixed` as for results."""

    error: BaseException
    mixed: bool = False


@dataclass(slots=True)
class TooLong:
    """Neither in time."""


Ended: TypeAlias = Returned | Raised | TooLong


class _Stop(BaseException):
    pass


@dataclass(slots=True)
class _Watch:
    files: str
    lines: int = 0
    largest: float = 0.0
    big: bool = False
    types: dict[tuple[CodeType, str], set[str]] = field(default_factory=dict)
    run: set[tuple[CodeType, int]] = field(default_factory=set)

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(self.files):
            return None
        self.lines += event == "line"
        if self.lines > LINES:
            raise _Stop
        self.run.add((frame.f_code, frame.f_lineno))
        for name, value in frame.f_locals.items():
            self.look(value)
            self.types.setdefault((frame.f_code, name), set()).add(_type_of(value))
        if event == "return":
            self.look(argument)
        return self

    @property
    def mixed(self) -> bool:
        """Whether a name had values of several types, or a line of a function was not run."""
        several = any(len(found) > 1 for found in self.types.values())
        return several or any(not lines_of(code) <= self.ran(code) for code in self.codes)

    @property
    def codes(self) -> set[CodeType]:
        """The functions that were called."""
        return {code for code, _ in self.run}

    def ran(self, code: CodeType) -> set[int]:
        """Return the lines of a function that were run."""
        return {line for other, line in self.run if other is code}

    def look(self, value: object) -> None:
        """Note a magnitude."""
        if type(value) is int:
            bits = value.bit_length()
            self.big = self.big or bits > 63
            if bits > BITS:
                raise _Stop
        elif isinstance(value, float | complex | np.floating | np.complexfloating):
            size = abs(complex(value))
            if size != float("inf") and size == size:
                self.largest = max(self.largest, size)
        elif isinstance(value, np.ndarray) and value.size and value.dtype.kind in "fciu":
            with np.errstate(all="ignore"):
                sizes = np.abs(value.astype(np.complex128))
            finite = sizes[np.isfinite(sizes)]
            if finite.size:
                self.largest = max(self.largest, float(finite.max()))
        elif isinstance(value, tuple | list):
            for item in value:
                self.look(item)


def lines_of(code: CodeType) -> set[int]:
    """Return the lines of a function that hold code, but for its first."""
    return {line for *_, line in code.co_lines() if line is not None and line > code.co_firstlineno}


def _type_of(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}, {value.ndim}"
    return type(value).__name__


def run_bounded(function: Callable[..., Any], args: tuple[Any, ...]) -> Ended:
    """Call `function`; the arguments are changed as it changes them."""
    watch = _Watch(function.__code__.co_filename.rsplit("/", 1)[0])
    before = sys.gettrace()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with _timed():
                sys.settrace(watch)
                try:
                    value = function(*args)
                finally:
                    sys.settrace(before)
    except (_Stop, RecursionError, MemoryError):
        return TooLong()
    except Exception as error:
        return Raised(error, watch.mixed)
    return Returned(value, watch.largest, watch.big, watch.lines, watch.mixed)


@contextmanager
def _timed() -> Iterator[None]:
    """Stop what takes longer than `SECONDS` of the processor, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise _Stop

    earlier = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, earlier)
