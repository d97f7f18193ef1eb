"""Dependences of many statements: found where they are asked for, with the same verdicts."""

from __future__ import annotations

from itertools import islice, permutations, product
from pathlib import Path

import pytest

from bench.programs import KINDS, define
from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.frontend import build
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule import remaining_dependences, source_schedule
from polyopt.schedule.dependences import Dependences
from polyopt.schedule.legality import check_legal, mark_facts
from polyopt.schedule.tree import Sequence, Tree, bands, show_tree
from polyopt.specialize import Parameters, plain_values, types_of
from polyopt.strategy.large_programs import schedule_nests, size_in_words
from polyopt.transforms import Distribute, Fuse, Interchange, Parallelize, Reverse, Tile, Vectorize
from tests import scops

MAKES = (
    scops.gemm, scops.jacobi, scops.seidel, scops.diagonal, scops.dot, scops.solve,
    scops.transposed, scops.prefix, scops.chain, scops.ahead, scops.planes, scops.scatter,
)  # fmt: skip


def scop_of(kind: str, number: int, folder: Path) -> Scop:
    """Return the program of that many statements."""
    function, arguments = define(KINDS[kind](number), folder)
    types = types_of(Parameters.of(function), plain_values(arguments), frozenset())
    return build(function, types).scop


def _trees(scop: Scop) -> list[Tree]:
    """Return trees one step from the source's order, legal or not."""
    tree = source_schedule(scop).tree
    labels = [band.label for band in bands(tree)]
    loops = [f"{band.label}[{n}]" for band in bands(tree) for n in range(len(band.members))]
    steps = [
        *(kind(loop) for kind in (Parallelize, Vectorize, Reverse) for loop in loops),
        *(Interchange(one, two) for one, two in product(loops, loops) if one != two),
        *(Fuse(one, two) for one, two in product(labels, labels) if one != two),
        *(Distribute(label, 1) for label in labels),
        *(Tile(label, (4,)) for label in labels),
    ]
    found = [tree]
    for step in steps:
        try:
            found.append(step.rewrite(tree, scop))
        except ScheduleError:
            continue
    return found


@pytest.mark.parametrize("make", MAKES)
def test_verdicts_do_not_depend_on_how_many_pairs_are_kept(make, monkeypatch):
    scop = source_schedule(make()).scop
    trees = _trees(scop)
    found: list[list[object]] = []
    for few in (24, 0):
        monkeypatch.setattr(remaining_dependences, "FEW", few)
        known = Dependences(scop)
        verdicts: list[object] = []
        for tree in trees:
            wrong = check_legal(scop, known, tree)
            verdicts.append(None if wrong is None else (wrong.fault, wrong.loop))
            if wrong is None:
                verdicts.append(show_tree(mark_facts(known, tree), scop))
        found.append(verdicts)
    assert found[0] == found[1]
    assert len(found[0]) > 2


@pytest.mark.parametrize("kind", ["fields", "steps", "unrolled", "updates"])
def test_pairs_that_are_looked_at_grow_with_the_statements(kind, tmp_path, monkeypatch):
    """What is asked of isl is counted: pairs of statements whose dependences are found."""
    asked: list[tuple[str, str]] = []
    between = Dependences.between

    def counted(self, source, target):
        asked.append((source, target))
        return between(self, source, target)

    monkeypatch.setattr(Dependences, "between", counted)
    counts = []
    for number in (40, 80, 160):
        asked.clear()
        schedule = schedule_nests(source_schedule(scop_of(kind, number, tmp_path)))
        assert schedule.scop.statements
        counts.append(len(set(asked)))
    assert counts[1] <= 2.2 * counts[0]
    assert counts[2] <= 2.2 * counts[1]


def test_nests_of_a_large_program_run_in_parallel(tmp_path):
    schedule = source_schedule(scop_of("steps", 120, tmp_path))
    assert size_in_words(schedule) is not None
    found = schedule_nests(schedule)
    nests = [band for band in bands(found.tree) if band.label != "L0"]
    free = [band for band in nests if any(member.coincident for member in band.members)]
    assert len(nests) == 120
    assert len(free) > 60
    for band in free:
        assert any(member.kind is LoopKind.PARALLEL for member in band.members), band.label


def test_a_small_program_has_all_choices(tmp_path):
    assert size_in_words(source_schedule(scop_of("steps", 20, tmp_path))) is None


def test_a_refusal_lists_the_dependences_of_its_statements_alone(tmp_path):
    """Witness and repair of a fusion are found among the pairs that the fused nests have."""
    schedule = source_schedule(scop_of("updates", 20, tmp_path))
    with pytest.raises(IllegalSchedule) as refused:
        schedule.apply(Fuse("L1", "L2"))
    assert refused.value.witness is not None
    assert refused.value.repair is not None
    assert "memory" not in vars(schedule.dependences)


@pytest.mark.parametrize("few", [24, 0])
@pytest.mark.parametrize("kind", ["chain", "updates", "fields"])
def test_verdicts_on_new_orders_do_not_depend_on_what_is_proven(kind, few, tmp_path, monkeypatch):
    monkeypatch.setattr(remaining_dependences, "FEW", few)
    scop = scop_of(kind, 5, tmp_path)
    start = source_schedule(scop).tree
    assert isinstance(start, Sequence)
    verdicts = []
    for parts in islice(permutations(start.parts), 60):
        tree, known = Sequence(parts), Dependences(scop)
        found = [check_legal(scop, known, tree, proven) for proven in (None, start)]
        assert [wrong and wrong.fault for wrong in found] == [found[0] and found[0].fault] * 2
        verdicts.append(found[0] is None)
    assert any(verdicts)
    assert not all(verdicts)


def test_pairs_of_some_statements_are_those_of_all_that_access_them(tmp_path):
    scop = scop_of("fields", 9, tmp_path)
    known = Dependences(scop)
    names = [statement.name for statement in scop.statements]
    every = list(known.pairs(names))
    for of in (frozenset(names[:1]), frozenset(names[3:5]), frozenset(names), frozenset[str]()):
        assert list(known.pairs(names, of)) == [pair for pair in every if not of.isdisjoint(pair)]
