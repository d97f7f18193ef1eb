"""Programs x schedules: 300 pairs, and the faults that such a run has to find."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polyopt.emit import emit_c
from polyopt.ir.loops import Body, For, LoopFunction
from polyopt.ir.source import Source
from tests.properties import pair_trial, pairs
from tests.properties.pairs import PROGRAMS, run_all, run_chunk, summary, table

CHUNKS = max(6, int(os.environ.get("POLYOPT_RANDOM_COUNT", "0")) // 50)


@pytest.mark.matrix
@pytest.mark.toolchain
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_pairs(chunk: int) -> None:
    found = run_chunk(7, range(chunk * PROGRAMS, (chunk + 1) * PROGRAMS), True)
    assert found["failures"] == []
    assert found["refusals"] == []
    assert found["counts"]["pairs"] == 50


def failures(count: int = 4, compiled: bool = False) -> set[str]:
    """Return the kinds of failures of the first programs."""
    return {f["kind"] for f in run_chunk(7, range(count), compiled)["failures"]}


def test_illegal_steps_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyopt.schedule.schedule.check_legal", lambda *_, **__: None)
    assert "illegal step accepted" in failures()


def test_wrong_loops_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def shortened(body: Body) -> Body:
        return tuple(
            replace(node, body=shortened(node.body), step=node.step + 1)
            if isinstance(node, For)
            else node
            for node in body
        )

    def wrong(fn: LoopFunction, *_: Any) -> LoopFunction:
        return replace(fn, body=shortened(fn.body))

    monkeypatch.setattr(pair_trial, "optimize_loops", wrong)
    assert "wrong loops" in failures()


@pytest.mark.toolchain
def test_wrong_text_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(fn: LoopFunction) -> Source:
        source = emit_c(fn)
        return replace(source, text=source.text.replace("i++", "i += 2"))

    monkeypatch.setattr(pair_trial, "emit_c", wrong)
    assert "wrong result" in failures(2, compiled=True)


@pytest.mark.toolchain
def test_a_run_is_resumed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    whole = run_all(3, 10, 1, False, None, False)
    run_all(3, 5, 1, False, state, False)
    first = [json.loads(line)["key"] for line in state.read_text().splitlines()]
    assert first == ["0+1"]
    again = run_all(3, 5, 1, False, state, False)
    assert state.read_text().count("\n") == 1
    assert again.counts["pairs"] == 5
    assert summary(whole)["pairs"] == 10
    assert "steps accepted" in table(whole)


@pytest.mark.toolchain
def test_what_does_not_end_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: Any) -> Any:
        while True:
            pass

    monkeypatch.setattr(pairs, "run_program", endless)
    monkeypatch.setattr(pairs, "ALONE", 1)
    found = run_all(0, 5, 1, False, None, False)
    assert [f["kind"] for f in found.failures] == ["endless"]
