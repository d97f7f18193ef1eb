"""A comparison with other compilers and libraries as one HTML page.

In: a report of the suite `speed`, as JSON values.  Out: HTML without anything from elsewhere:
times, speed-ups, times over the sizes of a sweep, the machine's roofline with the programs in it.
Refuses: to write it without jinja2 (PO0524).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from math import ceil, floor, log10
from typing import Any

from polyopt.report.roofs import LEAST, MOST, Mark, Roof, Roofline, drawn_roofs
from polyopt.report.templates import template

OWN = "polyopt"
OURS, THEIRS = "#d95f02", "#1f77b4"
COLOURS = ("#1f77b4", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#666666", "#0f0f5f")
BAR, LABEL, WIDTH = 16, 330, 420  # height of a bar, room for names, length of the longest bar
PLOT = (460, 260)  # width and height of times over sizes
_LEVELS = ("L1", "L2", "L3", "DRAM")
_SWEPT = re.compile(r"^(?:\w+ )?((?:[^=\s]+=)+)(\d+)$")

Json = Mapping[str, Any]


def speed_page(report: Json) -> str:
    """Return the page; raises `ToolchainError` PO0524."""
    cells = report["cells"]
    names = list(dict.fromkeys(_name(o) for cell in cells for o in cell["outcomes"]))
    machine = report["machine"]
    text: str = template("speed.html.jinja").render(
        title="polyopt and its peers",
        date=report["date"],
        machine=f"{machine['cores']} cores of {machine['cpu']}, {machine.get('isa', 'native')}",
        compiler=report.get("compiler", ""),
        peers=[f"{peer}: {version}" for peer, version in report["peers"].items()],
        names=names,
        rows=[(_cell(cell), _times(cell, names)) for cell in cells],
        bars=_bars(cells),
        sweeps=[_plot(name, group) for name, group in _sweeps(cells).items()],
        rooflines=_rooflines(report),
        failures=[
            f"{_cell(cell)}, {_name(o)}: {o['status']}: {o['message']}"
            for cell in cells
            for o in cell["outcomes"]
            if o["status"] != "ok"
        ],
        notes=report["notes"],
        ours=OURS,
        theirs=THEIRS,
    )
    return text


def _cell(cell: Json) -> str:
    return " ".join(
        [cell["workload"], cell["dataset"], cell["dtype"], cell["fp"], f"x{cell['threads']}"]
    )


def _name(outcome: Json) -> str:
    """Return who computes; the only form of a user's function is not named."""
    form = "" if outcome["form"] == "python" else outcome["form"]
    return f"{outcome['peer']} {form}".strip()


def _short(cell: Json) -> str:
    """Return the program and the swept size, which are the same for no other mark of a picture."""
    swept = _SWEPT.match(cell["dataset"])
    return cell["workload"] if swept is None else f"{swept[1]}{swept[2]}"


def _times(cell: Json, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return, for each name, a time or why there is none, and what kind of cell it is."""
    found = {_name(outcome): outcome for outcome in cell["outcomes"]}
    fastest = min((o["seconds"] for o in cell["outcomes"] if o["seconds"]), default=None)
    row = []
    for name in names:
        outcome = found.get(name)
        if outcome is None:
            row.append(("", ""))
        elif outcome["seconds"] is None:
            row.append((outcome["status"], "none"))
        else:
            kind = "best" if outcome["seconds"] == fastest else ""
            row.append((_milliseconds(outcome["seconds"]) + _roofline(cell, outcome), kind))
    return row


def _roofline(cell: Json, outcome: Json) -> str:
    """Return which part of the machine's roofline is reached, ` (63%)`; "" if it is not known."""
    limit = cell["limit"]
    return "" if limit is None else f" ({100 * limit / outcome['seconds']:.0f}%)"


def _milliseconds(seconds: float) -> str:
    value = 1e3 * seconds
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _faster(cell: Json) -> Json | None:
    """Return polyopt's faster form, None where nothing was timed."""
    own = [o for o in cell["outcomes"] if o["peer"] == OWN and o["seconds"]]
    return min(own, key=lambda o: o["seconds"], default=None)


def _bars(cells: Sequence[Json]) -> dict[str, Any] | None:
    """Return speed-ups over the fastest peer as bars, on a logarithmic scale around 1."""
    found = [
        (_cell(cell), own["ratio"], own["best_rival"])
        for cell in cells
        if (own := _faster(cell)) is not None and own["ratio"]
    ]
    if not found:
        return None
    most = max(1.0, max(abs(log10(ratio)) for _, ratio, _ in found))
    scale = WIDTH / 2 / most
    middle = LABEL + WIDTH / 2
    bars = []
    for row, (name, ratio, rival) in enumerate(found):
        length = log10(ratio) * scale
        bars.append(
            {
                "name": name,
                "text": f"{ratio:.2f}",
                "title": f"{name}: {ratio:.2f} times as fast as {rival}",
                "x": round(min(middle, middle + length), 1),
                "width": round(max(1.0, abs(length)), 1),
                "y": row * BAR,
                "end": round(max(middle, middle + length) + 4, 1),
                "colour": OURS if ratio >= 1 else THEIRS,
            }
        )
    return {
        "bars": bars,
        "width": LABEL + WIDTH + 50,
        "height": BAR * len(bars),
        "label": LABEL - 8,
        "bar": BAR - 4,
        "middle": middle,
    }


def _sweeps(cells: Sequence[Json]) -> dict[str, list[tuple[int, Json]]]:
    """Return the cells of each sweep with the swept size."""
    found: dict[str, list[tuple[int, Json]]] = {}
    for cell in cells:
        swept = _SWEPT.match(cell["dataset"])
        if swept is not None:
            name = _cell({**cell, "dataset": swept[1].rstrip("=")})
            found.setdefault(name, []).append((int(swept[2]), cell))
    return {name: group for name, group in found.items() if len(group) > 1}


def _plot(name: str, group: Sequence[tuple[int, Json]]) -> dict[str, Any]:
    """Return times over sizes as lines, both axes logarithmic."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for size, cell in group:
        for outcome in cell["outcomes"]:
            if outcome["seconds"]:
                lines.setdefault(_name(outcome), []).append((size, outcome["seconds"]))
    sizes = sorted({size for size, _ in group})
    times = [seconds for line in lines.values() for _, seconds in line] or [1e-3]
    low, high = floor(log10(min(times))), ceil(log10(max(times)) + 1e-9)
    width, height = PLOT
    across = width / max(log10(sizes[-1] / sizes[0]), 1e-9)

    def place(size: int, seconds: float) -> tuple[float, float]:
        x = log10(size / sizes[0]) * across
        return round(x, 1), round(height * (1 - (log10(seconds) - low) / (high - low)), 1)

    colours = cycle(COLOURS)
    return {
        "name": name,
        "width": width,
        "height": height,
        "sizes": [(size, place(size, 10.0**low)[0]) for size in _few(sizes)],
        "decades": [
            (f"1e{d + 3:+d} ms", place(sizes[0], 10.0**d)[1]) for d in range(low, high + 1)
        ],
        "lines": [
            {
                "name": who,
                "colour": OURS if who.split()[0] == OWN else next(colours),
                "points": [
                    (*place(*point), f"{who}, {point[0]}: {point[1]:.3g} s") for point in line
                ],
                "dash": "5 3" if who.startswith(f"{OWN} numpy") else "none",
                "y": 14 * row,
            }
            for row, (who, line) in enumerate(lines.items())
        ],
    }


def _few(sizes: Sequence[int]) -> Sequence[int]:
    """Return at most nine of the sizes, for the axis."""
    step = ceil(len(sizes) / 9)
    return sizes[::step]


def _rooflines(report: Json) -> list[tuple[str, dict[str, Any]]]:
    """Return, for each count of threads and element type, limits as measured and programs."""
    found = []
    kinds = dict.fromkeys((cell["threads"], cell["dtype"]) for cell in report["cells"])
    for threads, dtype in kinds:
        limits = report["limits"].get(str(threads))
        here = [c for c in report["cells"] if (c["threads"], c["dtype"]) == (threads, dtype)]
        marks = tuple(mark for cell in here for mark in _marks(cell))
        if limits is None or not marks:
            continue
        peak = log10(limits.get(dtype, limits["float64"]))
        roofs = [Roof("compute", (LEAST, peak), (MOST, peak))]
        for level in _LEVELS:
            rate = log10(max(v for name, v in limits.items() if name.startswith(level)))
            corner = max(LEAST, min(peak - rate, MOST))
            roofs.append(Roof(level, (LEAST, LEAST + rate), (corner, corner + rate)))
        low = min(8.0, *(mark.place[1] for mark in marks)) - 0.5
        title = f"{dtype}, {threads} thread{'s' * (threads > 1)}"
        found.append((title, drawn_roofs(Roofline(tuple(roofs), marks, low, peak + 0.5))))
    return found


def _marks(cell: Json) -> list[Mark]:
    """Return polyopt's faster form and the fastest peer of a cell, at the operations per byte."""
    own = _faster(cell)
    if own is None or not cell["moved"] or not cell["flops"]:
        return []
    intensity = max(LEAST, min(MOST, log10(cell["flops"] / cell["moved"])))
    rivals = [o for o in cell["outcomes"] if _name(o) == own["best_rival"] and o["seconds"]]
    return [
        Mark(
            f"{_name(outcome)}: {_cell(cell)}",
            (intensity, log10(cell["flops"] / outcome["seconds"])),
            _short(cell) if outcome is own else "",
            OURS if outcome is own else THEIRS,
        )
        for outcome in (*rivals[:1], own)
    ]
