"""The summary of a kernel as at most 25 lines of text, and as plain data.

In: a `Summary`.  Out: lines; a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polyopt.dataclass import plain_record
from polyopt.report.cost import show_time
from polyopt.report.summary import WORTH, NestFacts, Reason, Summary

MOST = 25
"""Lines of a summary, whatever the program."""
WIDTH = 140

FULL = "--level full"
TITLE = "in order, or one element at a time; what costs most first:"


def summary_lines(found: Summary) -> tuple[str, ...]:
    """Return the summary as text."""
    head = [heading(found), "" if found.seconds is None else f"({conditions(found)})"]
    for nest in found.nests:
        head += [nest_line(nest), f"   {roles_line(nest)}"]
    hidden = found.count - len(found.nests)
    if hidden > 0:
        time = f", {show_time(found.rest)}" if found.seconds is not None else ""
        head.append(f"{hidden} more nests{time}: --level nest shows all")
    foot = ["", "more: --level nest, code, assembly, full; --why-not parallel:LOOP"]
    room = MOST - len(head) - len(foot) - 1
    reasons = list(_reasons(found, room))
    lines = [*head, *([TITLE, *reasons] if reasons else []), *foot]
    return tuple(line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in lines)


def heading(found: Summary) -> str:
    """Return the name, the predicted time and what it is predicted for."""
    place = f" ({found.place})" if found.place else ""
    nests = f"{found.count} nest{'' if found.count == 1 else 's'}"
    if found.seconds is None:
        return f"{found.name}{place}: {nests} for {found.target}; no time is predicted for devices"
    at = f" at {found.sizes}" if found.sizes else ""
    return f"{found.name}{place}: {nests}, {show_time(found.seconds)} predicted{at}"


def conditions(found: Summary) -> str:
    """Return what the predictions rest on."""
    speeds = "measured speeds" if found.is_measured else "speeds of a usual machine"
    guess = ", lengths that data decides guessed" if found.is_guess else ""
    return f"{found.cores} core{'' if found.cores == 1 else 's'}, {speeds}{guess}"


def nest_line(nest: NestFacts) -> str:
    """Return where a nest is, and its time."""
    inside = f" in {', '.join(nest.around)}" if nest.around else ""
    head = f"{nest.number}. {nest.where}{inside}"
    if nest.calls:
        called = f"{', '.join(dict.fromkeys(nest.calls))}, whose time is not predicted"
        return f"{head}: calls {called}" if nest.where else f"{nest.number}. calls {called}{inside}"
    if nest.seconds is None:
        return head
    return f"{head}: {show_time(nest.seconds)} ({share(nest.share)}), bound by {nest.limit}"


def share(part: float) -> str:
    """Return a share as a percentage."""
    return "<1%" if part < 0.005 else f"{part:.0%}"


def roles_line(nest: NestFacts) -> str:
    """Return what is parallel, in vectors, tiled and fused."""
    if nest.calls and not nest.where:
        return "the loops of a library"
    tiles = ", ".join(f"{name} {'/'.join(map(str, sizes))}" for name, sizes in nest.tiles)
    parts = [
        *([f"parallel: {', '.join(nest.parallel)}"] if nest.parallel else []),
        *([f"vectors: {', '.join(nest.vector)}"] if nest.vector else []),
        *nest.lacks,
        f"tiles: {tiles}" if tiles else "not tiled",
        *([f"fused: {nest.fused}"] if nest.fused else []),
    ]
    return "; ".join(parts)


def _reasons(found: Summary, room: int) -> Iterator[str]:
    """Yield the reasons that there is room for."""
    left = list(found.reasons)
    while left:
        lines = list(reason_lines(left[0], found.seconds))
        last = len(left) == 1
        if len(lines) + (0 if last else 1) > room:
            yield f"{len(left)} more reasons: {FULL}"
            return
        yield from lines
        room -= len(lines)
        del left[0]


def reason_lines(reason: Reason, total: float | None) -> Iterator[str]:
    """Yield a reason, what it costs, and what would lift it."""
    loss = ""
    if total is not None and reason.loss > total * WORTH:
        loss = f" [costs {show_time(reason.loss)}]"
    yield f"   {reason.what}: {reason.why}{loss}"
    if reason.lift:
        yield f"      {reason.lift}"


def summary_record(found: Summary) -> dict[str, Any]:
    """Return the summary as plain data."""
    return {
        "function": found.name,
        "place": found.place,
        "target": found.target,
        "sizes": found.sizes,
        "cores": found.cores,
        "predicted": found.seconds,
        "count": found.count,
        "nests": [
            {
                "where": nest.where,
                "around": list(nest.around),
                "predicted": nest.seconds,
                "share": nest.share,
                "limit": nest.limit,
                "parallel": list(nest.parallel),
                "vector": list(nest.vector),
                "tiles": {name: list(sizes) for name, sizes in nest.tiles},
                "fused": nest.fused,
                "lacks": list(nest.lacks),
                "calls": list(nest.calls),
            }
            for nest in found.nests
        ],
        "reasons": plain_record(found.reasons),
    }
