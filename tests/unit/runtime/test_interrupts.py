"""Ctrl-C while a kernel runs: its outermost loops end, what Python's handler raises comes out.

Kernels that nothing ends take half a minute.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


@po.kernel(threads=1)
def smooth(u, v, steps):
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        for i in range(1, u.shape[0] - 1):
            u[i] = v[i]


@po.kernel
def counting(limit):
    m = 0
    k = 0
    while m < limit:
        m += 1
        k = (k * 3 + m) % 1000
    return k


@po.kernel
def allocating(a, steps):
    s = 0.0
    for t in range(steps):
        b = a + t
        b[0] = s
        s = b.sum() * 1e-9
    return s


@contextmanager
def interrupted(after: float, handler=signal.default_int_handler) -> Iterator[None]:
    """Send the process a SIGINT in so many seconds, which `handler` gets."""
    before = signal.signal(signal.SIGINT, handler)
    time.sleep(0.01)  # a call looks for handlers every few microseconds
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)


def rows() -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(0, 1, 2000), np.zeros(2000)


@pytest.mark.parametrize(
    "kernel, short, long",
    [
        (smooth, (*rows(), 3), (*rows(), 10**7)),
        (counting, (10,), (4 * 10**9,)),
        (allocating, (np.ones(1000), 2), (np.ones(1000), 5 * 10**7)),
    ],
    ids=["steps", "while", "allocating"],
)
def test_the_kernel_ends(kernel, short, long) -> None:
    kernel(*short)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupted(0.2):
        kernel(*long)
    assert time.monotonic() - begun < 15
    kernel(*short)


def test_a_handler_that_raises_nothing_lets_it_go_on() -> None:
    u, v = rows()
    want, other = u.copy(), v.copy()
    smooth(want, other, 30_000)
    seen: list[int] = []
    with interrupted(0.05, lambda number, frame: seen.append(number)):
        while not seen:
            u, v = rows()
            smooth(u, v, 30_000)
    assert np.array_equal(u, want)


def test_other_threads_run_to_their_end() -> None:
    u, v = rows()
    want, other = u.copy(), v.copy()
    smooth(want, other, 30_000)
    found = []
    thread = threading.Thread(target=lambda: found.append(smooth(u, v, 30_000)))
    thread.start()
    with pytest.raises(KeyboardInterrupt), interrupted(0.02):
        time.sleep(5)
    thread.join()
    assert found == [None]
    assert np.array_equal(u, want)
