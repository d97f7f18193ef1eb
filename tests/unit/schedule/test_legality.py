"""The judge: each fault, what each kind of dependence is there for, facts about loops."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import pytest

from polyopt.ir.loops import LoopKind
from polyopt.schedule import DependenceKind, Dependences, compute_dependences, source_schedule
from polyopt.schedule.legality import Fault, carried_pairs, check_legal, mark_facts, unaffected
from polyopt.schedule.source import source_tree
from polyopt.schedule.tree import Band, BandMember, Filter, Leaf, Sequence, bands, find_band
from polyopt.transforms import Distribute, Fuse, Interchange, Parallelize, Skew, Tile, Vectorize
from tests import scops
from tests.checks import assert_same, sizes_of
from tests.oracle import judge_tree
from tests.reading import read


def verdict(scop, tree):
    return check_legal(scop, compute_dependences(scop), tree)


def member(text, name="i", kind=LoopKind.SEQUENTIAL):
    function = isl.UnionPwAff(text)
    return BandMember(function, name, kind=kind)


@pytest.mark.parametrize(
    "make",
    [
        scops.gemm,
        scops.ordered_gemm,
        scops.jacobi,
        scops.seidel,
        scops.solve,
        scops.backward,
        scops.nowhere,
        scops.dot,
        scops.scatter,
    ],
)
def test_the_source_s_order_is_legal(make):
    scop = make()
    assert verdict(scop, source_tree(scop)) is None


def test_reversed_by_a_loop():
    scop = scops.prefix()
    backwards = Band("L0", (member("[N] -> { S0[i] -> [(-i)] }"),), Leaf())
    found = verdict(scop, backwards)
    assert found is not None
    assert (found.fault, found.loop) == (Fault.REVERSED, "i")
    assert_same(found.pairs, "[N] -> { S0[i] -> S0[i + 1] : 1 <= i < N - 1 }")


def test_what_changed_is_judged_again():
    """What a tree shares with a legal one is not legal for other pairs, if these are told of."""
    scop = read(
        "for i in range(1, N):\n    A[i] = 1.0\nfor j in range(1, N):\n    B[j] = A[j]",
        "A[N]; B[N]",
    )
    tree = source_tree(scop)
    assert isinstance(tree, Sequence)
    kept = unaffected(tree, {scop.statements[0].name})
    assert isinstance(kept, Sequence)
    assert kept.parts == tree.parts[1:]
    pair = next(d for d in compute_dependences(scop).memory if d.array == "A")
    turned = replace(pair, source=pair.target, target=pair.source, relation=pair.relation.reverse())
    found = Dependences(scop, (turned,))
    assert check_legal(scop, found, tree, tree) is None  # nothing was told
    assert check_legal(scop, found, tree, kept) is not None


def test_reversed_by_a_sequence():
    scop = scops.chain()
    tree = source_tree(scop)
    assert isinstance(tree, Sequence)
    found = verdict(scop, Sequence(tree.parts[::-1]))
    assert found is not None
    assert (found.fault, found.loop) == (Fault.REVERSED, "")
    assert_same(
        found.pairs,
        "[N] -> { S0[i] -> S1[i] : 1 <= i < N; S0[i] -> S1[i + 1] : 0 <= i < N - 1 }",
    )


def test_unordered():
    scop = scops.prefix()
    halves = Band("L0", (member("[N] -> { S0[i] -> [(floor(i/2))] }"),), Leaf())
    found = verdict(scop, halves)
    assert found is not None
    assert found.fault is Fault.UNORDERED
    assert_same(found.pairs, "[N] -> { S0[i] -> S0[i + 1] : 1 <= i < N - 1 and i mod 2 = 0 }")
    assert judge_tree(scop, {"N": 5}, halves)
    nothing = verdict(scop, Leaf())
    assert nothing is not None
    assert nothing.fault is Fault.UNORDERED


def test_open_reductions_need_an_order_too():
    """Their order is free, but two updates of one cell may not meet."""
    found = verdict(scops.gemm(), Leaf())
    assert found is not None
    assert found.fault is Fault.UNORDERED
    reverse = Band("L0", (member("[N, M, K] -> { S0[i, j, k] -> [(-k)] }", "k"),), Leaf())
    assert verdict(scops.gemm(), reverse) is None
    assert verdict(scops.ordered_gemm(), source_tree(scops.ordered_gemm())) is None


def test_concurrent():
    scop = scops.prefix()
    tree = Band("L0", (member("[N] -> { S0[i] -> [(i)] }", kind=LoopKind.PARALLEL),), Leaf())
    found = verdict(scop, tree)
    assert found is not None
    assert (found.fault, found.loop) == (Fault.CONCURRENT, "i")


def test_lost_instances():
    scop = scops.prefix()
    band = Band("L0", (member("[N] -> { S0[i] -> [(i)] }"),), Leaf())
    half = Filter(isl.UnionSet("[N] -> { S0[i] : i < 3 }"), band)
    found = verdict(scop, Sequence((half,)))
    assert found is not None
    assert found.fault is Fault.LOST
    assert_same(found.pairs, "[N] -> { S0[i] -> S0[i] : 3 <= i < N }")


def test_instances_that_run_twice():
    scop = scops.prefix()
    band = Band("L0", (member("[N] -> { S0[i] -> [(i)] }"),), Leaf())
    parts = (
        Filter(isl.UnionSet("[N] -> { S0[i] : i < 3 }"), band),
        Filter(isl.UnionSet("[N] -> { S0[i] : i >= 2 }"), band),
    )
    found = verdict(scop, Sequence(parts))
    assert found is not None
    assert found.fault is Fault.LOST
    assert_same(found.pairs, "[N] -> { S0[2] -> S0[2] : N >= 3 }")


def test_lost_below_a_loop():
    scop = scops.ordered_gemm()
    tree = source_tree(scop)
    band = next(bands(tree))
    assert isinstance(band.child, Sequence)
    found = verdict(scop, replace(band, child=Sequence(band.child.parts[:1])))
    assert found is not None
    assert found.fault is Fault.LOST


def without(dependences: Dependences, kind: DependenceKind) -> Dependences:
    return replace(dependences, given=tuple(d for d in dependences.memory if d.kind is not kind))


NEEDED = {
    DependenceKind.FLOW: (
        "for i in range(1, N):\n    A[i] = A[i - 1]",
        "A[N]",
        Parallelize("i"),
    ),
    DependenceKind.ANTI: (
        "for i in range(N - 1):\n    A[i] = A[i + 1]",
        "A[N]",
        Vectorize("i"),
    ),
    DependenceKind.OUTPUT: (
        "for i in range(N):\n    A[0] = B[i]",
        "A[1]; B[N]",
        Parallelize("i"),
    ),
}


@pytest.mark.parametrize("kind", list(DependenceKind))
def test_each_kind_of_dependence_matters(kind):
    """Without the dependences of one kind the judge would accept what enumeration refutes."""
    text, arrays, step = NEEDED[kind]
    scop = read(text, arrays)
    found = compute_dependences(scop)
    tree = step.rewrite(source_tree(scop), scop)
    assert check_legal(scop, found, tree) is not None
    assert check_legal(scop, without(found, kind), tree) is None
    assert judge_tree(scop, {"N": 4}, tree)


@pytest.mark.parametrize("kind", [DependenceKind.FLOW, DependenceKind.ANTI, DependenceKind.OUTPUT])
def test_each_kind_matters_to_reordering(kind):
    """The same for steps that change the order of two nests."""
    first, second = {
        DependenceKind.FLOW: ("B[i] = A[i]", "C[i] = B[i + 1]"),
        DependenceKind.ANTI: ("C[i] = B[i + 1]", "B[i] = A[i]"),
        DependenceKind.OUTPUT: ("B[i + 1] = C[i]", "B[i] = A[i]"),
    }[kind]
    if kind is DependenceKind.ANTI:
        first, second = "C[i] = B[i]", "B[i + 1] = A[i]"
    if kind is DependenceKind.OUTPUT:
        first, second = "B[i] = C[i]", "B[i + 1] = A[i]"
    scop = read(
        f"for i in range(N):\n    {first}\nfor i in range(N):\n    {second}",
        "A[N]; B[N + 1]; C[N]",
    )
    found = compute_dependences(scop)
    tree = Fuse("L0", "L1").rewrite(source_tree(scop), scop)
    legal = check_legal(scop, found, tree)
    broken = judge_tree(scop, {"N": 4}, tree)
    assert (legal is None) == (not broken)
    assert broken
    assert check_legal(scop, without(found, kind), tree) is None


STEPS = [
    (scops.seidel, Interchange("i", "j")),
    (scops.seidel, Skew("i", "j", -1)),
    (scops.diagonal, Interchange("i", "j")),
    (scops.diagonal, Tile("L0", (2, 2))),
    (scops.diagonal, Parallelize("j")),
    (scops.ahead, Fuse("L0", "L1")),
    (scops.chain, Fuse("L0", "L1")),
    (scops.jacobi, Distribute("L0")),
    (scops.jacobi, Fuse("L1", "L2")),
    (scops.jacobi, Parallelize("L2[1]")),
    (scops.solve, Parallelize("j")),
    (scops.solve, Distribute("L0")),
    (scops.gemm, Vectorize("k")),
    (scops.gemm, Parallelize("k")),
    (scops.backward, Parallelize("j")),
    (scops.backward, Interchange("i", "j")),
]


@pytest.mark.parametrize(("make", "step"), STEPS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_verdicts_agree_with_enumeration(make, step):
    scop = make()
    tree = step.rewrite(source_tree(scop), scop)
    broken = [pair for size in sizes_of(scop) for pair in judge_tree(scop, size, tree)]
    assert (verdict(scop, tree) is None) == (not broken)


def test_carried_pairs():
    scop = scops.seidel()
    found = compute_dependences(scop)
    tree = source_tree(scop)
    assert_same(
        carried_pairs(found, tree, "L0", 0),
        "[N] -> { S0[i, j] -> S0[i + 1, j] : 1 <= i < N - 1 and 1 <= j < N }",
    )
    assert_same(
        carried_pairs(found, tree, "L0", 1),
        "[N] -> { S0[i, j] -> S0[i, j + 1] : 1 <= i < N and 1 <= j < N - 1 }",
    )
    assert carried_pairs(found, tree, "L9", 0).is_empty()


def test_carried_pairs_below_a_sequence():
    scop = scops.jacobi()
    found = compute_dependences(scop)
    tree = source_tree(scop)
    assert not carried_pairs(found, tree, "L0", 0).is_empty()
    for label in ("L1", "L2"):
        for position in (0, 1):
            assert carried_pairs(found, tree, label, position).is_empty()


def facts(scop):
    tree = mark_facts(compute_dependences(scop), source_tree(scop))
    return {
        band.label: ([m.coincident for m in band.members], band.permutable) for band in bands(tree)
    }


def test_facts():
    assert facts(scops.gemm()) == {"L0": ([True, True, False], True)}
    assert facts(scops.seidel()) == {"L0": ([False, False], True)}
    assert facts(scops.diagonal()) == {"L0": ([False, True], False)}
    assert facts(scops.backward()) == {"L0": ([False, True], True)}
    assert facts(scops.transposed()) == {"L0": ([True, True], True)}
    assert facts(scops.ordered_gemm()) == {"L0": ([True, True], True), "L1": ([False], True)}
    assert facts(scops.jacobi()) == {
        "L0": ([False], True),
        "L1": ([True, True], True),
        "L2": ([True, True], True),
    }
    assert facts(scops.scatter()) == {"L0": ([False], True)}


def test_facts_follow_a_change():
    schedule = source_schedule(scops.diagonal()).apply(Skew("j", "i"))
    band = find_band(schedule.tree, "L0")
    assert band.permutable
    assert [m.coincident for m in band.members] == [False, True]


def test_coincident_marks_may_be_made_parallel():
    """The fact and the judge agree, loop by loop."""
    for make in (scops.gemm, scops.seidel, scops.diagonal, scops.jacobi, scops.solve, scops.planes):
        schedule = source_schedule(make())
        for band in bands(schedule.tree):
            for position, loop in enumerate(band.members):
                step = Parallelize(f"{band.label}[{position}]")
                assert (schedule.attempt(step) is not None) == loop.coincident
