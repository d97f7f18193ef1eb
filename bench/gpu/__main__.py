"""Run the stages within ten minutes: `python -m bench.gpu`.

In: a command line.  Out: tables, JSON, and the exit code: 0, or 1 where something was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.environment import describe
from bench.gpu.machine import devices, show_machine
from bench.gpu.rehearsal import VARIABLE
from bench.gpu.stages import STAGES, Outcome, run_stage
from bench.gpu.table import show_outcome
from bench.run import RESULTS

TOTAL = 590.0
LAST_START = 560.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run what can be run here; return the exit code."""
    options = _parser().parse_args(argv)
    begun = time.monotonic()
    found = devices()
    if options.rehearse:
        os.environ[VARIABLE] = "1"
        found = replace(found, targets=found.targets | {"cuda"})
        print("A rehearsal: tiny arrays on the emulator; the numbers mean nothing.")
    print(show_machine(found), flush=True)
    outcomes: list[Outcome] = []
    for stage in STAGES:
        left = min(stage.seconds, options.seconds - (time.monotonic() - begun))
        if options.only and stage.name not in options.only:
            continue
        if stage.needs and stage.needs not in found.targets:
            print(f"\n{stage.name}: left out, there is no {stage.needs} device", flush=True)
            continue
        if left < options.seconds - LAST_START * options.seconds / TOTAL:
            print(f"\n{stage.name}: left out, no time is left", flush=True)
            outcomes.append(Outcome(stage.name, (), "no time was left for it"))
            continue
        outcome = run_stage(stage, left)
        outcomes.append(outcome)
        print(f"\n{show_outcome(stage, outcome)}", flush=True)
    record = _record(found.record, outcomes, time.monotonic() - begun)
    target = _target(options.json, "cuda" in found.targets and not options.rehearse, record)
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"\nwritten: {target}")
    wrong = [outcome.stage for outcome in outcomes if outcome.is_wrong]
    print("\nall right" if not wrong else f"\nwrong: {', '.join(wrong)}")
    return 1 if wrong else 0


def _record(machine: dict[str, Any], outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    stages = {
        o.stage: {"rows": list(o.rows), "stopped": o.stopped, "seconds": round(o.seconds, 1)}
        for o in outcomes
    }
    return {**describe(), "gpu": machine, "seconds": round(seconds, 1), "stages": stages}


def _target(asked: str | None, has_gpu: bool, record: dict[str, Any]) -> Path | None:
    """Return where the JSON goes: the file asked for, or a new one in results/ of a GPU."""
    if asked is not None:
        return Path(asked)
    if not has_gpu:
        return None
    stamp = str(record["date"])[:19].replace(":", "").replace("T", "-")
    return RESULTS / f"gpu-{stamp}.json"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.gpu",
        description="Check and measure polyopt on a GPU; without one, what needs none.",
    )
    names = [stage.name for stage in STAGES]
    parser.add_argument("--only", nargs="+", choices=names, help="these stages alone")
    parser.add_argument("--rehearse", action="store_true", help="on the emulator, tiny arrays")
    parser.add_argument("--seconds", type=float, default=TOTAL, help="in all (default: 590)")
    parser.add_argument("--json", metavar="FILE", help="write the results there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
