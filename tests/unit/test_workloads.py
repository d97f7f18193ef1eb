"""The workloads: all forms, the C loops and the NumPy reference agree, at any size.

In: nothing.  Out: nothing.
"""

import copy
import inspect
import shutil
from dataclasses import replace

import numpy as np
import pytest

import workloads
from bench import baseline
from bench.check import relative_error, same_bits

FORMS = [(w, form) for w in workloads.all() for form in w.forms]
IDS = [f"{w.name}-{form}" for w, form in FORMS]
WORKLOADS = workloads.all()
NAMES = [w.name for w in WORKLOADS]
COUNTED = [w for w in WORKLOADS if w.counted and "loops" in w.forms]
WITH_CONSTANTS = ("adi", "deriche", "symm")  # operations on constants are not seen by counting
IN_C = [w for w in WORKLOADS if baseline.has(w)]

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def square_sizes(workload, size):
    return {name: max(size, workload.least.get(name, 0)) for name in workload.parameters}


def run(workload, form, arguments):
    """Call a form on a copy of `arguments`; return the outputs."""
    own = copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        returned = workload.forms[form](**own)
    for name, value in own.items():
        if name not in workload.outputs:
            np.testing.assert_array_equal(value, arguments[name])
    return workload.results(own, returned)


def assert_expected(workload, sizes, arguments, got):
    error = relative_error(got, workload.reference(arguments))
    assert error <= workload.bound(sizes)


def test_the_suites_are_there():
    assert len(set(NAMES)) == len(NAMES)
    assert set(workloads.names()) == {n for s in workloads.SUITES for n in workloads.names(s)}
    assert {"gemm", "2mm", "lu", "heat-3d", "floyd-warshall"} <= set(workloads.names("polybench"))


@pytest.mark.parametrize("workload", WORKLOADS, ids=NAMES)
def test_data_sets_grow(workload):
    found = tuple(workload.sizes)
    assert found == workloads.DATASETS[: len(found)]
    assert "LARGE" in found
    memory = [
        sum(v.nbytes for v in workload.make(s).values() if isinstance(v, np.ndarray))
        for s in ("MINI", "SMALL", "MEDIUM")
    ]
    counts = [workload.flops(s) for s in ("MINI", "SMALL", "MEDIUM")]
    assert memory == sorted(memory)
    assert counts == sorted(set(counts))


@pytest.mark.matrix
@pytest.mark.parametrize("workload, form", FORMS, ids=IDS)
@pytest.mark.parametrize("seed", [None, 7])
def test_form_equals_reference_at_mini(workload, form, seed):
    sizes = workload.at("MINI")
    arguments = workload.make(sizes, seed=seed)
    assert_expected(workload, sizes, arguments, run(workload, form, arguments))


@pytest.mark.matrix
@pytest.mark.parametrize("workload, form", FORMS, ids=IDS)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 5])
def test_form_equals_reference_at_tiny_sizes(workload, form, size):
    sizes = square_sizes(workload, size)
    arguments = workload.make(sizes)
    assert_expected(workload, sizes, arguments, run(workload, form, arguments))


@pytest.mark.parametrize("workload", WORKLOADS, ids=NAMES)
def test_reference_leaves_its_arguments_alone(workload):
    arguments = workload.make("MINI")
    before = copy.deepcopy(arguments)
    workload.reference(arguments)
    for name, value in before.items():
        np.testing.assert_array_equal(arguments[name], value)


@pytest.mark.parametrize("workload", WORKLOADS, ids=NAMES)
def test_a_wrong_element_is_noticed(workload):
    arguments = workload.make("MINI", seed=3)
    got = workload.reference(arguments)
    name = workload.outputs[0]
    got[name] = got[name].copy()
    kind = got[name].dtype.kind
    last = got[name].reshape(-1)[-1:]
    last[...] = ~last if kind in "iub" else last + np.abs(got[name]).max() / 1e3
    assert relative_error(got, workload.reference(arguments)) > workload.bound("MINI")


@pytest.mark.parametrize("workload, form", FORMS, ids=IDS)
def test_forms_take_the_same_arguments(workload, form):
    expected = list(workload.make("MINI"))
    assert list(inspect.signature(workload.forms[form]).parameters) == expected


@pytest.mark.parametrize("workload", WORKLOADS, ids=NAMES)
def test_dtype_and_seed(workload):
    narrower = {"f": np.float32, "c": np.complex64, "i": np.int64, "u": np.uint32}
    dtype = np.dtype(narrower[workload.dtype.kind])
    own = workload.make("MINI")
    first = workload.make("MINI", dtype=dtype, seed=1)
    second = workload.make("MINI", dtype=dtype, seed=1)
    other = workload.make("MINI", dtype=dtype, seed=2)
    arrays = [name for name, value in first.items() if isinstance(value, np.ndarray)]
    assert arrays
    assert any(first[name].dtype == dtype for name in arrays)
    for name in arrays:
        np.testing.assert_array_equal(first[name], second[name])
    for name, value in first.items():
        if own[name] is not None and np.asarray(own[name]).dtype == workload.dtype:
            assert np.asarray(value).dtype == dtype or not isinstance(value, np.ndarray)
    assert any(not np.array_equal(first[name], other[name]) for name in arrays)


def shift_and_sum(A):
    A += 1
    return A.sum(), A[::-1]


def test_outputs_are_arguments_and_returned_values():
    form = {"numpy": shift_and_sum}
    outputs = ("A", "return[0]", "return[1]")
    both = replace(workloads.get("jacobi-1d"), forms=form, outputs=outputs, expect=None)
    A = np.arange(3)
    found = both.reference({"A": A})
    assert A.tolist() == [0, 1, 2]
    assert {n: v.tolist() for n, v in found.items()} == {
        "A": [1, 2, 3],
        "return[0]": 6,
        "return[1]": [3, 2, 1],
    }
    assert both.written == ("A",)
    alone = replace(both, outputs=("return",))
    assert alone.results({}, 2.5)["return"] == 2.5
    assert alone.written == ()


def test_random_data_fit_their_types():
    arrays = {
        k: np.zeros((4, 4), t) for k, t in {"a": "c8", "b": "?", "c": "i1", "d": "f4"}.items()
    }
    empty = replace(workloads.get("gemm"), build=lambda **_: arrays, randomize=None)
    found = empty.make("MINI", seed=1)
    assert found["a"].imag.any()
    assert 0 < found["b"].sum() < 16
    assert (found["c"] > 0).all()
    assert len(np.unique(found["d"])) == 16


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(KeyError, match=r"no workload gem; there are .*gemm, gemver"):
        workloads.get("gem")
    with pytest.raises(KeyError, match="gemm: no data set HUGE; there are MINI"):
        workloads.get("gemm").at("HUGE")
    with pytest.raises(KeyError, match="gemm: sizes are NI, NJ, NK"):
        workloads.get("gemm").at({"N": 3})


class Counted:
    """A number that counts the arithmetic done with it."""

    done = 0

    def __init__(self, value):
        self.value = value.value if isinstance(value, Counted) else value

    def _count(self, value):
        Counted.done += 1
        return Counted(value)

    def __add__(self, other):
        return self._count(self.value + Counted(other).value)

    def __radd__(self, other):
        return self._count(other + self.value)

    def __sub__(self, other):
        return self._count(self.value - Counted(other).value)

    def __neg__(self):  # a change of sign is not counted
        return Counted(-self.value)

    def __rsub__(self, other):
        return self._count(Counted(other).value - self.value)

    def __mul__(self, other):
        return self._count(self.value * Counted(other).value)

    def __rmul__(self, other):
        return self._count(Counted(other).value * self.value)

    def __truediv__(self, other):
        return self._count(self.value / Counted(other).value)

    def __lt__(self, other):
        Counted.done += 1
        return self.value < other.value

    def __le__(self, other):  # the guard against a division by zero is not counted
        return self.value <= other

    def sqrt(self):
        return self._count(self.value**0.5)


@pytest.mark.parametrize("workload", COUNTED, ids=[w.name for w in COUNTED])
def test_flops_are_the_operations_of_the_explicit_loops(workload):
    sizes = {name: 4 + n for n, name in enumerate(workload.parameters)}
    arguments = workload.make(sizes, seed=2)
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            counted = np.empty(value.shape, dtype=object)
            counted.reshape(-1)[:] = [Counted(float(v)) for v in value.reshape(-1)]
            arguments[name] = counted
    Counted.done = 0
    workload.forms["loops"](**arguments)
    if workload.name in WITH_CONSTANTS:
        assert Counted.done < workload.flops(sizes) < 3 * Counted.done
    else:
        assert Counted.done == workload.flops(sizes)


@pytest.mark.toolchain
@needs_gcc
@pytest.mark.parametrize("workload", IN_C, ids=[w.name for w in IN_C])
def test_c_loops_equal_reference_at_small(workload, tmp_path):
    bind = baseline.load(workload, baseline.build(workload, tmp_path))
    sizes = workload.at("SMALL")
    for seed in (None, 5):
        arguments = workload.make(sizes, seed=seed)
        own = copy.deepcopy(arguments)
        bind(sizes, own)()
        assert_expected(workload, sizes, arguments, {n: own[n] for n in workload.outputs})


@pytest.mark.toolchain
@needs_gcc
@pytest.mark.parametrize("workload", IN_C, ids=[w.name for w in IN_C])
def test_c_loops_keep_the_order_of_the_python_loops(workload, tmp_path):
    """Without contraction the same order of operations gives the same bits."""
    library = baseline.build(workload, tmp_path, baseline.EXACT)
    sizes = workload.at("MINI")
    arguments = workload.make(sizes, seed=11)
    own = copy.deepcopy(arguments)
    baseline.load(workload, library)(sizes, own)()
    assert same_bits({n: own[n] for n in workload.outputs}, run(workload, "loops", arguments))
