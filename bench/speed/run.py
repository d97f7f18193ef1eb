"""Run the suite `speed`: cells one after the other, within a budget.

In: `SpeedRequest`.  Out: `SpeedReport`.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.environment import describe
from bench.peers import registry
from bench.run import state_notes
from bench.speed.limits import measure_limits
from bench.speed.measure import measure
from bench.speed.records import SpeedReport
from bench.speed.suite import SpeedRequest, cells

MOST_SECONDS = 8.0  # of timing, for one cell


def run(request: SpeedRequest, say: Callable[[str], None] = lambda _: None) -> SpeedReport:
    """Check and time every cell with all peers that are installed; an interrupt ends it early."""
    asked = request.peers or registry.PEERS
    versions = {peer: registry.version(peer) for peer in ("polyopt", *asked)}
    present = {peer: text for peer, text in versions.items() if text is not None}
    chosen = cells(request)
    is_timed = request.seconds > 0
    limits = measure_limits(request.threads) if is_timed else None
    environment = describe()
    each = min(MOST_SECONDS, request.seconds / max(len(chosen), 1))
    notes = (*_absent(versions), *(state_notes(environment) if is_timed else ()))
    results = []
    try:
        for cell in chosen:
            say(str(cell))
            results.append(measure(cell, tuple(present), each, limits, say))
    except KeyboardInterrupt:
        notes += (f"Interrupted: {len(results)} of {len(chosen)} cells were measured.",)
    return SpeedReport(
        environment,
        {} if limits is None else {str(n): values for n, values in limits.found.items()},
        {peer: text for peer, text in present.items() if peer != "polyopt"},
        tuple(results),
        notes,
    )


def _absent(versions: dict[str, str | None]) -> tuple[str, ...]:
    missing = [peer for peer, text in versions.items() if text is None]
    if not missing:
        return ()
    return (f"Not installed: {', '.join(missing)}; see `python -m bench.peers`.",)
