"""Compare two kept runs of the suite `speed`: what got faster, what got slower beyond noise.

In: two JSON files of the same or different commits.  Out: a table, and whether nothing got slower.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

from bench.speed.records import OWN, Cell, Outcome, SpeedReport, report_of
from bench.table import grid, three_digits

NOISE = 0.05  # less than this is never called a change


@dataclass(frozen=True, slots=True)
class Change:
    """One form of one cell in two runs; `ratio` above 1 is faster, machine's drift taken out."""

    cell: Cell
    form: str
    before: float
    after: float
    ratio: float
    noise: float

    @property
    def verdict(self) -> str:
        """Say whether the change is more than noise."""
        if self.ratio < 1.0 / (1.0 + self.noise):
            return "slower"
        return "faster" if self.ratio > 1.0 + self.noise else ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs; `drift`: the peers' times of the first run over those of the second."""

    changes: tuple[Change, ...]
    drift: float
    missing: tuple[str, ...]

    @property
    def is_worse(self) -> bool:
        """Whether something got slower, or does not run any more."""
        return bool(self.missing) or any(c.verdict == "slower" for c in self.changes)


def read(path: Path) -> SpeedReport:
    """Return the run in a file; raises `ValueError` where it holds none."""
    found = json.loads(path.read_text())
    if not isinstance(found, dict) or found.get("suite") != "speed":
        raise ValueError(f"{path} is not a run of the suite speed")
    return report_of(found)


def compare(before: SpeedReport, after: SpeedReport) -> Comparison:
    """Compare what both runs timed."""
    old, new = _timed(before), _timed(after)
    peers = [key for key in old if key in new and key[1] != OWN]
    pairs = [(_seconds(old[key]), _seconds(new[key])) for key in peers]
    drift = exp(sum(log(b / a) for b, a in pairs) / len(pairs)) if pairs else 1.0
    own = [key for key in old if key[1] == OWN]
    changes = [_change(key, old[key], new[key], drift) for key in own if key in new]
    in_both = {result.cell for result in after.results}
    missing = [f"{key[0]}, {key[2]}" for key in own if key not in new and key[0] in in_both]
    return Comparison(tuple(changes), drift, tuple(missing))


_Key = tuple[Cell, str, str]


def _timed(report: SpeedReport) -> dict[_Key, Outcome]:
    return {
        (result.cell, outcome.entrant.peer, outcome.entrant.form): outcome
        for result in report.results
        for outcome in result.outcomes
        if outcome.seconds
    }


def _seconds(outcome: Outcome) -> float:
    assert outcome.seconds is not None
    return outcome.seconds


def _change(key: _Key, before: Outcome, after: Outcome, drift: float) -> Change:
    ratio = _seconds(before) / _seconds(after) / drift
    noise = NOISE + before.spread + after.spread
    return Change(key[0], key[2], _seconds(before), _seconds(after), ratio, noise)


def render(found: Comparison) -> str:
    """Return a line for every form in both runs, those that got slower first."""
    rows = [["program", "form", "before ms", "after ms", "ratio", "noise", ""]]
    for change in sorted(found.changes, key=lambda c: c.ratio):
        times = (three_digits(1e3 * seconds) for seconds in (change.before, change.after))
        rows.append(
            [
                str(change.cell), change.form, *times, f"{change.ratio:.2f}",
                f"{100 * change.noise:.0f}%", change.verdict,
            ]
        )  # fmt: skip
    lines = [grid(rows, left=2)] if len(rows) > 1 else ["nothing was timed in both runs"]
    slower, faster = (
        sum(c.verdict == verdict for c in found.changes) for verdict in ("slower", "faster")
    )
    lines.append(
        f"{slower} slower, {faster} faster of {len(found.changes)};"
        f" the peers took {1 / found.drift:.2f} of their time before, which is taken out"
    )
    lines += [f"timed before, not any more: {text}" for text in found.missing]
    return "\n\n".join(lines)
