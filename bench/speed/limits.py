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
from bench.peers.folder import digest, store
from bench.speed.records import Cell

FLAGS = ("-O3", "-march=native", "-fopenmp")
SOURCE = Path(__file__).parent / "limits.c"
USUAL = {"L1": 32 * 1024, "L2": 1024 * 1024, "L3": 16 * 1024 * 1024}
FILLED = 0.75  # part of a cache that a program can count on


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
        level = self.level(moved, cell.threads)
        speed = max(rate for name, rate in values.items() if name.startswith(level))
        arithmetic, transfer = flops / peak, moved / speed
        if arithmetic >= transfer:
            return arithmetic, "arithmetic"
        return transfer, level

    def level(self, moved: int, threads: int) -> str:
        """Return the nearest level that holds everything."""
        for name, size in self.levels.items():
            whole = size if name == "L3" else size * threads
            if moved <= FILLED * whole:
                return name
        return "DRAM"


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
    path = store("c") / f"limits-{digest(SOURCE.read_text(), FLAGS, compiler())}"
    if not path.is_file():
        fresh = path.with_suffix(f".{os.getpid()}")
        subprocess.run([compiler(), *FLAGS, "-o", str(fresh), str(SOURCE)], check=True)
        fresh.rename(path)
    return path
