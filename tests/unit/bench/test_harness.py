"""The comparison harness: comparison of results, workers, verdicts, table, command line.

In: nothing.  Out: nothing.
"""

import copy
import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import workloads
from bench.check import relative_error, same_bits
from bench.measure import check_sizes, implementations
from bench.process import ROOT, WorkerFailure, WorkerProcess
from bench.records import Implementation, Kind, Measurement, Report, Request, Status, WorkloadResult
from bench.run import main
from bench.table import render
from bench.worker import Worker, answer, outside
from polyopt.numerics.compare import compare as compare_output

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

ENVIRONMENT = {
    "date": "2026-01-01T00:00:00+00:00",
    "commit": "0123456789abcdef",
    "machine": {"cpu": "a processor", "cores": 2},
    "compiler": "gcc 12",
    "flags": ["-O3"],
    "versions": {"numpy": "2.0"},
}


def arrays(*values):
    return {"A": np.array(values, dtype=float)}


def test_relative_error_is_measured_against_the_largest_element():
    assert relative_error(arrays(1.0, 100.5), arrays(1.0, 100.0)) == 0.005
    assert relative_error(arrays(0.25), arrays(0.0)) == 0.25
    assert relative_error(arrays(), arrays()) == 0.0


def test_special_values_must_match():
    nan, inf = float("nan"), float("inf")
    assert relative_error(arrays(nan, inf, 1.0), arrays(nan, inf, 1.0)) == 0.0
    assert relative_error(arrays(nan, 1.0), arrays(1.0, 1.0)) == inf
    assert relative_error(arrays(1.0, 1.0), arrays(nan, 1.0)) == inf
    assert relative_error(arrays(-inf), arrays(inf)) == inf


def test_shape_and_dtype_must_match_and_integers_exactly():
    assert relative_error(arrays(1.0, 2.0), arrays(1.0)) == float("inf")
    assert relative_error({"A": np.float32([1])}, arrays(1.0)) == float("inf")
    assert relative_error({"A": np.int32([7])}, {"A": np.int32([7])}) == 0.0
    assert relative_error({"A": np.int32([7])}, {"A": np.int32([8])}) == float("inf")


def test_same_bits_tells_the_zeros_apart():
    assert same_bits(arrays(0.0, 1.5), arrays(0.0, 1.5))
    assert not same_bits(arrays(-0.0), arrays(0.0))


def wrong_gemm(sizes, arguments):
    """Bind a gemm that spoils one element."""

    def call():
        workloads.get("gemm").forms["numpy"](**arguments)
        arguments["C"][0, 0] += 1e-3

    return call


def right_gemm(sizes, arguments):
    return partial(workloads.get("gemm").forms["numpy"], **arguments)


@pytest.mark.parametrize("bind, right", [(right_gemm, True), (wrong_gemm, False)])
def test_worker_restores_arguments_and_finds_wrong_results(tmp_path, bind, right):
    workload = workloads.get("gemm")
    sizes = workload.at("MINI")
    worker = Worker(workload, bind)
    path = str(tmp_path / "reference.npz")
    answer(worker, {"do": "reference", "sizes": sizes, "path": path})
    # in-place programs: three calls must give what one call gives
    answer(worker, {"do": "time", "sizes": sizes, "calls": 3})
    reply = answer(worker, {"do": "check", "sizes": sizes, "path": path})
    assert (reply["error"] <= workload.bound(sizes)) is right


def test_a_failing_command_is_reported_and_a_crash_is_noticed():
    implementation = Implementation(Kind.NUMPY)
    with WorkerProcess(implementation, timeout=600) as process:
        assert process.load("gemm") is None
        with pytest.raises(WorkerFailure, match="no command fly") as caught:
            process.ask(do="fly", sizes={})
        assert caught.value.status is Status.REFUSED
        process.process.kill()
        with pytest.raises(WorkerFailure, match="ended with code -9") as caught:
            process.ask(do="time", sizes={}, calls=1)
        assert caught.value.status is Status.WRONG


def test_a_worker_that_has_answered_keeps_no_core_busy():
    """It is stopped, goes on with the next command, and ends with its driver."""
    with WorkerProcess(Implementation(Kind.NUMPY), timeout=600) as process:
        process.load("gemm")
        assert comes_to(process.process.pid, "T")
        sizes = workloads.get("gemm").at("MINI")
        assert len(process.ask(do="time", sizes=sizes, calls=3)["seconds"]) == 3
        assert comes_to(process.process.pid, "T")
    assert process.process.returncode == -9


def test_a_stopped_worker_ends_with_its_driver():
    driver = (
        "from bench.process import WorkerProcess; from bench.records import Implementation, Kind\n"
        "worker = WorkerProcess(Implementation(Kind.NUMPY), 600); worker.load('gemm')\n"
        "import os; print(worker.process.pid, flush=True); os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", driver]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert comes_to(int(done.stdout), "", "Z")


def comes_to(pid: int, *states: str) -> bool:
    """Wait until a process is in one of some states; False when it is not after a minute."""
    end = time.monotonic() + 60
    while (found := state(pid)) not in states and time.monotonic() < end:
        time.sleep(0.01)
    return found in states


def state(pid: int) -> str:
    """Return the letter that the kernel shows for a process, nothing for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def test_check_sizes_are_whole_or_shortened():
    gemm, jacobi = workloads.get("gemm"), workloads.get("jacobi-2d")
    floyd = workloads.get("floyd-warshall")
    assert check_sizes(gemm, gemm.at("LARGE")) == gemm.at("LARGE")
    assert check_sizes(jacobi, jacobi.at("MINI")) == jacobi.at("MINI")
    shortened = check_sizes(jacobi, jacobi.at("LARGE"))
    assert shortened["N"] == 1300
    assert 1 <= shortened["TSTEPS"] < 500
    assert check_sizes(floyd, floyd.at("LARGE")) == floyd.at("MEDIUM")


def test_forms_that_a_workload_lacks_do_not_take_part():
    request = Request(names=("gemm",), threads=(1, 2))
    whole = workloads.get("gemm")
    found = [str(i) for i in implementations(whole, request)]
    assert found == ["numpy", "gcc", "loops x1", "loops x2", "numpy x1", "numpy x2"]
    numpy_only = replace(whole, forms={"numpy": whole.forms["numpy"]})
    found = [str(i) for i in implementations(numpy_only, request)]
    assert found == ["numpy", "numpy x1", "numpy x2"]
    assert [str(i) for i in implementations(whole, replace(request, gcc=False))][1] == "loops x1"


def report(*measurements):
    result = WorkloadResult("gemm", "MINI", {"N": 4}, {"N": 4}, 100, 1e-14, measurements)
    return Report(Request(names=("gemm",)), ENVIRONMENT, (result,))


BASE = (
    Measurement(Implementation(Kind.NUMPY, threads=2), Status.OK, samples=(0.02,), fraction=0.5),
    Measurement(Implementation(Kind.GCC), Status.OK, samples=(0.03, 0.04, 0.05)),
)
LOOPS = Implementation(Kind.POLYOPT, "loops", 2, "strict")


@pytest.mark.parametrize(
    "status, code",
    [(Status.OK, 0), (Status.REFUSED, 1), (Status.TIMEOUT, 1), (Status.WRONG, 4)],
)
def test_exit_code_follows_the_worst_result(status, code):
    assert report(*BASE, Measurement(LOOPS, status)).exit_code == code


def test_ratios_use_medians():
    found = report(*BASE, Measurement(LOOPS, Status.OK, samples=(0.01, 0.01, 0.04)))
    variant = json.loads(json.dumps(found.as_json()))["workloads"][0]["implementations"][2]
    assert variant["seconds"] == 0.01
    assert variant["spread"] == pytest.approx(3.0)
    assert variant["vs_gcc"] == pytest.approx(4.0)
    assert variant["vs_numpy"] == pytest.approx(2.0)


def test_table_shows_times_ratios_and_what_was_scaled():
    text = render(report(*BASE, Measurement(LOOPS, Status.OK, samples=(0.01, 0.011), bitwise=True)))
    lines = text.splitlines()
    assert [line.split() for line in lines if line.startswith("gemm")] == [
        ["gemm", "20.0*", "40.0", "50%", "10.5", "10%"],
        ["gemm", "3.81", "/", "1.90"],
    ]
    assert "* measured over a part of the time steps and scaled to all of them." in lines
    assert "1 of 1 compared variants in explicit loops are bitwise equal" in text


@pytest.mark.parametrize("state", ["", " with changes"])
def test_heading_says_when_the_commit_had_changes(state):
    found = report(*BASE)
    environment = {**ENVIRONMENT, "commit": "0123456789abcdef" + state}
    first = render(replace(found, environment=environment)).splitlines()[0]
    assert first.endswith("commit 0123456789ab" + state)


def test_table_names_failures():
    text = render(report(*BASE, Measurement(LOOPS, Status.WRONG, "error 1.0e-03")))
    assert "gemm, loops x2: wrong: error 1.0e-03" in text.splitlines()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--only", "gem"], "no workload gem; there are adi, atax"),
        (["HUGE"], "invalid choice: 'HUGE'"),
        (["--threads", "0"], "0 is not a count of at least 1"),
        (["--forms", "slices"], "no form slices; there are loops, numpy"),
        (["--only", ","], "no workload given"),
    ],
)
def test_a_wrong_command_line_exits_with_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_missing_compiler_is_one_line_with_the_package(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    assert main(["MINI", "--only", "gemm", "--quiet"]) == 3
    assert capsys.readouterr().err == "bench: gcc not found: install the package gcc\n"


@pytest.mark.toolchain
@needs_gcc
def test_a_whole_run_is_checked_timed_and_written(tmp_path, capsys):
    target = tmp_path / "deep" / "report.json"
    names = "gemm,jacobi-1d"
    code = main(
        ["MINI", "--only", names, "--repeat", "2", "--wait", "0", "--json", str(target), "-q"]
    )
    assert code == 0, capsys.readouterr().out
    found = json.loads(target.read_text())
    assert [w["name"] for w in found["workloads"]] == names.split(",")
    for workload in found["workloads"]:
        assert [i["status"] for i in workload["implementations"]] == ["ok"] * 6
        for variant in workload["implementations"]:
            assert len(variant["samples"]) == 2
            assert variant["error"] <= workload["bound"]
            if variant["form"] == "loops":
                assert variant["bitwise"] is True
    assert {"date", "commit", "machine", "compiler", "flags", "versions"} <= set(found)


def test_an_interrupted_run_keeps_what_it_measured(tmp_path, monkeypatch, capsys):
    def measured(workload, request, *_):
        if workload.name == "atax":
            raise KeyboardInterrupt
        return report(*BASE).results[0]

    monkeypatch.setattr("bench.run.measure", measured)
    target = tmp_path / "report.json"
    arguments = ["MINI", "--only", "gemm,atax,mvt", "--json", str(target), "-q", "--wait", "0"]
    assert main(arguments) == 130
    assert "Interrupted: 1 of 3 workloads were measured." in capsys.readouterr().out
    assert [w["name"] for w in json.loads(target.read_text())["workloads"]] == ["gemm"]


def test_reference_of_a_copy_is_the_reference():
    """`make` gives fresh arrays every time: no run can leak into the next."""
    workload = workloads.get("lu")
    first = workload.make("MINI")
    kept = copy.deepcopy(first)
    workload.forms["numpy"](**first)
    np.testing.assert_array_equal(workload.make("MINI")["A"], kept["A"])


class Off:
    """A kernel that is off by what `error` says, with a bound of 1e-12."""

    def __init__(self, error):
        self.error = error

    def compile(self, *values):
        return self

    def compare(self, *values):
        want = np.ones(3)
        return (compare_output("A", np.array([1, 1 + self.error, 1]), want, np.full(3, 1e-12)),)


def test_results_outside_their_contract_are_told():
    assert outside(Off(1e-13), {"A": np.ones(3)}) == []
    (line,) = outside(Off(1e-3), {"A": np.ones(3)})
    assert line == "A[1] is 1.001, not 1.0; bound 1.0e-12"
