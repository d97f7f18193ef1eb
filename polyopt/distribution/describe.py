"""A plan as text: what is cut, where statements run, what crosses ranks, what is proven.

In: a plan.  Out: lines for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyopt.distribution.execution import Plan
from polyopt.distribution.forms import Form
from polyopt.distribution.judge import judge
from polyopt.distribution.local import Window
from polyopt.distribution.ownership import Cut
from polyopt.distribution.phases import Phase, Step, Together
from polyopt.distribution.volume import Volume, total, volumes
from polyopt.ir.showing import show

COMPLETING = {form.value for form in (Form.ALL_REDUCE, Form.REDUCE_SCATTER, Form.SCAN)}
"""Collectives after a phase."""


def describe(plan: Plan, name: str, steps: str) -> str:
    """Return the plan, one line for each array, phase and exchange, after the steps asked for."""
    own, lines = plan.exchanges.own, [f"{name} on P ranks: {steps}"]
    for array, cuts in own.cuts.items():
        windows = plan.storage.windows[array]
        parts = [_cut(cut, window) for cut, window in zip(cuts, windows, strict=True)]
        lines.append(f"  {array} is cut along {', '.join(parts)}")
    whole = [a.name for a in own.scop.arrays if a.name not in own.cuts and a.shape]
    if whole:
        lines.append(f"  each rank has all of {', '.join(whole)}")
    by_phase: dict[Phase, list[Volume]] = {}
    for volume in volumes(plan):
        by_phase.setdefault(volume.phase, []).append(volume)
    lines += _steps(plan, plan.exchanges.phases.steps, by_phase, "  ")
    amount = total(plan)
    if amount is not None:
        lines.append(f"  bytes of one call, all ranks together: {amount}")
    claims = judge(plan)
    failed = [claim.name for claim in claims if not claim.holds]
    names = ", ".join(claim.name for claim in claims if claim.holds)
    lines.append(f"  proven for all sizes and numbers of ranks: {names}")
    if failed:
        lines.append(f"  not proven: {', '.join(failed)}")
    return "\n".join(lines)


def _cut(cut: Cut, window: Window) -> str:
    blocks = f"axis {cut.axis} in blocks of {show(cut.blocks.extent)} / P"
    if cut.blocks.size is not None:
        blocks = f"axis {cut.axis} in blocks of {cut.blocks.size}, dealt to the ranks in turn"
    if window.whole:
        return f"{blocks}, a rank keeps copies of all"
    if window.before or window.after:
        return f"{blocks}, a rank keeps {window.before} before and {window.after} after its own"
    return blocks


def _steps(
    plan: Plan, steps: Sequence[Step], by_phase: dict[Phase, list[Volume]], pad: str
) -> Iterator[str]:
    rules = plan.exchanges.phases.placement.rules
    for step in steps:
        if isinstance(step, Together):
            statement = plan.exchanges.own.scop.statement(step.statements[0])
            yield f"{pad}all ranks: loop {show(statement.order[2 * step.depth + 1])}"
            yield from _steps(plan, step.body, by_phase, pad + "  ")
            continue
        for volume in by_phase.get(step, []):
            if volume.form not in COMPLETING and volume.bytes != 0:
                yield f"{pad}{_volume(volume)}"
        where = dict.fromkeys(rules[name].value for name in step.statements)
        turn = "; one rank after the other" if step.after else ""
        turn += "; what needs no message runs meanwhile" if step in plan.splits else ""
        yield f"{pad}{', '.join(step.statements)}: {', '.join(where)}{turn}"
        for volume in by_phase.get(step, []):
            if volume.form in COMPLETING:
                yield f"{pad}{_volume(volume)}"


def _volume(volume: Volume) -> str:
    if volume.bytes is None:
        return f"{volume.form} of {volume.array}"
    return f"{volume.form} of {volume.array}: {volume.bytes} bytes"
