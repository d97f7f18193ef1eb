"""What the loops' text says of the order needs no pairs, and says nothing that is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.programs import Text, define, steps, unrolled
from polyopt.emit.lower import lower
from polyopt.frontend import build
from polyopt.ir.loops import Body, For, LoopFunction, LoopKind
from polyopt.ir.program import Program
from polyopt.proof import Verdict, certify, order, syntactic_order
from polyopt.schedule import source_schedule
from polyopt.specialize import Parameters, plain_values, types_of
from tests.race.planted import PLANTED, Planted, plant
from tests.unit.proof.edits import edited

SHIFTED = "        q[i, 3] = q[i, 3] + p[i, 1]\n"


def _made(text: Text, folder: Path) -> tuple[Program, LoopFunction]:
    function, arguments = define(text, folder)
    program = build(
        function, types_of(Parameters.of(function), plain_values(arguments), frozenset())
    )
    return program, lower((source_schedule(program.scop),), program)


def _with_kind(body: Body, name: str, kind: LoopKind) -> Body:
    return edited(
        body, lambda n: replace(n, kind=kind) if isinstance(n, For) and n.iter == name else n
    )


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_wrong_mark_is_refuted_despite_the_syntactic_order(
    planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syntactic_order, "FEW", 0)
    certificate = certify(*plant(planted))
    assert any(claim.verdict is Verdict.REFUTED for claim in certificate.faults)


def test_the_order_of_the_source_compares_no_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(order, "conflicts", lambda *rest: asked.append(rest))
    program, loops = _made(steps(20), tmp_path)
    assert certify(program, loops).is_proven
    assert not asked


def test_statements_that_change_places_are_compared(tmp_path: Path) -> None:
    program, loops = _made(steps(20), tmp_path)
    (time,) = (node for node in loops.body if isinstance(node, For))
    nests = list(time.body)
    for one, two, is_legal in ((0, 1, False), (3, 19, False), (18, 19, True)):
        moved = list(nests)
        moved[one], moved[two] = moved[two], moved[one]
        body = tuple(
            replace(time, body=tuple(moved)) if node is time else node for node in loops.body
        )
        certificate = certify(program, replace(loops, body=body))
        assert certificate.is_proven is is_legal, (one, two)


def test_iterations_that_share_no_element_run_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(order, "conflicts", lambda *rest: asked.append(rest))
    program, loops = _made(unrolled(20), tmp_path)
    for kind in (LoopKind.PARALLEL, LoopKind.VECTOR):
        marked = replace(loops, body=_with_kind(loops.body, "i", kind))
        assert certify(program, marked).is_proven
    assert not asked


@pytest.mark.parametrize(
    "shared", ["q[i - 1, 3]", "q[i, 3] * q[1, 0]", "q[p.shape[0] - 1 - i, 3]", "p[i, 1] * q[2, 5]"]
)
def test_iterations_that_share_one_element_do_not(shared: str, tmp_path: Path) -> None:
    known = unrolled(20)
    line = f"        q[i, 4] = {shared}\n"
    text = known.text.replace("in range(p", "in range(1, p") + line
    program, loops = _made(Text(text, known.arguments), tmp_path)
    assert certify(program, loops).is_proven
    marked = replace(loops, body=_with_kind(loops.body, "i", LoopKind.PARALLEL))
    certificate = certify(program, marked)
    assert any(claim.verdict is Verdict.REFUTED for claim in certificate.faults)


def test_a_loop_that_runs_backwards_is_compared(tmp_path: Path) -> None:
    program, loops = _made(Text(_RUNNING, "np.zeros(9), np.zeros(9)"), tmp_path)
    assert certify(program, loops).is_proven

    def swapped(node: object) -> object:
        if isinstance(node, For):
            return replace(node, body=tuple(reversed(node.body)))
        return node

    certificate = certify(program, replace(loops, body=edited(loops.body, swapped)))
    assert not certificate.is_proven


_RUNNING = """def f(a, b):
    for i in range(1, a.shape[0]):
        a[i] = b[i - 1] + 1.0
        b[i] = a[i] * 2.0
"""
