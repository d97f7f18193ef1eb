"""docs/reliability.md, made of the goals and of the results that were kept last.

In: results.  Out: the page's text; `KEPT` is where the results are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.gates.goals import GOALS, Goal, Stage
from tests.gates.running import ROOT, Result

KEPT = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "reliability.md"

_HEAD = """\
# Reliability

What polyopt is tested for beyond the tests of its parts: eighteen goals, each of which is one
command that counts what it tried and what was wrong. This page is made by
`python -m tests.gates --page` from the results that were kept last (`tests/gates/results.json`).

```sh
make nightly          # every goal at its nightly number, about a night on two cores
make release-gate     # at the numbers of a release
python -m tests.gates G1 G8 --stage nightly --minutes 10   # some goals, at most ten minutes each
```

A run keeps every result in a folder (`.gates/`), and goes on there if it is stopped. With `--keep`
its results replace older ones on this page. The numbers of a pull request are part of the tests, or
are run with `--stage pull-request`.

## Goals

`all`: all there are. `-`: not asked at this stage.

| goal | what holds | unit | pull request | nightly | release |
| --- | --- | --- | --- | --- | --- |
"""

_LAST = """
## Last results

`part`: fewer than the stage asks for were tried, and none was wrong. Seconds are those of the clock
on a machine of two cores that does other work as well, and those of processors.

| goal | stage | tried | asked | wrong | verdict | seconds | processor seconds | a second | date |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

_NOTES = "\n## Notes\n\n"


def page(results: Mapping[str, Result]) -> str:
    """Return the page's text."""
    goals = "".join(map(_goal, GOALS))
    kept = [results[goal.name] for goal in GOALS if goal.name in results]
    never = [goal.name for goal in GOALS if goal.name not in results]
    missing = f"\nNo result is kept of {', '.join(never)}.\n" if never else ""
    notes = "".join(f"- {one.goal}: {one.note}\n" for one in kept if one.note)
    text = _HEAD + goals + _LAST + "".join(map(_result, kept)) + missing
    return text + _NOTES + notes if notes else text


def _goal(goal: Goal) -> str:
    numbers = " | ".join(_number(goal, goal.count(stage)) for stage in Stage)
    return f"| {goal.name} | {goal.says} | {goal.unit} | {numbers} |\n"


def _number(goal: Goal, count: int | None) -> str:
    if count is None:
        return "-"
    return "all" if goal.asked.count(1) > 1 else f"{count:,}"


def _result(one: Result) -> str:
    goal = next(goal for goal in GOALS if goal.name == one.goal)
    asked = f"{one.asked:,}" if one.asked > 1 else _number(goal, one.asked)
    return (
        f"| {one.goal} | {one.stage} | {one.count:,} {goal.unit} | {asked} | {one.wrong} "
        f"| {one.verdict} | {one.seconds:.0f} | {one.processor:.0f} | {one.rate:.2f} "
        f"| {one.date} |\n"
    )
