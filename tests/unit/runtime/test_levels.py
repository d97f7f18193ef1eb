"""Instruction-set levels in place of the running processor."""

from __future__ import annotations

import pytest

from polyopt.errors import UsageError
from polyopt.measuring.detection import detect_machine
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import (
    LEVELS,
    chosen_level,
    find_compiler,
    listed_features,
    processor_features,
    require_level,
)


@pytest.mark.parametrize(
    "name, vector_bytes, registers, fma",
    [("x86-64-v2", 16, 16, False), ("x86-64-v3", 32, 16, True), ("x86-64-v4", 64, 32, True)],
)
def test_a_level_decides_vectors_and_flags(monkeypatch, name, vector_bytes, registers, fma):
    monkeypatch.setenv("POLYOPT_MACHINE", name)
    machine = detect_machine()
    found = (machine.vector_bytes, machine.vector_registers, machine.fma)
    assert found == (vector_bytes, registers, fma)
    assert f"-march={name}" in find_compiler(open_store()).machine
    assert "-march=native" not in find_compiler(open_store()).machine


def test_levels_are_told_apart_from_each_other_and_from_the_processor(monkeypatch):
    monkeypatch.delenv("POLYOPT_MACHINE", raising=False)
    found = {processor_features()}
    for name in LEVELS:
        monkeypatch.setenv("POLYOPT_MACHINE", name)
        found.add(processor_features())
    assert len(found) == len(LEVELS) + 1


def test_variables_override_a_level(monkeypatch):
    monkeypatch.setenv("POLYOPT_MACHINE", "x86-64-v2")
    monkeypatch.setenv("POLYOPT_VECTOR_BYTES", "32")
    assert detect_machine().vector_bytes == 32


def test_a_level_that_the_processor_lacks_is_not_run(monkeypatch):
    monkeypatch.setenv("POLYOPT_MACHINE", "x86-64-v4")
    level = chosen_level()
    assert level is not None
    require_level(lambda: tuple(level.features))
    with pytest.raises(UsageError) as caught:
        require_level(lambda: tuple(level.features - {"avx512f"}))
    assert caught.value.code == "PO0224"
    assert "lacks avx512f" in caught.value.message


def test_without_a_level_nothing_is_asked_of_the_processor(monkeypatch):
    monkeypatch.delenv("POLYOPT_MACHINE", raising=False)
    require_level(lambda: pytest.fail("asked"))
    assert processor_features() == listed_features()
