"""Proven plans in the cache, for the same program, request and version of polyopt.

In: a plan that is proven.  Out: its transfers and windows as JSON; the plan that they make up.
A plan that is found is not judged again: the store verifies that it is what was written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import islpy as isl

from polyopt.distribution.exchange import Combination, Exchange, Exchanges, Transfer
from polyopt.distribution.execution import Plan
from polyopt.distribution.forms import Form
from polyopt.distribution.local import Storage, Window
from polyopt.distribution.mesh import Sign
from polyopt.distribution.ownership import Cut
from polyopt.distribution.scans import Scanned
from polyopt.ir.expr import BinaryOp
from polyopt.runtime.fingerprint import versions
from polyopt.runtime.store import Entry, open_store

KIND = "plans"
_FILE = "plan.json"


def key_of(exchanges: Exchanges) -> str:
    """Return what a plan depends on: who owns and runs what, and in which phases."""
    phases = exchanges.phases
    own, placement = exchanges.own, phases.placement
    facts = [versions(), own.scop, own.blocks, sorted(own.cuts.items()), own.mesh_axes, own.checks]
    domains = {name: str(one) for name, one in placement.domains.items()}
    return json.dumps([*map(repr, facts), repr(placement.rules), repr(phases.steps), domains])


def load_plan(exchanges: Exchanges, key: str) -> Plan | None:
    """Return the plan that was proven before, or None."""

    def decode(entry: Entry) -> Plan:
        try:
            return _plan(exchanges, entry.json(_FILE))
        except isl.Error as error:
            raise ValueError(str(error)) from None

    return open_store().load(KIND, key, decode)


def keep_plan(plan: Plan, key: str) -> None:
    """Write a proven plan to the cache."""
    storage = plan.storage
    facts = {
        "exchanges": [
            [
                [_written(transfer) for transfer in exchange.transfers],
                [_combined(one) for one in exchange.combinations],
            ]
            for exchange in plan.listed
        ],
        "windows": {
            name: [[w.before, w.after, w.whole] for w in windows]
            for name, windows in storage.windows.items()
        },
        "shared": sorted(storage.shared),
    }
    open_store().write(KIND, key, {_FILE: json.dumps(facts).encode()})


def _sets(sets: Mapping[Sign, isl.Set]) -> list[object]:
    return [[list(sign), str(one)] for sign, one in sets.items()]


def _written(transfer: Transfer) -> list[object]:
    one = transfer
    sets = (_sets(one.received), _sets(one.sent))
    return [one.array, *sets, one.form.name, one.late, [list(pair) for pair in one.halo]]


def _combined(one: Combination) -> list[object]:
    scan = None
    if one.scan is not None:
        s = one.scan
        scan = [s.axis, str(s.written), str(s.mine), _sets(s.begun)]
    return [one.array, one.op.name, one.form.name, scan]


def _plan(exchanges: Exchanges, facts: object) -> Plan:
    assert isinstance(facts, dict)
    listed = [
        Exchange(phase, tuple(map(_transfer, transfers)), tuple(map(_combination, combined)))
        for phase, (transfers, combined) in zip(
            exchanges.phases.phases, facts["exchanges"], strict=True
        )
    ]
    own = exchanges.own
    windows = {
        name: tuple(map(_window, own.cuts[name], found)) for name, found in facts["windows"].items()
    }
    return Plan(exchanges, Storage(windows, frozenset(facts["shared"])), tuple(listed))


def _set(text: str) -> isl.Set:
    return isl.Set.read_from_str(isl.DEFAULT_CONTEXT, text)


def _read_sets(found: list[tuple[list[int], str]]) -> dict[Sign, isl.Set]:
    return {tuple(sign): _set(text) for sign, text in found}


def _transfer(parts: list[Any]) -> Transfer:
    array, received, sent, form, late, halo = parts
    pairs = tuple((before, after) for before, after in halo)
    return Transfer(array, _read_sets(received), _read_sets(sent), Form[form], bool(late), pairs)


def _combination(parts: list[Any]) -> Combination:
    array, op, form, scan = parts
    found = None
    if scan is not None:
        axis, written, mine, begun = scan
        found = Scanned(axis, _set(written), _set(mine), _read_sets(begun))
    return Combination(array, BinaryOp[op], Form[form], found)


def _window(cut: Cut, found: list[int]) -> Window:
    before, after, whole = found
    return Window(cut, before, after, bool(whole))
