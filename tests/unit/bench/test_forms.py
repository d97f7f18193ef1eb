"""Forms for peers: what is taken from a module, which loops may run in parallel, pure functions.

In: nothing.  Out: nothing.
"""

import ast
from types import SimpleNamespace

import numpy as np
import pytest

import workloads
from bench.peers import forms


def function(text):
    return ast.parse(text).body[0]


@pytest.mark.parametrize(
    "body, count",
    [
        ("for i in range(n):\n  A[i] = B[i]", 1),
        ("for i in range(n):\n  A[i] = A[i - 1]", 0),
        ("for i in range(n):\n  s += A[i]", 0),
        ("for i in range(n):\n  s = 0.0\n  for j in range(n):\n   s += B[i, j]\n  A[i] = s", 1),
        ("for t in range(n):\n  for i in x:\n   A[i] = B[i]\n  for i in x:\n   B[i] = 1", 2),
        ("for i in range(n):\n  A[B[i]] = 1", 0),
        ("for i in range(n):\n  w = np.empty(3)\n  w[0] = 1\n  A[i] = w[0]", 1),
        ("for i in range(n):\n  A[i, 0] = 1\n  A[0, i] = 2", 0),
        ("for i in range(n):\n  A[i] = 1\n  f(A)", 0),
        ("for i in range(n):\n  if B[i]:\n   s = 1\n  A[i] = s", 0),
    ],
)  # fmt: skip
def test_only_independent_loops_become_parallel(body, count):
    text = body.replace(" in x", " in range(n)").replace("\n", "\n ")
    found = function("def f(A, B, n):\n " + text)
    assert forms.parallel(found) == count
    assert ast.unparse(found).count("prange") == count


class Pure(np.ndarray):
    """An array with `at[...].set`, as JAX has it, that refuses to be written."""

    def __setitem__(self, key, value):
        raise AssertionError("written in place")

    @property
    def at(self):
        return SimpleIndex(self)


class SimpleIndex:
    def __init__(self, array):
        self.array = array

    def __getitem__(self, key):
        def put(value):
            copied = np.array(self.array)
            copied[key] = value
            return copied.view(Pure)

        return SimpleNamespace(set=put)


def run_loop(body, state, *bounds):
    for k in range(*bounds):
        state = body(k, state)
    return state


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("name", ["jacobi-2d", "gemm", "adamw", "lu", "fdtd-2d"])
def test_pure_forms_compute_the_same_and_write_nothing(name, loops):
    workload = workloads.get(name)
    statements, entry = forms.definitions(workload, "numpy")
    forms.pure(entry, workload.written, loops)
    namespace = {"_loop": run_loop, "_few": lambda turns: turns}
    exec(compile(forms.module_text(statements), name, "exec"), namespace)
    made = workload.make("MINI")
    expected = workload.reference(made)
    held = {k: v.view(Pure) if isinstance(v, np.ndarray) else v for k, v in made.items()}
    _, written = namespace[entry.name](**held)
    assert len(written) == len(workload.written)
    for name, value in zip(workload.written, written, strict=True):
        np.testing.assert_allclose(np.asarray(value), expected[name], rtol=1e-5, atol=1e-6)


def test_a_form_brings_its_helpers_and_leaves_the_rest():
    statements, entry = forms.definitions(workloads.get("mlp"), "numpy")
    text = forms.module_text(statements)
    assert entry.name == "mlp_numpy"
    assert "def relu(x):" in text
    assert "def softmax(x):" in text
    assert "polyopt" not in text
    assert "def make" not in text


def test_what_has_no_pure_form_is_refused():
    with pytest.raises(forms.NoForm, match="no pure form of: while x:"):
        forms.pure(function("def f(x):\n while x:\n  x = x - 1"), (), True)
