"""Rules of the automatic schedule on programs that they were not written for."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyopt.building import compile_stages
from polyopt.compiled import exact_values, restore
from polyopt.ir.source import Source
from polyopt.machine import Machine
from polyopt.runtime.check import check_call
from polyopt.runtime.library import load_foreign
from polyopt.specialize import weak_flags
from polyopt.targets import Options
from tests.heldout import PROGRAMS
from tests.hostile.stages import Settled
from tests.properties.batch import build_batch
from tests.rules import rules_of, watched

MACHINE = Machine(cores=4, vector_bytes=32, vector_registers=16)
MODULES = sorted({name.partition(".")[0] for name, p in PROGRAMS.items() if p.target == "c"})
LEAST = 3
"""Programs that a rule decides for."""
WITHOUT = {"large_programs"}
"""Programs of more than a hundred statements are made by `tests/unit/schedule/test_large.py`."""


@cache
def made(name: str) -> tuple[Settled, frozenset[str]]:
    """Return a program with the text that is emitted for its arguments, and the rules that decide.

    The text has an entry of its own, named after the program.
    """
    program = PROGRAMS[name]
    options = Options().changed({"fp": program.fp, "target": program.target, "threads": 2})
    machine = MACHINE if program.target == "c" else None
    found: set[str] = set()

    def make(types: Any) -> Source:
        stages = compile_stages(program.function, types, options, machine)
        found.update(of(stages.schedules))
        if program.target != "c":
            return stages.source
        source, entry = stages.source, name.replace(".", "_")
        text = re.sub(rf"\b{re.escape(source.entry)}\b", entry, source.text)
        return replace(source, text=text, entry=entry)

    settled = Settled(program.function, make)
    with watched() as of:
        settled.of(program.arguments())
    return settled, frozenset(found)


def test_each_rule_has_programs():
    """Those for devices decide for many workloads, but for two."""
    count = Counter(rule for program in PROGRAMS.values() for rule in program.rules)
    assert rules_of("c") - count.keys() == WITHOUT
    assert min(count.values()) >= LEAST


def test_the_page_lists_each_rule():
    page = Path(__file__).parents[3] / "docs" / "strategy.md"
    listed = re.findall(r"^\| `(\w+)` \|", page.read_text("utf-8"), flags=re.MULTILINE)
    assert rules_of("c") <= set(listed)
    decided = {rule for program in PROGRAMS.values() for rule in program.rules}
    assert {rule for rule in decided if "/" not in rule} <= set(listed) <= {*decided, *WITHOUT}


@pytest.mark.parametrize("name", [n for n, p in PROGRAMS.items() if p.target != "c"])
def test_rules_decide_for_devices(name):
    _, found = made(name)
    assert found.issuperset(PROGRAMS[name].rules)


@pytest.mark.toolchain
@pytest.mark.parametrize("module", MODULES)
def test_rules_decide_and_results_are_numpys(module, tmp_path):
    """One library for the programs of a module."""
    names = [n for n, p in PROGRAMS.items() if n.startswith(f"{module}.") and p.target == "c"]
    missing = {name: set(PROGRAMS[name].rules) - made(name)[1] for name in names}
    assert not any(missing.values()), missing
    sources = [source for name in names for source in made(name)[0].made.values()]
    path = Path(build_batch(sources, tmp_path)._name)
    for name in names:
        program, settled = PROGRAMS[name], made(name)[0]
        values, expected = program.arguments(), program.arguments()
        source, plain = settled.of(values)
        exact = exact_values(source.signature, plain, check_call(source.signature, plain).symbols)
        (types,) = settled.made
        kernel = load_foreign(path, source, weak_flags(types), 2)
        got = flat((restore(kernel.call(*exact), plain, values), *values))
        for one, wanted in zip(got, flat((program.function(*expected), *expected)), strict=True):
            bound = 1e-11 if np.asarray(wanted).dtype.itemsize > 4 else 1e-4
            np.testing.assert_allclose(one, wanted, rtol=bound, atol=bound, err_msg=name)


def flat(values: Any) -> list[Any]:
    """Return the arrays and numbers of a tuple of results and arguments."""
    found = (flat(value) if isinstance(value, tuple) else [value] for value in values)
    return [value for some in found for value in some if value is not None]
