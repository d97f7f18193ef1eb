"""Dependences of random programs equal those found by enumeration, at several sizes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from random import Random
from typing import Any

import islpy as isl
import pytest

from polyopt.ir.interp import points
from polyopt.ir.scop import AccessKind, Scop
from polyopt.schedule import dependences
from polyopt.schedule.dependences import Dependences, _accesses, _unhidden, compute_dependences
from tests.oracle.judge import PairKind, last_writes, pairs_of
from tests.properties.random_specs import random_spec
from tests.properties.spec import build_scop

COUNT = int(os.environ.get("POLYOPT_RANDOM_COUNT", "40"))
SIZES = ({"N": 3, "M": 5}, {"N": 6, "M": 4})


def enumerated(relation: isl.UnionMap, params: Mapping[str, int]) -> set[Any]:
    """Return the pairs of instances of a union map."""
    found: set[Any] = set()
    pieces: list[isl.Map] = []
    relation.foreach_map(pieces.append)
    for piece in pieces:
        source = piece.get_tuple_name(isl.dim_type.in_)
        target = piece.get_tuple_name(isl.dim_type.out)
        cut = piece.dim(isl.dim_type.in_)
        for both in points(piece.wrap().flatten(), params):
            found.add(((source, both[:cut]), (target, both[cut:])))
    return found


def program(seed: int) -> tuple[Scop, Dependences, list[dict[str, int]]]:
    spec = random_spec(Random(seed))
    scop = build_scop(spec)
    return scop, compute_dependences(scop), [p for p in SIZES if min(p.values()) >= spec.least]


@pytest.mark.parametrize("seed", range(COUNT))
def test_memory_dependences(seed: int) -> None:
    scop, found, sizes = program(seed)
    for params in sizes:
        want = list(pairs_of(scop, params))
        for kind, relation in (
            (PairKind.FLOW, found.flow),
            (PairKind.ANTI, found.anti),
            (PairKind.OUTPUT, found.output),
        ):
            assert enumerated(relation, params) == {
                (p.source, p.target) for p in want if p.kind is kind
            }
        free = {(p.source, p.target) for p in want if p.free}
        kept = {(p.source, p.target) for p in want if not p.free}
        assert enumerated(found.ordering, params) == kept
        assert enumerated(found.all, params) == free | kept


@pytest.mark.parametrize("seed", range(COUNT))
def test_last_writers(seed: int) -> None:
    scop, found, sizes = program(seed)
    for params in sizes:
        assert enumerated(found.direct_flow, params) == last_writes(scop, params)


@pytest.mark.parametrize("faces", [0, dependences.MOST_FACES])
@pytest.mark.parametrize("seed", range(COUNT))
def test_scheduling_pairs_imply_every_ordering(
    seed: int, faces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all later writes after a read, or the next one only."""
    monkeypatch.setattr(dependences, "MOST_FACES", faces)
    scop, _, sizes = program(seed)
    found = compute_dependences(scop)
    for params in sizes:
        edges: dict[Any, set[Any]] = {}
        for source, target in enumerated(found.scheduling, params):
            edges.setdefault(source, set()).add(target)
        reached: dict[Any, set[Any]] = {}
        for source, target in enumerated(found.ordering, params):
            if source not in reached:
                reached[source] = reachable(edges, source)
            assert target in reached[source], (source, target, params)


def reachable(edges: Mapping[Any, set[Any]], start: Any) -> set[Any]:
    found: set[Any] = set()
    todo = [start]
    while todo:
        for target in edges.get(todo.pop(), ()):
            if target not in found:
                found.add(target)
                todo.append(target)
    return found


@pytest.mark.parametrize("seed", range(0, COUNT, 4))
def test_last_writers_without_flow_analysis(seed: int) -> None:
    scop, _, sizes = program(seed)
    kinds = (AccessKind.READ, AccessKind.MUST_WRITE, AccessKind.MAY_WRITE)
    reads, musts, mays = (_accesses(scop, (kind,)) for kind in kinds)
    for params in sizes:
        found = _unhidden(scop, reads, musts, mays)
        assert enumerated(found, params) == last_writes(scop, params)
