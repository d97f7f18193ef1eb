"""What each command prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from polyopt.ir.budget import Budget

DEMO = '''\
import numpy as np

import polyopt as po


@po.kernel
def matmul(C, A, B):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def blur(u):
    for i in range(1, u.shape[0] - 1):
        u[i] = 0.5 * (u[i - 1] + u[i + 1])


def scale(a: po.f64["N"], factor: float):
    """The result and a changed argument."""
    a *= factor
    return np.sum(a)


def total(a, axis):
    return np.sum(a, axis=axis) + a.shape[1]


def shifted(a: po.f64["N"], b: po.f64["N+1"]):
    for i in range(a.shape[0]):
        a[i] = b[i + 1]


def reads_ahead(a):
    a[0] = a[2]
'''

SOURCE = ("--schedule", "source")
"""Options of tests that ask for nothing of the schedule."""


def test_the_budget_of_a_command(polyopt, demo, monkeypatch):
    asked = []
    monkeypatch.setattr("polyopt.pipeline.Budget", lambda s: asked.append(s) or Budget(s))
    assert polyopt("explain", f"{demo}:blur", "--budget", "33").code == 0
    assert asked == [33.0]
    assert polyopt("explain", f"{demo}:blur", "--budget", "0").code == 2


@pytest.fixture
def demo(write):
    return write("demo.py", DEMO)


# -- compile ----------------------------------------------------------------------------------


def test_compile_writes_four_files(polyopt, demo, tmp_path):
    outcome = polyopt("compile", "demo.py:matmul", "-o", "out/deep")
    assert outcome.code == 0
    names = ["matmul.c", "matmul.h", "matmul.schedule.txt", "matmul.certificate.json"]
    assert outcome.out.splitlines() == [f"out/deep/{name}" for name in names]
    assert outcome.err.startswith("matmul(C: f64[:,:], A: f64[:,:], B: f64[:,:])\n")
    source = (tmp_path / "out/deep/matmul.c").read_text()
    assert "int polyopt_matmul(" in (tmp_path / "out/deep/matmul.h").read_text()
    assert "for (" in source
    assert {p.name for p in (tmp_path / "out/deep").iterdir()} == set(names)


def test_quiet_leaves_out_talk_and_no_errors(polyopt, demo, tmp_path):
    outcome = polyopt("compile", "demo.py:matmul", *SOURCE, "-o", "out", "-q")
    assert (outcome.code, outcome.err) == (0, "")
    assert "out/matmul.c" in outcome.out
    assert polyopt("compile", "demo.py:matmul", *SOURCE, "-o", "out").err
    outcome = polyopt("compile", "-q", "demo.py:matmull")
    assert outcome.err.startswith("error[PO0605]")


@pytest.mark.toolchain
def test_verbose_shows_the_cache_and_the_compiler(polyopt, demo, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
    call = ("run", "demo.py:scale", "--sizes", "N=5")
    said = polyopt(*call, "-v").err
    assert "polyopt.build: in " in said
    assert " -c kernel.c " in said
    assert "polyopt.compile: scale: " in said
    again = polyopt(*call, "--verbose").err
    assert "polyopt.build: " not in again
    assert " found\n" in again
    assert "polyopt." not in polyopt(*call).err


@pytest.mark.toolchain
def test_the_written_c_compiles_on_its_own(polyopt, demo, tmp_path):
    polyopt("compile", "demo.py:matmul", "-o", "out")
    (tmp_path / "use.c").write_text('#include "out/matmul.h"\nint main(void) { return 0; }\n')
    for file in ("out/matmul.c", "use.c"):
        command = ["cc", "-std=gnu11", "-fopenmp", "-c", file, "-o", "object.o"]
        assert subprocess.run(command, cwd=tmp_path).returncode == 0


def test_the_written_schedule_can_be_given_back(polyopt, demo, tmp_path):
    polyopt("compile", "demo.py:matmul", "-o", "first")
    arguments = ("--schedule", "first/matmul.schedule.txt", "-o", "second")
    assert polyopt("compile", "demo.py:matmul", *arguments).code == 0
    first, second = ((tmp_path / d / "matmul.c").read_text() for d in ("first", "second"))
    assert first == second


def test_compile_as_json(polyopt, demo):
    outcome = polyopt("compile", "demo.py:matmul", "--schedule", "source", "--json")
    record = json.loads(outcome.out)
    names = ["matmul.c", "matmul.h", "matmul.schedule.txt", "matmul.certificate.json"]
    assert record["files"] == names
    assert record["schedule"] == []
    stages = {"frontend", "schedule", "lower", "optimize", "certificate", "emit"}
    assert set(record["seconds"]) == stages


def test_the_text_alone_on_stdout(polyopt, demo, tmp_path):
    before = sorted(tmp_path.iterdir())
    outcome = polyopt("compile", "demo.py:matmul", *SOURCE, "-o", "-")
    assert outcome.code == 0
    assert outcome.out.startswith("/*\n * matmul: generated from demo.py by polyopt ")
    assert outcome.out.endswith("}\n")
    assert sorted(tmp_path.iterdir()) == before
    outcome = polyopt("compile", "demo.py:matmul", *SOURCE, "-o", "-", "--json")
    assert outcome.code == 2
    assert "PO0600" in outcome.out


@pytest.mark.parametrize("name", ["made/one.c", "made/one.h"])
def test_a_file_names_the_text_and_the_header(polyopt, demo, tmp_path, name):
    assert polyopt("compile", "demo.py:matmul", *SOURCE, "-o", name).code == 0
    made = sorted(path.name for path in (tmp_path / "made").iterdir())
    assert made == ["one.c", "one.certificate.json", "one.h", "one.schedule.txt"]


@pytest.mark.parametrize("name", ["out.cu", "out.so", "out.json", "sub/out.H"])
def test_a_name_of_another_kind_of_file(polyopt, demo, tmp_path, name):
    outcome = polyopt("compile", "demo.py:matmul", *SOURCE, "-o", name)
    assert outcome.code == 2
    assert f"error[PO0614]: `{name}` is a name of a file that is not written" in outcome.err
    assert not (tmp_path / name).exists()
    assert polyopt("compile", "demo.py:matmul", *SOURCE, "-o", f"{name}/").code == 0
    assert (tmp_path / name / "matmul.c").is_file()
    assert polyopt("compile", "demo.py:matmul", *SOURCE, "-o", name).code == 0


def test_a_directory_that_cannot_be_written(polyopt, demo, write):
    write("taken", "a file")
    outcome = polyopt("compile", "demo.py:matmul", *SOURCE, "-o", "taken")
    assert outcome.code == 2
    assert outcome.err.endswith(
        "error[PO0614]: `taken` cannot be written: File exists\n"
        "   = help: choose another directory with -o\n"
    )


def test_temporaries_are_recomputed(polyopt, write):
    body = "    y = x + 1.0\n    return y[::-1] / y\n"
    write("twice.py", f"import polyopt as po\n\n\ndef f(x: po.f64['N']):\n{body}")
    outcome = polyopt("compile", "twice.py:f", "--fuse", "all", "--json")
    assert outcome.code == 0
    (step,) = json.loads(outcome.out)["schedule"]
    assert step.startswith("recompute(y, ")
    refused = polyopt("compile", "twice.py:f", "--fuse", "all", "--schedule", "source")
    assert refused.code == 2
    assert refused.err.startswith("error[PO0249]: --fuse and --schedule are both given")


def test_temporaries_have_a_limit(polyopt, write):
    body = "    y = x + 1.0\n    return y[::-1] / y\n"
    write("twice.py", f"import polyopt as po\n\n\ndef f(x: po.f64['N']):\n{body}")
    given = ("explain", "twice.py:f", "--sizes", "N=1000", "--level", "full", "--memory")
    wide = polyopt(*given, "64kB")
    assert "at most at once, heap: 1000 * 8 bytes = 8000" in wide.out
    assert "the option `memory` allows 64000 bytes at once" in wide.out
    least = polyopt(*given, "7kB")
    assert least.code == 1
    assert least.err.startswith("error[PO0708]: temporaries do not fit in 7000 bytes: the least")
    unknown = polyopt(*given, "some")
    assert unknown.code == 2
    assert unknown.err.startswith("error[PO0222]: option `memory` is 'some'")


def test_a_function_that_is_refused(polyopt, write):
    write("loop.py", "def f(a):\n    while True:\n        a[0] *= 0.5\n")
    outcome = polyopt("compile", "loop.py:f")
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith("error[PO0110]: ")
    assert "  --> loop.py:2:5\n" in outcome.err


# -- run --------------------------------------------------------------------------------------


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


# -- check ------------------------------------------------------------------------------------


def test_a_claim_that_holds(polyopt, demo):
    outcome = polyopt("check", "demo.py:matmul", "--parallel", "i", "--parallel", "j")
    assert outcome.code == 0
    assert outcome.out == (
        "matmul: loop `i` (line 9) is parallel: proven for all sizes\n"
        "matmul: loop `j` (line 10) is parallel: proven for all sizes\n"
    )


@pytest.mark.parametrize(
    "claim, code",
    [
        (["--parallel", "i"], "PO0312"),
        (["--schedule", "parallelize(i)"], "PO0312"),
        (["--schedule", "vectorize(i)"], "PO0312"),
        (["--schedule", "parallelize(z)"], "PO0301"),
        (["--schedule", "turn(i)"], "PO0322"),
    ],
)
def test_a_claim_that_does_not_hold(polyopt, demo, claim, code):
    outcome = polyopt("check", "demo.py:blur", *claim)
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith(f"error[{code}]: ")


def test_the_refusal_shows_two_iterations(polyopt, demo):
    outcome = polyopt("check", "demo.py:blur", "--parallel", "i")
    assert "iteration (i=1) writes u[1], then iteration (i=2) reads it" in outcome.err
    assert "  --> demo.py:16:5\n" in outcome.err
    assert "note: demo.py:17:9: u[i] = 0.5" in outcome.err


def test_the_source_order_is_legal(polyopt, demo):
    outcome = polyopt("check", "demo.py:blur", "--schedule", "source")
    assert outcome.code == 0
    assert outcome.out == "blur: the order of the source is legal: proven for all sizes\n"


# -- explain ----------------------------------------------------------------------------------


def test_explain_tells_why_loops_are_not_parallel(polyopt, demo):
    outcome = polyopt(
        "explain", "demo.py:blur", "--schedule", "source", "--timing", "--level", "full"
    )
    assert outcome.code == 0
    summary, _, full = outcome.out.partition("\n\nblur (demo.py:15)\n\n")
    assert summary.startswith("blur (demo.py:15): 1 nest, ")
    titles = [line for line in full.splitlines() if line and not line.startswith(" ")]
    assert titles == [
        "arrays", "statements", "dependences", "storage", "steps", "loop nest", "fusion", "loops",
        "numerics", "timings",
    ]  # fmt: skip
    assert "  L0[0] i (S0): in order, because it carries a dependence\n" in outcome.out
    assert "  flow   u: S0 -> S0, distance (1)\n" in outcome.out
    assert "  u: read from before, written\n" in outcome.out
    timings = outcome.out.partition("\ntimings\n")[2].splitlines()
    assert timings[0].startswith("  frontend ")
    measured = [line.split()[0] for line in timings if " operations" in line]
    assert {"dependences", "order", "certificate"} <= set(measured)


MEMORY = """\
import polyopt as po


def sweep(x: po.f64["n"], steps: int):
    y = x * 2.0
    for t in range(steps):
        for i in range(1, x.shape[0]):
            y[i] += y[i - 1]
        for i in range(x.shape[0]):
            x[i] = y[x.shape[0] - 1 - i]
"""


@pytest.mark.parametrize(("target", "place"), [("c", "heap"), ("cuda", "memory of the device")])
def test_explain_tells_what_temporaries_take(polyopt, tmp_path, target, place):
    (tmp_path / "memory.py").write_text(MEMORY)
    path = str(tmp_path / "memory.py")
    outcome = polyopt("explain", path, "--sizes", "n=10", "--target", target, "--level", "full")
    storage = outcome.out.partition("\nstorage\n")[2].partition("\n\n")[0].splitlines()
    assert f"  y: n * 8 bytes = 80, {place}: a temporary of the source" in storage
    assert f"  at most at once, {place}: n * 8 bytes = 80" in storage


def test_explain_tells_what_is_parallel(polyopt, demo):
    steps = "parallelize(i); interchange(j, k); vectorize(j)"
    outcome = polyopt("explain", "demo.py:matmul", "--schedule", steps, "--json")
    record = json.loads(outcome.out)
    assert record["steps"] == steps.split("; ")
    assert "parallel across threads" in record["loops"][0]


def test_explain_is_brief(polyopt, demo):
    outcome = polyopt("explain", "demo.py:blur")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert len(lines) <= 25
    assert lines[0].startswith("blur (demo.py:15): 1 nest, ")
    blocked = "`u[i]` of line 17 is read in the next iteration by line 17"
    assert any(blocked in line for line in lines)
    nearer = polyopt("explain", "demo.py:blur", "--level", "nest").out
    assert nearer.startswith(outcome.out.rstrip())
    assert "line 17: u[i] = " in nearer[len(outcome.out) :]
    code = polyopt("explain", "demo.py:blur", "--level", "code").out
    assert "// line 17: u[i] = " in code


def test_explain_why_not(polyopt, demo):
    outcome = polyopt("explain", "demo.py:blur", "--why-not", "parallel:i")
    assert outcome.code == 0
    assert outcome.out.startswith("loop i (demo.py:16) cannot run in parallel: `u[i]` of line 17")
    assert "\n   example: " in outcome.out
    record = json.loads(polyopt("explain", "demo.py:matmul", "--why-not", "tile:i", "--json").out)
    (answer,) = record["answers"]
    assert answer["is_free"]
    assert answer["predicted"].startswith("predicted at ")
    assert polyopt("explain", "demo.py:blur", "--why-not", "parallel").code == 2


@pytest.mark.toolchain
def test_the_c_compiler_is_part_of_the_times(polyopt, demo):
    out = polyopt("explain", "demo.py:blur", "--timing").out
    assert re.search(r"^  build  +[0-9.]+ ms", out, re.MULTILINE)


def test_times_without_a_c_compiler(polyopt, demo, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    out = polyopt("explain", "demo.py:blur", "--timing").out
    assert "build: not measured: " in out
    assert "[PO0501]" in out


def test_view_writes_a_page(polyopt, demo, tmp_path):
    pytest.importorskip("jinja2")
    outcome = polyopt("view", "demo.py:blur")
    assert (outcome.code, outcome.out) == (0, "blur.html\n")
    assert (tmp_path / "blur.html").read_text().startswith("<!DOCTYPE html>")
    assert polyopt("view", "demo.py:blur", "-o", "-").out.startswith("<!DOCTYPE html>")
    refused = polyopt("view", "demo.py:blur", "-o", "nowhere/page.html")
    assert refused.code == 2
    assert "error[PO0614]: `nowhere/page.html` cannot be written" in refused.err


def test_explain_a_code(polyopt):
    outcome = polyopt("explain", "po0312")
    assert outcome.code == 0
    assert outcome.out.startswith("PO0312: A loop that carries a dependence")


# -- doctor, cache, bench ---------------------------------------------------------------------


@pytest.mark.toolchain
def test_doctor(polyopt):
    outcome = polyopt("doctor")
    assert outcome.code == 0
    assert re.search(r"^ok    OpenMP ", outcome.out, re.MULTILINE)
    assert json.loads(polyopt("doctor", "--json").out)["facts"][0]["subject"] == "polyopt"


def test_machine(polyopt, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_L2", "777216")
    shown = polyopt("machine")
    assert shown.code == 0
    assert "L2: 759.0 kB of a core" in shown.out
    assert "vector types: yes" in shown.out
    written = polyopt("machine", "--json").out
    monkeypatch.delenv("POLYOPT_L2")
    (tmp_path / "machine.json").write_text(written)
    monkeypatch.setenv("POLYOPT_MACHINE", str(tmp_path / "machine.json"))
    again = json.loads(polyopt("machine", "--json").out)
    assert again == json.loads(written)
    assert again["machine"]["l2"] == 777216


def test_machine_says_which_number_is_wrong(polyopt, tmp_path, monkeypatch):
    (tmp_path / "machine.json").write_text('{"machine": {"l2": "large"}}')
    monkeypatch.setenv("POLYOPT_MACHINE", str(tmp_path / "machine.json"))
    refused = polyopt("machine")
    assert refused.code == 2
    assert "PO0224" in refused.err
    assert "`large`, not a positive number" in refused.err


def test_doctor_lists_numpy(polyopt):
    record = json.loads(polyopt("doctor", "--numpy", "--json").out)
    assert "sqrt" in record["functions"]


@pytest.mark.toolchain
def test_cache(polyopt, demo, monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
    assert json.loads(polyopt("cache", "info", "--json").out)["entries"]["kernels"] == 0
    polyopt("run", "demo.py:scale", "--sizes", "N=3")
    assert json.loads(polyopt("cache", "info", "--json").out)["entries"]["kernels"] == 1
    assert polyopt("cache", "clear").out.startswith("cache: removed ")
    assert json.loads(polyopt("cache", "info", "--json").out)["entries"]["kernels"] == 0
    monkeypatch.setenv("POLYOPT_CACHE", "0")
    assert polyopt("cache", "info").out == "cache: off; nothing is kept\n"


def test_bench_away_from_a_checkout(polyopt, monkeypatch, tmp_path):
    import polyopt as package

    monkeypatch.setattr(package, "__file__", str(tmp_path / "polyopt" / "__init__.py"))
    outcome = polyopt("bench")
    assert outcome.code == 2
    assert outcome.err.startswith("error[PO0616]: the comparison harness is not part of this ")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["gem"], "no workload gem; there are "),
        (
            ["--suite", "gem"],
            "there is no suite gem: choose among polybench, learning, science, speed",
        ),
        (["softmax", "--suite", "polybench"], "no workload softmax; there are "),
        (["--size", "HUGE"], "'HUGE' is not one of"),
    ],
)
def test_bench_refuses_unknown_names(polyopt, arguments, message):
    outcome = polyopt("bench", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("error[PO0600]: ")
    assert message in outcome.err


@pytest.mark.toolchain
def test_bench_prints_a_line_for_every_form(polyopt):
    outcome = polyopt("bench", "gesummv", "--size", "MINI", "--threads", "2")
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines() if line.startswith("gesummv")]
    assert [(line[1], line[2], line[-1]) for line in lines] == [
        ("loops", "MINI", "yes"),
        ("numpy", "MINI", "yes"),
    ]
    assert all(len(line) == 8 for line in lines)


# -- the command as a whole -------------------------------------------------------------------


def test_a_defect_leaves_a_file_and_no_traceback(polyopt, monkeypatch, tmp_path):
    import polyopt.cli.cmd_cache as command

    def fail():
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr(command, "cache_info", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outcome = polyopt("cache", "info")
    assert outcome.code == 70
    assert outcome.err.startswith("error[PO0901]: polyopt failed on its own account (ZeroDivision")
    assert outcome.err.count("\n") == 1
    [report] = tmp_path.glob("polyopt-crash-*.txt")
    assert "deep inside" in report.read_text()
    assert str(report) in outcome.err
    monkeypatch.setenv("POLYOPT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        polyopt("cache", "info")


def test_colours_only_where_they_are_welcome(polyopt, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" not in polyopt("run", "none.py:f").err
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert polyopt("run", "none.py:f").err.startswith("\x1b[1;31merror[PO0601]\x1b[0m")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in polyopt("run", "none.py:f").err


def test_version_and_help(polyopt):
    assert re.fullmatch(r"polyopt \d+\.\d+\.\d+\n", polyopt("--version").out)
    outcome = polyopt("--help")
    assert outcome.code == 0
    for verb in ("compile", "run", "check", "explain", "bench", "doctor", "machine", "cache"):
        assert verb in outcome.out


def test_an_interrupt_exits_with_130(write, tmp_path):
    """Also where the tests were started in the background: shells have these ignore SIGINT."""
    write("slow.py", "import time\nprint('here', flush=True)\nwhile True: time.sleep(0.1)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "polyopt", "check", "slow.py:f"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert (out, err.strip()) == ("", "interrupted")


def test_a_closed_pipe_is_no_error(tmp_path):
    command = f"{sys.executable} -m polyopt doctor --numpy | true"
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ)
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_starts_without_numpy_and_isl():
    code = (
        "import sys; from polyopt.cli.app import run; run(['--help']);"
        "print(sorted({'numpy', 'islpy', 'sympy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "[]\n"


# -- completion -------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(polyopt, shell):
    outcome = polyopt("completion", shell)
    assert outcome.code == 0
    assert "_POLYOPT_COMPLETE" in outcome.out


def test_commands_and_options_are_completed():
    def completed(words: str, number: int) -> str:
        asked = {
            "_POLYOPT_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(number),
        }
        done = subprocess.run(
            [sys.executable, "-m", "polyopt"],
            env={**os.environ, **asked},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert "plain,compile" in completed("polyopt com", 1)
    assert "plain,--schedule" in completed("polyopt compile --sch", 2)


def test_other_shells_are_refused(polyopt):
    outcome = polyopt("completion", "csh")
    assert outcome.code == 2
    assert "PO0600" in outcome.err
