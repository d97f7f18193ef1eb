"""Ctrl-C in the middle of a call of isl, which Python handles only after the call.

In: a block that calls isl.  Out: isl's context aborted at SIGINT, so that the call ends at once and
the interpreter raises its `KeyboardInterrupt`.
The interpreter's handler writes a byte to a pipe; a thread of the C library that reads there, and
knows nothing of Python's lock, calls isl's own function.
Does nothing: on other threads than the main one, where other handlers or another pipe are set,
where the C library has no such threads, in forked processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.stopwatch import LATE, Event, abort_event

_REST = 256
"""At least as many bytes as the C library keeps for itself behind what is public."""


class _Request(ctypes.Structure):
    """`struct aiocb` of the GNU C library: <aio.h>."""

    _fields_ = (
        ("file", ctypes.c_int),
        ("operation", ctypes.c_int),
        ("priority", ctypes.c_int),
        ("buffer", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("event", Event),
        ("rest", ctypes.c_char * _REST),
    )


@dataclass(frozen=True, eq=False)
class Listener:
    """A pipe, and the request to read one byte of it and abort isl's context then."""

    libc: ctypes.CDLL
    process: int
    ends: tuple[int, int]
    buffer: ctypes.Array[ctypes.c_char]  # of one byte
    request: _Request

    def begin(self) -> bool:
        """Abort isl at the next byte; False where the C library refuses."""
        ctypes.memset(ctypes.byref(self.request), 0, ctypes.sizeof(_Request))
        self.request.file = self.ends[0]
        self.request.buffer = ctypes.addressof(self.buffer)
        self.request.bytes = 1
        self.request.event = abort_event()
        return bool(self.libc.aio_read(ctypes.byref(self.request)) == 0)

    def end(self) -> bytes | None:
        """Have the request end, whether it was needed or not, and let isl work again.

        Returns the signals that came; None where the C library does not do what it should.
        """
        if self.libc.aio_error(ctypes.byref(self.request)) == errno.EINPROGRESS:
            os.write(self.ends[1], b"\0")
            patience = LATE
        else:  # somebody else may have let isl work again
            patience = min(LATE, 1.0)
        latest = time.monotonic() + patience
        while not isl.DEFAULT_CONTEXT.aborted() and time.monotonic() < latest:
            time.sleep(0.00005)
        isl.DEFAULT_CONTEXT.resume()
        if self.libc.aio_return(ctypes.byref(self.request)) != 1:
            return None
        found = self.buffer.raw
        while any(fcntl.ioctl(self.ends[0], _WAITING, b"\0" * 4)):
            found += os.read(self.ends[0], 4096)
        return found


_WAITING = 0x541B  # FIONREAD of Linux: the bytes that can be read
_LISTENERS: list[Listener | None] = []
"""This process's, or its parent's, once one was asked for; None where it cannot be had."""


@contextmanager
def stopping() -> Iterator[None]:
    """Abort isl where Ctrl-C comes during the block, and raise `KeyboardInterrupt` out of it."""
    listener = _listener() if _is_alone() else None
    if listener is None or not listener.begin():
        yield
        return
    signal.set_wakeup_fd(listener.ends[1], warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _handle)
    came: bytes | None = None
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(-1)
        _PENDING.clear()
        came = listener.end()
        if came is None:
            _LISTENERS[:] = [None]
    if came is not None and signal.SIGINT in came:
        raise KeyboardInterrupt  # one that waited, or that a function lost which isl calls


_PENDING: list[int] = []
"""Signals that came while blocks began or ended, which must not happen by halves."""
_OWN = tuple(str(Path(__file__).with_name(f"{name}.py"))
             for name in ("budget", "interruption", "stopwatch"))  # fmt: skip


def deliver() -> None:
    """Raise the `KeyboardInterrupt` that waits for a block to end, if one does."""
    if _PENDING and threading.current_thread() is threading.main_thread():
        _PENDING.clear()
        raise KeyboardInterrupt


def _handle(number: int, frame: FrameType | None) -> None:
    """Raise `KeyboardInterrupt`: at once, or by `deliver` where the code that ends blocks runs.

    An error of isl reaches such code first, and the interpreter handles signals at its start.
    """
    while frame is not None:
        manager = frame.f_locals.get("self") if frame.f_code.co_filename == _MANAGERS else None
        code = getattr(getattr(manager, "gen", None), "gi_code", frame.f_code)
        if code.co_filename in _OWN:
            _PENDING.append(number)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


_MANAGERS = contextlib.__file__


def _is_alone() -> bool:
    """Tell whether SIGINT is the one signal with a handler in Python, its own."""
    if threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    others = (n for n in range(1, signal.NSIG) if n != signal.SIGINT)
    if any(callable(signal.getsignal(number)) for number in others):
        return False
    before = signal.set_wakeup_fd(-1)
    if before != -1:
        signal.set_wakeup_fd(before)
    return before == -1


def _listener() -> Listener | None:
    if not _LISTENERS:
        _LISTENERS.append(_made())
    found = _LISTENERS[0]
    return found if found is not None and found.process == os.getpid() else None


def _made() -> Listener | None:
    """Return a listener that works."""
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "aio_read"):
        return None
    ends = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(ends[1], False)
    listener = Listener(libc, os.getpid(), ends, ctypes.create_string_buffer(1), _Request())
    with contextlib.suppress(OSError, AttributeError, ValueError):
        if listener.begin() and listener.end() == b"\0":
            return listener
    for end in ends:
        os.close(end)
    return None
