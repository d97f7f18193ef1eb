"""Outcomes as text.

In: a stage and its outcome.  Out: a table of the rows, columns in the order they first appear.
"""

from __future__ import annotations

from typing import Any

from bench.gpu.stages import Outcome, Stage
from bench.table import grid, three_digits

_HIDDEN = ("wrong",)


def show_outcome(stage: Stage, outcome: Outcome) -> str:
    """Return a heading, the rows, and what went wrong."""
    head = f"{stage.name}: {stage.title} ({outcome.seconds:.0f} s)"
    parts = [head]
    tables: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in outcome.rows:
        columns = tuple(name for name in row if name not in _HIDDEN)
        tables.setdefault(columns, []).append(row)
    for columns, rows in tables.items():
        cells = [[_cell(row[name]) for name in columns] for row in rows]
        texts = [all(isinstance(row[name], str) for row in rows) for name in columns]
        left = texts.index(False) if False in texts else len(texts)
        parts.append(grid([list(columns), *cells], left=max(1, left)))
    wrong = [row for row in outcome.rows if row.get("wrong")]
    parts += [f"WRONG: {next(iter(row.values()))}: {row['wrong']}" for row in wrong]
    if outcome.stopped:
        parts.append(f"WRONG: {outcome.stopped}")
    return "\n".join(parts)


def _cell(value: Any) -> str:  # noqa: ANN401 - JSON
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return three_digits(value) if 1e-3 <= abs(value) < 1e6 or value == 0 else f"{value:.1e}"
        case _:
            return str(value)
