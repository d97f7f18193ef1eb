"""A hundred refused steps: each has a witness that enumeration confirms, most a repair that works.

The list is `refusals/cases.txt`; what is refused, why, and with which repair is part of the
language's promise and changes on purpose only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import workloads.registry as workloads
from polyopt.cli.prepare import parse_types
from polyopt.errors import IllegalSchedule
from polyopt.frontend import build
from polyopt.ir.scop import Scop
from polyopt.schedule import Repair, RepairKind, Schedule, Witness, source_schedule
from polyopt.schedule.reductions import opened
from polyopt.schedule.repair import repaired
from polyopt.transforms import parse_steps
from tests.errors.refusals import programs
from tests.oracle import confirm_witness

NONE = "none, because "
PYTHON_SHAPES = {int: "i64", float: "f64"}


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the list."""

    program: str
    step: str
    code: str
    repair: str

    def __str__(self) -> str:
        return f"{self.program} {self.step}"


def _cases() -> list[Case]:
    lines = (Path(__file__).parent / "refusals" / "cases.txt").read_text(encoding="utf-8")
    rows = [line for line in lines.splitlines() if line and not line.startswith("#")]
    return [Case(*(part.strip() for part in row.split("|"))) for row in rows]


CASES = _cases()


@cache
def _source(name: str) -> Schedule:
    """The source's order of a program of the list."""
    return source_schedule(_scop(name))


def _scop(name: str) -> Scop:
    if name in programs.TYPES:
        function = getattr(programs, name)
        return build(function, parse_types(programs.TYPES[name], function)).scop
    workload = workloads.get(name)
    function = workload.forms["loops"]
    types = ",".join(map(_type, workload.make("MINI").values()))
    return build(function, parse_types(types, function)).scop


def _type(value: object) -> str:
    shape = getattr(value, "shape", ())
    if not shape:
        return PYTHON_SHAPES.get(type(value), "f64")
    dtype = getattr(value, "dtype", "float64")
    return f"{dtype}[{','.join(':' * len(shape))}]"


@cache
def _refused(case: Case) -> IllegalSchedule:
    with pytest.raises(IllegalSchedule) as refused:
        _source(case.program).apply(*parse_steps(case.step))
    return refused.value


def test_the_list_is_long_and_mixed() -> None:
    assert len(CASES) == len(set(CASES)) == 100
    assert {case.step.partition("(")[0] for case in CASES} >= {
        *("parallelize", "vectorize", "tile", "interchange", "fuse"),
        *("distribute", "reorder", "reverse", "sink", "skew", "shift"),
    }
    assert {_witness(case).kind for case in CASES} == {"flow", "anti", "output"}


def _witness(case: Case) -> Witness:
    witness = _refused(case).witness
    assert isinstance(witness, Witness)
    return witness


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_witness_is_confirmed_and_the_repair_works(case: Case) -> None:
    source = _source(case.program)
    refusal = _refused(case)
    assert refusal.code == case.code
    witness = _witness(case)
    (step,) = parse_steps(case.step)
    confirm_witness(source.scop, witness, step.rewrite(source.tree, source.scop))
    assert witness.replay is not None
    assert not witness.replay.reason
    assert refusal.loc is not None
    repair = refusal.repair
    if case.repair.startswith(NONE):
        assert repair is None
        return
    assert isinstance(repair, Repair)
    assert repair.kind.name.lower() == case.repair
    assert parse_steps(repair.text) == repair.steps
    if repair.kind is RepairKind.MODE:
        assert source_schedule(opened(source.scop)).attempt(*repair.steps) is not None
    else:
        taken, after = repaired(source, parse_steps(case.step))
        assert taken == repair.steps == after.trace


def test_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    """Every refusal says how values change or that none did; four of five offer a repair."""
    changed = [case for case in CASES if _changes(case)]
    mended = [case for case in CASES if _refused(case).repair is not None]
    with capsys.disabled():
        print(f"\n{len(CASES)} refused steps: {len(CASES)} witnesses, {len(changed)} with values")
        print(f"that differ, {len(mended)} repairs")
    assert len(mended) >= 80
    assert len(changed) >= 95


def _changes(case: Case) -> bool:
    replay = _witness(case).replay
    return replay is not None and replay.change is not None


def test_messages_can_be_read_aloud() -> None:
    for case in CASES:
        notes = _refused(case).notes
        assert re.match(r"example: .*(iteration|statement) .*; (the|nothing)", notes[0]), notes[0]
        assert notes[1].startswith("values"), notes[1]
        assert _refused(case).hint
