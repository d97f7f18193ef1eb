"""Which writes reads get their values from: found, or expected and checked."""

from __future__ import annotations

import islpy as isl
import pytest

from polyopt.ir.budget import Budget, query
from polyopt.proof.events import Effect, Event, flow_of

SPACE = isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0)


def _event(name: str, domain: str, element: str, time: str, effect: Effect) -> Event:
    def of(image: str) -> isl.Map:
        head = domain.partition(":")
        return isl.Map(f"[N] -> {{ {name}{head[0]} -> {image} : {head[2]} }}")

    return Event(of(f"a[{element}]"), of(f"[{time}]"), effect)


def _rows() -> list[Event]:
    """Four sweeps over a row, a read after them, a write after that."""
    return [
        _event("init", "[j]: 0 <= j < N", "j", "0, 0, 0", Effect.WRITE),
        _event("W", "[i, j]: 0 <= i < 4 and 0 <= j < N", "j", "1, i, j", Effect.WRITE),
        _event("R", "[j]: 0 <= j < N", "j", "2, 0, j", Effect.READ),
        _event("L", "[j]: 0 <= j < N", "j", "3, 0, j", Effect.WRITE),
    ]


@pytest.mark.parametrize(
    "expected",
    [
        "R[j] -> W[3, j] : 0 <= j < N",
        "R[j] -> W[2, j] : 0 <= j < N",
        "R[j] -> W[3, j] : 0 < j < N",
        "R[j] -> W[3, j - 1] : 0 <= j < N",
        "R[j] -> W[i, j] : 0 <= j < N and 0 <= i < 4",
        "R[j] -> L[j] : 0 <= j < N",
        "R[j] -> init[j] : 0 <= j < N",
    ],
)
def test_a_flow_is_not_taken_on_trust(expected: str) -> None:
    found = flow_of(SPACE, _rows(), isl.UnionMap(f"[N] -> {{ {expected} }}"))
    wanted = isl.UnionMap("[N] -> { R[j] -> W[3, j] : 0 <= j < N }")
    assert found.entries.is_equal(wanted)


def test_a_write_between_is_seen() -> None:
    between = _event("B", "[]: N > 5", "5", "1, 9, 0", Effect.WRITE)
    expected = isl.UnionMap("[N] -> { R[j] -> W[3, j] : 0 <= j < N }")
    found = flow_of(SPACE, [*_rows(), between], expected)
    assert not found.entries.is_equal(expected)
    assert found.entries.is_equal(flow_of(SPACE, [*_rows(), between]).entries)


def test_a_flow_through_skewed_tiles_is_checked_quickly() -> None:
    """Every other sweep over a row, in skewed tiles: to find the last ones takes a minute."""
    tiled = (
        "[t, x, i, j]: i mod 2 = 0 and 0 <= i < N and 0 <= j <= N - 2"
        " and 32t - 32x <= i <= 31 + 32t - 32x and 512x - i <= j <= 511 + 512x - i"
    )
    events = [
        _event("init", "[j]: 0 <= j < N", "j", "0, 0, 0, 0, 0", Effect.WRITE),
        _event("W", tiled, "j", "1, t, x, i, j", Effect.WRITE),
        _event("R", "[j]: 0 <= j < N", "j", "2, 0, 0, 0, j", Effect.READ),
    ]
    last = isl.Map("[N] -> { R[j] -> S[i, j] : N - 2 <= i < N and i mod 2 = 0 and 0 <= j < N - 1 }")
    whole = events[1].access.domain()
    sweep = isl.Map("{ S[i, j] -> W[t, x, i, j] }").intersect_range(whole)
    rest = isl.Map("[N] -> { R[j] -> init[j] : j = N - 1 and j >= 0 }")
    expected = isl.UnionMap.from_map(last.apply_range(sweep)).union(isl.UnionMap.from_map(rest))
    with Budget(60.0).running(), query("a flow", 200_000):
        found = flow_of(SPACE, events, expected)
    assert found.entries.is_equal(expected)
