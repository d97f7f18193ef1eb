"""Print a report of the suite `speed` as plain text.

In: `SpeedReport`.  Out: limits, a row for each cell and form, losses, failures, means.
"""

from __future__ import annotations

from math import exp, log

from bench.records import Status
from bench.speed.records import OWN, CellResult, Outcome, SpeedReport
from bench.table import grid, three_digits


def render(report: SpeedReport) -> str:
    """Return the whole report."""
    if not report.results:
        return "nothing was run"
    parts = [_heading(report), _limits(report)]
    parts += [_times(report, peers) for peers in [_peers(report)]]
    parts += [_table(report), _losses(report), _means(report), _failures(report), _notes(report)]
    return "\n\n".join(part for part in parts if part)


def _heading(report: SpeedReport) -> str:
    e = report.environment
    commit, _, state = e["commit"].partition(" ")
    present = ", ".join(f"{peer} ({text})" for peer, text in report.peers.items())
    return (
        f"speed, {e['date']}, commit {' '.join([commit[:12], state]).strip()}\n"
        f"{e['machine']['cpu']}, {e['machine']['cores']} cores\npeers: {present}"
    )


def _limits(report: SpeedReport) -> str:
    if not report.limits:
        return ""
    names = list(next(iter(report.limits.values())))
    rows = [["limit", *(f"x{count}" for count in report.limits)]]
    for name in names:
        unit = "GF/s" if name.startswith("float") else "GB/s"
        values = (three_digits(found[name] / 1e9) for found in report.limits.values())
        rows.append([f"{name}, {unit}", *values])
    return grid(rows)


def _peers(report: SpeedReport) -> list[str]:
    found = (str(o.entrant) for r in report.results for o in r.outcomes)
    return list(dict.fromkeys(name for name in found if not name.startswith(OWN)))


def _times(report: SpeedReport, peers: list[str]) -> str:
    own = dict.fromkeys(str(o.entrant) for r in report.results for o in r.own)
    rows = [["milliseconds", *own, *peers]]
    for result in report.results:
        cells = {str(o.entrant): o for o in result.outcomes}
        rows.append([str(result.cell), *(_time(cells.get(name)) for name in rows[0][1:])])
    return grid(rows)


def _time(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    if outcome.seconds is None:
        return "ok" if outcome.status is Status.OK else outcome.status.value
    return three_digits(1e3 * outcome.seconds)


def _table(report: SpeedReport) -> str:
    head = ["program", "form", "ms", "spread", "best peer", "ms", "ratio", "roofline", "bound by"]
    rows = [head, *(row for result in report.results for row in _rows(result))]
    return grid(rows, left=2) if len(rows) > 1 else ""


def _rows(result: CellResult) -> list[list[str]]:
    rows = []
    for own in result.own:
        if own.seconds is None:
            continue
        best, ratio, share = result.best_rival(own.entrant.form), result.ratio(own), None
        share = result.share(own)
        rows.append(
            [
                str(result.cell),
                own.entrant.form,
                three_digits(1e3 * own.seconds),
                f"{100 * own.spread:.0f}%",
                "-" if best is None else str(best.entrant),
                "-" if best is None else three_digits(1e3 * (best.seconds or 0.0)),
                "-" if ratio is None else f"{ratio:.2f}",
                "-" if share is None else f"{100 * share:.0f}%",
                result.bound_by or "-",
            ]
        )
    return rows


def losses(report: SpeedReport) -> list[tuple[float, CellResult, Outcome]]:
    """Return polyopt's outcomes that are slower than the best peer, worst first."""
    found = [
        (ratio, result, own)
        for result in report.results
        for own in result.own
        if (ratio := result.ratio(own)) is not None and ratio < 1.0
    ]
    return sorted(found, key=lambda loss: loss[0])


def _losses(report: SpeedReport) -> str:
    rows = [["slower than the best peer", "form", "ratio", "best peer", "roofline", "bound by"]]
    for ratio, result, own in losses(report):
        best, share = result.best_rival(own.entrant.form), result.share(own)
        assert best is not None
        part = "-" if share is None else f"{100 * share:.0f}%"
        rows.append(
            [
                str(result.cell), own.entrant.form, f"{ratio:.2f}", str(best.entrant), part,
                result.bound_by or "-",
            ]
        )  # fmt: skip
    return grid(rows, left=2) if len(rows) > 1 else ""


def _means(report: SpeedReport) -> str:
    lines = []
    for fp in dict.fromkeys(r.cell.fp for r in report.results):
        ratios = [
            ratio
            for result in report.results
            if result.cell.fp == fp
            for own in result.own
            if (ratio := result.ratio(own)) is not None
        ]
        if ratios:
            ahead = sum(ratio >= 1.0 for ratio in ratios)
            mean = exp(sum(map(log, ratios)) / len(ratios))
            lines.append(
                f"{fp}: {ahead} of {len(ratios)} at least as fast as the best peer,"
                f" geometric mean {mean:.2f}"
            )
    return "\n".join(lines)


def _failures(report: SpeedReport) -> str:
    return "\n".join(
        f"{result.cell}, {o.entrant}: {o.status.value}: {o.message}"
        for result in report.results
        for o in result.outcomes
        if o.status is not Status.OK
    )


def _notes(report: SpeedReport) -> str:
    lines = [
        "Times are medians of samples taken in turn; spread is the distance of the quartiles.",
        "ratio: the best peer's time over polyopt's. Explicit loops in strict mode are compared"
        " with peers that keep their order, everything else with all peers.",
        "roofline: the least seconds by arithmetic and by the bytes that must be moved, over"
        " polyopt's; each function call counts as one operation.",
    ]
    return "\n".join([*lines, *report.notes])
