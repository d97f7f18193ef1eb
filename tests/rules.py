"""`python -m tests.rules`: which rule of the automatic schedule decides for which workloads.

In: names of workloads (all, and the programs of `tests/heldout`, if none), a target, a mode.
Out: a line for each module of `polyopt/strategy` whose steps are in the final schedule of some:
how many, and which; then the modules that have steps in none.  `--json FILE` keeps the same.
`--without RULE ...` (or `all`) compiles the programs with and without each rule, times both, and
prints what each rule gains; `--decisions FILE` takes what `--json` kept, and `--json` then keeps
the rows, which the same command goes on with.
A step belongs to every module of `strategy` that was at work when it was applied, `auto` only to
those that no other made.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from polyopt.building import compile_stages
from polyopt.errors import PolyoptError
from polyopt.schedule.schedule import Schedule
from polyopt.targets import Options, detect_machine
from tests.heldout import PROGRAMS
from tests.hostile.stages import Settled
from workloads import registry

STRATEGY = Path(__file__).resolve().parent.parent / "polyopt" / "strategy"
LEADERS = {"auto", "driver", "recomputation", "rules", "__init__"}
"""Modules that ask the others one after the other."""
HELD_OUT = "heldout"
"""The form of a program of `tests/heldout`."""


def _rules() -> frozenset[str]:
    """Return the modules of `strategy` that apply a step now."""
    frame: FrameType | None = sys._getframe(2)
    found = set()
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if STRATEGY in path.parents and path.stem not in LEADERS:
            found.add(str(path.relative_to(STRATEGY).with_suffix("")))
        frame = frame.f_back
    return frozenset(found or {"auto"})


@contextmanager
def watched() -> Iterator[Callable[[Iterable[Schedule]], set[str]]]:
    """Note who applies steps; yield a function that tells whose steps are in schedules."""
    owners: dict[int, frozenset[str]] = {}
    kept: list[Any] = []  # steps keep their identity as long as they live

    def noted(original: Any) -> Any:
        def method(self: Schedule, *steps: Any, **options: Any) -> Any:
            rules = _rules()
            for step in steps:
                owners[id(step)] = owners.get(id(step), frozenset()) | rules
            kept.extend(steps)
            return original(self, *steps, **options)

        return method

    def of(schedules: Iterable[Schedule]) -> set[str]:
        steps = (step for schedule in schedules for step in schedule.trace)
        return {rule for step in steps for rule in owners.get(id(step), {"auto"})}

    before = Schedule.apply, Schedule.attempt
    Schedule.apply, Schedule.attempt = map(noted, before)  # type: ignore[method-assign]
    try:
        yield of
    finally:
        Schedule.apply, Schedule.attempt = before  # type: ignore[method-assign]


def _decided(work: tuple[str, str, str, str]) -> tuple[str, list[str]]:
    """Return a form, or a held-out program, and the rules whose steps its final schedules have."""
    name, form, target, mode = work
    options = Options().changed({"fp": mode, "target": target})
    machine = detect_machine() if target == "c" else None
    if form == HELD_OUT:
        function: Any = PROGRAMS[name].function
        values = PROGRAMS[name].arguments()
    else:
        function = registry.get(name).forms[form]
        values = tuple(registry.get(name).make("MINI").values())
    found: set[str] = set()

    def make(types: Any) -> Any:
        stages = compile_stages(function, types, options, machine)
        found.update(of(stages.schedules))
        return stages.source

    with watched() as of:
        try:
            Settled(function, make).of(values)
        except PolyoptError as error:
            print(f"{name}:{form}: {error.code}", file=sys.stderr)
    return f"{name}:{form}", sorted(found)


def decisions(names: list[str], target: str, mode: str, jobs: int) -> dict[str, list[str]]:
    """Return the forms that each rule decides for, by rule; held-out programs where all are asked.

    The mode of a held-out program is its own.
    """
    chosen = names or list(registry.names())
    work = [(name, form, target, mode) for name in chosen for form in registry.get(name).forms]
    if not names:
        work += [(name, HELD_OUT, target, program.fp) for name, program in PROGRAMS.items()]
    found: dict[str, list[str]] = defaultdict(list)
    with multiprocessing.get_context("forkserver").Pool(jobs, maxtasksperchild=20) as pool:
        for form, rules in pool.imap(_decided, work):
            for rule in rules:
                found[rule].append(form)
    return dict(found)


def table(found: dict[str, list[str]], target: str) -> str:
    """Return the rules by how many workloads each decides for, and those that decide for none."""
    lines = [f"{'rule':24}{'workloads':>10}{'forms':>8}{'held out':>10}"]
    rows = []
    for rule, all_forms in found.items():
        forms = [form for form in all_forms if not form.endswith(f":{HELD_OUT}")]
        workloads = len({form.partition(":")[0] for form in forms})
        rows.append((workloads, len(all_forms) - len(forms), rule, all_forms))
    for workloads, held_out, rule, forms in sorted(rows, reverse=True):
        shown = " ".join(forms) if len(forms) <= 8 else " ".join((*forms[:8], "…"))
        lines.append(f"{rule:24}{workloads:10}{len(forms) - held_out:8}{held_out:10}  {shown}")
    idle = sorted(rules_of(target) - found.keys())
    return "\n".join((*lines, f"without a step in any: {' '.join(idle) or 'none'}"))


def rules_of(target: str) -> set[str]:
    """Return the modules that apply steps, of those that schedule for a target."""
    folder = STRATEGY if target == "c" else STRATEGY / "gpu"
    return {
        str(path.relative_to(STRATEGY).with_suffix(""))
        for path in folder.glob("*.py")
        if path.stem not in LEADERS and re.search(r"\.attempt\(", path.read_text())
    }


def lines_of(rule: str) -> int:
    """Return the number of lines of a rule's module."""
    return len((STRATEGY / f"{rule}.py").read_text(encoding="utf-8").splitlines())


def _ablate(found: dict[str, list[str]], options: argparse.Namespace) -> None:
    """Compile and time programs without rules; print and keep what is known after each program."""
    from tests import ablation, ablation_runs

    rules = list(ablation.RULES) if options.without == ["all"] else options.without
    path = options.json or Path(tempfile.mkdtemp()) / "rows.json"
    cache = (options.cache or path.with_suffix(".cache")).absolute()
    rows = {(row.rule, row.program, row.level): row for row in ablation.load(path)}

    def note(row: ablation.Row) -> None:
        rows[row.rule, row.program, row.level] = row
        ablation.keep(list(rows.values()), path)

    for level in options.levels:
        known = {(row.rule, row.program) for row in rows.values() if row.level == level}
        jobs = {"known": known, "most": options.most, "cache": cache, "jobs": options.jobs}
        for row in ablation_runs.compile_all(found, rules, level, options.mode, **jobs):
            note(row)
    chosen = [row for row in rows.values() if row.rule in rules and row.level in options.levels]
    for row in ablation_runs.measure(chosen, cache, options.seconds):
        note(row)
    shown = [row for row in rows.values() if row.rule in rules and row.level in options.levels]
    print(ablation.summary(shown, {rule: lines_of(rule) for rule in rules}))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.rules", description=__doc__)
    parser.add_argument("names", nargs="*", help="workloads")
    parser.add_argument("--target", choices=("c", "cuda", "opencl"), default="c")
    parser.add_argument("--mode", choices=("strict", "reassociate"), default="reassociate")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="a file for the result")
    parser.add_argument("--decisions", type=Path, help="a file with decisions")
    parser.add_argument("--without", nargs="+", metavar="RULE", help="rules to leave out, or all")
    parser.add_argument("--levels", nargs="+", default=["native", "x86-64-v3"])
    parser.add_argument("--most", type=int, default=8, help="programs of a rule")
    parser.add_argument("--cache", type=Path, help="a folder for kernels, to go on later")
    parser.add_argument("--seconds", type=float, default=3600.0, help="for timing")
    options = parser.parse_args(arguments)
    if options.decisions:
        found = json.loads(options.decisions.read_text(encoding="utf-8"))
        asked = set(options.names)
        found = {
            rule: [form for form in forms if not asked or form.partition(":")[0] in asked]
            for rule, forms in found.items()
        }
    else:
        found = decisions(options.names, options.target, options.mode, options.jobs)
    if options.without:
        _ablate(found, options)
        return
    print(table(found, options.target))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
