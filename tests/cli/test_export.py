"""`polyopt export`: C programs read arrays of files, run without Python, refuse wrong input."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt.artefact import digest_of

PROGRAM = """
import numpy as np
import polyopt as po


def product(A: po.f64["N,K"], B: po.f64["K,M"], a: float):
    return a * (A @ B)


def smooth(x: po.f64["N"], steps: int):
    for t in range(steps):
        for i in range(1, x.shape[0] - 1):
            x[i] = 0.5 * (x[i - 1] + x[i + 1])


def first(x: po.f32["N"], k: int):
    s = np.float32(0)
    for i in range(k):
        s += x[i]
    return s


def above(x: po.f64["N"]):
    return x[x > 0.5]


def columns(x: po.i32["N,M"]):
    return x[:, x[0] > 0]


def every(a: po.bool_["N"], b: po.i8["N"], c: po.u64["N"], d: po.c64["N"], e: po.f16["N"],
          z: complex, k: po.u8):
    return np.where(a, b, k), c + 1, d * z, e + e, np.sum(b)


def inverse(x: po.f64["N"]):
    y = x.copy()
    for i in range(x.shape[0]):
        assert x[i] != 0.0, "a zero"
        y[i] = 1.0 / x[i]
    return y


def doubled(A: po.f64["N,M"]):
    return 2.0 * A


def norm(doubled: po.f64["N,M"]):
    return np.sqrt(np.sum(doubled * doubled))


def paired(p: po.f64["N,M"], m: po.bool_["N"]):
    out = np.zeros(p.shape[0])
    for i in range(p.shape[0]):
        out[i] = p[i, 0]
        if m[i]:
            out[i] += p[i, 2]
    return out
"""
FLAGS = (
    *("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fwrapv", "-march=native"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fopenmp"),
)
SHARED = ("po_run.c", "po_files.c")
"""Files that all exported programs have."""
ENVIRONMENT = {"PATH": "/nowhere", "OMP_NUM_THREADS": "2"}
pytestmark = pytest.mark.toolchain


def gcc(folder: Path, *arguments: str) -> None:
    command = ["gcc", *FLAGS, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def object_of(source: Path) -> str:
    """Return the object of a file that all programs have, built once for each text."""
    made = source.parent.parent / f"{digest_of(source.read_text())}.o"
    if not made.exists():
        gcc(source.parent, "-O1", "-c", source.name, "-o", str(made))
    return str(made)


class Program:
    """An exported program, built with the sanitizers; it runs in an environment without Python.

    The kernel is not optimized, which takes gcc long under sanitizers.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.files = sorted(path.name for path in folder.iterdir())
        own = [name for name in self.files if name.endswith(".c") and name not in SHARED]
        gcc(folder, *own, *(object_of(folder / name) for name in SHARED), "-o", name, "-lm")

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [f"./{self.name}", *words], cwd=self.folder, capture_output=True, text=True,
            check=False, timeout=60, env=ENVIRONMENT,
        )  # fmt: skip

    def results(self, **values: object) -> dict[str, np.ndarray]:
        """Run on values in an archive and return what was written; each checksum is compared."""
        shutil.rmtree(self.folder / "made", ignore_errors=True)
        np.savez(self.folder / "given.npz", **values)
        done = self("given.npz", "-o", "made", "-r", "2")
        assert done.returncode == 0, done.stderr
        found = {path.stem: np.load(path) for path in (self.folder / "made").iterdir()}
        shown = dict(re.findall(r"^(\w+): \w+ \(.*crc32 ([0-9a-f]{8})$", done.stdout, re.MULTILINE))
        assert shown == {name: f"{zlib.crc32(one.tobytes()):08x}" for name, one in found.items()}
        return found

    def refusal(self, *words: str) -> str:
        """Return the message of a run that has to be refused as bad input."""
        done = self(*words)
        assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
        assert done.stderr.startswith(f"{self.name}: error: ")
        return done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export")
    (path / "p.py").write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def program(folder: Path) -> Callable[..., Program]:
    """Return a function that exports and builds functions, each once."""
    from polyopt.cli.app import run

    made: dict[tuple[str, ...], Program] = {}

    def make(*names: str) -> Program:
        if names not in made:
            home = folder / "-".join(names)
            targets = [f"{folder / 'p.py'}:{name}" for name in names]
            assert run(["export", *targets, "-o", str(home)]) == 0
            made[names] = Program(home, names[0])
        return made[names]

    return make


@pytest.fixture(scope="module")
def functions(folder: Path) -> dict[str, Callable[..., object]]:
    scope: dict[str, Callable[..., object]] = {}
    exec(compile(PROGRAM, str(folder / "p.py"), "exec"), scope)
    return scope


@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (1, 1, 1), (5, 7, 3), (33, 65, 17)])
def test_sizes_that_export_did_not_know(program, sizes):
    n, k, m = sizes
    draw = np.random.default_rng(n)
    A, B = draw.random((n, k)), draw.random((k, m))
    made = program("product").results(A=A, B=B, a=2.0)
    np.testing.assert_allclose(made["result"], 2.0 * (A @ B), rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_an_argument_in_place(program, functions, n):
    x = np.linspace(0.0, 1.0, n) ** 2
    wanted = x.copy()
    functions["smooth"](wanted, 3)
    np.testing.assert_allclose(program("smooth").results(x=x, steps=3)["x"], wanted, rtol=1e-12)


def test_results_whose_length_the_data_decide(program):
    x = np.linspace(0.0, 1.0, 9)
    assert program("above").results(x=x)["result"].tolist() == x[x > 0.5].tolist()
    y = np.array([[1, 0, 2], [3, 4, 5]], np.int32)
    assert program("columns").results(x=y)["result"].tolist() == [[1, 2], [3, 5]]
    assert program("columns").results(x=0 * y)["result"].shape == (2, 0)


def test_every_type(program, functions):
    values = {
        "a": np.array([True, False, True]), "b": np.array([-3, 4, 5], np.int8),
        "c": np.array([0, 1, 2**64 - 2], np.uint64), "d": np.array([1, 1j, 2 - 1j], np.complex64),
        "e": np.array([0.5, 65504, -0.0], np.float16), "z": 1 - 2j, "k": 200,
    }  # fmt: skip
    given = {**values, "k": np.uint8(200)}
    with np.errstate(over="ignore"):
        wanted = functions["every"](**given)
    made = program("every").results(**values)
    for number, one in enumerate(wanted):
        got = made[f"result{number}"]
        assert got.dtype == one.dtype
        np.testing.assert_array_equal(got, one)


def test_numbers_of_the_command_line(program, folder):
    one = program("first")
    np.save(one.folder / "x.npy", np.arange(5, dtype=np.float32))
    assert "result: f4 () = 6," in one("x=x.npy", "k=4").stdout
    assert "must" not in one("x=x.npy", "k=5").stderr
    for text in ("", "1.5", "1e2", "x", "9223372036854775808", "0x10", "4 "):
        assert "`k` is no number of type i8 that can be read" in one.refusal("x=x.npy", f"k={text}")
    message = one.refusal("x=x.npy", "k=6")
    assert "where k = 6, the integer `k`" in message
    assert "where N = 5, the extent of dimension 0 of `x`" in message
    assert "`k` goes to 2**48" in one.refusal("x=x.npy", f"k={2**48 + 1}")


@pytest.mark.parametrize(("columns", "mask"), [(3, 1), (3, 0), (2, 0), (1, 0)])
def test_arrays_that_end_early(program, columns, mask):
    made = program("paired").results(p=np.ones((4, columns)), m=np.full(4, mask, bool))
    assert made["result"].tolist() == [1.0 + mask] * 4


def test_arrays_that_end_too_early(program):
    one = program("paired")
    np.savez(one.folder / "bad.npz", p=np.ones((4, 2)), m=np.ones(4, bool))
    done = one("bad.npz")
    assert done.returncode == 1
    assert "`2` is out of bounds of `p`" in done.stderr
    assert done.stderr.count("error") == 1


def test_code_for_any_sizes_has_files_where_its_text_differs(program):
    names = ["paired", "smooth"]
    assert [f"{name}_any_sizes.c" in program(name).files for name in names] == [True, False]
    manifest = json.loads((program("paired").folder / "paired.manifest.json").read_text())
    assert [k["entry"] for k in manifest["kernels"]] == [
        "polyopt_paired", "polyopt_paired_any_sizes",
    ]  # fmt: skip
    assert all(kernel["results"][0]["name"] == "result" for kernel in manifest["kernels"])


def test_several_kernels_in_one_program(program):
    both = program("doubled", "norm")
    made = both.results(A=np.full((2, 4), 1.5))
    assert made["norm"] == pytest.approx(np.sqrt(8 * 9.0))
    np.save(both.folder / "q.npy", np.full((2, 2), 2.0))
    assert "norm: f8 () = 4," in both("-k", "norm", "doubled=q.npy").stdout
    record = json.loads((both.folder / "doubled.manifest.json").read_text())
    assert [kernel["entry"] for kernel in record["kernels"]] == ["polyopt_doubled", "polyopt_norm"]


def test_errors_of_the_kernel(program):
    one = program("inverse")
    np.save(one.folder / "x.npy", np.array([1.0, 0.0]))
    done = one("x.npy")
    assert (done.returncode, done.stdout) == (1, "")
    assert "a zero" in done.stderr


def test_the_manifest_says_how_it_is_called(program):
    one = program("product")
    record = json.loads((one.folder / "product.manifest.json").read_text())
    (kernel,) = record["kernels"]
    assert [(a["name"], a["dtype"], a["mode"]) for a in kernel["arguments"]] == [
        ("A", "float64", "in"), ("B", "float64", "in"), ("a", "float64", "in"),
    ]  # fmt: skip
    assert kernel["arguments"][1]["shape"] == ["K", "M"]
    assert kernel["results"] == [
        {"name": "result", "dtype": "float64", "rank": 2, "shape": ["N", "M"]}
    ]
    text = (one.folder / "product.certificate.json").read_text()
    assert kernel["certificate"] == digest_of(text) == record["files"]["product.certificate.json"]
    for name, digest in record["files"].items():
        assert digest_of((one.folder / name).read_text()) == digest
    assert set(record["files"]) >= {"product_main.c", "po_run.c", "po_files.c", "CMakeLists.txt"}


def test_calls_that_do_not_fit(program):
    one = program("product")
    A, B = np.ones((2, 3)), np.ones((3, 4))

    def refused(words: tuple[str, ...] = (), **values: object) -> str:
        np.savez(one.folder / "bad.npz", **values)
        return one.refusal("bad.npz", *words)

    message = refused(A=A, B=B.T.copy(), a=1.0)
    assert "dimension 0 of `B` is 4 and must be 3" in message
    assert "where K = 3, the extent of dimension 1 of `A`" in message
    assert "`B` has 1 dimensions, and the kernel takes 2" in refused(A=A, B=B[0], a=1.0)
    assert "`A` is an array of type f4, and the kernel takes f8" in refused(
        A=A.astype("f4"), B=B, a=1.0
    )
    assert "array `B`: it is in Fortran order" in refused(A=A, B=np.asfortranarray(B), a=1.0)
    assert "array `A`: it is big-endian" in refused(A=A.astype(">f8"), B=B, a=1.0)
    assert "`product` has no argument `B`" in refused(A=A, a=1.0)
    assert "`a` is an array, and the kernel takes a number" in refused(A=A, B=B, a=np.ones(1))
    assert "`a` is a number of type c16" in refused(A=A, B=B, a=1j)
    assert "array of records" in refused(A=np.zeros(2, [("p", "f8")]), B=B, a=1.0)
    assert "its type is none of the kernels'" in refused(A=np.array(["text"]), B=B, a=1.0)
    assert "given twice" in refused(("a=1",), A=A, B=B, a=1.0)
    np.savez(one.folder / "bad.npz", A=np.array([None]), B=B, a=1.0)
    assert "array of Python objects" in one.refusal("bad.npz")
    np.savez_compressed(one.folder / "bad.npz", A=A, B=B, a=1.0)
    assert "it is compressed; write the archive with np.savez" in one.refusal("bad.npz")


def test_words_of_the_command_line_that_are_wrong(program):
    one = program("product")
    np.save(one.folder / "x.npy", np.ones((2, 2)))
    assert "cannot be read: No such file" in one.refusal("missing.npz")
    assert "it is not a regular file" in one.refusal(".")
    assert "it is not a regular file" in one.refusal("/dev/zero")
    assert "holds one array, and 3 values are needed" in one.refusal("x.npy")
    assert "`-q` is no option" in one.refusal("-q")
    assert "-o takes a value" in one.refusal("-o").replace("`", "")
    assert "-r takes a number of calls" in one.refusal("-r", "0")
    assert "there is no kernel `none`" in one.refusal("-k", "none")
    assert "cannot be made" in one.refusal("-o", "/proc/none")
    done = one("-h")
    assert done.returncode == 0
    assert "A: float64[N, K], read" in done.stdout


HEADERS = {
    "no dictionary": b"nonsense",
    "no end": b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,",
    "a huge extent": b"{'descr': '<f8', 'fortran_order': False, 'shape': (4503599627370496,), }",
    "a product that overflows":
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
    "more than the file": b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000, 1000), }",
    "a negative extent": b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
    "too many dimensions":
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1, " * 65 + b"), }",
    "a long number": b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 400 + b",), }",
    "a long key": b"{'" + b"k" * 500 + b"': 1}",
    "a long type": b"{'descr': '<" + b"f" * 500 + b"'}",
    "an unknown key": b"{'descr': '<f8', 'more': 1}",
    "no shape": b"{'descr': '<f8', 'fortran_order': False, }",
    "an odd order": b"{'descr': '<f8', 'fortran_order': 0, 'shape': (1,), }",
    "nothing": b"",
}  # fmt: skip


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
@pytest.mark.parametrize("version", [1, 2, 3])
def test_headers_that_are_no_arrays(program, header, version):
    one = program("above")
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    data = b"\x93NUMPY" + bytes([version, 0]) + length + header + b"\0" * 16
    (one.folder / "bad.npy").write_bytes(data)
    one.refusal("bad.npy")


def test_truncated_and_damaged_files(program):
    """What is cut or changed in a small archive is refused, or does not count."""
    one = program("above")
    x = np.array([0.25, 0.75])
    np.savez(one.folder / "good.npz", x=x)
    np.save(one.folder / "good.npy", x)
    wanted = one("good.npz").stdout.splitlines()[1]
    draw = random.Random(3)
    for name in ("good.npz", "good.npy"):
        data = (one.folder / name).read_bytes()
        for length in sorted({0, 1, 9, 10, 11, *(draw.randrange(len(data)) for _ in range(40))}):
            (one.folder / "cut").write_bytes(data[:length])
            one.refusal("cut")
        for _ in range(150):
            at, bit = draw.randrange(len(data)), 1 << draw.randrange(8)
            changed = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
            (one.folder / "changed").write_bytes(changed)
            done = one("changed")
            assert done.returncode in (0, 2), (at, bit, done.stderr)
            assert "Sanitizer" not in done.stderr
            if name == "good.npz" and done.returncode == 0:  # npy files have no checksum
                assert done.stdout.splitlines()[1] == wanted


def test_bytes_behind_an_array(program):
    one = program("above")
    np.save(one.folder / "x.npy", np.ones(3))
    data = (one.folder / "x.npy").read_bytes()
    (one.folder / "x.npy").write_bytes(data + b"0")
    assert "there are bytes behind its last element" in one.refusal("x.npy")


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
def test_the_package_builds_with_cmake(program, tmp_path):
    one = program("doubled", "norm")
    build = tmp_path / "build"
    for command in (["cmake", "-S", str(one.folder), "-B", str(build)],
                    ["cmake", "--build", str(build)]):  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    np.savez(tmp_path / "x.npz", A=np.ones((2, 4)))
    done = subprocess.run([build / "doubled", tmp_path / "x.npz"], capture_output=True, text=True,
                          check=False, env=ENVIRONMENT)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "doubled: f8 (2, 4), crc32" in done.stdout


def test_the_command_that_is_printed_builds_the_program(polyopt, tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    outcome = polyopt("export", "p.py:above", "-o", "out")
    assert outcome.code == 0
    command = outcome.err.splitlines()[0].partition(": ")[2]
    subprocess.run(command.split(), cwd=tmp_path / "out", check=True)
    np.save(tmp_path / "x.npy", np.array([0.0, 1.0]))
    done = subprocess.run(["out/above", "x.npy"], cwd=tmp_path, capture_output=True, text=True,
                          check=True, env=ENVIRONMENT)  # fmt: skip
    assert "result: f8 (1), crc32" in done.stdout


def test_kernels_export_themselves(tmp_path, functions):
    kernel = po.kernel(functions["first"])
    paths = kernel.export(tmp_path / "one")
    assert tmp_path / "one" / "first_main.c" in paths
    again = kernel.compile().export(tmp_path / "two")
    texts = [{path.name: path.read_text() for path in made} for made in (paths, again)]
    assert texts[0] == texts[1]


def test_options_that_do_not_go_together(polyopt, tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    outcome = polyopt("export", "p.py:above", "p.py:norm", "--types", "f64[:]", "-o", "out")
    assert outcome.code == 2
    assert "for one function" in outcome.err
    assert polyopt("export", "p.py:above", "-o", "p.py").code == 2
