"""Waiting for a process as long as it may compute."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from polyopt.runtime import waiting
from polyopt.runtime.waiting import output_of, processor_seconds

BUSY = "import time\nwhile time.process_time() < {}: pass\nprint('done')"


@pytest.fixture
def started():
    processes = []

    def start(program: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-S", "-c", program]
        made = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
        processes.append(made)
        return made

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_one_that_waits_for_a_processor_is_waited_for(started):
    process = started("import time; time.sleep(1.5); print('done')")
    assert output_of(process, 0.5) == b"done\n"


def test_one_that_computes_too_long_is_given_up(started):
    start = time.monotonic()
    assert output_of(started(BUSY.format(600)), 0.3) is None
    assert time.monotonic() - start < 60


def test_one_that_never_computes_is_given_up(started, monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", 3)
    start = time.monotonic()
    assert output_of(started("import time; time.sleep(600)"), 0.2) is None
    assert time.monotonic() - start < 60


def test_without_an_account_the_clock_counts(started, monkeypatch, tmp_path):
    monkeypatch.setattr(waiting, "_STATES", tmp_path / "missing")
    process = started("import time; time.sleep(600)")
    assert processor_seconds(process.pid) is None
    assert output_of(process, 0.2) is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no /proc")
def test_what_children_use_counts(started):
    child = BUSY.format(0.5)  # ticks of the clock may leave some of it out
    text = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {child!r}])"
    process = started(f"{text}\nimport time; time.sleep(600)")
    end = time.monotonic() + 60
    while (processor_seconds(process.pid) or 0.0) < 0.3 and time.monotonic() < end:
        time.sleep(0.05)
    assert (processor_seconds(process.pid) or 0.0) >= 0.3
