"""A step of training on several ranks: gradients are all-reduced, or kept in parts."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest

import polyopt as po
from examples.gpt_ranks import DATA, ZERO, start, step
from polyopt.distribution.volume import volumes

CUTS = {"data": DATA, "zero": ZERO}
COLLECTIVES = {
    "data": {("all-reduce", "tmp_8"), ("all-reduce", "up_bar"), ("all-reduce", "down_bar")},
    "zero": {
        *(("all-gather", "up"), ("all-gather", "down"), ("all-reduce", "tmp_8")),
        *(("reduce-scatter", "up_bar"), ("reduce-scatter", "down_bar")),
    },
}


@cache
def kernel_of(name: str) -> Any:
    return po.kernel(step, mesh=po.mesh(4), shard=CUTS[name], fp="reassociate", threads=1)


@pytest.mark.parametrize("name", CUTS)
def test_the_collectives_of_a_step_follow_from_what_is_cut(name: str) -> None:
    found = {(v.form, v.array) for v in volumes(kernel_of(name).plan())}
    assert found == COLLECTIVES[name]


def test_the_suggestion_moves_no_more_and_keeps_less() -> None:
    best, other = po.suggest_shard(
        step, *start(64), mesh=po.mesh(4), shards=(DATA, ZERO), fp="reassociate", threads=1
    )
    assert best.shard == ZERO
    assert best.bytes == other.bytes
    assert best.memory < other.memory


@pytest.mark.toolchain
@pytest.mark.parametrize("name", CUTS)
def test_a_step_has_the_result_of_one_process(name: str) -> None:
    kernel, alone = kernel_of(name), po.kernel(step, fp="reassociate", threads=1)
    for batch in (1, 7):
        given = start(batch)
        wanted = copy.deepcopy(given)
        value = alone(*wanted)
        for ranks in (2, 3):
            for outcome in kernel.simulate(*given, ranks=ranks):
                np.testing.assert_allclose(outcome.result, value, rtol=1e-12)
                for mine, theirs in zip(outcome.arguments, wanted, strict=True):
                    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
