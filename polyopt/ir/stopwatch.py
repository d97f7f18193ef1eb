"""Stop isl in the middle of a call, and read how many operations it has counted.

In: a moment of a thread's `clock.now`.  Out: isl's context aborted at that moment, whoever holds
Python's lock: a timer of the C library starts a thread that knows nothing of Python.
Refuses: platforms without such timers, builds of islpy whose context is not found; `watch` is None.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import time
import weakref
from functools import cache

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
