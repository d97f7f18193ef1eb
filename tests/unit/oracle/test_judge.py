"""The oracle itself: wrong orders, wrong marks and invented witnesses do not pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyopt.errors import IllegalSchedule
from polyopt.ir.expr import Iter, Param, add, integer
from polyopt.ir.interp import run_scop
from polyopt.ir.scop import Scop
from polyopt.schedule.schedule import source_schedule
from polyopt.transforms import Interchange, Parallelize, Vectorize
from tests.oracle import (
    PairKind,
    confirm_witness,
    hashed,
    judge,
    judge_tree,
    pairs_of,
    random_arrays,
)
from tests.properties.spec import Loop, Put, Spec, build_scop

N, i, j = Param("N"), Iter("i"), Iter("j")
PARAMS = {"N": 4, "M": 0}


def recurrence() -> Scop:
    """Return `for i: for j: A[i + 1, j] = f(A[i, j + 1])`: interchange is illegal."""
    write, read = (add(i, integer(1)), j), (i, add(j, integer(1)))
    inner = Loop("j", integer(0), N, 1, (Put("A", write, (("A", read),)),))
    return build_scop(Spec((("A", 2),), (Loop("i", integer(0), N, 1, (inner,)),)))


def total() -> Scop:
    """Return `for i: A[0] += B[i]`."""
    put = Put("A", (integer(0),), (("B", (i,)),), reduction=True)
    return build_scop(Spec((("A", 1), ("B", 1)), (Loop("i", integer(0), N, 1, (put,)),)))


def test_pairs_by_hand() -> None:
    found = {(p.kind, p.source[1], p.target[1], p.cell) for p in pairs_of(recurrence(), PARAMS)}
    assert (PairKind.FLOW, (0, 1), (1, 0), ("A", (1, 1))) in found
    assert all(kind is PairKind.FLOW for kind, *_ in found)
    assert len(found) == 9


def test_orders_are_judged() -> None:
    scop = recurrence()
    assert judge(scop, PARAMS, lambda _, point: point) == []
    assert len(judge(scop, PARAMS, lambda _, point: (point[1], point[0]))) == 9
    assert len(judge(scop, PARAMS, lambda _, point: (0,))) == 9


def test_reductions_may_be_reversed_but_not_run_together() -> None:
    scop = total()
    assert judge(scop, PARAMS, lambda _, point: (-point[0],)) == []
    assert judge(scop, PARAMS, lambda _, point: (0,)) != []
    tree = source_schedule(scop).tree
    assert judge_tree(scop, PARAMS, tree) == []
    assert judge_tree(scop, PARAMS, Parallelize("i").rewrite(tree, scop)) != []
    assert judge_tree(scop, PARAMS, Vectorize("i").rewrite(tree, scop)) == []


def test_trees_are_judged() -> None:
    scop = recurrence()
    tree = source_schedule(scop).tree
    assert judge_tree(scop, PARAMS, tree) == []
    assert judge_tree(scop, PARAMS, Interchange("i", "j").rewrite(tree, scop)) != []
    assert judge_tree(scop, PARAMS, Parallelize("i").rewrite(tree, scop)) != []
    assert judge_tree(scop, PARAMS, Parallelize("j").rewrite(tree, scop)) == []


def test_witnesses_are_confirmed_or_not() -> None:
    scop = recurrence()
    schedule = source_schedule(scop)
    step = Interchange("i", "j")
    with pytest.raises(IllegalSchedule) as refused:
        schedule.apply(step)
    broken = step.rewrite(schedule.tree, scop)
    witness = refused.value.witness
    confirm_witness(scop, witness, broken)
    name, point = witness.target
    for invented in (
        replace(witness, target=(name, (point[0], point[1] + 1))),
        replace(witness, source=witness.target, target=witness.source),
        replace(witness, kind="anti"),
        replace(witness, cell=(0, 0)),
        replace(witness, params=(("N", 0), ("M", 0))),
    ):
        with pytest.raises(AssertionError):
            confirm_witness(scop, invented, broken)
    with pytest.raises(AssertionError):
        confirm_witness(scop, witness, schedule.tree)


def test_hashes_show_every_change_of_order() -> None:
    scop = hashed(recurrence())
    before = random_arrays(scop.arrays, PARAMS, 1)
    right, wrong = before["A"].copy(), before["A"].copy()
    run_scop(scop, {"A": right}, PARAMS)
    run_scop(scop, {"A": wrong}, PARAMS, order=lambda _, point: (point[1], point[0]))
    assert not np.array_equal(right, wrong)
    free = hashed(total())
    given = random_arrays(free.arrays, PARAMS, 1)
    forth, back = given["A"].copy(), given["A"].copy()
    run_scop(free, {"A": forth, "B": given["B"]}, PARAMS)
    run_scop(free, {"A": back, "B": given["B"]}, PARAMS, order=lambda _, point: (-point[0],))
    assert np.array_equal(forth, back)
