"""Wait for a process that may use so many seconds of a processor.

In: a process that leads a session of its own.  Out: what it printed, or that it took too long.
A machine that is busy makes a compiler late, not refused.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PATIENCE = 10
"""One that waits, and computes nothing, may take so many times its seconds."""

_STATES = Path("/proc")
_SESSION, _USED = 3, slice(11, 15)  # fields of `stat` after the name: see proc(5)


def output_of(process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """Return what `process` prints; None once it and those it started have used `seconds`.

    Where nothing tells what they use, their time of the clock counts.
    """
    waited, left = 0.0, seconds
    while left > 0.0:
        part = max(left, 0.1)
        try:
            return process.communicate(timeout=part)[0]
        except subprocess.TimeoutExpired:
            waited += part
            used = processor_seconds(process.pid)
            left = seconds - max(waited if used is None else used, waited / PATIENCE)
    return None


def processor_seconds(session: int) -> float | None:
    """Return what the processes of a session have used of processors; None where it is not told."""
    found = [fields for fields in map(_fields, _numbers()) if _is_of(fields, session)]
    if not found:
        return None
    ticks = sum(int(number) for fields in found for number in fields[_USED])
    return ticks / os.sysconf("SC_CLK_TCK")


def _is_of(fields: list[str], session: int) -> bool:
    return len(fields) >= _USED.stop and fields[_SESSION] == str(session)


def _numbers() -> list[str]:
    try:
        return [name for name in os.listdir(_STATES) if name.isdigit()]
    except OSError:
        return []


def _fields(number: str) -> list[str]:
    """Return the fields after a process's name; none if it has ended."""
    try:
        text = (_STATES / number / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
