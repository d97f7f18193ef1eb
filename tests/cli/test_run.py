"""`polyopt run`: times, comparisons, arguments and arrays."""

from __future__ import annotations

import json
import re
import textwrap

import numpy as np
import pytest

SOURCE = ("--schedule", "source")
"""Options of tests that ask for nothing of the schedule."""


@pytest.mark.toolchain
def test_run_prints_times_and_the_comparison(polyopt, demo):
    outcome = polyopt("run", "demo.py:matmul", "--sizes", "C=7x9,A=7x5,B=5x9", "--check")
    assert outcome.code == 0
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    assert lines[0] == "matmul(float64[7, 9], float64[7, 5], float64[5, 9])"
    assert [line.split()[0] for line in lines[1:]] == ["compile", "run", "python", "check"]
    assert lines[-1] == "  check     C: bitwise equal, as it must be"


@pytest.mark.toolchain
@pytest.mark.parametrize("command", [("run", "--check"), ("bisect",)])
def test_python_gets_by_name_what_it_only_takes_so(polyopt, write, command):
    write("named.py", "def f(a, *, by: float = 2.0):\n    a[1:] = by\n")
    verb, *options = command
    outcome = polyopt(verb, "named.py:f", *options)
    assert outcome.err == ""
    assert "bitwise" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("check a.py:f --fuse 1", "requires 2 arguments\n   = help: see `polyopt check --help`"),
        ("completion", "missing argument '{bash|zsh|fish}'\n"),
    ],
)
def test_arguments_that_are_missing_or_unknown(polyopt, arguments, said):
    outcome = polyopt(*arguments.split())
    assert outcome.code == 2
    assert said in outcome.err


@pytest.mark.toolchain
def test_sizes_that_must_agree_follow_one_another(polyopt, demo):
    outcome = polyopt("run", "demo.py:shifted", "--sizes", "N=6", "--json")
    assert json.loads(outcome.out)["shapes"] == [[6], [7]]


@pytest.mark.toolchain
def test_run_asks_for_the_memory_that_it_may_use(polyopt, write):
    function = """
        import polyopt as po

        def f(a: po.f64["N,N"], b: po.f64["N,N"]):
            t = a @ b
            for i in range(a.shape[0]):
                for j in range(a.shape[0]):
                    a[i, j] = t[i, j] + t[j, i]
    """
    write("product.py", textwrap.dedent(function))
    outcome = polyopt("run", "product.py:f", "--sizes", "N=100", "--memory", "1kB")
    assert outcome.code != 0
    assert "use memory=80000 or more" in outcome.err


@pytest.mark.toolchain
def test_run_on_stored_arrays_and_keep_the_results(polyopt, demo, tmp_path):
    a = np.arange(6.0)
    np.savez(tmp_path / "in.npz", a=a, factor=np.float64(3.0))
    outcome = polyopt("run", "demo.py:scale", "--npz", "in.npz", "--out", "out.npz", "--check")
    assert outcome.code == 0
    with np.load(tmp_path / "out.npz") as stored:
        assert np.array_equal(stored["a"], 3.0 * a)
        assert stored["result"] == np.sum(3.0 * a)
        assert set(stored.files) == {"a", "result"}
    with np.load(tmp_path / "in.npz") as stored:
        assert np.array_equal(stored["a"], a)


def test_a_missing_array_is_named(polyopt, demo, tmp_path):
    np.savez(tmp_path / "in.npz", b=np.zeros(3))
    outcome = polyopt("run", "demo.py:scale", "--npz", "in.npz")
    assert outcome.code == 2
    assert outcome.err == (
        "error[PO0610]: `in.npz` has no array `a`\n"
        "   = note: it holds: b\n"
        "   = help: store every argument by name: np.savez(path, a=…)\n"
    )


def test_stored_python_objects_are_not_read(polyopt, demo, tmp_path):
    np.savez(tmp_path / "in.npz", a=np.array([object()]), factor=1.0)
    outcome = polyopt("run", "demo.py:scale", "--npz", "in.npz")
    assert outcome.code == 2
    assert "error[PO0610]" in outcome.err


@pytest.mark.toolchain
def test_a_value_that_decides_the_code_comes_from_sizes(polyopt, demo):
    types = ("--types", "f64[:,:],i64")
    outcome = polyopt("run", "demo.py:total", *types, "--sizes", "axis=0,a=3x4", "--check")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("total(float64[3, 4], 0)\n")
    outcome = polyopt("run", "demo.py:total", *types)
    assert outcome.code == 2
    assert outcome.err.startswith("error[PO0611]: the value of `axis` decides the code")


def test_sizes_the_program_does_not_allow(polyopt, demo):
    outcome = polyopt("run", "demo.py:reads_ahead", "--sizes", "a=1")
    assert outcome.code == 2
    assert outcome.err.startswith("error[PO0619]: these sizes do not fit the program: ")
    assert "   = note: sizes: " in outcome.err


def test_sizes_that_contradict_each_other(polyopt, demo):
    outcome = polyopt("run", "demo.py:scale", "--sizes", "N=3,a=4")
    assert outcome.code == 2
    assert outcome.err == (
        "error[PO0609]: --sizes: `N=3` and `a=4` are one and the same size\n"
        "   = help: give `N` alone\n"
    )


@pytest.mark.toolchain
def test_a_mismatch_exits_with_4(polyopt, demo, monkeypatch):
    import polyopt.cli.compare as compare

    original = compare.compare
    monkeypatch.setattr(
        compare,
        "compare",
        lambda name, got, want, bound: original(name, got, want * (1 + 1e-15), bound),
    )
    outcome = polyopt("run", "demo.py:matmul", *SOURCE, "--sizes", "C=2x2,A=2x2,B=2x2", "--check")
    assert outcome.code == 4
    assert outcome.err.startswith(
        "error[PO0617]: `C` differs from the Python function's result\n   = note: C["
    )
    assert "   = note: 4 of 4 elements differ too much; must be the same bits\n" in outcome.err


@pytest.mark.toolchain
def test_without_a_compiler(polyopt, demo, monkeypatch):
    monkeypatch.setenv("POLYOPT_CC", "no-such-compiler")
    outcome = polyopt("run", "demo.py:scale")
    assert outcome.code == 3
    assert outcome.err.startswith("error[PO0501]: the C compiler `no-such-compiler` is not")
    assert polyopt("check", "demo.py:blur").code == 0
    assert polyopt("compile", "demo.py:blur").code == 0
    doctor = polyopt("doctor")
    assert doctor.code == 3
    assert re.search(r"^fix   C compiler .*install", doctor.out, re.MULTILINE)
