"""A user's function as a workload: values, checks at small sizes, who takes part, whole runs.

In: nothing.  Out: nothing.
"""

import csv
import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from bench import function as functions
from bench.function import FORM, Named, Point, labels, read, write
from bench.measure import check_sizes
from bench.peers import forms, registry
from bench.peers.prints import fingerprint
from bench.speed.records import Cell, Entrant
from bench.speed.suite import SpeedRequest, cells
from polyopt.cli.cmd_bench import command
from polyopt.errors import UsageError

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

TEXT = """
import numpy as np
import polyopt as po

FACTOR = 2.0


@po.kernel
def half(x: po.f64["n"]):
    return 0.5 * x


@po.kernel
def gemm(A: po.f64["n,n"], x: po.f64["n"], steps: int = 2):
    for _ in range(steps):
        x[:] = FACTOR * half(A @ x)
    return np.sum(x)
"""


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(TEXT)
    return path


def point(label, n, steps=2):
    rng = np.random.default_rng(n)
    values = {"A": rng.random((n, n)), "x": rng.random(n), "steps": steps}
    return Point(label, {"n": n}, 2 * n * n * steps, values)


def kept(target, *points):
    folder = target.parent / "kept"
    folder.mkdir(exist_ok=True)
    write(folder, (target, "gemm"), ["x", "return"], points)
    return folder


def test_a_function_is_read_back_with_fresh_values(target):
    made = point("n=7", 7)
    found = read(kept(target, made, point("n=9", 9)))
    assert (found.name, labels(found)) == ("mine.py:gemm", ("n=7", "n=9"))
    first, second = found.make({"n": 7}), found.make({"n": 7})
    assert list(first) == ["A", "x", "steps"]
    assert first["steps"] == 2
    np.testing.assert_array_equal(first["A"], made.values["A"])
    first["A"][...] = 0.0
    np.testing.assert_array_equal(second["A"], made.values["A"])


def test_python_says_what_is_expected_and_arguments_stay(target):
    found = read(kept(target, point("n=5", 5)))
    arguments = found.make({"n": 5})
    expected = found.reference(arguments)
    A, x = arguments["A"], arguments["x"]
    np.testing.assert_allclose(expected["x"], A @ (A @ x))
    np.testing.assert_allclose(expected["return"], np.sum(A @ (A @ x)))


def test_python_runs_the_kernels_of_the_file_itself(target, monkeypatch):
    import polyopt as po

    monkeypatch.setattr(po.Kernel, "__call__", lambda *_: pytest.fail("a kernel was called"))
    plain = functions.imported(Named(str(target), "gemm"))
    assert plain(np.eye(2), np.ones(2), 1) == 2.0


def test_results_are_compared_at_small_sizes_where_python_is_slow(target, monkeypatch):
    monkeypatch.setattr(functions, "PYTHONS", 100 * 4)
    found = read(kept(target, point("MINI", 4), point("n=9", 9), point("n=50", 50)))
    assert check_sizes(found, {"n": 9}) == {"n": 9}
    assert check_sizes(found, {"n": 50}) == {"n": 9}, "the largest that Python is done with soon"
    assert labels(found) == ("n=9", "n=50")
    monkeypatch.setattr(functions, "PYTHONS", 10)
    assert check_sizes(found, {"n": 50}) == {"n": 4}


def test_peers_get_the_text_without_what_the_file_imports(target):
    target.write_text("import a_library_that_is_missing\n" + TEXT)
    found = read(kept(target, point("given", 5)))
    statements, entry = forms.definitions(found, FORM)
    text = forms.module_text(statements)
    assert entry.name == "gemm"
    assert "a_library" not in text
    assert "po." not in text
    assert "FACTOR = 2.0" in text
    assert "def half" in text


def test_a_function_named_as_a_workload_has_no_form_in_c(target):
    found = read(kept(target, point("given", 5)))
    taking = {peer: registry.forms(peer, found, "strict") for peer in registry.PEERS}
    assert {peer for peer, given in taking.items() if given} == {
        "polyopt", "python", *registry.PYTHON_PEERS,
    }  # fmt: skip
    assert set(registry.peers_of(found)) == {peer for peer, given in taking.items() if given}
    assert str(Entrant("numba", FORM)) == "numba"


def test_a_check_is_made_again_when_text_or_values_change(target):
    marks = [fingerprint("python", read(kept(target, point("given", 5))))]
    marks.append(fingerprint("python", read(kept(target, point("given", 6)))))
    target.write_text(TEXT + "\n# changed\n")
    marks.append(fingerprint("python", read(kept(target, point("given", 6)))))
    assert len(set(marks)) == 3


def test_its_cells_are_its_sizes(target):
    folder = kept(target, point("MINI", 4), point("n=8", 8), point("n=16", 16))
    request = SpeedRequest((), modes=("strict",), threads=(1,), function=folder)
    assert cells(request) == (
        Cell("mine.py:gemm", "n=8", "float64", "strict", 1),
        Cell("mine.py:gemm", "n=16", "float64", "strict", 1),
    )


@pytest.mark.toolchain
@needs_gcc
def test_a_function_is_swept_and_kept_as_table_values_and_page(target, monkeypatch):
    monkeypatch.setenv("POLYOPT_BENCH_DIR", str(target.parent / "bench"))
    monkeypatch.setattr("bench.speed.limits.caches", lambda: {"L3 unified": "1M"})  # is quick
    json_file, csv_file, page = (target.parent / f"run.{end}" for end in ("json", "csv", "html"))
    asked = [f"{target}:gemm", "--sweep", "n=5..10", "--sizes", "steps=3", "--threads", "1"]
    asked += [
        "--wait",
        "0",
        "--output",
        str(json_file),
        "--csv",
        str(csv_file),
        "--html",
        str(page),
    ]
    done = CliRunner().invoke(command, asked)
    assert done.exit_code == 0, done.output
    found = json.loads(json_file.read_text())
    assert [cell["dataset"] for cell in found["cells"]] == ["n=5", "n=10"]
    for cell in found["cells"]:
        assert cell["sizes"] == {"n": int(cell["dataset"][2:]), "steps": 3}
        assert cell["fp"] == "strict"
        timed = {o["peer"]: o for o in cell["outcomes"] if o["status"] == "ok"}
        assert {"polyopt", "python"} <= set(timed)
        assert all(o["against"] == "Python itself" and o["samples"] for o in timed.values())
        assert cell["moved"] > 8 * cell["sizes"]["n"] ** 2
    lines = list(csv.DictReader(csv_file.open()))
    assert {(line["size"], line["peer"]) for line in lines if line["status"] == "ok"} >= {
        ("n=5", "python"), ("n=5", "polyopt"), ("n=10", "python"), ("n=10", "polyopt"),
    }  # fmt: skip
    assert 'id="sweeps"' in page.read_text()
    kept_files = list((target.parent / "bench").rglob("*.npz"))
    assert kept_files == [], "results for the user's values are not kept"


C_FORM = """
double square(double x) { return x * x; }
void scaled(long n, long m, const double *A, double *x, long times, double *out) {
    for (long i = 0; i < n; i++) {
        x[i] += times;
        for (long j = 0; j < m; j++)
            out[i * m + j] = square(A[i * m + j]) + WRONG;
    }
}
"""

SCALED = """
import polyopt as po


def scaled(A: po.f64["n,m"], x: po.f64["n"], times: int = 3):
    x += times
    return A * A
"""


@pytest.mark.toolchain
@needs_gcc
@pytest.mark.parametrize("wrong, status", [("0.0", "ok"), ("1e-3", "wrong")])
def test_a_form_in_c_takes_sizes_arguments_and_arrays_of_results(
    tmp_path, monkeypatch, wrong, status
):
    monkeypatch.setenv("POLYOPT_BENCH_DIR", str(tmp_path / "bench"))
    (tmp_path / "scaled.py").write_text(SCALED)
    (tmp_path / "scaled.c").write_text(C_FORM.replace("WRONG", wrong))
    stored = tmp_path / "data.npz"
    np.savez(stored, A=np.random.default_rng(0).random((4, 7)), x=np.ones(4), times=3)
    asked = [f"{tmp_path / 'scaled.py'}:scaled", "--npz", str(stored), "--prepare", "--json"]
    asked += ["--peers", "gcc,gcc-omp", "--c", str(tmp_path / "scaled.c")]
    done = CliRunner().invoke(command, asked)
    (cell,) = json.loads(done.stdout)["cells"]
    found = {o["peer"]: o["status"] for o in cell["outcomes"]}
    assert found == {"gcc": status, "polyopt": "ok"}, "there are no directives of OpenMP"


def test_a_form_in_c_with_directives_is_given_to_openmp(target):
    form = target.with_suffix(".c")
    form.write_text("#pragma omp parallel for\n")
    folder = target.parent
    write(folder, (target, "gemm"), ["x", "return"], [point("given", 5)], form)
    assert {"gcc", "gcc-omp", "clang", "clang-omp"} <= set(registry.peers_of(read(folder)))


@pytest.mark.toolchain
@needs_gcc
@pytest.mark.parametrize("peer", ["python", "numpy", "numpy,python"])
def test_stored_values_are_compared(target, peer, monkeypatch):
    """NumPy runs a function as Python does: both names mean that."""
    monkeypatch.setenv("POLYOPT_BENCH_DIR", str(target.parent / "bench"))
    stored = target.parent / "data.npz"
    np.savez(stored, A=np.eye(6), x=np.arange(6.0))
    asked = [f"{target}:gemm", "--npz", str(stored), "--prepare", "--peers", peer]
    done = CliRunner().invoke(command, [*asked, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    (cell,) = found["cells"]
    assert cell["sizes"]["n"] == 6
    assert [o["status"] for o in cell["outcomes"]] == ["ok", "ok"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["mine.py:gemm", "softmax"], "one function at a time"),
        (["mine.py:gemm", "--dtype", "float32"], "--dtype is for workloads"),
        (["mine.py:gemm", "--npz", "x.npz", "--sweep", "n=1..2"], "--npz gives the sizes"),
        (["mine.py:gemm", "--peers", "gcc"], "gcc compiles C: give the function's C form with --c"),
        (["gemm", "--csv", "x.csv", "--sizes", "n=3"], "are for a function: FILE.py:FUNC"),
        (["gemm", "--sweep", "n=1..2"], "gemm has no size n; it has NI, NJ, NK"),
        (["gemm", "--sweep", "NI=9..2"], "the first size is at least 1"),
    ],
)
def test_what_does_not_fit_together_is_refused(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_arguments_that_peers_cannot_be_given_are_refused(tmp_path):
    path = tmp_path / "odd.py"
    path.write_text(
        'import polyopt as po\n\n\ndef f(x: po.f64["n"], z: po.c128):\n    x[0] = x[0] * abs(z)\n'
    )
    done = CliRunner().invoke(command, [f"{path}:f"])
    assert isinstance(done.exception, UsageError)
    assert done.exception.code == "PO0600"
    assert done.exception.message.startswith("`z` is of type complex: peers are given arrays")
