"""`polyopt check FILE.py:FUNC`: prove or refuse parallel loops and schedules.

In: a target, loops claimed to be parallel, a schedule.  Out: "legal: proven" per claim, or the
refusal with its witness and exit code 1.  Needs no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from polyopt.cli.console import result, result_json
from polyopt.cli.prepare import (
    json_option,
    prepare,
    schedule_text,
    sizes_option,
    target_argument,
    types_option,
)
from polyopt.cli.typespec import parse_sizes

if TYPE_CHECKING:
    from polyopt.schedule import Schedule


@click.command("check")
@target_argument
@click.option(
    "--parallel", metavar="LOOP", multiple=True, help="Claim that a loop is parallel; repeatable."
)
@click.option("--schedule", metavar="TEXT|FILE", help="Claim that a schedule is legal.")
@types_option
@sizes_option
@json_option
def command(
    target: str,
    parallel: tuple[str, ...],
    schedule: str | None,
    types: str | None,
    sizes: str | None,
    as_json: bool,
) -> None:
    """Prove claims about a function's loops, or refuse them with a counter-example."""
    from polyopt.schedule import source_schedule
    from polyopt.transforms import Parallelize, parse_schedules

    text = schedule_text(schedule)
    prepared = prepare(target, types, parse_sizes(sizes))
    scops = prepared.program.scops
    sources = tuple(map(source_schedule, scops))
    claims = []
    for loop in parallel:
        _holding(sources, loop).apply(Parallelize(loop))
        claims.append(f"loop `{loop}` is parallel")
    if text is not None:
        parsed = parse_schedules(sources, "" if text == "source" else text)
        found = (str(step) for schedule in parsed for step in schedule.trace)
        steps = "; ".join(found) or "the order of the source"
        claims.append(f"schedule: {steps}")
    statements = sum(len(scop.statements) for scop in scops)
    if as_json:
        record = {"function": prepared.target.name, "statements": statements, "proven": claims}
        result_json(record)
        return
    if not claims:
        result(f"{prepared.target.name}: accepted, {statements} statements; nothing was claimed")
    for claim in claims:
        result(f"{prepared.target.name}: {claim}; legal: proven for all sizes")


def _holding(schedules: tuple[Schedule, ...], loop: str) -> Schedule:
    """Return the schedule of the static control part that has a loop of this name."""
    for schedule in schedules:
        if any(loop in statement.iters for statement in schedule.scop.statements):
            return schedule
    return schedules[0]
