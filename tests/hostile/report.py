"""What a run found: counts, rates, findings.

In: results.  Out: a table, a record for JSON.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tests.hostile.pool import Result
from tests.hostile.verdicts import Outcome


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")


@dataclass(slots=True)
class Report:
    """Counts of a run; `seconds` of the clock, `done` the seeds that need not run again."""

    target: str
    seconds: float = 0.0
    date: str = field(default_factory=_now)
    outcomes: Counter[str] = field(default_factory=Counter)
    ordinary: Counter[str] = field(default_factory=Counter)
    codes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    examples: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    findings: list[dict[str, object]] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)

    def add(self, result: Result, *, ordinary: bool) -> None:
        """Count a result."""
        verdict = result.verdict
        self.seeds.append(result.seed)
        self.outcomes[verdict.outcome.value] += 1
        if ordinary:
            self.ordinary[verdict.outcome.value] += 1
        if verdict.code:
            self.codes[verdict.outcome.value][verdict.code] += 1
            where = self.examples[f"{verdict.outcome.value} {verdict.code}"]
            if len(where) < 12:
                where.append(result.seed)
        if verdict.outcome.is_finding:
            self.findings.append(
                {"seed": result.seed, "outcome": verdict.outcome.value, "code": verdict.code,
                 "text": verdict.text}
            )  # fmt: skip

    @property
    def count(self) -> int:
        """How many programs were run."""
        return len(self.seeds)

    def table(self) -> str:
        """Return the counts for people."""
        rate = self.count / self.seconds if self.seconds else 0.0
        lines = [
            f"{self.date} UTC, {self.target}: {self.count} programs"
            + (f", seeds {min(self.seeds)} to {max(self.seeds)}" if self.seeds else "")
            + f", {self.seconds:.0f} s, {rate:.2f} a second",
            f"  {'':44}{'all':>8}{'ordinary':>10}",
        ]
        for outcome in Outcome:
            name = outcome.value
            lines.append(f"  {name:44}{self.outcomes[name]:8}{self.ordinary[name]:10}")
            for code, number in self.codes.get(name, Counter()).most_common(25):
                seeds = " ".join(map(str, self.examples[f"{name} {code}"][:5]))
                lines.append(f"    {code:42}{number:8}  seeds {seeds}")
        total = sum(self.ordinary.values())
        share = 100.0 * self.ordinary[Outcome.REFUSED.value] / max(total, 1)
        lines.append(f"  of {total} ordinary programs {share:.1f} % are refused")
        return "\n".join(lines)

    def record(self) -> dict[str, object]:
        """Return plain data."""
        return {
            "target": self.target, "seconds": self.seconds, "date": self.date,
            "outcomes": dict(self.outcomes), "ordinary": dict(self.ordinary),
            "codes": {k: dict(v) for k, v in self.codes.items()},
            "examples": dict(self.examples), "findings": self.findings, "seeds": self.seeds,
        }  # fmt: skip

    def write(self, path: Path) -> None:
        """Write the record."""
        path.write_text(json.dumps(self.record(), indent=1), encoding="utf-8")


def read(path: Path, target: str) -> Report:
    """Return the report that `write` wrote, or an empty one."""
    report = Report(target)
    if not path.exists():
        return report
    record = json.loads(path.read_text(encoding="utf-8"))
    report.seconds = record["seconds"]
    report.outcomes.update(record["outcomes"])
    report.ordinary.update(record["ordinary"])
    for name, counts in record["codes"].items():
        report.codes[name].update(counts)
    report.examples.update(record["examples"])
    report.findings, report.seeds = record["findings"], record["seeds"]
    return report
