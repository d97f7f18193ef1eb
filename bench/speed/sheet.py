"""A report of the suite `speed` as a table of values that are separated by commas.

In: `SpeedReport`.  Out: CSV: a line for each entrant of each cell, seconds and not milliseconds.
"""

from __future__ import annotations

import csv
import io

from bench.speed.records import OWN, CellResult, Outcome, SpeedReport

COLUMNS = (
    "program", "size", "sizes", "dtype", "fp", "threads", "peer", "form", "status", "seconds",
    "fastest", "slowest", "spread", "samples", "error", "operations", "bytes", "gflops", "ratio",
    "limit_seconds", "roofline_percent", "bound_by", "busy_cores", "message",
)  # fmt: skip


def sheet(report: SpeedReport) -> str:
    """Return the report as CSV with a line of names."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for result in report.results:
        for outcome in result.outcomes:
            lines.writerow(_row(result, outcome))
    return text.getvalue()


def _row(result: CellResult, outcome: Outcome) -> list[object]:
    cell, seconds = result.cell, outcome.seconds
    ratio = result.ratio(outcome) if outcome.entrant.peer == OWN else None
    share = result.share(outcome)
    ends = (min(outcome.samples), max(outcome.samples)) if outcome.samples else ("", "")
    return [
        cell.workload, cell.dataset, " ".join(f"{n}={v}" for n, v in result.sizes.items()),
        cell.dtype, cell.fp, cell.threads, outcome.entrant.peer, outcome.entrant.form,
        outcome.status.value, _or_empty(seconds), *ends, outcome.spread, len(outcome.samples),
        _or_empty(outcome.error), result.flops, result.moved,
        result.flops / seconds / 1e9 if seconds else "", _or_empty(ratio),
        _or_empty(result.limit), "" if share is None else 100 * share, result.bound_by,
        result.busy, outcome.message,
    ]  # fmt: skip


def _or_empty(value: float | None) -> float | str:
    return "" if value is None else value
