"""`python -m tests.rules`: which rule of the automatic schedule decides for which workloads.

In: names of workloads (all if none), a target, a mode.  Out: a line for each module of
`polyopt/strategy` whose steps are in the final schedule of some workload: how many workloads, and
which; then the modules that have steps in none.  `--json FILE` keeps the same.
A step belongs to the outermost module of `strategy`, besides `auto`, that was at work when the step
was applied.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

STRATEGY = Path(__file__).resolve().parent.parent / "polyopt" / "strategy"
LEADERS = {"auto", "__init__"}
"""Modules that ask the others one after the other."""


def _rule() -> str:
    """Return the module of `strategy` that applies a step now."""
    frame: FrameType | None = sys._getframe(2)
    found = "auto"
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if STRATEGY in path.parents and path.stem not in LEADERS:
            found = str(path.relative_to(STRATEGY).with_suffix(""))
        frame = frame.f_back
    return found


def _decided(work: tuple[str, str, str, str]) -> tuple[str, list[str]]:
    """Return a form, and the rules whose steps its final schedules have."""
    from polyopt.building import compile_stages
    from polyopt.errors import PolyoptError
    from polyopt.schedule.schedule import Schedule
    from polyopt.targets import Options, detect_machine
    from tests.hostile.stages import Settled
    from workloads import registry

    name, form, target, mode = work
    owners: dict[int, str] = {}
    kept: list[Any] = []  # steps keep their identity as long as they live

    def noted(original: Any) -> Any:
        def method(self: Schedule, *steps: Any, **options: Any) -> Any:
            rule = _rule()
            for step in steps:
                owners.setdefault(id(step), rule)
            kept.extend(steps)
            return original(self, *steps, **options)

        return method

    before = Schedule.apply, Schedule.attempt
    Schedule.apply, Schedule.attempt = map(noted, before)  # type: ignore[method-assign]
    options = Options().changed({"fp": mode, "target": target})
    machine = detect_machine() if target == "c" else None
    function: Any = registry.get(name).forms[form]
    found: set[str] = set()

    def make(types: Any) -> Any:
        stages = compile_stages(function, types, options, machine)
        steps = [step for schedule in stages.schedules for step in schedule.trace]
        found.update(owners.get(id(step), "auto") for step in steps)
        return stages.source

    try:
        Settled(function, make).of(tuple(registry.get(name).make("MINI").values()))
    except PolyoptError as error:
        print(f"{name}:{form}: {error.code}", file=sys.stderr)
    finally:
        Schedule.apply, Schedule.attempt = before  # type: ignore[method-assign]
    return f"{name}:{form}", sorted(found)


def decisions(names: list[str], target: str, mode: str, jobs: int) -> dict[str, list[str]]:
    """Return the forms that each rule decides for, by rule."""
    from workloads import registry

    chosen = names or list(registry.names())
    work = [(name, form, target, mode) for name in chosen for form in registry.get(name).forms]
    found: dict[str, list[str]] = defaultdict(list)
    with multiprocessing.get_context("forkserver").Pool(jobs, maxtasksperchild=20) as pool:
        for form, rules in pool.imap(_decided, work):
            for rule in rules:
                found[rule].append(form)
    return dict(found)


def table(found: dict[str, list[str]], target: str) -> str:
    """Return the rules by how many workloads each decides for, and those that decide for none."""
    lines = [f"{'rule':24}{'workloads':>10}{'forms':>8}"]
    rows = [(len({form.partition(":")[0] for form in forms}), r) for r, forms in found.items()]
    for count, rule in sorted(rows, reverse=True):
        forms = found[rule]
        shown = " ".join(forms) if len(forms) <= 8 else " ".join((*forms[:8], "…"))
        lines.append(f"{rule:24}{count:10}{len(forms):8}  {shown}")
    idle = sorted(_rules_of(target) - found.keys())
    return "\n".join((*lines, f"without a step in any: {' '.join(idle) or 'none'}"))


def _rules_of(target: str) -> set[str]:
    """Return the modules that apply steps, of those that schedule for a target."""
    folder = STRATEGY if target == "c" else STRATEGY / "gpu"
    return {
        str(path.relative_to(STRATEGY).with_suffix(""))
        for path in folder.glob("*.py")
        if path.stem not in LEADERS and re.search(r"\.(attempt|apply)\(", path.read_text())
    }


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.rules", description=__doc__)
    parser.add_argument("names", nargs="*", help="workloads")
    parser.add_argument("--target", choices=("c", "cuda", "opencl"), default="c")
    parser.add_argument("--mode", choices=("strict", "reassociate"), default="reassociate")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="a file for the result")
    options = parser.parse_args(arguments)
    found = decisions(options.names, options.target, options.mode, options.jobs)
    print(table(found, options.target))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
