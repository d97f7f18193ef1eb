"""Runs that end early: signals, the budget, workers that hang, places that cannot be written.

In: nothing.  Out: nothing.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from bench import budget, loop, quiet
from bench.budget import Deadline, show_duration
from bench.descendants import descendants, run_to_end
from bench.loop import Loop
from bench.measure import measure
from bench.process import ROOT, Conversation, WorkerFailure, WorkerProcess, environment_of
from bench.records import Request, Status
from bench.run import main, run
from bench.speed.measure import measure as measure_cell
from bench.speed.records import Cell
from polyopt.cli.cmd_bench import command
from tests.unit.bench.test_harness import comes_to

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
NAMES = "gemm,atax,mvt"


@pytest.mark.toolchain
@needs_gcc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_is_done_and_leaves_no_process(tmp_path, number):
    target = tmp_path / "run.json"
    arguments = ["MINI", "--only", NAMES, "--repeat", "1", "--wait", "0", "--json", str(target)]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("[2/3] atax"):
                break
        below = descendants(process.pid)
        process.send_signal(number)
        table, _ = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert any(line.startswith("  gemm loops x1: ") for line in said), "a row as it came"
    assert "about" in said[-1], "the time that is left"
    assert "Interrupted: 1 of 3 workloads were measured." in table
    found = json.loads(target.read_text())
    assert [w["name"] for w in found["workloads"]] == ["gemm"]
    assert found["notes"][-1] == "Interrupted: 1 of 3 workloads were measured."
    assert all(comes_to(pid, "", "Z") for pid in below)


def test_what_was_measured_is_in_the_file_before_the_next_program(tmp_path, monkeypatch):
    target = tmp_path / "run.json"
    held = []

    def measured(workload, *rest):
        held.append(json.loads(target.read_text()) if target.exists() else None)
        return measure(workload, replace(rest[0], forms=(), gcc=False), *rest[1:])

    monkeypatch.setattr("bench.run.measure", measured)
    monkeypatch.setattr("bench.loop.wait_until_quiet", lambda *_: 0.0)
    arguments = ["MINI", "--only", "gemm,atax", "--repeat", "1", "--wait", "0", "-q"]
    assert main([*arguments, "--json", str(target)]) == 0
    assert held[0] is None
    assert [w["name"] for w in held[1]["workloads"]] == ["gemm"]
    assert held[1]["notes"] == ["Unfinished: 1 of 2 workloads so far."]
    assert json.loads(target.read_text())["notes"] == []


def never(*_):
    raise AssertionError("something was measured")


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("bench.run.measure", never)
    monkeypatch.setattr("bench.speed.run.measure_limits", never)
    (tmp_path / "file").touch()
    place = str(tmp_path / "file" / "run.json")
    assert main(["MINI", "--only", "gemm", "-q", "--json", place]) == 2
    assert f"bench: {place} cannot be written: " in capsys.readouterr().err
    for suite in ([], ["--suite", "speed"]):
        done = CliRunner().invoke(command, ["gemm", *suite, "--output", place])
        assert done.exception.code == "PO0614"
        assert done.exception.message.startswith(f"`{place}` cannot be written: ")
    folder = CliRunner().invoke(command, ["gemm", "--output", str(tmp_path)])
    assert folder.exception.code == "PO0614"


def stuck(**limits):
    return Conversation(1, limits.pop("timeout", 600.0), "tests.unit.bench.stuck", **limits)


def test_a_worker_that_is_ended_takes_its_compiler_with_it():
    with stuck() as process:
        child = process.ask()["child"]
        assert os.getsid(child) != os.getsid(process.process.pid)
    assert comes_to(child, "", "Z")


def test_a_worker_that_hangs_is_ended_at_its_timeout_or_deadline():
    with stuck() as process:
        child = process.ask()["child"]
        process.timeout = 0.1
        with pytest.raises(WorkerFailure, match=r"no answer in 0 s$") as caught:
            process.ask()
        assert caught.value.status is Status.TIMEOUT
        assert comes_to(child, "", "Z")
    with stuck() as process:
        process.ask()
        process.deadline = Deadline.after(0.1)
        with pytest.raises(WorkerFailure, match="no answer before the program's time was used up"):
            process.ask()


def test_a_compiler_that_takes_too_long_is_ended_with_its_children(tmp_path):
    note = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {note}; wait"
    with pytest.raises(subprocess.TimeoutExpired):
        run_to_end(["sh", "-c", script], 1.0)
    assert comes_to(int(note.read_text()), "", "Z")


class Mute(WorkerProcess):
    """A worker that fails on the reference of gemm."""

    name = ""

    def load(self, workload, library=""):
        self.name = workload
        return super().load(workload, library)

    def ask(self, **asked):
        if asked.get("do") == "reference" and self.name == "gemm":
            raise WorkerFailure(Status.TIMEOUT, "no answer in 300 s")
        return super().ask(**asked)


def test_without_a_reference_a_program_is_not_timed_and_the_run_goes_on(monkeypatch):
    monkeypatch.setattr("bench.measure.WorkerProcess", Mute)
    request = Request(("gemm", "atax"), "MINI", (1,), forms=(), repeat=1, patience=0.0, gcc=False)
    found = run(request)
    (first,), (second,) = (result.measurements for result in found.results)
    assert (first.status, first.samples) == (Status.UNCHECKED, ())
    assert first.message == "the NumPy reference: timeout: no answer in 300 s"
    assert (second.status, len(second.samples)) == (Status.OK, 1)
    assert found.exit_code == 1


def test_without_a_judge_a_cell_is_not_timed(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_BENCH_DIR", str(tmp_path))

    class Silent(Conversation):
        def ask(self, **asked):
            if asked["do"] == "reference":
                raise WorkerFailure(Status.WRONG, "the process ended with code -9")
            return super().ask(**asked)

    monkeypatch.setattr("bench.speed.measure.Conversation", Silent)
    cell = Cell("gesummv", "MINI", "float64", "strict", 1)
    (outcome,) = measure_cell(cell, ("numpy",), 1.0, None, lambda _: None).outcomes
    assert (outcome.status, outcome.samples) == (Status.UNCHECKED, ())
    assert "the process ended with code -9" in outcome.message
    monkeypatch.setattr("bench.speed.measure.Conversation", Conversation)
    (again,) = measure_cell(cell, ("numpy",), 1.0, None, lambda _: None).outcomes
    assert again.status is Status.OK, "an unmade check is not kept"


class Clock:
    """A clock that moves when it is told."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        for module in (budget, loop, quiet):
            monkeypatch.setattr(module.time, "monotonic", lambda: self.now)


def test_the_budget_ends_a_run_and_tells_what_was_left_out(monkeypatch):
    clock, said, parts = Clock(monkeypatch), [], []

    def slow(item, deadline, busy):
        parts.append(deadline.left())
        clock.now += 40.0

    ended = Loop("abcd", "programs", slow, said.append, 100.0, None).run()
    assert ended.note == "The budget is used up: 3 of 4 programs were measured."
    assert ended.signal == 0
    assert parts == [100.0, 60.0, 20.0]
    assert said == [
        "[1/4] a (at most 2 min left)",
        "[2/4] b (at most 60 s left)",
        "[3/4] c (at most 20 s left)",
    ]


def test_no_program_is_begun_that_cannot_end(monkeypatch):
    clock = Clock(monkeypatch)

    def slow(item, deadline, busy):
        clock.now += 40.0

    ended = Loop("abcd", "programs", slow, lambda _: None, 85.0, None).run()
    assert ended.note == "The budget is used up: 2 of 4 programs were measured."


def test_no_program_takes_all_of_the_budget(monkeypatch):
    Clock(monkeypatch)
    deadline = Deadline.after(1000.0)
    assert deadline.part(100).left() == 40.0
    assert deadline.part(1000).left() == 10.0, "a program gets a few seconds anyway"
    assert deadline.part(2).left() == 1000.0
    assert Deadline().part(3).left() == float("inf")


@pytest.mark.parametrize(
    "seconds, text", [(4.4, "4 s"), (89, "89 s"), (90, "2 min"), (7500, "2 h 05 min")]
)
def test_durations_are_short(seconds, text):
    assert show_duration(seconds) == text


def test_the_run_waits_for_a_quiet_machine_and_notes_who_was_not_awaited(monkeypatch):
    clock, said = Clock(monkeypatch), []
    loads = iter([2.0, 1.0, 0.0])

    def watched(seconds=0.25):
        clock.now += seconds
        return next(loads)

    monkeypatch.setattr(quiet, "busy_cores", watched)
    assert quiet.wait_until_quiet(10.0, said.append) == 0.0
    assert said == ["2.0 cores are busy: waiting at most 10 s"]
    loads = iter([2.0] * 100)
    assert quiet.wait_until_quiet(5.0, said.append) == 2.0


def test_busy_cores_are_the_share_of_ticks_that_are_not_idle(monkeypatch):
    monkeypatch.setattr(quiet.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(quiet.time, "sleep", lambda _: None)
    found = iter([(1000, 400), (1100, 450)])
    monkeypatch.setattr(quiet, "_ticks", lambda cores: next(found))
    assert quiet.busy_cores() == 1.0


def test_a_peer_runs_in_its_own_environment_as_its_users_have_it(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "packages")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    cores = len(os.sched_getaffinity(0))
    own = environment_of(sys.executable, cores)
    assert own["PYTHONPATH"].split(os.pathsep) == [str(ROOT), "packages"]
    assert "OMP_NUM_THREADS" not in own
    peer = environment_of("/peers/numba/bin/python", cores + 1)
    assert peer["PYTHONPATH"] == str(ROOT), "without the project's packages"
    assert peer["PATH"].startswith("/peers/numba/bin:")
    assert peer["VIRTUAL_ENV"] == "/peers/numba"
    assert peer["OMP_NUM_THREADS"] == peer["NUMBA_NUM_THREADS"] == str(cores + 1)
