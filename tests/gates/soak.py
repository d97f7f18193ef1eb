"""Many compilations and calls in one process: `python -m tests.gates.soak --count 5000`.

In: how many.  Out: how the memory and the open files of the process grow after the first hundred
kernels.  Wrong: a result, more than 20 MB, a file left open.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import polyopt as po

WARM = 100
GROWTH = 20.0


def resident() -> float:
    """Return the memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--minutes", type=float, help="end after so many")
    options = parser.parse_args()
    start, done, wrong = time.monotonic(), 0, {}
    before = memory = resident()
    files = len(os.listdir("/proc/self/fd"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POLYOPT_CACHE_DIR"] = f"{folder}/cache"
        for number in range(options.count):
            if options.minutes and time.monotonic() - start > 60 * options.minutes:
                break
            text = call(number, Path(folder))
            if text:
                wrong[str(number)] = text
            done += 1
            if done == WARM:
                before, files = resident(), len(os.listdir("/proc/self/fd"))
        memory, opened = resident() - before, len(os.listdir("/proc/self/fd")) - files
    if done > WARM and (memory > GROWTH or opened > 0):
        wrong["growth"] = f"{memory:.1f} MB, {opened} files"
    note = f"{memory:+.1f} MB and {opened:+d} files after the first {WARM}"
    print(f"{done} kernels, {note}; wrong: {wrong}")
    if options.json:
        options.json.write_text(json.dumps({"count": done, "wrong": wrong, "note": note}))
    return int(bool(wrong))


def call(number: int, folder: Path) -> str | None:
    """Compile one more kernel and call it."""
    path = folder / f"m{number}.py"
    text = f"def f(a, b):\n    for i in range(a.shape[0]):\n        b[i] = a[i] + {number}.0\n"
    path.write_text(text)
    names: dict[str, object] = {}
    exec(compile(text, str(path), "exec"), names)
    a, b = np.arange(9.0), np.zeros(9)
    po.kernel(names["f"])(a, b)
    path.unlink()
    return None if np.array_equal(b, a + number) else "differs from Python"


if __name__ == "__main__":
    sys.exit(main())
