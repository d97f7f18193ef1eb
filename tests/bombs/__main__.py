"""Set off all bombs and print what became of them: `python -m tests.bombs --budget 5`."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import tempfile

from tests.bombs.listing import BOMBS
from tests.bombs.trial import run_all

OVER, MEMORY = 1.0, 1024  # seconds beyond the budget, MB


def main() -> int:
    """Return 0 when every bomb ended as it should."""
    parser = argparse.ArgumentParser(prog="python -m tests.bombs", description=__doc__)
    parser.add_argument("names", nargs="*", default=["*"], help="names, with * and ?")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds for each (5)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (1)")
    options = parser.parse_args()
    chosen = [
        bomb for bomb in BOMBS if any(fnmatch.fnmatch(bomb.name, name) for name in options.names)
    ]
    bad = 0
    cache = tempfile.TemporaryDirectory()
    os.environ["POLYOPT_CACHE_DIR"] = cache.name
    print(f"{'bomb':28} {'seconds':>8} {'MB':>5} {'cc MB':>6}  outcome")
    for found in run_all(chosen, options.budget, options.jobs, options.budget + 30):
        good = found.is_good(options.budget + OVER, MEMORY)
        bad += not good
        text = found.text if found.kind == "fault" else found.text.splitlines()[0][:110]
        mark = "" if good else "!! "
        print(
            f"{found.name:28} {found.seconds:8.2f} {found.memory:5} {found.compiler_memory:6}  "
            f"{mark}{found.kind}: {text}",
            flush=True,
        )
    print(f"{len(chosen)} bombs, {bad} not within {options.budget:g} + {OVER:g} s and {MEMORY} MB")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
