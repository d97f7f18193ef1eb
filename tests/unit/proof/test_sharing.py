"""Shared elements of iterations: copies of a body are checked together, then in pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyopt.emit.lower import lower
from polyopt.ir.loops import For, LoopKind
from polyopt.proof.accesses import Copies
from polyopt.proof.paths import Path
from polyopt.proof.reading import read as nest_of
from polyopt.proof.sharing import Use, find_shared
from polyopt.proof.source import source_part
from polyopt.schedule import source_schedule
from tests.oracle.program import as_program
from tests.reading import read

PLACES = {
    "copies beside each other": ("2 * i", "2 * i + 1", False),
    "copies far from each other": ("i", "i + N", False),  # no one interval an iteration
    "one before another": ("i", "i + 1", True),
    "the last before the first": ("i", "i + N - 1", True),
    "one for all": ("0", "i + 1", True),
}


@pytest.mark.parametrize("name", PLACES)
def test_iterations_that_share(name: str) -> None:
    first, second, is_shared = PLACES[name]
    text = f"""
        for i in range(N):
            y[{first}] = x[i]
            y[{second}] = x[i] * 2
        """
    scop = read(text, "x[N]; y[2 * N + 1]")
    (loop,) = lower(source_schedule(scop), as_program(scop)).body
    assert isinstance(loop, For)
    body = (replace(loop, kind=LoopKind.PARALLEL),)
    nest = nest_of(body, Path(scop.params, scop.context))
    part = source_part(scop, frozenset(run.statement for run in nest.runs()), lambda _: False)
    places = Copies(part, nest)
    uses = [Use(run, places.location(run, run.target), True, None) for run in nest.runs()]
    assert len(uses) == 2
    assert find_shared(nest, uses, frozenset()) == ((loop.iter, "y") if is_shared else None)
    assert find_shared(nest, uses, frozenset({"y"})) is None
