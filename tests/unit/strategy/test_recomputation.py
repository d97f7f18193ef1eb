"""`fuse="all"`: temporaries recomputed by the nests that read them, as an oracle for schedules."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import polyopt as po
import workloads
from bench.check import relative_error
from polyopt.errors import PolyoptError, ScheduleError, UsageError
from polyopt.frontend import build, infer_types
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import Sequence
from polyopt.strategy import recomputation
from polyopt.targets import Options, Target

# ruff: noqa: F821, UP037 - sizes are named by strings

FORMS = (
    "2mm", "3mm", "atax", "gemm", "gemver", "gesummv", "mvt", "adamw", "avg-pool",
    "batch-norm", "batch-norm-inference", "bias-backward", "causal-attention", "conv2d",
    "encoder-backward", "gaussian-likelihood", "gelu-backward", "gru", "knn", "layernorm",
    "layernorm-backward", "linear-attention", "mlp", "rmsnorm", "rope", "softmax",
    "softmax-backward", "standardize", "swiglu", "transformer-mlp", "arc-distance",
    "black-scholes", "simpson", "sobel",
)  # fmt: skip
"""NumPy forms in which some nest reads what another one made."""
ALWAYS = ("2mm", "gru", "layernorm-backward", "softmax", "simpson")
"""Of them those that run each time: products, steps, sums of rows, maxima, one sum."""


def fused(function):
    scop = build(function, infer_types(function)).scop
    return recomputation.fused(Target.C, source_schedule(scop))


def nests(schedule) -> int:
    return len(schedule.tree.parts) if isinstance(schedule.tree, Sequence) else 1


def softmax(x: po.f64["N,M"]):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def whole_sums(x: po.f64["N,M"]):
    """Every element needs two sums over the whole matrix, one of which needs the other."""
    z = x / np.sum(x)
    return z / np.sum(z * z) + np.mean(z, axis=0)


def two_outputs(x: po.f64["N"], y: po.f64["N"], z: po.f64["N"]):
    w = np.sqrt(x * x + 1.0)
    y[:] = np.cumsum(w)
    z[:] = w[::-1]


@pytest.mark.parametrize("function", [softmax, whole_sums], ids=lambda f: f.__name__)
def test_one_nest_is_left(function):
    schedule = fused(function)
    assert nests(schedule) == 1
    assert any(type(step).__name__ == "Recompute" for step in schedule.steps)


def test_each_output_has_its_own_values():
    schedule = fused(two_outputs)
    arrays = {s.target.array for s in schedule.scop.statements}
    assert "w" not in arrays
    assert sum(name.startswith("w_again") for name in arrays) == 2


def test_statements_are_copied_once_for_each_nest():
    """A chain in which each value is read twice: the text grows with the number of values alone."""
    lines = ["def chain(x: po.f64['N'], y: po.f64['N']):", "    v0 = x + 1.0"]
    lines += [f"    v{n} = v{n - 1} * 0.5 + v{n - 1}[::-1] * 0.25" for n in range(1, 9)]
    function = written("\n".join([*lines, "    y[:] = v8"]), "chain")
    schedule = fused(function)
    assert nests(schedule) == 1
    assert len(schedule.scop.statements) <= 11


def written(text: str, name: str):
    import linecache

    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, [line + "\n" for line in text.splitlines()], file)
    space = {"po": po, "np": np}
    exec(compile(text, file, "exec"), space)
    return space[name]


# -- refusals -----------------------------------------------------------------------------------


def overwritten(x: po.f64["N"]):
    total = np.sum(x * x)
    x[:] = x / total


def under_a_condition(x: po.f64["N"], y: po.f64["N"]):
    w = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            w[i] = x[i]
    for i in range(x.shape[0]):
        y[i] = w[x.shape[0] - 1 - i]


def found_by_data(x: po.f64["N"], index: po.i64["N"]):
    w = x * x
    return w[index] + w


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (overwritten, "a read would get another value"),
        (under_a_condition, "its values depend on conditions"),
        (found_by_data, "subscripts that depend on data find its elements"),
    ],
)
def test_what_cannot_be_recomputed(function, reason):
    with pytest.raises(ScheduleError) as info:
        fused(function)
    assert info.value.code == "PO0247"
    assert reason in info.value.message
    assert info.value.loc is not None


def test_too_many_copies(monkeypatch):
    monkeypatch.setattr(recomputation, "MOST", 3)
    with pytest.raises(ScheduleError) as info:
        fused(whole_sums)
    assert info.value.code == "PO0248"
    assert "needs 9 statements in 1 nests, 9 of them for result" in info.value.message


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"fuse": "all", "schedule": "source"}, "PO0249"),
        ({"fuse": "some"}, "PO0222"),
    ],
)
def test_options(options, code):
    with pytest.raises(PolyoptError) as info:
        po.kernel(softmax, **options).compile(np.zeros((2, 2)))
    assert info.value.code == code


def test_other_targets():
    scop = build(softmax, infer_types(softmax)).scop
    with pytest.raises(ScheduleError) as info:
        recomputation.fused(Target.CUDA, source_schedule(scop))
    assert info.value.code == "PO0249"


def test_other_schedules_take_its_place():
    kernel = po.kernel(softmax, fuse="all")
    assert kernel.options.schedule == "fused"
    assert kernel.with_options(fuse=None).options.schedule is None
    assert kernel.with_options(schedule="source").options.schedule == "source"
    assert Options().changed({"schedule": "source", "fuse": None}).schedule == "source"
    with pytest.raises(UsageError):
        Options().changed({"schedule": "source", "fuse": "all"})


# -- results ------------------------------------------------------------------------------------


@pytest.mark.toolchain
@pytest.mark.parametrize("size", [0, 1, 2, 7, 70])
def test_sizes(size):
    x = np.random.default_rng(size).uniform(0.5, 1.5, size=(3, max(size, 1)))[:, :size]
    x = x if size else np.ones((0, 4))
    for function in (softmax, whole_sums) if size else (softmax,):
        want = function(x)
        assert np.allclose(po.kernel(function, fuse="all")(x), want, rtol=1e-12)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ALWAYS)
def test_is_an_oracle_of_the_automatic_schedule(name):
    check_oracle(name)


@pytest.mark.toolchain
@pytest.mark.matrix
@pytest.mark.parametrize("name", [name for name in FORMS if name not in ALWAYS])
def test_is_an_oracle_for_every_workload(name):
    check_oracle(name)


def check_oracle(name: str) -> None:
    """Compare the results of both schedules with each other and with the reference."""
    workload = workloads.get(name)
    form = workload.forms["numpy"]
    arguments = workload.make("MINI")
    found = {}
    for options in ({"fuse": "all"}, {}):
        kernel = po.kernel(form, **options)
        own = copy.deepcopy(arguments)
        with np.errstate(all="ignore"):
            found[str(options)] = workload.results(own, kernel(**own))
        text = kernel.compile(**copy.deepcopy(arguments)).schedule_text
        assert bool(options) is ("recompute(" in text), text
    first, second = found.values()
    bound = workload.bound(workload.at("MINI"))
    assert relative_error(first, second) <= 2 * bound
    assert relative_error(first, workload.reference(arguments)) <= bound
