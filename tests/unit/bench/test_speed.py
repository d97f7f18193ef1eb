"""The suite speed: who is compared with whom, limits, losses, kept runs and their comparison.

In: nothing.  Out: nothing.
"""

import csv
import io
import json
import shutil
import sys
from typing import ClassVar

import pytest
from click.testing import CliRunner

from bench.process import Conversation
from bench.records import Status
from bench.speed.compare import compare, read
from bench.speed.limits import Limits, _levels
from bench.speed.measure import measure
from bench.speed.records import Cell, CellResult, Entrant, Outcome, SpeedReport, report_of
from bench.speed.run import run
from bench.speed.sheet import sheet
from bench.speed.suite import SpeedRequest, cells, names
from bench.speed.table import losses, render
from polyopt.cli.cmd_bench import command
from polyopt.report.speed_page import speed_page

ENVIRONMENT = {
    "date": "2026-01-01T00:00:00+00:00",
    "commit": "0123456789abcdef",
    "machine": {"cpu": "a processor", "cores": 2},
}
CELL = Cell("gemm", "LARGE", "float64", "strict", 2)


def outcome(peer, form, *samples, status=Status.OK):
    return Outcome(Entrant(peer, form), status, "", 0.0, "", samples)


def report(*outcomes, cell=CELL):
    result = CellResult(cell, {"N": 4}, 100, 64, 0.001, "DRAM", outcomes)
    return SpeedReport(ENVIRONMENT, {"2": {"float64": 1e9}}, {"gcc": "12"}, (result,))


OWN = outcome("polyopt", "loops", 0.02, 0.02, 0.02)
ARRAYS = outcome("polyopt", "numpy", 0.02)
GCC = outcome("gcc", "", 0.03)
BLAS = outcome("numpy", "numpy", 0.01)


def test_strict_loops_are_compared_with_peers_that_keep_their_order():
    strict = report(OWN, ARRAYS, GCC, BLAS).results[0]
    assert strict.best_rival("loops") == GCC
    assert strict.best_rival("numpy") == BLAS
    assert strict.ratio(OWN) == pytest.approx(1.5)
    assert strict.ratio(ARRAYS) == pytest.approx(0.5)
    free = Cell("gemm", "LARGE", "float64", "reassociate", 2)
    assert report(OWN, GCC, BLAS, cell=free).results[0].best_rival("loops") == BLAS


def test_what_is_wrong_is_no_rival_and_is_told():
    found = report(OWN, GCC, outcome("clang", "", status=Status.WRONG))
    assert found.results[0].best_rival("loops") == GCC
    assert "gemm LARGE float64 strict x2, clang: wrong: " in render(found).splitlines()
    assert found.exit_code == 0
    assert report(outcome("polyopt", "loops", status=Status.WRONG)).exit_code == 4
    assert report(outcome("polyopt", "loops", status=Status.REFUSED)).exit_code == 1


def test_losses_and_means_are_listed():
    found = report(OWN, ARRAYS, GCC, BLAS)
    assert [(ratio, own) for ratio, _, own in losses(found)] == [(0.5, ARRAYS)]
    text = render(found)
    assert "strict: 1 of 2 at least as fast as the best peer, geometric mean 0.87" in text
    assert "5%" in next(line for line in text.splitlines() if "1.50" in line)


def test_a_kept_run_is_read_back():
    found = report(OWN, ARRAYS, GCC, BLAS)
    assert report_of(json.loads(json.dumps(found.as_json()))) == found


def test_every_row_says_which_part_of_the_roofline_it_reaches():
    found = report(OWN, GCC)
    assert "roofline" in render(found)
    shares = [o["share"] for o in found.as_json()["cells"][0]["outcomes"]]
    assert shares == pytest.approx([0.05, 1 / 30])
    page = speed_page({**found.as_json(), "limits": {}})
    assert ">20 (5%)<" in page
    assert ">30 (3%)<" in page
    assert "roofline" in page[page.index("Milliseconds") :][:120]


def test_a_report_is_a_table_of_values():
    lines = list(csv.DictReader(io.StringIO(sheet(report(OWN, GCC)))))
    assert [(line["peer"], line["seconds"], line["ratio"]) for line in lines] == [
        ("polyopt", "0.02", "1.5"), ("gcc", "0.03", ""),
    ]  # fmt: skip
    assert lines[0]["sizes"] == "N=4"
    assert [float(line["roofline_percent"]) for line in lines] == pytest.approx([5.0, 100 / 30])
    assert float(lines[0]["gflops"]) == pytest.approx(100 / 0.02 / 1e9)
    untimed = csv.DictReader(io.StringIO(sheet(report(outcome("gcc", "", status=Status.WRONG)))))
    assert next(untimed)["seconds"] == ""


def test_limits_are_set_by_arithmetic_or_by_the_level_that_holds_the_data():
    values = {"float64": 100.0, "float32": 200.0, "L1 read": 50.0, "L2 read": 20.0}
    values |= {"L3 read": 10.0, "DRAM read": 4.0, "DRAM stream": 5.0}
    limits = Limits({2: values}, {"L1": 100, "L2": 1000, "L3": 10000})
    fast = Cell("gemm", "LARGE", "float64", "reassociate", 2)
    assert limits.of(fast, 1000, 40) == (10.0, "arithmetic")
    assert limits.of(CELL, 1000, 40) == (20.0, "arithmetic")  # no fused operations
    assert limits.of(fast, 1, 150) == (3.0, "L1")  # two cores have twice as much
    assert limits.of(fast, 1, 1500) == (4.0 + 1300 / 20, "L2")
    assert limits.of(fast, 1, 50_000) == (4.0 + 90.0 + 800.0 + 8000.0, "DRAM")
    assert limits.of(Cell("gemm", "LARGE", "float64", "strict", 1), 1, 1) == (None, "")


def test_sizes_of_caches_are_read():
    found = _levels({"L1 data": "48K", "L1 instruction": "32K", "L3 unified": "32M"})
    assert found == {"L1": 49152, "L3": 33554432}


def test_cells_are_those_asked_for():
    request = SpeedRequest(("gemm", "nussinov", "softmax"), dtypes=("float32",), threads=(2,))
    found = cells(request)
    assert [str(cell) for cell in found[:2]] == [
        "gemm LARGE float32 strict x2",
        "gemm LARGE float32 reassociate x2",
    ]
    assert found[2].dtype == "int32"
    assert {cell.dtype for cell in cells(SpeedRequest(("softmax",)))} == {"float32"}
    assert len(set(names())) == len(names()) > 50


def timed(own, peer):
    return report(outcome("polyopt", "loops", own, own), outcome("gcc", "", peer, peer))


@pytest.mark.parametrize(
    "own, peer, verdict",
    [
        (0.02, 0.03, ""),
        (0.0205, 0.03, ""),
        (0.03, 0.03, "slower"),
        (0.01, 0.03, "faster"),
        (0.03, 0.045, ""),  # the machine was slower, not polyopt
        (0.02, 0.015, "slower"),  # the machine was faster, and polyopt was not
    ],
)
def test_changes_beyond_noise_are_found(own, peer, verdict):
    found = compare(timed(0.02, 0.03), timed(own, peer))
    assert [change.verdict for change in found.changes] == [verdict]
    assert found.is_worse is (verdict == "slower")


def test_samples_that_differ_widen_the_noise():
    shaky = outcome("polyopt", "loops", 0.02, 0.03, 0.04, 0.05)
    assert not compare(report(shaky, GCC), report(outcome("polyopt", "loops", 0.042), GCC)).is_worse


def test_what_is_not_timed_any_more_is_worse():
    gone = report(outcome("polyopt", "loops", status=Status.REFUSED), GCC)
    found = compare(report(OWN, GCC), gone)
    assert found.missing == ("gemm LARGE float64 strict x2, loops",)
    assert found.is_worse


def keep(path, found):
    path.write_text(json.dumps(found.as_json()))
    return str(path)


def test_the_command_compares_two_kept_runs(tmp_path):
    before = keep(tmp_path / "a.json", timed(0.02, 0.03))
    after = keep(tmp_path / "b.json", timed(0.04, 0.03))
    worse = CliRunner().invoke(command, ["--compare", before, after])
    assert worse.exit_code == 1
    assert "1 slower, 0 faster of 1" in worse.output
    better = CliRunner().invoke(command, ["--compare", after, before])
    assert better.exit_code == 0
    other = tmp_path / "c.json"
    other.write_text("{}")
    refused = CliRunner().invoke(command, ["--compare", before, str(other)])
    assert refused.exit_code == 2
    assert "not a run of the suite speed" in refused.output


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["gem"], "no workload gem; there are adi"),
        (["gemm", "--peers", "icc"], "no peer icc; there are polyopt, numpy, python, gcc"),
    ],
)
def test_the_suite_refuses_unknown_names(arguments, message):
    outcome = CliRunner().invoke(command, ["--suite", "speed", *arguments])
    assert outcome.exit_code == 2
    assert message in " ".join(outcome.output.split())


@pytest.mark.toolchain
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_run_is_checked_timed_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_BENCH_DIR", str(tmp_path))
    monkeypatch.setattr("bench.speed.limits.caches", lambda: {"L3 unified": "1M"})  # is quick
    target = tmp_path / "run.json"
    asked = ["gesummv", "--suite", "speed", "--size", "MINI", "--threads", "1", "--fp", "strict"]
    asked += ["--peers", "gcc,gcc-omp,numba", "--wait", "0", "--output", str(target)]
    done = CliRunner().invoke(command, asked)
    assert done.exit_code == 0, done.output
    assert "Not installed: numba" in done.output
    found = read(target)
    assert [str(o.entrant) for o in found.results[0].outcomes] == [
        "polyopt loops", "polyopt numpy", "gcc", "gcc-omp",
    ]  # fmt: skip
    assert all(len(o.samples) >= 3 and o.error is not None for o in found.results[0].outcomes)
    assert found.limits["1"]["float64"] > 0


class Slow(Conversation):
    """A worker whose first call takes a second, and all others a millisecond."""

    asked: ClassVar = []

    def ask(self, **asked):
        found = super().ask(**asked)
        if asked.get("do") == "time":
            found["seconds"] = [1e-3 if self.asked else 1.0] * asked["calls"]
            self.asked.append(asked["calls"])
        return found


def test_a_first_call_does_not_decide_how_often_is_measured(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_BENCH_DIR", str(tmp_path))
    monkeypatch.setattr("bench.speed.measure.Conversation", Slow)
    cell = Cell("gesummv", "MINI", "float64", "strict", 1)
    (found,) = measure(cell, ("numpy",), 1.0, None, lambda _: None).outcomes
    assert Slow.asked == [1, 2, *[20] * 9]
    assert found.samples == (1e-3,) * 9


class Unanswered(Exception):
    """Raised by a worker in place of an answer."""


def test_others_are_not_waited_for_for_long(monkeypatch):
    asked = []

    class Silent(Conversation):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            asked.append(self.timeout)

        def receive(self) -> dict[str, object]:
            raise Unanswered

    monkeypatch.setattr("bench.speed.measure.Conversation", Silent)
    monkeypatch.setattr("bench.peers.registry.interpreter", lambda peer: sys.executable)
    cell = Cell("gesummv", "MINI", "float64", "strict", 1)
    with pytest.raises(Unanswered):
        measure(cell, ("polyopt", "numba"), 0, None, lambda _: None)
    own, numba = max(asked), min(asked)
    assert own > 3 * numba >= 90
    assert asked.count(own) == 3  # the judge and both forms


def test_an_interrupt_keeps_what_was_measured(monkeypatch):
    cell = Cell("gemm", "MINI", "float64", "strict", 1)
    found = CellResult(cell, {}, 1, 1, None, "", ())
    answers = iter((found,))

    def measured(*_: object) -> CellResult:
        for answer in answers:
            return answer
        raise KeyboardInterrupt

    monkeypatch.setattr("bench.speed.run.measure", measured)
    request = SpeedRequest(("gemm",), ("MINI",), threads=(1, 2), peers=("numpy",), is_timed=False)
    report = run(request)
    assert report.results == (found,)
    assert "Interrupted: 1 of 4 cells were measured." in report.notes
