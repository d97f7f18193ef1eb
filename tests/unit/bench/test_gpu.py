"""The GPU's stages: processes, tables, programs, planted faults; all without a GPU."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.gpu import __main__ as command
from bench.gpu import bandwidth, matmul, networks, planted, rehearsal, sanitizer
from bench.gpu.machine import Devices, show_machine
from bench.gpu.profile import read_profile
from bench.gpu.programs import HALVES, MATMUL, PROGRAMS, Program
from bench.gpu.rivals import rivals
from bench.gpu.stages import Outcome, Stage, run_stage
from bench.gpu.suite import sizes_of
from bench.gpu.table import show_outcome
from polyopt.emulator import DeviceFault, EmulatedProvider, Rules
from tests.gpu.runtime.needs import needs_nvcc
from workloads import registry

NOTHING: dict[str, Any] = {"devices": [], "tools": [], "libraries": {}, "nvidia-smi": []}


def stage(what: str) -> Stage:
    return Stage("rows", "tests.unit.bench.rows", "a stage of tests", 5, "", (what,))


def test_rows_are_collected() -> None:
    outcome = run_stage(stage("end"), 20)
    assert outcome.rows == (
        {"program": "first", "ms": 1.5},
        {"program": "second", "left": True},
    )
    assert not outcome.is_wrong
    assert 0 < outcome.seconds < 20


def test_a_stage_that_fails_keeps_its_rows() -> None:
    outcome = run_stage(stage("fail"), 20)
    assert len(outcome.rows) == 2
    assert outcome.is_wrong
    assert "code 1: it failed" in outcome.stopped


def test_a_stage_that_hangs_is_ended_with_its_children() -> None:
    outcome = run_stage(stage("hang"), 3)
    assert outcome.stopped == "stopped after 3 s"
    assert outcome.rows[1]["left"] is False
    child = outcome.rows[2]["child"]
    for _ in range(50):
        if _is_gone(child):
            break
        time.sleep(0.1)
    assert _is_gone(child)


def _is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"
    except FileNotFoundError:
        return True


def test_outcomes_as_text() -> None:
    rows = (
        {"program": "copy", "GB/s": 1234.5, "right": True},
        {"program": "softmax", "GB/s": None, "right": False, "wrong": "error 1"},
        {"measured": "something else"},
    )
    text = show_outcome(stage("end"), Outcome("rows", rows, "stopped after 3 s", 2.6))
    assert text.splitlines() == [
        "rows: a stage of tests (3 s)",
        "program  GB/s  right",
        "-------  ----  -----",
        "copy     1234    yes",
        "softmax     -     no",
        "measured",
        "--------------",
        "something else",
        "WRONG: softmax: error 1",
        "WRONG: stopped after 3 s",
    ]


def test_without_a_gpu_its_stages_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ran: list[str] = []

    def run(stage: Stage, _: float) -> Outcome:
        ran.append(stage.name)
        return Outcome(stage.name, ({"program": "copy", "right": True},))

    monkeypatch.setattr(command, "run_stage", run)
    monkeypatch.setattr(command, "devices", lambda: Devices(frozenset(), NOTHING, ("a driver",)))
    path = tmp_path / "found.json"
    assert command.main(["--json", str(path)]) == 0
    text = capsys.readouterr().out
    assert ran == ["resources", "emulated"]
    assert "There is no CUDA device here" in text
    assert "suite: left out, there is no cuda device" in text
    record = json.loads(path.read_text())
    assert record["gpu"] == NOTHING
    assert list(record["stages"]) == ran


def test_with_a_gpu_all_stages_run_while_there_is_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = Devices(frozenset({"cuda", "opencl"}), NOTHING, ())
    monkeypatch.setattr(command, "devices", lambda: found)
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    monkeypatch.setattr(command, "run_stage", lambda stage, _: Outcome(stage.name, ()))
    assert command.main([]) == 0
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("gpu-20")
    assert len(json.loads(path.read_text())["stages"]) == len(command.STAGES)
    moments = iter([0.0, 0.0, *[589.0] * 20])
    monkeypatch.setattr(command.time, "monotonic", lambda: next(moments))
    assert command.main(["--json", str(path)]) == 1
    assert "no time is left" in capsys.readouterr().out


@pytest.mark.toolchain
def test_measurements_are_rehearsed_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(rehearsal.VARIABLE, "1")
    monkeypatch.setattr(bandwidth, "MEMORY_BOUND", PROGRAMS[:1])
    monkeypatch.setattr(matmul, "SIZES", (40,))
    monkeypatch.setattr(matmul, "HALVES", ())
    monkeypatch.setattr(networks, "_SIZES", {"attention": {"T": 9, "S": 8, "D": 7}})
    for stage in (bandwidth, matmul, networks):
        stage.main()
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row.get("wrong") for row in rows] == [None] * 4
    assert [row.get("program") or row.get("type") for row in rows[1:3]] == ["copy", "float32"]
    assert all(row["ms"] > 0 for row in rows[1:])


@pytest.mark.toolchain
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_what_cupy_is_asked_for_is_the_program(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy in place of CuPy: its functions have the same names."""
    cupy = types.ModuleType("cupy")
    cupy.__dict__.update(np.__dict__)
    cupy.__dict__.update(fuse=lambda: lambda function: function)
    for name, module in (("cupy", cupy), ("torch", None), ("triton", None)):
        monkeypatch.setitem(sys.modules, name, module)
    arrays = program.make(6, 9)
    found = rivals(program.name, arrays)
    assert list(found) == ["cupy"]
    inputs = {name: array.copy() for name, array in arrays.items()}
    result = found["cupy"]()
    if program.name != "chain":  # CuPy's fused functions give a new array
        result = arrays[program.output[0]]
    assert isinstance(result, np.ndarray)
    assert program.error(inputs, result) <= max(program.tolerance, 1e-6)


def test_a_rehearsal_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []
    monkeypatch.setenv(rehearsal.VARIABLE, "")
    monkeypatch.setattr(command, "devices", lambda: Devices(frozenset(), NOTHING, ()))
    monkeypatch.setattr(
        command, "run_stage", lambda stage, _: ran.append(stage.name) or Outcome(stage.name, ())
    )
    assert command.main(["--rehearse", "--only", "matmul", "opencl"]) == 0
    assert ran == ["matmul"]
    text = capsys.readouterr().out
    assert "the numbers mean nothing" in text
    assert "written" not in text


def test_a_wrong_row_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Outcome("emulated", ({"program": "copy", "wrong": "error 1"},))
    monkeypatch.setattr(command, "run_stage", lambda *_: wrong)
    monkeypatch.setattr(command, "devices", lambda: Devices(frozenset(), NOTHING, ()))
    assert command.main(["--only", "emulated"]) == 1


def test_the_machine_as_text() -> None:
    record = {
        "devices": [{"target": "cuda", "number": 0, "name": "H200"}],
        "tools": ["nvcc 13"],
        "libraries": {"cupy": "14"},
        "nvidia-smi": [{"name": "H200", "clocks.sm": "345 MHz"}],
    }
    lines = show_machine(Devices(frozenset({"cuda"}), record, ("x; y",))).splitlines()
    assert lines == [
        "name H200, clocks.sm 345 MHz",
        "cuda device 0: H200",
        "found: nvcc 13",
        "found: cupy 14",
        "missing: x; y",
    ]


@pytest.mark.parametrize("program", [*PROGRAMS, HALVES[0]], ids=lambda program: program.name)
def test_programs_are_judged(program: Program) -> None:
    arrays = program.make(5, 7)
    output = program.output[0]
    got = {name: array.copy() for name, array in arrays.items()}
    with np.errstate(all="ignore"):
        program.function(**got)
    assert program.error(arrays, got[output]) <= max(program.tolerance, 1e-6)
    spoiled = got[output].copy()
    spoiled[(2,) * spoiled.ndim] += 1
    assert program.error(arrays, spoiled) > 1e-2
    assert program.error(arrays, np.full_like(spoiled, np.nan)) == np.inf
    if program.name == "jacobi":
        spoiled = got[output].copy()
        spoiled[0, 0] = 1
        assert program.error(arrays, spoiled) == np.inf


def test_bytes_that_move() -> None:
    assert MATMUL.moved(3, 5) == 4 * (15 + 15 + 9)


def test_sizes_of_the_suite_are_what_workloads_need() -> None:
    for workload in registry.all():
        for sizes in sizes_of(workload):
            assert set(sizes) == set(workload.parameters)
            assert all(sizes[name] >= least for name, least in workload.least.items())


@pytest.mark.toolchain
@pytest.mark.parametrize("tool", planted.TOOLS)
def test_planted_faults_are_faults_and_their_twins_are_not(tool: str) -> None:
    run_planted(tool, faulty=False)
    with pytest.raises(DeviceFault):
        run_planted(tool, faulty=True)


def run_planted(tool: str, *, faulty: bool) -> None:
    device = EmulatedProvider(Rules(unset=True))
    module = device.compile(planted.kernel(tool, faulty=faulty), ("k",))
    buffer = device.alloc(4 * 64)
    if planted.is_set(tool, faulty=faulty):
        device.upload(buffer, np.arange(64, dtype=np.float32))
    device.launch(module, "k", (1, 1, 1), (64, 1, 1), (buffer, np.int64(3)))


@needs_nvcc
def test_planted_programs_compile(tmp_path: Path) -> None:
    for tool in planted.TOOLS:
        for faulty in (False, True):
            text = planted.program(tool, faulty=faulty)
            (tmp_path / f"{tool}_{faulty}.cu").write_text(text, encoding="utf-8")
    command = ["nvcc", "-c", "-arch=sm_80", *(path.name for path in tmp_path.glob("*.cu"))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "text, code, faulty, wrong",
    [
        ("========= ERROR SUMMARY: 2 errors", 9, True, ""),
        ("========= ERROR SUMMARY: 2 errors", 1, True, ""),
        ("========= RACECHECK SUMMARY: 1 hazard displayed", 0, True, ""),
        ("========= ERROR SUMMARY: 0 errors", 0, True, "was not reported"),
        ("========= ERROR SUMMARY: 0 errors", 0, False, ""),
        ("=========  header\n========= Invalid write of 4 bytes", 9, False, "Invalid write"),
        ("a failure of its own", 1, False, "a failure of its own"),
    ],
)
def test_the_sanitizers_words(
    text: str, code: int, faulty: bool, wrong: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    program = tmp_path / "compute-sanitizer"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    sanitizer.run(str(program), "memcheck", "k", ["none"], faulty=faulty)
    row = json.loads(capsys.readouterr().out)
    assert bool(row.get("wrong")) == bool(wrong)
    assert wrong in row.get("wrong", "")


PROFILE = """\
==PROF== Connected to process 7
"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name",\
"Rule Type","Rule Description","Estimated Speedup"
"0","softmax_0(float *, long)","SpeedOfLight","Duration","us","12.5","","","",""
"0","softmax_0(float *, long)","SpeedOfLight","Memory Throughput","%","81.0","","","",""
"0","softmax_0(float *, long)","MemoryWorkload","Memory Throughput","GB/s","3,100","","","",""
"0","softmax_0(float *, long)","Occupancy","","","","Occ","OPT","more blocks","5"
"0","softmax_0(float *, long)","WarpState","","","","Stall","OPT","long scoreboard","20.5"
"0","softmax_0(float *, long)","WarpState","","","","Stall","INF","a remark","90"
"1","softmax_1(float *, long)","SpeedOfLight","Duration","us","3","","","",""
"""


def test_profiles_are_read() -> None:
    assert read_profile(PROFILE.splitlines()) == [
        {
            "kernel": "softmax_0",
            "duration": "12.5 us",
            "memory": "81.0 %",
            "limit": "long scoreboard",
        },
        {"kernel": "softmax_1", "duration": "3 us"},
    ]
    assert read_profile(["no profile", "at all"]) == []


def test_no_sanitizer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sanitizer, "find", lambda _: None)
    sanitizer.main()
    assert "not installed" in capsys.readouterr().out


def test_the_tool_is_looked_for_in_toolkits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "compute-sanitizer"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    os.chmod(program, 0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert sanitizer.find("compute-sanitizer") == str(program)
