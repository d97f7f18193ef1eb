"""Ctrl-C in the middle of a call of isl, which Python handles only after the call.

In: a block that calls isl.  Out: isl's context aborted at SIGINT, so that the call ends at once and
the interpreter raises its `KeyboardInterrupt`.
The interpreter's handler writes a byte to a pipe; a thread of the C library that reads there, and
knows nothing of Python's lock, calls isl's own function.
Does nothing: on other threads than the main one, where other handlers or another pipe are set,
where the C library has no such threads, in forked processes.
A timer of the C library aborts a call of isl that takes too long.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import struct
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.clock import now

_SIGEV_THREAD, _CLOCK_THREAD, _TIMER_ABSTIME = 2, 3, 1  # <signal.h>, <time.h> of Linux
_WORD = struct.Struct("=Q")
_HEADER = 16  # bytes of an object before what its type keeps in it
_CONTEXT_BYTES = 4096
LATE = 30.0
"""Seconds that a thread which has been started may need to set a flag, on a machine of many others.

One that comes later still would end somebody else's work.
"""


class Event(ctypes.Structure):
    """`struct sigevent` where a pointer has eight bytes."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("padding", ctypes.c_char * 32),
    )


class _Moments(ctypes.Structure):
    """`struct itimerspec`: an interval, and a moment."""

    _fields_ = (
        ("interval_seconds", ctypes.c_long),
        ("interval_nanoseconds", ctypes.c_long),
        ("seconds", ctypes.c_long),
        ("nanoseconds", ctypes.c_long),
    )

    def is_running(self) -> bool:
        """Tell whether some time is left."""
        return bool(self.seconds or self.nanoseconds)


@dataclass(frozen=True, eq=False)
class Stopwatch:
    """A thread's timer that aborts isl's context, and where the context counts operations."""

    libc: ctypes.CDLL
    timer: ctypes.c_void_p
    counter: ctypes.c_ulong

    def start(self, moment: float) -> None:
        """Abort isl at `moment` of `clock.now` on this thread; replaces an earlier moment."""
        seconds, part = divmod(moment, 1.0)
        self._set(_Moments(0, 0, int(seconds), int(part * 1e9)))

    def stop(self) -> bool:
        """End what `start` began, let isl work again; tell whether it had been stopped.

        A timer that has run out is not set back: its thread may be on the way.
        """
        if self._is_running() and self._set(_Moments(0, 0, 0, 0)).is_running():
            return False
        latest = time.monotonic() + LATE
        while not isl.DEFAULT_CONTEXT.aborted() and time.monotonic() < latest:
            time.sleep(0.0001)
        stopped = bool(isl.DEFAULT_CONTEXT.aborted())
        isl.DEFAULT_CONTEXT.resume()
        return stopped

    def _is_running(self) -> bool:
        left = _Moments()
        self.libc.timer_gettime(self.timer, ctypes.byref(left))
        return left.is_running()

    def _set(self, moments: _Moments) -> _Moments:
        before = _Moments()
        self.libc.timer_settime(
            self.timer, _TIMER_ABSTIME, ctypes.byref(moments), ctypes.byref(before)
        )
        return before

    def works(self) -> bool:
        """Tell whether a moment that is over aborts isl."""
        self.start(now())
        return self.stop()

    @property
    def operations(self) -> int:
        """What isl has counted since its counter was reset."""
        return self.counter.value


def make_stopwatch() -> Stopwatch | None:
    """Return a stopwatch of this thread for isl's context, or None where that is not to be had.

    Its timer is given back when nothing refers to it any more.
    """
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != _WORD.size:
        return None
    try:
        found = _context()
        libc = _with_timers()
        timer = _timer(libc)
    except (OSError, AttributeError, ValueError):
        return None
    if timer is None or found is None:
        return None
    watch = Stopwatch(libc, timer, ctypes.c_ulong.from_address(found[1]))
    weakref.finalize(watch, _delete, libc, timer, os.getpid()).atexit = False
    return watch if watch.works() else None


def _delete(libc: ctypes.CDLL, timer: ctypes.c_void_p, process: int) -> None:
    """Give a timer back; in a forked process the number may be another one's."""
    if os.getpid() == process:
        libc.timer_delete(timer)


def _with_timers() -> ctypes.CDLL:
    """Return the library that has timers; raises `OSError` or `AttributeError`."""
    for name in (None, "librt.so.1"):
        library = ctypes.CDLL(name)
        if hasattr(library, "timer_create"):
            return library
    raise OSError("no timers")


def _timer(libc: ctypes.CDLL) -> ctypes.c_void_p | None:
    """Return a timer that aborts isl's context."""
    event, timer = abort_event(), ctypes.c_void_p()
    failed = libc.timer_create(_CLOCK_THREAD, ctypes.byref(event), ctypes.byref(timer))
    return None if failed else timer


def abort_event() -> Event:
    """Return what has the C library call `isl_ctx_abort` on a thread of its own.

    Raises `ValueError` where isl's context is not found.
    """
    found = _context()
    if found is None:
        raise ValueError("isl's context is not found")
    function = ctypes.cast(_library().isl_ctx_abort, ctypes.c_void_p)
    return Event(found[0], 0, _SIGEV_THREAD, function, None, b"")


@cache
def _library() -> ctypes.CDLL:
    """Return the library that holds isl."""
    return ctypes.CDLL(sys.modules[isl.Context.__module__].__file__)


@cache
def _context() -> tuple[int, int] | None:
    """Return the addresses of isl's default context and of its count of operations.

    Both stay where they are as long as the process lives.  Marks are set through islpy and looked
    for in memory, read as a file so that a wrong guess cannot fault; isl's own function then
    confirms the address.
    """
    context = isl.DEFAULT_CONTEXT
    limit = _library().isl_ctx_get_max_operations
    limit.restype, limit.argtypes = ctypes.c_ulong, (ctypes.c_void_p,)
    before = context.get_max_operations()
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        for address in _pointers(memory, id(context)):
            offset = _marked(memory, address)
            if offset is None:
                continue
            context.set_max_operations(0x6E6F746D)
            count = address + offset - _WORD.size
            if limit(address) == 0x6E6F746D and _counts(memory, count):
                return address, count
    finally:
        context.set_max_operations(before)
        context.reset_operations()
        os.close(memory)
    return None


def _pointers(memory: int, place: int) -> list[int]:
    """Return the words of an object that may be addresses."""
    words = _words(memory, place + _HEADER, 6)
    return [word for word in words if word > _CONTEXT_BYTES and word % _WORD.size == 0]


def _marked(memory: int, address: int) -> int | None:
    """Return where behind `address` the limit of the context stands, if it does."""
    places: set[int] | None = None
    for mark in (0x70_6F_6C_79_6F_70_74, 0x74_70_6F_79_6C_6F_70):
        isl.DEFAULT_CONTEXT.set_max_operations(mark)
        words = _words(memory, address, _CONTEXT_BYTES // _WORD.size)
        found = {n * _WORD.size for n, word in enumerate(words) if word == mark}
        places = found if places is None else places & found
    return places.pop() if places is not None and len(places) == 1 else None


def _counts(memory: int, place: int) -> bool:
    """Tell whether the word at `place` counts what isl does."""
    isl.DEFAULT_CONTEXT.reset_operations()
    start = _words(memory, place, 1)
    isl.Set("{ [a] : 0 <= a <= 10 }").is_empty()
    end = _words(memory, place, 1)
    return start == [0] and end > [0]


def _words(memory: int, address: int, number: int) -> list[int]:
    try:
        data = os.pread(memory, number * _WORD.size, address)
    except (OSError, OverflowError):
        return []
    return [word for (word,) in _WORD.iter_unpack(data[: len(data) // _WORD.size * _WORD.size])]


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
