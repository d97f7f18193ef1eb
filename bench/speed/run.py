"""Run the suite `speed`: cells one after the other, within a budget.

In: `SpeedRequest`.  Out: `SpeedReport`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bench import function as functions
from bench.budget import Deadline
from bench.environment import describe
from bench.keep import NOWHERE, Outputs
from bench.loop import Loop
from bench.peers import registry
from bench.quiet import is_busy
from bench.run import BUSY_NOTE
from bench.speed.limits import measure_limits
from bench.speed.measure import measure
from bench.speed.records import Cell, CellResult, SpeedReport
from bench.speed.suite import SpeedRequest, cells
from bench.table import three_digits

MOST_SECONDS = 8.0  # of samples, for one cell


def run(
    request: SpeedRequest, say: Callable[[str], None] = lambda _: None, outputs: Outputs = NOWHERE
) -> SpeedReport:
    """Check and time every cell with all peers that are installed.

    A signal or the end of the budget ends the run early.  After each cell its row is said and the
    run so far is kept.
    """
    folder = request.function
    there = registry.peers_of(None if folder is None else functions.read(folder))
    asked = [peer for peer in there if peer in (request.peers or there)]
    versions = {peer: registry.version(peer) for peer in dict.fromkeys(("polyopt", *asked))}
    present = {peer: text for peer, text in versions.items() if text is not None}
    chosen = cells(request)
    deadline = Deadline.after(request.budget)
    limits = measure_limits(request.threads) if request.is_timed else None
    report = SpeedReport(
        describe(),
        {} if limits is None else {str(n): values for n, values in limits.found.items()},
        {peer: text for peer, text in present.items() if peer != "polyopt"},
        (),
        _absent(versions),
    )

    def one(cell: Cell, until: Deadline, busy: float) -> None:
        nonlocal report
        seconds = 0.0
        if request.is_timed:
            share = deadline.left() / (len(chosen) - len(report.results))
            seconds = min(MOST_SECONDS, share)
        result = measure(cell, tuple(present), seconds, limits, say, until, busy, folder)
        for line in rows(result):
            say(f"  {line}")
        report = replace(report, results=(*report.results, result))
        so_far = f"Unfinished: {len(report.results)} of {len(chosen)} cells so far."
        outputs.keep(replace(report, notes=(*report.notes, so_far)), say)

    patience = request.patience if request.is_timed else None
    left = None if request.budget is None else deadline.left()
    ended = Loop(chosen, "cells", one, say, left, patience).run()
    notes = (*report.notes, *_busy(report.results), *filter(None, [ended.note]))
    return replace(report, notes=notes, signal=ended.signal)


def rows(result: CellResult) -> list[str]:
    """Return a line for each form of a cell, as it is told when it was measured."""
    lines = []
    for own in result.own:
        best, ratio = result.best_rival(own.entrant.form), result.ratio(own)
        time = own.status.value if own.seconds is None else f"{three_digits(1e3 * own.seconds)} ms"
        against = ""
        if best is not None and best.seconds is not None:
            against = f"; {best.entrant} {three_digits(1e3 * best.seconds)} ms"
        lines.append(
            f"{own.entrant}: {time}{against}" + ("" if ratio is None else f", ratio {ratio:.2f}")
        )
    return lines


def _busy(results: Sequence[CellResult]) -> tuple[str, ...]:
    """Name the cells before which other programs kept cores busy."""
    found = [f"{r.cell} ({r.busy:.1f})" for r in results if is_busy(r.busy)]
    return (BUSY_NOTE.format(", ".join(found)),) if found else ()


def _absent(versions: dict[str, str | None]) -> tuple[str, ...]:
    missing = [peer for peer, text in versions.items() if text is None]
    if not missing:
        return ()
    return (
        f"Not installed: {', '.join(missing)}.  `polyopt bench --install NAME` adds a library.",
    )
