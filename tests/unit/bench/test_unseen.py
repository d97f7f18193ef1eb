"""The programs in no suite: every implementation computes what Python does; rows and summaries."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
import workloads
from bench.check import relative_error
from bench.unseen import __main__ as command
from bench.unseen.implementations import IMPLEMENTATIONS
from bench.unseen.measure import Row
from bench.unseen.programs import fields, graphs, signals
from bench.unseen.registry import PROGRAMS


def expected(program):
    """Return what Python itself computes at the small sizes."""
    arguments = program.make(program.small, "float64")
    program.function(*arguments.values())
    return {name: arguments[name] for name in program.outputs}


def test_there_are_thirty_and_later_ones_and_none_is_in_a_suite():
    known = {stem.replace("-", "_") for stem in workloads.names()}
    assert len(PROGRAMS) == 57
    assert len(signals.PROGRAMS) == 8
    assert len(fields.PROGRAMS) == 9
    assert len(graphs.PROGRAMS) == 10
    assert not known & set(PROGRAMS)
    assert 10 <= sum(program.is_numpy for program in PROGRAMS.values()) <= 20


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_every_result_depends_on_the_data(program):
    """A result that stays as it was would make every comparison succeed."""
    before = program.make(program.small, "float64")
    after = expected(program)
    assert all(not np.array_equal(before[name], after[name]) for name in program.outputs)
    assert all(np.isfinite(after[name]).all() for name in program.outputs)


@pytest.mark.toolchain
@pytest.mark.matrix
@pytest.mark.parametrize("who", ["gcc", "numba"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_peers_compute_what_python_does(program, who, tmp_path, monkeypatch):
    if who == "numba":
        pytest.importorskip("numba")
    monkeypatch.setenv("POLYOPT_BENCH_DIR", str(tmp_path))
    bind = IMPLEMENTATIONS[who](program, "float64", 1)
    got = program.make(program.small, "float64")
    bind(program.small, got)()
    assert relative_error(got, expected(program)) <= 1e-9


@pytest.mark.toolchain
@pytest.mark.matrix
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_kernels_compute_what_python_does(program):
    kernel = po.kernel(fp="reassociate", threads=1, budget=10)(program.function)
    got = program.make(program.small, "float64")
    kernel(*got.values())
    assert relative_error(got, expected(program)) <= 1e-9


def test_the_ratio_is_that_of_the_faster_peer():
    row = Row("horner", 1, {"polyopt": 2.0, "gcc": 3.0, "numba": 1.0, "numpy": 0.1})
    assert row.ratio == 0.5
    assert row.fastest_ratio is None
    assert Row("horner", 1, {"gcc": 3.0}).ratio is None
    assert Row("horner", 1, {"polyopt": 3.0}).ratio is None


def test_refusals_are_told_below_their_row():
    row = Row("horner", 1, {"gcc": 3.0}, failures={"polyopt": "error[PO0101]: no"})
    assert command.line(row).splitlines()[1] == "    polyopt: error[PO0101]: no"


def test_the_summary_counts_rows_without_a_ratio():
    rows = [
        Row("horner", 1, {"polyopt": 1.0, "gcc": 4.0}, compile_seconds=2.0),
        Row("macd", 1, {"polyopt": 4.0, "gcc": 4.0, "numpy": 2.0}, compile_seconds=6.0),
        Row("kepler", 1, {"gcc": 4.0}, failures={"polyopt": "error[PO0101]: no"}),
    ]
    first, *others = command.summary(rows)
    assert "2 of 3 at least as fast" in first
    assert "geometric mean 2.00" in first
    assert others == [
        "threads 1: slower than NumPy: macd",
        "threads 1: refused or wrong: kepler",
        "polyopt compiled in 4.0 s (median), 6.0 s at most (macd)",
    ]


def test_unknown_names_are_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit) as caught:
        command.main(["nonsense"])
    assert caught.value.code == 2
    assert "horner" in capsys.readouterr().err
