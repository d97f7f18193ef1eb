"""Print a report as plain text.

In: `Report`.  Out: a table of times, a table of ratios, the failures and the notes.
"""

from __future__ import annotations

from bench.records import Kind, Measurement, Report, Status, WorkloadResult


def render(report: Report) -> str:
    """Return the whole report as text."""
    if not report.results:
        return "nothing was run"
    columns = _columns(report)
    parts = [_heading(report), grid(_times(report, columns)), grid(_ratios(report, columns))]
    parts += [text for text in (failures(report), _footnotes(report)) if text]
    return "\n\n".join(parts)


def _heading(report: Report) -> str:
    e, r = report.environment, report.request
    commit, _, state = e["commit"].partition(" ")
    return (
        f"{r.dataset}, fp {r.fp}, {e['date']}, commit {' '.join([commit[:12], state]).strip()}\n"
        f"{e['machine']['cpu']}, {e['machine']['cores']} cores; {e['compiler']}"
        f" {' '.join(e['flags'])}; NumPy {e['versions']['numpy']}"
    )


def _columns(report: Report) -> list[str]:
    """Return the implementations in the order in which they first appear."""
    found = [str(m.implementation) for r in report.results for m in r.measurements]
    head = [str(kind.value) for kind in (Kind.NUMPY, Kind.GCC) if kind.value in found]
    return head + sorted(set(found) - set(head))


def _by_column(result: WorkloadResult) -> dict[str, Measurement]:
    return {str(m.implementation): m for m in result.measurements}


def _times(report: Report, columns: list[str]) -> list[list[str]]:
    rows = [["milliseconds", *columns]]
    for result in report.results:
        found = _by_column(result)
        rows.append([result.name, *(_time_cell(found.get(c)) for c in columns)])
    return rows


def _time_cell(m: Measurement | None) -> str:
    if m is None:
        return "-"
    if m.status is not Status.OK:
        return str(m.status.value)
    if m.seconds is None:
        return "?"
    scaled = "*" if m.fraction < 1.0 else ""
    spread = "" if m.spread is None else f" {100 * m.spread:.0f}%"
    return f"{three_digits(1e3 * m.seconds)}{scaled}{spread}"


def three_digits(value: float) -> str:
    """Return a number with three digits or more."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.{1 if value >= 10 else 2 if value >= 1 else 3}f}"


def _ratios(report: Report, columns: list[str]) -> list[list[str]]:
    own = [column for column in columns if column not in (Kind.NUMPY.value, Kind.GCC.value)]
    rows = [["times as fast as gcc / numpy", *own]]
    for result in report.results:
        found = _by_column(result)
        rows.append([result.name, *(_ratio_cell(result, found.get(column)) for column in own)])
    return rows


def _ratio_cell(result: WorkloadResult, m: Measurement | None) -> str:
    if m is None or m.status is not Status.OK:
        return "-"
    ratios = (result.ratio(m, kind) for kind in (Kind.GCC, Kind.NUMPY))
    return " / ".join("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios)


def grid(rows: list[list[str]], left: int = 1) -> str:
    """Return rows of cells as lines; the `left` first columns are aligned to the left."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = []
    for row in rows:
        pairs = list(zip(row, widths, strict=True))
        cells = [cell.ljust(width) for cell, width in pairs[:left]]
        cells += [cell.rjust(width) for cell, width in pairs[left:]]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def failures(report: Report) -> str:
    """Return a line for every implementation that did not give a right result."""
    return "\n".join(
        f"{result.name}, {m.implementation}: {m.status.value}: {m.message}"
        for result in report.results
        for m in result.measurements
        if m.status is not Status.OK
    )


def _footnotes(report: Report) -> str:
    found = [m for result in report.results for m in result.measurements]
    lines = [
        "numpy is the NumPy form under NumPy, or the NumPy reference where there is no such form.",
        "Times are medians; the percentage is slowest minus fastest sample over the median.",
        "Every result was compared with a NumPy reference before timing, programs that are too"
        " slow for it at fewer steps or a smaller size and then with gcc's result at full size.",
    ]
    if any(m.fraction < 1.0 for m in found):
        lines.append("* measured over a part of the time steps and scaled to all of them.")
    exact = [m.bitwise for m in found if m.bitwise is not None]
    if exact:
        lines.append(
            f"{sum(exact)} of {len(exact)} compared variants in explicit loops are bitwise equal"
            " to C in source order without contraction."
        )
    return "\n".join([*lines, *report.notes])
