"""Ported programs run like Python; refused ones have a hint that, followed, compiles."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.ported.programs import GALLERIES, LINES, PROGRAMS, lines_of, outcome
from tests.ported.record import Ported

ACCEPTED = [p for p in PROGRAMS if not p.refused]
REFUSED = [p for p in PROGRAMS if p.refused]


@pytest.mark.matrix(3)
@pytest.mark.toolchain
@pytest.mark.parametrize("program", ACCEPTED, ids=lambda p: p.name)
def test_runs_as_python_does(program: Ported) -> None:
    found = outcome(program)
    assert found.status == "equal", f"{found.status}: {found.detail}"


@pytest.mark.toolchain
@pytest.mark.parametrize("program", REFUSED, ids=lambda p: p.name)
def test_a_refusal_has_a_code_and_a_hint_that_works(program: Ported) -> None:
    error = outcome(program).error
    assert error is not None
    assert error.code == program.refused
    assert program.hint
    assert program.hint in str(error.hint)
    assert outcome(program.following_the_hint()).status == "equal"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_the_lines_that_changed_are_lines_of_the_program(program: Ported) -> None:
    lines = lines_of(program.function)
    for here in program.changed.values():
        start = ast.unparse(ast.parse(here)) if here[-1] not in "(:" else here.rstrip("(")
        assert any(line.startswith(start) for line in lines), start
    assert not any(there in lines for there in program.changed)


def test_nine_in_ten_need_two_changed_lines_or_none() -> None:
    few = [p for p in ACCEPTED if len(p.changed) <= LINES]
    assert len(PROGRAMS) >= 60
    assert len(few) >= 0.9 * len(PROGRAMS)
    assert min(Counter(p.gallery for p in PROGRAMS)[name] for name in GALLERIES) >= 10
