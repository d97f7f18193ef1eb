"""What this machine can do at best: arithmetic and bandwidth of each level, measured.

In: a count of threads.  Out: `Limits`, and the seconds that a cell needs at least.
Refuses: a machine without gcc, or whose processor the program was not written for.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.baseline import compiler
from bench.environment import caches
from bench.levels import target_flags
from bench.peers.folder import digest, store
from bench.speed.records import Cell

FLAGS = ("-O3", "-fopenmp")
SOURCE = Path(__file__).parent / "limits.c"
USUAL = {"L1": 32 * 1024, "L2": 1024 * 1024, "L3": 16 * 1024 * 1024}


@dataclass(frozen=True, slots=True)
class Limits:
    """Per count of threads: names such as "float64", "L2 read", "DRAM stream", per second."""

    found: Mapping[int, Mapping[str, float]]
    levels: Mapping[str, int]  # bytes that one core has in a level, all cores in L3

    def of(self, cell: Cell, flops: int, moved: int) -> tuple[float | None, str]:
        """Return the least seconds of a cell, and what sets them.

        Additions and multiplications that must stay apart reach half the peak of fused ones.
        """
        values = self.found.get(cell.threads)
        if values is None:
            return None, ""
        peak = values.get(cell.dtype, values["float64"]) * (0.5 if cell.fp == "strict" else 1.0)
        arithmetic = flops / peak
        transfer, level = self.transfer(values, moved, cell.threads)
        return (arithmetic, "arithmetic") if arithmetic >= transfer else (transfer, level)

    def transfer(self, values: Mapping[str, float], moved: int, threads: int) -> tuple[float, str]:
        """Return the least seconds that bytes need, and the farthest level they come from.

        What fits may still be in a cache from before; the rest comes from the next level.
        """
        seconds, left, held = 0.0, moved, 0
        for name in (*self.levels, "DRAM"):
            speed = max(rate for known, rate in values.items() if known.startswith(name))
            size = self.levels.get(name, moved) * (threads if name in ("L1", "L2") else 1)
            part = min(left, max(0, size - held))
            seconds, left, held = seconds + part / speed, left - part, held + part
            if left == 0:
                return seconds, name
        return seconds, "DRAM"


def measure_limits(threads: tuple[int, ...]) -> Limits:
    """Measure; takes about a second for each count of threads."""
    levels = {**USUAL, **_levels(caches())}
    program = _program()
    found: dict[int, Mapping[str, float]] = {}
    for count in threads:
        last = levels["L3"]
        sizes = [levels["L1"] // 2, levels["L2"] // 2, last // (4 * count), 8 * last]
        command = [str(program), str(count), *map(str, sizes)]
        environment = {**os.environ, "OMP_PROC_BIND": "true"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        pairs = (line.rsplit(" ", 1) for line in done.stdout.splitlines())
        found[count] = {name: float(value) for name, value in pairs}
    return Limits(found, levels)


def _levels(described: Mapping[str, str]) -> dict[str, int]:
    """Return bytes of the levels for data from texts such as "48K"."""
    found = {}
    for name, text in described.items():
        level, _, kind = name.partition(" ")
        scale = {"K": 1024, "M": 1024 * 1024}.get(text[-1:])
        if kind != "instruction" and scale is not None and text[:-1].isdigit():
            found[level] = int(text[:-1]) * scale
    return found


def _program() -> Path:
    """Return the compiled program."""
    path = store("c") / f"limits-{digest(SOURCE.read_text(), FLAGS, target_flags(), compiler())}"
    if not path.is_file():
        fresh = path.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [compiler(), *FLAGS, *target_flags(), "-o", str(fresh), str(SOURCE)], check=True
        )
        fresh.rename(path)
    return path
