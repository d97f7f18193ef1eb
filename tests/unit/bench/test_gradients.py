"""The benchmark of gradients: what it asks for, what it finds wrong, what it counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workloads
from bench.gradients import differences
from bench.gradients.problem import Problem, Skipped, problem
from bench.gradients.records import Row, line, summary
from bench.gradients.run import main


def asked(name: str, form: str = "numpy") -> Problem:
    workload = workloads.get(name)
    return problem(workload, workload.forms[form], "MINI", np.dtype(float))


def test_adjoints_have_the_shapes_of_results():
    written, returned = asked("softmax"), asked("attention")
    assert written.of == ("probs",)
    assert written.adjoints[0].shape == written.arguments["probs"].shape
    assert returned.of == ()
    assert returned.by == ("q", "k", "v")
    assert returned.weighted({}) == asked("attention").weighted({})


def test_programs_without_floats_are_skipped():
    workload = workloads.get("crc32")
    with pytest.raises(Skipped):
        problem(workload, workload.forms["loops"], "MINI", workload.dtype)


def squares(x):
    return np.sum(x * x * x)


def test_a_wrong_gradient_differs_from_the_slope():
    x = np.array([1.0, -2.0, 0.5])
    cubes = Problem(squares, {"x": x}, ("x",), (), (1.0,))
    right = 3.0 * x * x
    assert differences.worst(cubes, [right])[0] < differences.BOUND
    assert differences.worst(cubes, [right * 1.00001])[0] > differences.BOUND
    assert differences.worst(cubes, [right[:2]])[0] == np.inf
    assert not differences.worst(cubes, [right * np.nan])[0] <= differences.BOUND


ROW = Row(
    "gemm",
    "numpy",
    "float64",
    right=True,
    error=1e-12,
    seconds={"compile": 1.25},
    samples={"primal": [1.0, 2.0, 4.0], "gradient": [6.0], "jax": [12.0]},
    jax_error=1e-14,
)


def test_rows_have_ratios_and_the_end_has_counts():
    slow = replace(ROW, name="lu", samples={**ROW.samples, "gradient": [24.0], "jax": [6.0]})
    other = replace(ROW, name="mvt", jax_error=0.5, right=False)
    none = Row("crc32", "loops", "uint32", skipped=True, note="its numbers are uint32")
    cells = ["1.25", "2000.0000", "6000.0000", "3.00", "12000.0000", "2.00", "1.0e-12"]
    assert line(ROW).split() == ["gemm:numpy", *cells]
    assert other.ahead is None
    assert "WRONG" in line(other)
    assert "skipped: its numbers" in line(none)
    right, four, ahead = summary([ROW, slow, other, none])
    assert right.startswith("right: 2 of 3 (1 skipped")
    assert four.startswith("at most 4 times the function's time: 1 of 2 (geometric mean 6.00")
    assert ahead.startswith("JAX's time over ours: 0.71 (geometric mean of 2), ahead in 1")


@pytest.mark.toolchain
def test_the_command_checks_what_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))
    assert main(["trisolv:loops", "crc32", "--check"]) == 0
    said = capsys.readouterr().out
    assert "trisolv:loops" in said
    assert "right: 1 of 1 (1 skipped" in said
