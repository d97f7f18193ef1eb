"""The workloads: all forms, the C loops and the NumPy reference agree, at any size.

In: nothing.  Out: nothing.
"""

import copy
import inspect
import shutil

import numpy as np
import pytest

import workloads
from bench import baseline
from bench.check import relative_error, same_bits

FORMS = [(w, form) for w in workloads.all() for form in w.forms]
IDS = [f"{w.name}-{form}" for w, form in FORMS]
WORKLOADS = workloads.all()
NAMES = [w.name for w in WORKLOADS]

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def square_sizes(workload, size):
    return {name: max(size, workload.least.get(name, 0)) for name in workload.parameters}


def run(workload, form, arguments):
    """Call a form on a copy of `arguments`; return the arrays it wrote."""
    own = copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        assert workload.forms[form](**own) is None
    for name, value in own.items():
        if name not in workload.outputs:
            np.testing.assert_array_equal(value, arguments[name])
    return {name: own[name] for name in workload.outputs}


def assert_expected(workload, sizes, arguments, got):
    error = relative_error(got, workload.reference(arguments))
    assert error <= workload.bound(sizes)


def test_the_twenty_programs_are_there():
    assert len(set(NAMES)) == 20
    assert {"gemm", "2mm", "lu", "heat-3d", "floyd-warshall"} <= set(NAMES)


@pytest.mark.parametrize("workload", WORKLOADS, ids=NAMES)
def test_data_sets_grow(workload):
    assert tuple(workload.sizes) == workloads.DATASETS
    memory = [
        sum(v.nbytes for v in workload.make(s).values() if isinstance(v, np.ndarray))
        for s in ("MINI", "SMALL", "MEDIUM")
    ]
    assert memory == sorted(memory)
    assert memory[0] < memory[-1]


@pytest.mark.parametrize("workload, form", FORMS, ids=IDS)
@pytest.mark.parametrize("seed", [None, 7])
def test_form_equals_reference_at_mini(workload, form, seed):
    sizes = workload.at("MINI")
    arguments = workload.make(sizes, seed=seed)
    assert_expected(workload, sizes, arguments, run(workload, form, arguments))


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
    got[name].reshape(-1)[-1] += 1 if workload.dtype.kind == "i" else np.abs(got[name]).max() / 1e6
    assert relative_error(got, workload.reference(arguments)) > workload.bound("MINI")


@pytest.mark.parametrize("workload, form", FORMS, ids=IDS)
def test_forms_take_the_same_arguments(workload, form):
    expected = list(workload.make("MINI"))
    assert list(inspect.signature(workload.forms[form]).parameters) == expected


@pytest.mark.parametrize("workload", WORKLOADS, ids=NAMES)
def test_dtype_and_seed(workload):
    dtype = np.float32 if workload.dtype.kind == "f" else np.int64
    first = workload.make("MINI", dtype=dtype, seed=1)
    second = workload.make("MINI", dtype=dtype, seed=1)
    other = workload.make("MINI", dtype=dtype, seed=2)
    arrays = [name for name, value in first.items() if isinstance(value, np.ndarray)]
    assert arrays
    for name in arrays:
        assert first[name].dtype == dtype
        np.testing.assert_array_equal(first[name], second[name])
    assert any(not np.array_equal(first[name], other[name]) for name in arrays)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(KeyError, match="no workload gem; there are gemm, 2mm"):
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


@pytest.mark.parametrize("workload", WORKLOADS, ids=NAMES)
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
    assert Counted.done == workload.flops(sizes)


@pytest.mark.toolchain
@needs_gcc
@pytest.mark.parametrize("workload", WORKLOADS, ids=NAMES)
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
@pytest.mark.parametrize("workload", WORKLOADS, ids=NAMES)
def test_c_loops_keep_the_order_of_the_python_loops(workload, tmp_path):
    """Without contraction the same order of operations gives the same bits."""
    library = baseline.build(workload, tmp_path, baseline.EXACT_FLAGS)
    sizes = workload.at("MINI")
    arguments = workload.make(sizes, seed=11)
    own = copy.deepcopy(arguments)
    baseline.load(workload, library)(sizes, own)()
    assert same_bits({n: own[n] for n in workload.outputs}, run(workload, "loops", arguments))
