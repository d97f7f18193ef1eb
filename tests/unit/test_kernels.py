"""Kernels from Python text to results, through everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.runtime.process import is_shared
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import find_compiler

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]


def stencil(u, v, w):
    N, M = u.shape
    for i in range(1, N - 1):
        for j in range(1, M - 1):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    for i in range(1, N - 1):
        for j in range(1, M - 1):
            w[i, j] = v[i, j] - u[i, j]
    for i in range(1, N - 1):
        for j in range(1, M - 1):
            u[i, j] = u[i, j] + 0.5 * w[i, j]


def scale(A, x, k=2.0):
    for i in range(A.shape[0]):
        x[i] = k * A[i]


def several(A, n: int):
    B = A * n
    return B, B.sum(), A


def reduced(A, axis=0, keepdims=False):
    return A.sum(axis=axis, keepdims=keepdims)


def centred(A, b):
    return A - b


def power(A, n):
    return A**n


def recurrence(A):
    for i in range(1, A.shape[0]):
        A[i] = A[i] + A[i - 1]


def grids(shape: tuple[int, ...], count: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [rng.random(shape) for _ in range(count)]


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (2, 5), (3, 3), (33, 40), (70, 65)])
def test_stencil_is_bitwise_equal_to_its_text(shape):
    ours, theirs = grids(shape), grids(shape)
    po.kernel(stencil)(*ours)
    stencil(*theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.tobytes() == b.tobytes()


def test_strided_views():
    k = po.kernel(stencil)
    base_ours, base_theirs = grids((60, 80)), grids((60, 80))
    for view in (np.s_[::-1, ::2], np.s_[5:40, 3:-2], np.s_[::3, ::-1]):
        k(*(a[view] for a in base_ours))
        stencil(*(a[view] for a in base_theirs))
        k(*(a[view].T for a in base_ours))
        stencil(*(a[view].T for a in base_theirs))
    for a, b in zip(base_ours, base_theirs, strict=True):
        assert a.tobytes() == b.tobytes()


def test_what_python_takes_by_name_only_is_given_by_name():
    @po.kernel
    def named(x, *, by):
        return x * by

    assert named(np.ones(2), by=3.0).tolist() == [3, 3]
    for values in ((np.ones(2), 3.0), (np.ones(2), 3.0)):
        with pytest.raises(po.errors.ArgumentError, match="too many positional") as caught:
            named(*values)
        assert "(x, *, by)" in caught.value.hint


def test_results():
    A = np.arange(6.0).reshape(2, 3)
    B, s, same = po.kernel(several)(A, 3)
    np.testing.assert_array_equal(B, A * 3)
    assert isinstance(s, np.float64)
    assert s == 45
    assert same is A


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex128])
def test_numbers_promote_as_in_numpy(dtype):
    k = po.kernel(several)
    A = np.arange(4).astype(dtype)
    for n in (3, np.int64(3), np.float32(1.5), 2.5, np.float64(2.5), True):
        ours, theirs = k(A, n), several(A, n)
        assert ours[0].dtype == theirs[0].dtype, n
        np.testing.assert_array_equal(ours[0], theirs[0])


def test_axis_and_flags_are_compiled_in():
    k = po.kernel(reduced)
    A = grids((3, 4))[0]
    for arguments in [(0,), (1,), (-1, True), (0, False), (None,)]:
        np.testing.assert_allclose(k(A, *arguments), reduced(A, *arguments))
    np.testing.assert_allclose(k(A, keepdims=True, axis=1), reduced(A, 1, True))


def test_exponent():
    k = po.kernel(power)
    A = grids((5,))[0]
    for n in (2, 3, 2.5):
        np.testing.assert_allclose(k(A, n), A**n, rtol=1e-15)


def test_broadcasting_by_the_sizes_met():
    k = po.kernel(centred)
    A = grids((4, 3))[0]
    for b in (A, A[:1], A[:, :1], A[:1, :1], A[0], A[0, :1], np.float64(2), 2):
        np.testing.assert_array_equal(k(A, b), A - b)
    np.testing.assert_array_equal(k(A[0], A), A[0] - A)
    np.testing.assert_array_equal(k(A[:1], A[:, :1]), A[:1] - A[:, :1])
    with pytest.raises(po.PolyoptError) as caught:
        k(A, A[:2])
    assert isinstance(caught.value, po.ArgumentError)
    assert caught.value.code.startswith("PO")


@pytest.mark.parametrize(
    "change, code",
    [
        (lambda A, x: (A, x[:-1]), None),
        (lambda A, x: (A.tolist(), x), "PO0206"),
        (lambda A, x: (A, None), "PO0206"),
        (lambda A, x: (A, A.view(np.int64)), "PO0205"),
        (lambda A, x: (A[:4], A.view(np.int64)[1:]), "PO0205"),
        (lambda A, x: (A.astype(">f8"), x), "PO0202"),
        (lambda A, x: (A.astype(object), x), "PO0202"),
        (lambda A, x: (A, np.broadcast_to(0.0, 5)), "PO0204"),
        (lambda A, x: (A,), "PO0201"),
        (lambda A, x: (A, x, "two"), None),
        (lambda A, x: (A, x, A), None),
        (lambda A, x: (np.float64(3), x), None),
    ],
)
def test_refused_calls_leave_arrays_untouched(change, code):
    k = po.kernel(scale)
    for warm in (False, True):
        A, x = np.arange(5.0), np.full(5, 7.0)
        if warm:
            k(A, np.zeros(5))
        with pytest.raises(po.PolyoptError) as caught:
            k(*change(A, x))
        assert code is None or caught.value.code == code
        assert caught.value.hint or caught.value.loc
        assert (x == 7).all()
        assert A.tolist() == [0, 1, 2, 3, 4]


def test_threads():
    sequential = po.kernel(stencil).with_options(threads=1)
    parallel = po.kernel(stencil).with_options(threads=2)
    ours, theirs = grids((200, 200)), grids((200, 200))
    assert "omp parallel" not in sequential.compile(*ours).source
    assert "omp parallel" in parallel.compile(*ours).source
    sequential(*ours)
    parallel(*theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.tobytes() == b.tobytes()


def test_schedules():
    k = po.kernel(stencil)
    expected = grids((20, 30))
    stencil(*expected)
    chosen = k.schedule(*grids((20, 30)))
    assert isinstance(chosen, po.Schedule)
    for other in (k.with_schedule("source"), k.with_schedule(chosen)):
        ours = grids((20, 30))
        other(*ours)
        for a, b in zip(ours, expected, strict=True):
            assert a.tobytes() == b.tobytes()
    assert str(k.with_schedule(chosen).schedule(*expected)) == str(chosen)
    source = k.with_schedule("source").compile(*expected)
    assert source.schedule_text == ""
    assert not source.schedule.trace


def test_an_illegal_schedule_is_refused_with_a_witness():
    k = po.kernel(recurrence)
    assert "[L0[0]]" in str(k.with_schedule("source").schedule(np.zeros(3)))
    with pytest.raises(po.IllegalSchedule) as caught:
        k.with_schedule("parallelize(L0)")(np.zeros(3))
    assert caught.value.witness is not None
    with pytest.raises(po.PolyoptError) as caught:
        k.with_schedule("tile(NOWHERE, 3)")(np.zeros(3))
    assert caught.value.code.startswith("PO03")


def test_inferred_types():
    compiled = po.kernel(recurrence).compile()
    A = np.arange(5.0)
    compiled(A)
    assert A.tolist() == [0, 1, 3, 6, 10]
    assert compiled.program.signature == compiled.signature
    assert compiled.loops.name


def run(text: str, **env: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        env={**os.environ, **env}, cwd=ROOT, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


WARM = """
import json, sys
import numpy as np
import polyopt as po
from tests.unit.test_kernels import stencil
k = po.kernel(stencil)
at_start = sorted({"islpy", "sympy"} & set(sys.modules))
k(*(np.ones((5, 5)) for _ in range(3)))
print(json.dumps([at_start, sorted({"islpy", "sympy"} & set(sys.modules))]))
"""


def test_warm_first_call_loads_neither_isl_nor_a_compiler(tmp_path):
    cache = str(tmp_path / "cache")
    assert run(WARM, POLYOPT_CACHE_DIR=cache) == [[], ["islpy"]]
    assert run(WARM, POLYOPT_CACHE_DIR=cache) == [[], []]


LIGHT = """
import json, sys
import numpy
before = set(sys.modules)
import polyopt
new = set(sys.modules) - before
print(json.dumps(sorted(new)))
"""


def test_import_loads_nothing_else():
    assert set(run(LIGHT)) <= {"polyopt", "polyopt.interpreters", "polyopt.late", "__future__"}


POOL = """
import json, multiprocessing, warnings
import numpy as np
import polyopt as po
from tests.unit.test_kernels import stencil, grids
k = po.kernel(stencil).with_options(threads=4)
def work(seed):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        arrays = grids((200, 210))
        k(*arrays)
        k(*arrays)
    return [float(arrays[0].sum()), [w.category.__name__ for w in caught]]
here = work(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    there = pool.map(work, range(4))
print(json.dumps([here, there]))
"""


def test_forked_workers_compute_the_same():
    if not is_shared(find_compiler(open_store())):
        pytest.skip("OpenMP's library runs the regions")
    here, there = run(POOL)
    assert there == [here] * 4
    assert here[1] == []


def test_forked_workers_compute_the_same_on_one_thread_of_openmp():
    here, there = run(POOL, POLYOPT_OPENMP="1")
    assert here[1] == []
    assert [value for value, _ in there] == [here[0]] * 4
    assert {"ForkWarning"} == {name for _, names in there for name in names}
    assert sum(len(names) for _, names in there) <= 2


def test_ctypes(monkeypatch):
    monkeypatch.setenv("POLYOPT_FORCE_CTYPES", "1")
    test_stencil_is_bitwise_equal_to_its_text((33, 40))
    test_strided_views()
    test_results()
    test_axis_and_flags_are_compiled_in()
    test_broadcasting_by_the_sizes_met()


def moduli(z):
    return np.abs(z) ** 2 / (1.0 + np.abs(z))


def test_moduli_are_no_calls_of_the_c_library():
    z = np.linspace(-3, 3, 77) + 1j * np.linspace(2, -5, 77)
    kernel = po.kernel(moduli, threads=1)
    np.testing.assert_allclose(kernel(z), moduli(z), rtol=1e-15)
    text = kernel.compile(z).source
    assert "po_modulus_c128(" in text
    assert "cabs(" not in text


@pytest.mark.toolchain
def test_fixed_sizes_are_compiled_in_for_each_shape():
    def scaled(a, b):
        return a @ b * 2.0

    kernel = po.kernel(scaled, fixed_sizes=True)
    for rows, columns in ((3, 4), (5, 1), (3, 4), (0, 2)):
        a, b = np.ones((rows, 7)), np.ones((7, columns))
        assert np.array_equal(kernel(a, b), scaled(a, b))
    assert len(kernel._compiled) == 3
    (text, *_) = (compiled.signature for compiled in kernel._compiled.values())
    assert text.sizes == ()
    with pytest.raises(po.PolyoptError):
        kernel(np.ones((3, 7)), np.ones((6, 4)))
    with pytest.raises(po.PolyoptError) as caught:
        po.kernel(scaled, fixed_sizes=1)
    assert caught.value.code == "PO0222"


def test_a_compiled_kernel_shows_and_verifies_itself():
    compiled = po.kernel(scale).compile(np.ones(4), np.ones(4), 2.0)
    nest = compiled.loop_nest(A_0=500)
    assert nest.startswith("1. line")
    assert "for i in range(" in nest
    assert "ret" in compiled.assembly()
    found = compiled.verify(samples=3)
    assert found.ok
    assert found.samples == 3
    again = po.kernel(scale).compile(np.ones(4), np.ones(4), 2.0)  # from the cache
    assert again.verify(samples=3).ok
