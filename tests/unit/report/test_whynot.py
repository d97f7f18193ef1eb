"""What blocks a wish: the dependence as two iterations, and a step that was proven to help."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.building import compile_stages
from polyopt.errors import ScheduleError, UsageError
from polyopt.explaining import gain_line, subject_of
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.machine import Machine
from polyopt.report.claims import Subject
from polyopt.report.names import Names
from polyopt.report.whynot import answer_lines, answers, parse_question
from polyopt.schedule import source_schedule
from polyopt.specialize import Parameters, types_of
from polyopt.targets import Options
from polyopt.transforms import parse_steps
from tests.unit.report import programs

MACHINE = Machine(cores=4, vector_bytes=32)


def asked(function, question, types=None):
    stages = compile_stages(function, types or infer_types(function), Options(), MACHINE)
    own = frozenset(function.__code__.co_varnames)
    subject = Subject(stages.program, function.__name__)
    found = answers(parse_question(question), subject, Names(stages.program, own))
    return found, stages


def test_a_stencil_in_time_is_blocked_by_two_iterations():
    (answer,), stages = asked(programs.sweep, "parallel:t")
    assert answer.head == (
        "loop t (programs.py:15) cannot run in parallel: `u[t + 1, i]` of line 17 is read in the "
        "next iteration by line 17"
    )
    assert answer.notes[0].startswith(
        "example: T=2, N=3: iteration (t=0, i=1) writes u[1, 1], then iteration (t=1, i=1) reads it"
    )
    assert any(note.startswith("values: u[2, 1] is ") for note in answer.notes)
    steps = parse_steps(answer.steps)
    source_schedule(stages.program.scop).apply(*steps)  # the hint is legal


def test_tiles_of_a_stencil_need_a_skew():
    (answer,), stages = asked(programs.sweep, "tile:i")
    assert "cannot be tiled" in answer.head
    assert answer.hint.startswith("legal after a skew: skew(")
    source_schedule(stages.program.scop).apply(*parse_steps(answer.steps))


def test_nothing_blocks_vectors():
    (answer,), _ = asked(programs.sweep, "vectorize:i")
    assert answer.is_free
    assert answer.head.endswith("nothing blocks it, vectorize(L0[1]) is proven legal")


def test_a_recurrence_has_no_lift():
    types = types_of(Parameters.of(programs.smooth), (np.zeros(5), 3), frozenset())
    (answer,), _ = asked(programs.smooth, "parallel:i", types)
    assert "`u[i]` of line 11 is read in the next iteration by line 11" in answer.head
    assert (answer.steps, answer.is_free) == ("", False)
    assert "u.shape[0]=" in answer.notes[0]
    assert "u_0" not in "\n".join(answer_lines(answer))


def test_loops_that_may_be_fused_and_loops_that_may_not():
    (free,), _ = asked(programs.chain, "fuse:i,j")
    assert free.is_free
    (blocked,), stages = asked(programs.chain, "fuse:j,k")
    assert "cannot be fused" in blocked.head
    assert blocked.notes[0].startswith("example: N=")
    assert "the second would run before the first" in blocked.notes[0]
    assert blocked.hint.startswith("legal after a shift: ")
    source_schedule(stages.program.scop).apply(*parse_steps(blocked.steps))


def test_statements_and_lines_name_loops_too():
    by_line = asked(programs.chain, "fuse:23,25")[0]
    assert asked(programs.chain, "fuse:S1,S2")[0] == by_line
    assert by_line[0].head.startswith("loop j (programs.py:23) and loop k (programs.py:25) cannot")


def test_loops_of_one_nest_are_not_fused():
    (answer,), _ = asked(programs.sweep, "fuse:t,i")
    assert answer.head.endswith("they are not at the same depth of two nests")


def test_a_while_loop_says_what_it_hands_on():
    (answer,), _ = asked(programs.search, "parallel:36")
    assert "cannot run in parallel: `x` of line 37 is read" in answer.head
    assert answer.hint


def test_the_model_says_what_it_would_gain():
    options = Options()
    (answer,), stages = asked(programs.sweep, "vectorize:i")
    subject = subject_of(programs.sweep, stages, options, {"N": 400})
    line = gain_line(subject, stages.written, options, answer.steps)
    assert line.startswith("predicted at T=1000, N=400: ")
    assert line.endswith(" as compiled")


@pytest.mark.parametrize("text", ["parallel", "parallel:", "fuse:i", "paralel:i", "tile:i,j"])
def test_what_is_no_question(text):
    with pytest.raises(UsageError) as refused:
        parse_question(text)
    assert refused.value.code == "PO0631"


def test_an_unknown_loop():
    with pytest.raises(ScheduleError) as refused:
        asked(programs.sweep, "parallel:x")
    assert refused.value.code == "PO0301"
    assert "`t` (line 15)" in refused.value.hint
