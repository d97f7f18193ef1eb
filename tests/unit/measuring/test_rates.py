"""Measured speeds: read from a program, kept, measured anew."""

from __future__ import annotations

import pytest

from polyopt.errors import ToolchainError
from polyopt.machine import Machine, assumed_rates
from polyopt.measuring import rates as module
from polyopt.measuring.capabilities import TEXTS, capabilities
from polyopt.measuring.rates import KINDS, kept_rates, measure_rates, parse_rates, rates_of
from polyopt.runtime.store import Store
from polyopt.runtime.toolchain import find_compiler

MACHINE = Machine(cores=2, vector_bytes=16)


def _said(first: float) -> str:
    lines = [f"{t} {kind} {first * t + n}" for t in (1, 2) for n, kind in enumerate(KINDS)]
    return "\n".join([*lines, "1 hertz 2.5e+09", "2 region 1e-06"])


def test_what_the_program_says():
    rates = parse_rates(_said(100.0))
    assert rates.one.float64 == 100.0
    assert rates.every.l1 == 202.0
    assert rates.region == 1e-6
    assert rates.hertz == 2.5e9
    assert rates.is_measured


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "did not print"),
        (_said(1.0).replace("2 l3 6.0\n", ""), "did not print"),
        (_said(1.0).replace("2 l3 6.0", "2 l3 0.0"), "it printed `2 l3 0.0`"),
        ("Killed", "it printed `Killed`"),
    ],
)
def test_what_is_no_measurement(text, reason):
    with pytest.raises(ToolchainError) as caught:
        parse_rates(text)
    assert caught.value.code == "PO0522"
    assert reason in caught.value.message


def test_measured_once_kept_and_measured_anew(tmp_path, monkeypatch):
    monkeypatch.delenv("POLYOPT_MACHINE", raising=False)
    store = Store(tmp_path)
    compiler = find_compiler(store)
    asked = []

    def run(command: tuple[str, ...], work: object) -> tuple[int, str]:
        asked.append(command[1:])
        return 0, _said(100.0 * len(asked))

    assert rates_of(MACHINE, store, compiler) == assumed_rates(MACHINE)
    measure_rates(MACHINE, store, compiler, run)
    assert rates_of(MACHINE, store, compiler).one.float64 == 100.0
    measure_rates(MACHINE, store, compiler, run)
    assert rates_of(MACHINE, store, compiler).one.float64 == 200.0
    assert asked[0][:2] == (str(MACHINE.l1), str(MACHINE.l2))
    assert kept_rates(Machine(cores=3), store, compiler) is None
    with pytest.raises(ToolchainError, match="status 3"):
        measure_rates(MACHINE, store, compiler, lambda command, work: (3, ""))


def test_a_text_that_does_not_compile(tmp_path, monkeypatch):
    wrong = tmp_path / "wrong.c"
    wrong.write_text("int main(void) { return nothing; }")
    monkeypatch.setattr(module, "TEXT", wrong)
    store = Store(None)
    with pytest.raises(ToolchainError) as caught:
        measure_rates(MACHINE, store, find_compiler(store), lambda command, work: (0, ""))
    assert caught.value.code == "PO0502"
    assert "nothing" in "".join(caught.value.notes)


def test_capabilities_are_asked_once(tmp_path, monkeypatch):
    store = Store(tmp_path)
    compiler = find_compiler(store)
    broken = {**TEXTS, "openmp": ("#error none\n", ())}
    monkeypatch.setattr("polyopt.measuring.capabilities.TEXTS", broken)
    found = capabilities(store, compiler)
    assert found.vector_types
    assert not found.openmp
    monkeypatch.setattr("polyopt.measuring.capabilities._compiles", None)
    assert capabilities(store, compiler) == found
