"""The C compiler runs beside the proof: nothing that was not proven is loaded or kept."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt import proving
from polyopt.errors import BudgetError
from polyopt.ir.source import Signature
from polyopt.runtime import build, process
from polyopt.runtime.caller import caller_for
from polyopt.runtime.process import process_for
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import find_compiler
from tests.unit.runtime.sources import make

pytestmark = pytest.mark.toolchain


def doubled(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = 2.0 * x[i]
    return y


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a cache of its own, without kernels; what they share is in memory."""
    caller_for(open_store(), find_compiler(open_store()))
    shared = make("", (), Signature("any", (), (), (), (), "N", ()), openmp=True)
    process_for(shared, open_store(), find_compiler(open_store()))
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))
    yield tmp_path / "v1"
    assert not list((tmp_path / "v1" / "staging").iterdir())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[build.Running]:
    """Return the processes of the compiler that were started, together for each step."""
    found: list[build.Running] = []
    start = build._start_all

    def start_all(commands: list[build.Command], work: Path) -> build.Running:
        found.append(start(commands, work))
        return found[-1]

    monkeypatch.setattr(build, "_start_all", start_all)
    return found


def kept(cache: Path) -> int:
    folder = cache / "libraries"
    return len(list(folder.iterdir())) if folder.exists() else 0


def test_the_compiler_is_started_before_the_proof(cache, started, monkeypatch):
    certify, seen = proving.certify, []

    def slow(program, loops):
        seen.append(len(started))
        assert kept(cache) == 0
        return certify(program, loops)

    monkeypatch.setattr(proving, "certify", slow)
    x = np.arange(5.0)
    assert po.kernel(doubled, threads=1)(x).tolist() == [0, 2, 4, 6, 8]
    assert seen == [1]
    assert len(started) == 2  # to compile, to link
    assert kept(cache) == 1


def test_what_kernels_share_is_built_before_the_proof(cache, started, monkeypatch):
    """The first kernel of all begins it, together with its own text."""
    monkeypatch.setattr(process, "_LOADED", [])
    certify, seen = proving.certify, []

    def slow(program, loops):
        seen.append(len(started))
        return certify(program, loops)

    monkeypatch.setattr(proving, "certify", slow)
    x = np.arange(5.0)
    assert po.kernel(doubled, threads=1)(x).tolist() == [0, 2, 4, 6, 8]
    assert seen == [2]
    assert len(started) == 3  # to link the kernel: what is a single file was linked at once


def test_a_refused_proof_ends_the_compiler_and_leaves_nothing(cache, started, monkeypatch):
    def refuse(program, loops):
        raise BudgetError("PO0703", "no time is left")

    monkeypatch.setattr(proving, "certify", refuse)
    with pytest.raises(BudgetError) as caught:
        po.kernel(doubled, threads=1)(np.arange(5.0))
    assert caught.value.code == "PO0705"
    assert "`budget=`" in caught.value.hint  # a claim that fails has another hint, in tests/errors
    (running,) = started
    assert all(process.returncode is not None for _, process in running)
    assert kept(cache) == 0


def test_another_form_than_the_expected_one_is_built_anew(cache, started, monkeypatch):
    certify, seen = proving.certify, []

    def refuse_first(program, loops):
        seen.append(loops)
        if len(seen) == 1:
            raise BudgetError("PO0703", "no time is left")
        return certify(program, loops)

    monkeypatch.setattr(proving, "certify", refuse_first)
    with pytest.warns(po.BudgetWarning):
        assert po.kernel(doubled, threads=1)(np.arange(3.0)).tolist() == [0, 2, 4]
    assert len(started) == 3  # to compile what was expected, what was proven, to link
    assert all(process.returncode is not None for running in started for _, process in running)
    assert kept(cache) == 1


def test_an_interrupt_ends_the_compiler(cache, started, monkeypatch):
    def interrupt(program, loops):
        raise KeyboardInterrupt

    monkeypatch.setattr(proving, "certify", interrupt)
    with pytest.raises(KeyboardInterrupt):
        po.kernel(doubled, threads=1)(np.arange(5.0))
    ((_, process), *_) = started[0]
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    assert kept(cache) == 0


def test_a_build_that_another_process_has_begun_is_waited_for(cache, started, monkeypatch):
    """With the lock taken nothing is begun, and the build waits for the lock as before."""
    monkeypatch.setattr(build, "_LOCK_SECONDS", 0.3)
    taken: list[str] = []
    real = build.begin

    def begin(stack, store, compiler, texts, key):
        stack.enter_context(build._one_builder(store, key))
        taken.append(key)
        return real(stack, store, compiler, texts, key)

    monkeypatch.setattr("polyopt.building.builder.begin", begin)
    begun = time.monotonic()
    assert po.kernel(doubled, threads=1)(np.arange(3.0)).tolist() == [0, 2, 4]
    assert len(taken) == 1
    assert time.monotonic() - begun > 0.3
    assert len(started) == 2
