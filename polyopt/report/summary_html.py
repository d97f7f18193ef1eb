"""The summary of a kernel as a small HTML table, for notebooks.

In: a `Summary`.  Out: HTML without scripts and without anything from elsewhere; every text of the
program's is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from polyopt.report.cost import show_time
from polyopt.report.summary import NestFacts, Summary
from polyopt.report.summary_text import TITLE, conditions, heading, reason_lines, share

_HEADS = ("lines", "time", "bound by", "parallel", "vectors", "tiles", "fused")
_CELL = 'style="text-align:left;padding:2px 8px;vertical-align:top"'


def summary_html(found: Summary) -> str:
    """Return the table, with the reasons below."""
    head = "".join(f'<th scope="col" {_CELL}>{escape(name)}</th>' for name in _HEADS)
    rows = "".join(_row(nest) for nest in found.nests)
    return "".join(
        (
            f"<div><p><strong>{escape(heading(found))}</strong><br>{escape(conditions(found))}</p>",
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>",
            *_hidden(found),
            *_reasons(found),
            "</div>",
        )
    )


def _row(nest: NestFacts) -> str:
    where = nest.where + (f" in {', '.join(nest.around)}" if nest.around else "")
    time = "" if nest.seconds is None else f"{show_time(nest.seconds)} ({share(nest.share)})"
    tiles = ", ".join(f"{name} {'/'.join(map(str, sizes))}" for name, sizes in nest.tiles)
    calls = ", ".join(dict.fromkeys(nest.calls))
    cells = (
        f"{where}: calls {calls}" if calls else where,
        time,
        "" if nest.seconds is None else nest.limit,
        ", ".join(nest.parallel) or "no",
        ", ".join(nest.vector) or "no",
        tiles or "no",
        nest.fused,
    )
    return f"<tr>{''.join(f'<td {_CELL}>{escape(cell)}</td>' for cell in cells)}</tr>"


def _hidden(found: Summary) -> Iterator[str]:
    hidden = found.count - len(found.nests)
    if hidden > 0:
        yield f"<p>{hidden} more nests: <code>explain(level=&quot;nest&quot;)</code></p>"


def _reasons(found: Summary) -> Iterator[str]:
    if not found.reasons:
        return
    yield f"<p>{escape(TITLE)}</p><ul>"
    for reason in found.reasons:
        text = "<br>".join(escape(line.strip()) for line in reason_lines(reason, found.seconds))
        yield f"<li>{text}</li>"
    yield "</ul>"
