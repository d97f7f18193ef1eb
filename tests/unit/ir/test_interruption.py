"""Ctrl-C ends a call of isl at once, and is handled as everywhere."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import islpy as isl
import pytest

from polyopt.ir import interruption
from polyopt.ir.interruption import stopping

ROOT = Path(__file__).parents[3]
LONG = """
import signal, sys, time
import islpy as isl
from polyopt.ir.budget import Budget

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it

def answer():
    text = "[n] -> { [a, b, c, d] : exists e, f, g : %da + 5b - 7e = 2n and 0 <= a, b, c, d <= n "
    text += "and c + 2f = b + %dg and 5d = 3g + 2f and e < f < g < n }"
    found = isl.Set(text % (3, 7))
    for k in range(40):
        found = found.union(isl.Set(text % (k + 4, k + 8)))
    return found.coalesce().complement().is_empty()

print("begins", flush=True)
try:
    with Budget(600.0).running():
        answer()
except KeyboardInterrupt as error:
    kept = error  # as an interactive interpreter does, with the frames of its traceback
    assert not isl.Set("{ [a] : a > 0 }").is_empty()
    print("interrupted", time.thread_time())
"""


@pytest.mark.machine
def test_a_call_of_isl_ends() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LONG], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    time.sleep(1.0)
    os.kill(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    word, seconds = said.split()
    assert word == "interrupted"
    assert float(seconds) < 10.0


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch):
    """Let no plugin's handler keep `stopping` from listening."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(interruption, "_is_alone", lambda: True)
    if interruption._listener() is None:
        pytest.skip("the C library has no such requests")
    yield
    signal.signal(signal.SIGINT, handler)


def test_isl_works_after_it_and_inside(alone) -> None:
    for _ in range(20):
        with stopping():
            assert not isl.Set("{ [a] : a > 0 }").is_empty()
        assert not isl.DEFAULT_CONTEXT.aborted()
    assert signal.set_wakeup_fd(-1) == -1


def test_an_interrupt_that_a_callback_loses_is_raised(alone) -> None:
    def lost() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), stopping():
        lost()
    assert not isl.Set("{ [a] : a > 0 }").is_empty()


def test_it_leaves_others_alone(alone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert interruption._is_alone() is (
        not any(callable(signal.getsignal(n)) for n in range(1, signal.NSIG) if n != signal.SIGINT)
    )
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(interruption._is_alone()))
    thread.start()
    thread.join()
    assert found == [False]
    signal.signal(signal.SIGINT, lambda *_: None)
    assert not interruption._is_alone()
