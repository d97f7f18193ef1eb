"""How long each stage of a compilation took, what isl was asked, and what the proofs cost.

In: the times and costs a compilation noted, its schedules.  Out: a `Section` of rows.
Dependences, the order check of the final schedule and the certificate of the loops are computed
once more, to be measured alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from polyopt.dataclass import dataclass
from polyopt.errors import BudgetError
from polyopt.ir.budget import Budget, Cost
from polyopt.report.explain import Section
from polyopt.schedule import Dependences, Schedule, compute_dependences
from polyopt.schedule.legality import check_legal

SECONDS = 30.0
"""What each measurement may take."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what, its seconds, and isl's operations and questions where they were counted."""

    name: str
    seconds: float
    operations: int = 0
    calls: int = 0
    over: int = 0  # questions that were given up

    def __str__(self) -> str:
        parts = [f"{self.seconds * 1e3:8.1f} ms"]
        if self.operations:
            parts.append(f"{self.operations} operations")
        if self.calls > 1:
            parts.append(f"{self.calls} times")
        if self.over:
            parts.append(f"{self.over} over budget")
        return ", ".join(parts)


def timing_section(
    timings: Mapping[str, float],
    costs: Mapping[str, Cost],
    schedules: Sequence[Schedule],
    certify: Callable[[], object],
) -> Section:
    """Return the stages in order, below them what they asked isl and what the proofs cost."""
    stages = [Row(stage, s, _operations(costs, stage)) for stage, s in timings.items()]
    asked = [
        Row(name, cost.seconds, cost.operations, cost.calls, cost.exceeded)
        for name, cost in costs.items()
        if name not in timings and name not in ("compilation", "compiling")
    ]
    proofs = [*_proofs(schedules), _measured("certificate", certify)]
    rows = [*stages, *proofs, *asked]
    width = max((len(row.name) for row in rows), default=0) + 1
    lines = [f"{row.name:<{max(12, width)}}{row}" for row in stages]
    for title, group in (("the proofs alone", proofs), ("questions to isl", asked)):
        if group:
            lines.append(f"{title}:")
            lines += [f"  {row.name:<{max(12, width)}}{row}" for row in group]
    return Section("timings", tuple(lines))


def _operations(costs: Mapping[str, Cost], stage: str) -> int:
    cost = costs.get(stage)
    return 0 if cost is None else cost.operations


def _proofs(schedules: Sequence[Schedule]) -> Iterator[Row]:
    """Yield what dependences and the order check take for the final schedules, all parts."""
    if not schedules:
        return
    yield _measured("dependences", lambda: [compute_dependences(s.scop).memory for s in schedules])
    known = [(s, s.dependences) for s in schedules]
    fresh = [(s, Dependences(s.scop, d.memory)) for s, d in known]  # nothing else is known yet
    yield _measured("order check", lambda: [check_legal(s.scop, d, s.tree) for s, d in fresh])


def _measured(name: str, work: Callable[[], object]) -> Row:
    budget = Budget(SECONDS)
    started = time.perf_counter()
    over = 0
    try:
        with budget.running(), budget.share(name):
            work()
    except BudgetError:
        over = 1
    seconds = time.perf_counter() - started
    return Row(name, seconds, _operations(budget.costs, name), over=over)
