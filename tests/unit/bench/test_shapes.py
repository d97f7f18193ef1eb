"""Shapes of products: what is drawn, what is said of the times."""

from __future__ import annotations

import pytest

from bench import shapes, shapes_worker
from bench.shapes import Row, drawn, measure, summary


def test_a_seed_gives_the_same_shapes():
    assert drawn(50, 3) == drawn(50, 3)
    assert drawn(50, 3) != drawn(50, 4)


def test_all_kinds_and_forms_are_drawn():
    found = drawn(200, 0)
    assert len(found) == 200
    assert {case.form for case in found} == set(shapes.KERNELS)
    assert {case.kind for case in found} >= {"matrix-vector", "vector-matrix", "tall", "primes"}
    assert all(min(case.shape) >= 1 for case in found)
    assert all(case.shape[2] == 1 for case in found if case.kind == "matrix-vector")


def test_the_summary_counts_low_ratios():
    rows = [
        Row("tall", "A@B", (1, 2, 3), 1.0, 4.0, 9.0),
        Row("wide", "A@B", (1, 2, 3), 4.0, 1.0, 9.0),
    ]
    tall, wide, both = summary(rows)
    assert "4.00, 0 of 1 under 0.8" in tall
    assert "0.25, 1 of 1 under 0.8" in wide
    assert "1.00, 1 of 2 under 0.8" in both


def test_unknown_levels_are_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit) as caught:
        shapes.main(["--isa", "nonsense"])
    assert caught.value.code == 2
    assert "'v2', 'v3', 'v4'" in capsys.readouterr().err


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_wrong_results_are_noticed(dtype, tmp_path):
    loops = shapes_worker.library(tmp_path, dtype)
    assert shapes_worker.timed("loops", "A@B.T", (3, 4, 5), dtype, loops) > 0
    with pytest.raises(AssertionError):
        shapes_worker.timed("loops", "A@B", (3, 4, 5), dtype, lambda *_: None)


@pytest.mark.toolchain
def test_the_loops_leave_subnormal_numbers_alone(tmp_path):
    shapes_worker.library(tmp_path, "float64")
    assert float("5e-324") * 1.0 > 0


def test_the_clock_of_the_processor_compares_one_thread(capsys):
    with pytest.raises(SystemExit):
        shapes.main(["--clock", "processor", "--threads", "2"])
    assert "--threads 1" in capsys.readouterr().err


@pytest.mark.toolchain
def test_all_implementations_are_timed(monkeypatch):
    monkeypatch.setattr(shapes, "ROUNDS", 1)
    (row,) = measure([shapes.Case("any", "A.T@B", (3, 4, 5))], "float32", 1)
    assert row.shape == (3, 4, 5)
    assert min(row.polyopt, row.blas, row.loops) > 0
