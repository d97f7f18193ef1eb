"""Lines and branches that a part of the tests runs: `python -m tests.covered --minutes 15`.

In: tests, a share of them (`--one-in`).  Out: the share of lines and branches of polyopt/ that run,
and the functions with the most branches that never do.  Compiled kernels are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests/unit", "tests/cli", "tests/errors", "tests/regress", "tests/gpu")


@dataclass(frozen=True, slots=True)
class Missed:
    """A function and what of it never ran."""

    place: str
    branches: int
    lines: int


def measured(words: Sequence[str], minutes: float, folder: Path) -> Mapping[str, Any]:
    """Run tests under coverage and return its record."""
    data = {**os.environ, "COVERAGE_FILE": str(folder / "data")}
    coverage = [sys.executable, "-m", "coverage"]
    kept = ["-p", "tests.gates.resuming", "--done", str(folder / "done")]
    tests = ["-m", "pytest", "-q", *kept, "--at-most", str(minutes), *words]
    run = [*coverage, "run", "--branch", "--source=polyopt", *tests]
    subprocess.run(run, cwd=ROOT, env=data, check=False)
    record = folder / "record.json"
    command = [*coverage, "json", "-q", "-o", str(record)]
    subprocess.run(command, cwd=ROOT, env=data, check=True)
    found: Mapping[str, Any] = json.loads(record.read_text())
    return found


def missed(record: Mapping[str, Any]) -> Iterator[Missed]:
    """Yield the functions of which some branch never ran though the function did."""
    for file, found in record["files"].items():
        for name, one in found.get("functions", {}).items():
            figures = one["summary"]
            if figures["covered_lines"] and figures["missing_branches"]:
                place = f"{file}:{one['start_line']} {name}" if "start_line" in one else name
                place = place if file in place else f"{file} {place}"
                yield Missed(place, figures["missing_branches"], figures["missing_lines"])


def summary(record: Mapping[str, Any]) -> str:
    """Return the shares of lines and of branches."""
    total = record["totals"]
    lines, branches = total["num_statements"], total["num_branches"]
    return (
        f"{total['covered_lines']} of {lines} lines, {total['covered_lines'] / lines:.1%}; "
        f"{total['covered_branches']} of {branches} branches, "
        f"{total['covered_branches'] / branches:.1%}"
    )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.covered", description=__doc__)
    parser.add_argument("tests", nargs="*", default=TESTS)
    parser.add_argument("--one-in", type=int, default=12, help="run one test in so many (12)")
    parser.add_argument("--minutes", type=float, default=15.0, help="begin no test after so many")
    parser.add_argument("--show", type=int, default=30, help="functions with missed branches (30)")
    options = parser.parse_args()
    words = [*options.tests, "--one-in", str(options.one_in)]
    with tempfile.TemporaryDirectory() as name:
        record = measured(words, options.minutes, Path(name))
    for one in sorted(missed(record), key=lambda found: -found.branches)[: options.show]:
        print(f"{one.branches:4} branches {one.lines:4} lines  {one.place}")
    print(summary(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
