"""What is printed are the very nodes that were certified.

In: every workload, in each language.  Recorded are the functions that `certify` and the printers
get, and each node on its way to text: inside loops whose statements C spells on vectors, through a
row that it copies past the caches, or with rows of random words, and nowhere else, there may be
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt import pipeline, proving
from polyopt.building import compile_stages
from polyopt.dataclass import replace
from polyopt.emit import random_rows, vector_loops, vector_sums
from polyopt.emit.cbody import BodyEmitter
from polyopt.emit.gpu.body import KernelEmitter
from polyopt.emit.passes.rewriting import bottom_up
from polyopt.ir.loops import Assign, Body, Comment, LoopFunction, Node
from polyopt.ir.nodes import all_nodes
from polyopt.ir.target import TARGETS
from polyopt.machine import Machine
from polyopt.targets import Options
from tests.hostile.stages import Settled
from workloads import registry
from workloads.workload import Workload

# ruff: noqa: F821, UP037 - sizes are named by strings

LANGUAGES = list(TARGETS)
MACHINE = Machine(cores=4, vector_bytes=32, vector_registers=16, fma=True)


class Watch:
    """Functions that were certified and printed, nodes that became text as they are."""

    def __init__(self) -> None:
        self.certified: list[LoopFunction] = []
        self.printed: list[LoopFunction] = []
        self.nodes: list[Node] = []
        self.spelled = 0  # loops with vectors or copied rows that are being printed

    def faults(self) -> Iterator[str]:
        """Yield what was printed without having been certified."""
        if not self.printed or self.printed[-1] is not self.certified[-1]:
            yield "another function"
        known = {id(node) for function in self.certified for node in all_nodes(function.body)}
        yield from (type(node).__name__ for node in self.nodes if id(node) not in known)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    found = Watch()

    def noting(owner: Any, name: str, note: Callable[..., None]) -> None:
        plain = getattr(owner, name)

        def noted(*given: Any, **named: Any) -> Any:
            note(*given)
            return plain(*given, **named)

        monkeypatch.setattr(owner, name, noted)

    def spelling(owner: Any, name: str) -> None:
        plain = getattr(owner, name)

        def inside(*given: Any, **named: Any) -> Any:
            found.spelled += 1
            try:
                return plain(*given, **named)
            finally:
                found.spelled -= 1

        monkeypatch.setattr(owner, name, inside)

    def note_node(_emitter: object, node: Node) -> None:
        if not found.spelled:
            found.nodes.append(node)

    def note_body(_emitter: object, body: Body) -> None:
        for node in body:
            note_node(_emitter, node)

    noting(proving, "certify", lambda _program, function: found.certified.append(function))
    noting(pipeline, "print_loops", lambda function, _language: found.printed.append(function))
    noting(BodyEmitter, "statements", note_body)
    noting(BodyEmitter, "node", note_node)
    noting(KernelEmitter, "body", note_body)
    noting(KernelEmitter, "node", note_node)
    noting(KernelEmitter, "loop", note_node)
    spelling(vector_loops, "vector_loop")
    spelling(vector_sums, "vector_sums")
    spelling(random_rows, "in_rows")
    for name in ("_across_rows", "_in_strips"):
        spelling(BodyEmitter, name)
    return found


def compiled(function: Callable[..., Any], values: tuple[Any, ...], target: str) -> None:
    options = Options().changed({"target": target, "budget": 3600.0})
    machine = MACHINE if target == "c" else None
    made = Settled(function, lambda t: compile_stages(function, t, options, machine).source)
    made.of(values)


FORMS = [(workload, form) for workload in registry.all() for form in workload.forms]
SOME = ("gemm-loops", "jacobi-2d-numpy", "softmax-numpy")


def named(cases: list[tuple[Workload, str]]) -> pytest.MarkDecorator:
    """Return one test for each case and language."""
    found = [(w, form, language) for w, form in cases for language in LANGUAGES]
    ids = [f"{w.name}-{form}-{language}" for w, form, language in found]
    return pytest.mark.parametrize(("workload", "form", "language"), found, ids=ids)


def check(watch: Watch, workload: Workload, form: str, language: str) -> None:
    compiled(workload.forms[form], tuple(workload.make("MINI").values()), language)
    assert watch.nodes
    assert not list(watch.faults())


@named([(w, form) for w, form in FORMS if f"{w.name}-{form}" in SOME])
def test_certified_nodes_are_printed(watch, workload, form, language):
    check(watch, workload, form, language)


@pytest.mark.matrix
@named([(w, form) for w, form in FORMS if f"{w.name}-{form}" not in SOME])
def test_certified_nodes_of_every_workload_are_printed(watch, workload, form, language):
    check(watch, workload, form, language)


def doubled(x: po.f64["N"]):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2.0


def drawn(x: po.f64["N,M"]):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] + po.random.uniform(7, offset=i * x.shape[1] + j)


@pytest.mark.parametrize("language", LANGUAGES)
def test_certified_nodes_of_random_numbers_are_printed(watch, language):
    compiled(drawn, (np.ones((5, 7)),), language)
    assert watch.nodes
    assert not list(watch.faults())


def copied(function: LoopFunction) -> LoopFunction:
    """Return an equal function of other nodes."""
    return replace(function, body=bottom_up(function.body, lambda node: (replace(node),)))


def remarked(function: LoopFunction) -> LoopFunction:
    """Return a function that does the same, with one node more for each assignment."""

    def rule(node: Node) -> Body:
        return (Comment("soon"), node) if isinstance(node, Assign) else (node,)

    return replace(function, body=bottom_up(function.body, rule))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rewriting", [copied, remarked])
def test_a_printer_that_rewrites_is_found(watch, monkeypatch, rewriting, language):
    target = TARGETS[language]
    changed = replace(target, printer=lambda function: target.print_loops(rewriting(function)))
    monkeypatch.setitem(TARGETS, language, changed)
    compiled(doubled, (np.ones(5),), language)
    assert ("Assign" if rewriting is copied else "Comment") in list(watch.faults())


def test_a_rewriting_before_the_printer_is_found(watch, monkeypatch):
    plain = pipeline.print_loops
    monkeypatch.setattr(
        pipeline, "print_loops", lambda function, language: plain(copied(function), language)
    )
    compiled(doubled, (np.ones(5),), "c")
    assert "another function" in list(watch.faults())
