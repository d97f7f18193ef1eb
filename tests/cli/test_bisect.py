"""`polyopt bisect`: the step that a planted fault of the compiler makes wrong is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polyopt.cli.bisecting import Outcome, Request, Search, Trial, prefix_text, run_prefix, search
from polyopt.numerics.compare import compare
from polyopt.transforms.text import read_steps

DEMO = """\
import numpy as np

import polyopt as po


def matmul(C: po.f64["N,M"], A: po.f64["N,K"], B: po.f64["K,M"]):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def mean(x: po.f64["N"]):
    return np.sum(x) / x.shape[0]
"""
STEPS = """\
polyopt-schedule 1
interchange(j, k)
vectorize(j)
parallelize(i)
"""
SIZES = ("--sizes", "C=20x30,A=20x25,B=25x30")
# Runs in every process that starts with this directory on its path: a compiler with a fault.
FAULTY = """\
import time
from dataclasses import replace

import polyopt.emit.c as printing
from polyopt.ir.expr import add, integer
from polyopt.ir.loops import For, If, LoopKind


def changed(body):
    found = []
    for node in body:
        if isinstance(node, For):
            if node.kind is LoopKind.VECTOR:
                {fault}
            node = replace(node, body=changed(node.body))
        if isinstance(node, If):
            node = replace(node, then=changed(node.then))
        found.append(node)
    return tuple(found)


print_c = printing.emit_c
printing.emit_c = lambda fn, *more: print_c(replace(fn, body=changed(fn.body)), *more)
"""


@pytest.fixture
def faulty(write, tmp_path, monkeypatch):
    """Return a function that plants a fault in VECTOR loops in all processes started from here."""

    def plant(fault: str) -> None:
        write("sitecustomize.py", FAULTY.format(fault=fault))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))

    write("demo.py", DEMO)
    write("fast.sched", STEPS)
    return plant


@pytest.mark.toolchain
def test_the_step_to_blame_is_named(polyopt, faulty):
    faulty("node = replace(node, upper=add(node.upper, integer(-1)))")
    outcome = polyopt("bisect", "demo.py:matmul", "--schedule", "fast.sched", *SIZES)
    assert outcome.code == 4, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0].startswith("matmul: 3 steps, 3 of 4 prefixes run")
    assert "  the source's order: holds (C bitwise)" in lines
    assert "  step 2, vectorize(j): differs" in lines
    place = lines.index("step 2, vectorize(j), is to blame (fast.sched:3:1)")
    assert lines[place + 1].startswith("  C[")
    assert lines[place + 2].startswith("  must be the same bits; ")
    assert lines[place + 3] == "  shown by: interchange(j, k); vectorize(j)"


@pytest.mark.toolchain
def test_a_wrong_order_of_the_source_is_no_steps_fault(polyopt, faulty):
    faulty("node = replace(node, upper=add(node.upper, integer(-1)))")
    steps = ("--schedule", "vectorize(i)")
    outcome = polyopt("bisect", "demo.py:mean", *steps, "--json", "--sizes", "N=50", "--every")
    assert outcome.code == 4, outcome.err
    record = json.loads(outcome.out)
    assert record["first"]["steps"] == 0
    (element,) = [record["first"]["element"]]
    assert element["name"] == "result"
    assert 0 < element["bound"] < 1e-13
    assert float(element["got"]) != float(element["expected"])
    assert not record["holds"]


@pytest.mark.toolchain
def test_a_refused_step(polyopt, write):
    write("demo.py", DEMO)
    steps = ("--schedule", "parallelize(k)")
    outcome = polyopt("bisect", "demo.py:matmul", *steps, "--sizes", "C=4x4,A=4x4,B=4x4")
    assert outcome.code == 1
    assert "  step 1, parallelize(k): refused" in outcome.out
    assert "step 1, parallelize(k), is refused [PO0312]: " in outcome.out


def request(folder: Path, schedule: str = "source") -> Request:
    target = f"{folder / 'demo.py'}:mean"
    return Request(target, None, "N=9", 0, None, None, 1, schedule, "", "")


@pytest.mark.toolchain
def test_a_run_that_hangs_or_dies(faulty, tmp_path, monkeypatch):
    faulty("time.sleep(100)")
    folder = tmp_path / "runs"
    folder.mkdir()
    steps = read_steps("vectorize(i)")
    hung = run_prefix(request(tmp_path), steps, lambda got: [], 3.0, folder)
    assert hung.outcome is Outcome.HANGS
    faulty("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    died = run_prefix(request(tmp_path), steps, lambda got: [], 60.0, folder)
    assert died.outcome is Outcome.CRASHED
    assert died.detail == "killed by SIGSEGV"
    faulty("raise SystemExit(3)")
    left = run_prefix(request(tmp_path), steps, lambda got: [], 60.0, folder)
    assert left.outcome is Outcome.CRASHED
    assert left.detail.startswith("ended with status 3")
    monkeypatch.setenv("POLYOPT_CC", "no-such-compiler")
    failed = run_prefix(request(tmp_path), (), lambda got: [], 60.0, folder)
    assert failed.outcome is Outcome.FAILED
    assert failed.detail.startswith("[PO0501] ")


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 9, 40])
def test_search(count, every):
    for first in (None, *range(count + 1)):
        runs: list[int] = []

        def run(steps: int, first: int | None = first, runs: list[int] = runs) -> Trial:
            runs.append(steps)
            bad = first is not None and steps >= first
            return Trial(steps, Outcome.DIFFERS if bad else Outcome.HOLDS, 0.0)

        found = search(count, run, every=every)
        assert (None if found.first is None else found.first.steps) == first
        assert len(set(runs)) == len(runs)
        assert every or count <= 3 or len(runs) <= 2 + count.bit_length()


def test_search_names_a_step_whose_predecessor_holds():
    """Also where a later step hides the fault of an earlier one."""
    bad = {2, 3, 7, 8, 9}

    def run(steps: int) -> Trial:
        return Trial(steps, Outcome.DIFFERS if steps in bad else Outcome.HOLDS, 0.0)

    found: Search = search(9, run)
    assert found.first is not None
    assert found.first.steps in (2, 7)
    every = search(9, run, every=True)
    assert every.first is not None
    assert every.first.steps == 2


def test_prefixes_keep_the_parts():
    steps = read_steps("unroll(i); part(1); unroll(j); unroll(k); part(0); unroll(l)")
    assert prefix_text(()) == "source"
    assert prefix_text(steps[:1]) == "unroll(i)"
    assert prefix_text(steps) == ("unroll(i); part(1); unroll(j); unroll(k); part(0); unroll(l)")
    assert read_steps(prefix_text(steps))[2].part == 1


def test_a_difference_is_told_by_its_worst_element():
    wrong = compare("C", [1.0, 2.0, 5.0], [1.0, 2.5, 3.0], None)
    trial = Trial(1, Outcome.DIFFERS, 0.0, (compare("A", [1], [1], None), wrong))
    assert trial.difference is not None
    name, comparison, worst = trial.difference
    assert (name, comparison.wrong, worst.index) == ("C", 2, (2,))
