"""Trials that are numbered, independent and kept: the command line of each kind of them.

In: a function from a number to what is wrong, or None.  Out: a run that goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path


def series(what: str, trial: Callable[[int], str | None], count: int) -> int:
    """Run trials 0 to `--count`, by default `count`; return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--state", type=Path, help="file of what is done; resumes from it")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--minutes", type=float, help="begin no trial after so many")
    options = parser.parse_args()
    found = _known(options.state)
    start = time.monotonic()
    for number in range(options.count):
        if number in found:
            continue
        if options.minutes and time.monotonic() - start > 60 * options.minutes:
            break
        try:
            found[number] = trial(number)
        except Exception as error:
            found[number] = f"the trial ends with {error!r}"[:500]
        if found[number]:
            print(f"{number}: {found[number]}", flush=True)
        if options.state:
            with options.state.open("a") as file:
                file.write(json.dumps([number, found[number]]) + "\n")
    wrong = {number: text for number, text in found.items() if text}
    print(f"{len(found)} of {options.count}, {len(wrong)} wrong, {time.monotonic() - start:.0f} s")
    if options.json:
        options.json.write_text(json.dumps({"count": len(found), "wrong": wrong}, indent=1))
    return int(bool(wrong))


def _known(state: Path | None) -> dict[int, str | None]:
    found: dict[int, str | None] = {}
    for line in state.read_text().splitlines() if state and state.exists() else ():
        try:
            number, text = json.loads(line)
        except ValueError:  # the last line of a run that was killed
            continue
        found[number] = text
    return found
