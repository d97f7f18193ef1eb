"""Time first calls: what a user waits for before a kernel that is not in memory has run once.

In: names of workloads (small and large ones if none).  Out: a table; with `--json`, also a file.
Every call is the first of a process of its own, at the smallest data set: *cold* with a cache that
knows the compiler but no kernel, *warm* with one that has the kernel.  Beside them the same
program, unchanged, as `numba.njit(parallel=True, fastmath=True)`, where Numba takes it.
`--compare A B` prints what became of the seconds of file A in file B.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import first_call_numba

ROOT = Path(__file__).resolve().parent.parent
NAMES = (
    *("gemm", "2mm", "jacobi-1d", "jacobi-2d", "heat-3d", "seidel-2d", "fdtd-2d", "cholesky", "lu"),
    *("atax", "mvt", "covariance", "syrk", "trmm", "durbin", "nussinov", "floyd-warshall"),
    *("softmax", "layernorm", "attention", "gelu", "conv2d", "lstm", "batch-norm", "knn"),
    *("histogram", "mandelbrot", "spmv", "black-scholes", "nbody", "scan", "sobel", "crc32", "dft"),
    *("adi", "deriche", "lenet", "encoder-backward", "lattice-boltzmann"),
    *("vadv", "vadv:numpy", "cavity-flow", "channel-flow"),
)
PRIME = "import numpy as np, polyopt as po\nx = np.ones(9)\ndef f(x):\n    return np.exp(x) + 1.0\n"
COLUMNS = (
    *("wall", "own", "children", "import", "frontend", "schedule", "certificate", "build", "load"),
    *("warm wall", "warm own"),
)
"""Seconds of the call: of the clock, of the process and of those it started; then of each stage.

`import` is what the process had used once NumPy and polyopt were imported; stages are of the clock.
"""
NUMBA = ("numba wall", "numba own", "numba import")
"""The same of Numba, whose compiler is in the process; `-` where it has no such function."""

Row = dict[str, float]


def work(name: str, form: str) -> Row:
    """Return what the first call of a form takes in this process, which has imported little."""
    import polyopt as po

    make = po.kernel
    imported = time.process_time()
    from workloads import registry

    kernel = make(registry.get(name).forms[form])
    arguments = tuple(registry.get(name).make("MINI").values())
    wall, own, children = time.perf_counter(), time.process_time(), _children()
    kernel(*arguments)
    row = {
        "wall": time.perf_counter() - wall,
        "own": time.process_time() - own,
        "children": _children() - children,
        "import": imported,
    }
    timings = kernel.compile(*arguments).timings
    return {**row, **{stage: seconds for stage, seconds in timings.items() if stage not in row}}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def primed(folder: Path) -> Path:
    """Return a cache that has what all kernels of a machine share, and a kernel nobody asks for."""
    script, cache = folder / "prime.py", folder / "primed"
    script.write_text(PRIME + "po.kernel(f)(x)\n")
    _run([str(script)], cache)
    return cache


def measure(name: str, form: str, repeats: int, folder: Path) -> Row:
    """Return the medians of `repeats` first calls, cold and warm."""
    cold, warm, numba = [], [], []
    for _ in range(repeats):
        cache = folder / "cache"
        shutil.copytree(folder / "primed", cache)
        try:
            cold.append(_worker(name, form, cache))
            warm.append(_worker(name, form, cache))
        finally:
            shutil.rmtree(cache)
        numba.append(first_call_numba.first_call(name, form) if None not in numba else None)
    row = {c: _median(cold, c) for c in sorted({c for each in cold for c in each})}
    row |= {"warm wall": _median(warm, "wall"), "warm own": _median(warm, "own")}
    taken = [each for each in numba if each is not None]
    if len(taken) == repeats:
        row |= {column: _median(taken, column.removeprefix("numba ")) for column in NUMBA}
    return row


def _median(rows: list[Row], column: str) -> float:
    return statistics.median(row.get(column, 0.0) for row in rows)


def _worker(name: str, form: str, cache: Path) -> Row:
    found: Row = json.loads(_run(["-m", "bench.first_call", "--work", name, form], cache))
    return found


def _run(arguments: list[str], cache: Path) -> str:
    env = {**os.environ, "POLYOPT_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def table(rows: dict[str, Row]) -> str:
    """Return milliseconds, a line for each form, one for their sum, one for those Numba has."""
    taken = {name: row for name, row in rows.items() if NUMBA[0] in row}
    lines = [f"{'milliseconds':28}" + "".join(f"{c:>13}" for c in (*COLUMNS, *NUMBA))]
    sums = {f"all {len(rows)}": _total(rows, COLUMNS)}
    if taken:
        sums[f"with numba {len(taken)}"] = _total(taken, (*COLUMNS, *NUMBA))
    for name, row in (*rows.items(), *sums.items()):
        own = "".join(f"{1e3 * row.get(c, 0.0):13.0f}" for c in COLUMNS)
        peer = "".join(f"{1e3 * row[c]:13.0f}" if c in row else f"{'-':>13}" for c in NUMBA)
        lines.append(f"{name:28}{own}{peer}")
    return "\n".join(lines)


def _total(rows: dict[str, Row], columns: tuple[str, ...]) -> Row:
    return {c: sum(row.get(c, 0.0) for row in rows.values()) for c in columns}


def compare(before: dict[str, Row], after: dict[str, Row]) -> str:
    """Return the second file's seconds as parts of the first one's, form by form and in all."""
    shared = [name for name in before if name in after]
    columns = ("wall", "own", "children", "warm wall", "warm own")
    lines = [f"{'after / before':28}" + "".join(f"{c:>12}" for c in columns)]
    every = {
        f"all {len(shared)}": tuple(
            {c: sum(file[name][c] for name in shared) for c in columns} for file in (before, after)
        ),
    }
    for name, (old, new) in {**{n: (before[n], after[n]) for n in shared}, **every}.items():
        lines.append(f"{name:28}" + "".join(f"{new[c] / max(old[c], 1e-9):12.2f}" for c in columns))
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print, or compare two files."""
    parser = argparse.ArgumentParser(prog="python -m bench.first_call", description=__doc__)
    parser.add_argument("names", nargs="*", help="workloads, or WORKLOAD:FORM")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"))
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        print(json.dumps(work(*options.work)))
    elif options.compare:
        before, after = (json.loads(Path(file).read_text()) for file in options.compare)
        print(compare(before, after))
    else:
        rows = _measured(tuple(options.names) or NAMES, options.repeats)
        print(table(rows))
        if options.json:
            Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")


def _measured(names: tuple[str, ...], repeats: int) -> dict[str, Row]:
    from workloads import registry

    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory(prefix="polyopt-first-call-") as directory:
        primed(Path(directory))
        for text in names:
            name, _, form = text.partition(":")
            forms: Any = registry.get(name).forms
            chosen = form or ("loops" if "loops" in forms else "numpy")
            rows[f"{name}:{chosen}"] = measure(name, chosen, repeats, Path(directory))
            print(f"{name}:{chosen}", file=sys.stderr)
    return rows


if __name__ == "__main__":
    main()
