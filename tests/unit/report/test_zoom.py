"""The levels below the summary: loop nests, code beside its source, assembly."""

from __future__ import annotations

import pytest

from polyopt.building import compile_stages
from polyopt.emit.line_marks import annotated
from polyopt.errors import ToolchainError, UsageError
from polyopt.explaining import assembly_of, level_lines, subject_of
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.host import DeviceProgram
from polyopt.ir.target import TARGETS
from polyopt.machine import Machine
from polyopt.report.page import LINES_OF_A_NEST, nest_lines
from polyopt.targets import Options
from tests.unit.report import programs

MACHINE = Machine(cores=4, vector_bytes=32)
ALL = (programs.sweep, programs.chain, programs.train, programs.search, programs.escaped)


def stages_of(function, language="c"):
    options = Options(target=TARGETS[language])
    return compile_stages(function, infer_types(function), options, MACHINE), options


@pytest.mark.matrix(3)
@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
@pytest.mark.parametrize("language", ["c", "cuda", "opencl"])
def test_notes_leave_the_text_as_it_is(function, language):
    stages, _ = stages_of(function, language)
    source = stages.source
    text = source.source.text if isinstance(source, DeviceProgram) else source.text
    names = [s.name for scop in stages.program.scops for s in scop.statements]
    found = annotated(stages.loops, language, names)
    assert [line for line, _ in found] == text.splitlines()
    noted = {name for _, name in found} - {""}
    assert noted <= set(names)
    assert noted


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_nests_take_ten_lines(function):
    stages, options = stages_of(function)
    lines = list(nest_lines(subject_of(function, stages, options)))
    heads = [n for n, line in enumerate(lines) if line[0].isdigit()]
    sizes = [end - start for start, end in zip(heads, [*heads[1:], len(lines)], strict=True)]
    assert sizes
    assert max(sizes) <= LINES_OF_A_NEST


def test_code_has_the_source_beside_it():
    stages, options = stages_of(programs.sweep)
    subject = subject_of(programs.sweep, stages, options)
    lines = list(level_lines(subject, stages, options, "code"))
    noted = [line.partition("//")[0] for line in lines if "// line 17: u[t + 1, i] = " in line]
    assert noted
    assert all(";" in code for code in noted)


@pytest.mark.toolchain
def test_assembly_has_the_source_before_it():
    stages, options = stages_of(programs.sweep)
    subject = subject_of(programs.sweep, stages, options)
    lines = list(level_lines(subject, stages, options, "assembly"))
    assert any(line.startswith("polyopt_sweep:") for line in lines)
    assert any("# line 17: u[t + 1, i] = " in line for line in lines)
    assert not any(".loc" in line or ".debug" in line for line in lines)


def test_devices_have_no_assembly():
    stages, options = stages_of(programs.sweep, "cuda")
    with pytest.raises(UsageError) as refused:
        assembly_of(stages.source, options)
    assert refused.value.code == "PO0630"


def test_assembly_needs_a_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    stages, options = stages_of(programs.sweep)
    with pytest.raises(ToolchainError) as refused:
        assembly_of(stages.source, options)
    assert refused.value.code == "PO0501"
