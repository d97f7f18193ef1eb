"""Saved kernels: results, what loads them, files that are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt import loading
from polyopt.digest import hex_digest

pytestmark = pytest.mark.toolchain


def heat(u, k):
    v = np.zeros_like(u)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = u[i, j] + k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return v


def scaled(x, a):
    for i in range(x.shape[0]):
        x[i] = a * x[i]


def gathered(x, at):
    out = np.zeros(len(at))
    for i in range(len(at)):
        out[i] = x[at[i]]
    return out


def grid(n: int = 23) -> np.ndarray:
    return np.random.default_rng(0).random((n, n + 5))


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "heat.po"
    po.kernel(heat).compile(grid(), 0.1).save(path)
    return path


@pytest.mark.parametrize("n", [1, 2, 3, 23, 200])
def test_a_loaded_kernel_computes_the_same(saved, n):
    u = grid(n)
    loaded = po.load(saved)
    np.testing.assert_array_equal(loaded(u, 0.1), po.kernel(heat)(u, 0.1))
    np.testing.assert_array_equal(loaded(k=0.1, u=u), loaded(u, 0.1))
    assert "heat(u: float64[:, :], k: float64)" in repr(loaded)
    assert "polyopt_heat" in loaded.source
    assert "polyopt_heat" in loaded.header


def test_arguments_are_written(tmp_path):
    path = tmp_path / "scaled.po"
    x = np.arange(5.0)
    po.kernel(scaled).compile(x, 2.0).save(path)
    assert po.load(path, threads=1)(x, 2.0) is None
    assert x.tolist() == [0, 2, 4, 6, 8]


RUN = """
import sys


class Blocked:
    def find_spec(self, name, path=None, target=None):
        parts = name.split(".")
        banned = {"islpy", "sympy", "click", "ml_dtypes"}
        stages = {"frontend", "schedule", "strategy", "transforms", "emit", "proof", "pipeline",
                  "building", "compiled", "api"}
        if parts[0] in banned or (parts[0] == "polyopt" and len(parts) > 1 and parts[1] in stages):
            raise ImportError(f"{name} is blocked")


sys.meta_path.insert(0, Blocked())
import subprocess


def refuse(*args, **kwargs):
    raise AssertionError("a process was started")


subprocess.Popen = refuse
import numpy as np
import polyopt as po

u = np.random.default_rng(0).random((23, 28))
np.save(sys.argv[2], po.load(sys.argv[1])(u, 0.1))
"""


def test_loading_needs_numpy_alone(saved, tmp_path):
    out = tmp_path / "out.npy"
    command = [sys.executable, "-c", RUN, str(saved), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(out), po.kernel(heat)(grid(), 0.1))


def refusal(path: Path, data: bytes) -> po.PolyoptError:
    path.write_bytes(data)
    with pytest.raises(po.PolyoptError) as refused:
        po.load(path)
    return refused.value


def test_every_damaged_byte_is_found(saved, tmp_path):
    data = saved.read_bytes()
    draw = np.random.default_rng(1)
    places = [*range(120), *draw.integers(0, len(data), 60).tolist()]
    for place in places:
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        assert refusal(tmp_path / "heat.po", changed).code in ("PO0633", "PO0634"), place
    for length in (0, 1, 50, 200, len(data) // 2, len(data) - 1):
        assert refusal(tmp_path / "heat.po", data[:length]).code == "PO0633"


def changed_facts(data: bytes, **values: object) -> bytes:
    """Return a file whose digest is right and whose facts are others."""
    _, _, rest = data.partition(b"\n")
    text, _, library = rest.partition(b"\n")
    rest = json.dumps({**json.loads(text), **values}).encode() + b"\n" + library
    return f"polyopt-kernel 2 blake2b-256:{hex_digest(rest)}\n".encode() + rest


@pytest.mark.parametrize(
    ("values", "code", "says"),
    [
        ({"machine": "riscv64"}, "PO0635", "riscv64"),
        ({"system": "Plan9"}, "PO0635", "Plan9"),
        ({"features": ["avx9999"]}, "PO0635", "avx9999"),
        ({"source": None}, "PO0633", "malformed"),
        ({"source": {"pickle": "cos\nsystem"}}, "PO0633", "malformed"),
        ({"weak": [1]}, "PO0633", "malformed"),
        ({"general": 3}, "PO0633", "malformed"),
        ({"bytes": "7"}, "PO0633", "malformed"),
        ({"bytes": 0}, "PO0633", "malformed"),
        ({"bytes": -7}, "PO0633", "malformed"),
        ({"bytes": 5000}, "PO0633", ""),
        ({"features": 3}, "PO0633", "malformed"),
    ],
)
def test_foreign_and_malformed_files_are_refused(saved, tmp_path, values, code, says):
    error = refusal(tmp_path / "heat.po", changed_facts(saved.read_bytes(), **values))
    assert error.code == code
    assert says in str(error)


def test_a_library_that_is_none_is_refused(saved, tmp_path):
    _, _, rest = saved.read_bytes().partition(b"\n")
    rest = rest.partition(b"\n")[0] + b"\n#!/bin/sh\ntouch /tmp/owned\n"
    data = f"polyopt-kernel 2 blake2b-256:{hex_digest(rest)}\n".encode() + rest
    assert refusal(tmp_path / "heat.po", data).code == "PO0633"


def test_missing_files_and_directories_are_refused(tmp_path):
    with pytest.raises(po.UsageError) as refused:
        po.load(tmp_path / "none.po")
    assert refused.value.code == "PO0601"
    with pytest.raises(po.UsageError) as refused:
        po.load(tmp_path)
    assert refused.value.code == "PO0633"


@pytest.mark.parametrize(
    ("args", "kwargs", "code"),
    [
        ((grid(),), {}, "PO0636"),
        ((grid(), 0.1, 2), {}, "PO0636"),
        ((grid(), 0.1), {"k": 0.1}, "PO0636"),
        ((grid(), 0.1), {"z": 0.1}, "PO0636"),
        ((grid().astype(np.float32), 0.1), {}, "PO0207"),
        ((grid()[0], 0.1), {}, "PO0208"),
    ],
)
def test_calls_that_do_not_fit_are_refused(saved, args, kwargs, code):
    with pytest.raises(po.PolyoptError) as refused:
        po.load(saved)(*args, **kwargs)
    assert refused.value.code == code


def test_faults_are_raised(tmp_path):
    path = tmp_path / "gathered.po"
    x, at = np.arange(4.0), np.array([0, 3])
    po.kernel(gathered).compile(x, at).save(path)
    loaded = po.load(path)
    assert loaded(x, at).tolist() == [0.0, 3.0]
    with pytest.raises(IndexError):
        loaded(x, np.array([0, 4]))


def pairs(p, m, out):
    for i in range(p.shape[0]):
        out[i] = p[i, 0]
        if m[i]:
            out[i] += p[i, 2]


@pytest.mark.parametrize(("function", "libraries"), [(pairs, 2), (heat, 1), (scaled, 1)])
def test_arrays_that_end_early_have_code_in_the_file(tmp_path, function, libraries):
    """One library serves both where the text is the same: loops that do not run read nothing."""
    path = tmp_path / "kernel.po"
    types = {pairs: (po.f64[":,:"], po.bool_[":"], po.f64[":"]), heat: (po.f64[":,:"], po.f64)}
    po.kernel(function).compile(*types.get(function, (po.f64[":"], po.f64))).save(path)
    text, library = path.read_bytes().split(b"\n", 2)[1:]
    assert (len(library) > json.loads(text)["bytes"]) == (libraries == 2)


def test_a_saved_kernel_takes_arrays_that_end_early(tmp_path):
    path = tmp_path / "pairs.po"
    po.kernel(pairs).compile(po.f64[":,:"], po.bool_[":"], po.f64[":"]).save(path)
    loaded = po.load(path)
    for columns, mask in [(3, 1), (2, 0), (1, 0), (3, 0)]:
        out = np.zeros(4)
        loaded(np.ones((4, columns)), np.full(4, mask, bool), out)
        assert out.tolist() == [1.0 + mask] * 4
    for columns, mask in [(2, 1), (0, 0)]:
        with pytest.raises(IndexError):
            loaded(np.ones((4, columns)), np.full(4, mask, bool), np.zeros(4))


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(po.UsageError) as refused:
        po.kernel(scaled).compile(np.zeros(3), 2.0).save(tmp_path / "none" / "scaled.po")
    assert refused.value.code == "PO0614"


def test_a_level_asks_for_its_instructions_only(tmp_path, monkeypatch):
    if not {"avx2", "fma"} <= set(loading.listed_features()):
        pytest.skip("the processor lacks the level")
    monkeypatch.setenv("POLYOPT_MACHINE", "x86-64-v3")
    path = tmp_path / "scaled.po"
    po.kernel(scaled).compile(np.zeros(3), 2.0).save(path)
    text = path.read_bytes().split(b"\n")[1]
    assert "avx2" in json.loads(text)["features"]
    assert not any(f.startswith("avx512") for f in json.loads(text)["features"])
