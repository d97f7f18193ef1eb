"""A process and everything that it has started, ended together.

In: a process.  Out: nothing of it runs any more: compilers that a worker started, too, which may
be in sessions of their own.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


def descendants(root: int) -> list[int]:
    """Return the processes below `root` that run now, parents before their children."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]


def _parents() -> list[tuple[int, int]]:
    """Return every process with its parent; a process that ends meanwhile is left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                found.append((int(entry.name), int(fields[1])))
    return found


def end_tree(process: subprocess.Popen[str]) -> None:
    """Kill a process that leads a group, its group and all processes below it; wait for it.

    Each is stopped before its children are listed, so that it starts no further ones.
    """
    stopped: list[int] = []
    if process.poll() is None:
        fresh = [process.pid]
        while fresh:
            for pid in fresh:
                _send(pid, signal.SIGSTOP)
            stopped += fresh
            fresh = [pid for pid in descendants(process.pid) if pid not in stopped]
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in stopped:
        _send(pid, signal.SIGKILL)
    process.wait()


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def run_to_end(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command; when it takes longer, or this process is interrupted, nothing is left of it.

    Raises `subprocess.TimeoutExpired` and `OSError`.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complained = process.communicate(timeout=seconds)
    finally:
        end_tree(process)
    return subprocess.CompletedProcess(command, process.returncode, said, complained)
