"""Arguments that hold arrays and numbers, functions as arguments, methods."""

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError, FrontendError

pytestmark = pytest.mark.toolchain

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray
    slope: float = 0.5

    def leaky(self, y):
        return np.maximum(y, 0) + self.slope * np.minimum(y, 0)


@dataclasses.dataclass
class Net:
    first: Layer
    second: Layer
    act: object


class Model:
    """Holds parameters; `name` is nothing that a kernel can use."""

    scale = 2.0

    def __init__(self, n: int) -> None:
        self.w = np.linspace(-1.0, 1.0, n)
        self.steps = 3
        self.name = "model"

    def weight(self, i):
        return self.w[i] * self.scale

    @po.kernel
    def forward(self, x):
        y = np.zeros_like(x)
        for i in range(x.shape[0]):
            y[i] = self.weight(i) * x[i] + self.steps
        return y

    @po.kernel
    def update(self, x, rate=0.5):
        self.w[:] -= rate * x

    @po.kernel
    def named(self, x):
        return x * self.name

    @po.kernel
    def rebound(self, x):
        self.steps = self.steps + 1
        return x


def named_tuple(p, x):
    return p.a * x + p[1]


def unpacking(p, x):
    a, b = p
    return a * x + b


def dense(layer, x):
    return layer.leaky(x @ layer.w + layer.b)


def network(net, x):
    hidden = net.act(x @ net.first.w + net.first.b)
    return hidden @ net.second.w + net.second.b * net.second.slope


def weighted(ws, x):
    total = x * 0
    for i in range(len(ws)):
        total = total + ws[i] * x
    return total


def table(ws, x):
    return x * ws[0][1] + ws[1][0] + len(ws) + len(ws[0])


def twice(ws, x):
    longer = ws * 2
    return x * longer[2] + len(longer)


def applied(f, x, *, g=np.abs):
    return f(x) + g(x)


def inside(x):
    p = Pair(x * 2, b=x)
    layer = Layer(p.a, p.b)
    return layer.w + layer.b * layer.slope


def squared(v):
    return v * v


X = np.linspace(-2.0, 2.0, 6)
M = np.arange(12.0).reshape(3, 4) - 5.0
LAYER = Layer(np.linspace(-1, 1, 20).reshape(4, 5), np.arange(5.0))
NET = Net(LAYER, Layer(np.ones((5, 2)), np.ones(2)), np.tanh)


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (named_tuple, (Pair(X, X + 1), X)),
        (named_tuple, (Pair(2.0, X + 1), X)),
        (unpacking, ((X, 3.0), X)),
        (unpacking, ([X, X], X)),
        (dense, (LAYER, M)),
        (network, (NET, M)),
        (weighted, ([1.0, 2.5, -3.0], X)),
        (weighted, ([1, 2], X)),
        (weighted, ([1.0, 2.5], X.astype(np.float32))),
        (table, ([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], X)),
        (applied, (squared, X)),
        (applied, (np.exp, X)),
        (inside, (X,)),
    ],
)
def test_results_are_python_s(func, args):
    want, got = func(*args), po.kernel(func, schedule="source")(*args)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert got.dtype == want.dtype


def test_functions_by_keyword():
    want = applied(squared, X, g=np.exp)
    np.testing.assert_allclose(po.kernel(applied)(squared, X, g=np.exp), want, rtol=1e-12)


def test_methods_read_and_write_their_object():
    model, twin = Model(6), Model(6)
    np.testing.assert_array_equal(model.forward(X), Model.forward.py_func(twin, X))
    model.update(X, rate=0.25)
    Model.update.py_func(twin, X, rate=0.25)
    np.testing.assert_array_equal(model.w, twin.w)
    model.w = np.ones(6)
    np.testing.assert_array_equal(model.forward(X), 2.0 * X + 3)


def test_one_kernel_serves_all_objects_of_a_shape():
    kernel = po.kernel(unpacking)
    kernel((X, X), X)
    kernel((X * 2, X), X)
    kernel((X[:3], X[:3]), X[:3])
    assert len(kernel._unpacked) == 1
    (inner,) = kernel._unpacked.values()
    assert len(inner._compiled) == 1


def test_known_structures_are_taken_apart_as_before():
    """Other values of a known structure, another structure, and the first one again."""
    kernel = po.kernel(unpacking)
    for pair in ((X, X), (X * 2, X * 3), [X, X * 4], (X[:3], X[:3]), (X, X * 5)):
        other = pair[0] * 6
        np.testing.assert_array_equal(kernel(pair, other), unpacking(pair, other))
    assert kernel._structures.find(((X, X), X)) is not None
    assert kernel._structures.find(([X, X], X)) is None
    assert kernel._structures.find(((X, X, X), X)) is None
    assert kernel._structures.find(((X, "text"), X)) is None


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("named", "PO0152", "`.name` of an object of class `Model` is not supported"),
        ("rebound", "PO0163", "self.steps = self.steps + 1"),
    ],
)
def test_refusals_name_the_attribute(name, code, text):
    with pytest.raises(po.PolyoptError) as caught:
        getattr(Model(6), name)(X)
    assert caught.value.code == code
    assert text in str(caught.value)


def written(ws, x):
    ws[0] = 2.0
    return x * ws[0]


def grown(ws, x):
    ws.append(2.0)
    return x * ws[1]


def handed_on(ws, x):
    return twice(ws, x)


@pytest.mark.parametrize("func", [written, grown, handed_on, twice])
def test_lists_are_only_read(func):
    ws = [1.0, 3.0]
    with pytest.raises(po.ArgumentError, match=r"PO0206.*`ws` is a list, which may be changed"):
        po.kernel(func)(ws, X)
    assert ws == [1.0, 3.0]


def test_compile_takes_them_too():
    made = po.kernel(dense).compile(LAYER, M)
    np.testing.assert_allclose(made(LAYER.w, LAYER.b, 0.5, M), dense(LAYER, M), rtol=1e-12)


def test_objects_that_hold_themselves_and_deep_ones():
    model = Model(6)
    model.me, model.parts = model, [model, (X, model)]
    np.testing.assert_array_equal(model.forward(X), Model(6).forward(X))


def test_what_neither_is_nor_holds_an_array_is_refused():
    with pytest.raises(po.PolyoptError, match="PO0206"):
        po.kernel(unpacking)(({}, 1.0), X)


def test_errors_stand_at_the_user_s_function():
    layer = dataclasses.replace(LAYER, w=LAYER.w.copy())
    layer.w.flags.writeable = False

    def zeroed(layer):
        layer.w[:] = 0.0

    with pytest.raises(po.ArgumentError) as caught:
        po.kernel(zeroed)(layer)
    assert caught.value.code == "PO0204"
    assert caught.value.loc.file == __file__


def of_a_dict(params, x):
    params["b"][0] += 1
    return np.tanh(x @ params["w"] + params["b"]) * params["scale"]


def test_dicts_are_read_by_their_names():
    def made():
        return {"w": np.arange(6.0).reshape(2, 3), "b": np.zeros(3), "scale": 2.0}

    x, mine, other = np.ones((4, 2)), made(), made()
    np.testing.assert_allclose(po.kernel(of_a_dict)(mine, x), of_a_dict(other, x), rtol=1e-14)
    np.testing.assert_array_equal(mine["b"], other["b"])


def unknown_entry(params):
    return params["v"]


def replaced_entry(params):
    params["w"] = params["w"] * 2


def replaced_entry_as_the_hint_says(params):
    params["w"][...] = params["w"] * 2


def walks(params):
    for _name, value in params.items():
        value[:] = 0


@pytest.mark.parametrize(
    "function, code, text",
    [
        (unknown_entry, "PO0135", "its keys are 'w'"),
        (replaced_entry, "PO0163", "`params['w'][...] = value`"),
        (walks, "PO0152", '`params["w"]`'),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_what_dicts_cannot_do_is_refused_with_a_hint(function, code, text):
    with pytest.raises(FrontendError) as caught:
        po.kernel(function)({"w": np.ones(3)})
    assert caught.value.code == code
    assert text in str(caught.value.hint)


def test_the_hint_for_an_entry_works():
    given = {"w": np.ones(3)}
    po.kernel(replaced_entry_as_the_hint_says)(given)
    assert given["w"].tolist() == [2.0] * 3


@pytest.mark.parametrize("value", [{}, {1: np.ones(3)}, {"a b": 1.0}, {"a": "text"}], ids=repr)
def test_other_dicts_are_refused(value):
    with pytest.raises(ArgumentError) as caught:
        po.kernel(unknown_entry)(value)
    assert caught.value.code == "PO0206"
    assert "its keys have to be names" in str(caught.value.hint)


def test_a_lambda_is_refused_with_structured_arguments_too():
    with pytest.raises(FrontendError) as caught:
        po.kernel(lambda pair: pair[0])((np.ones(3), 2.0))
    assert caught.value.code == "PO0102"


def total(*xs):
    found = np.zeros_like(xs[0])
    for x in xs:
        found = found + x
    return found


def rest(x, *others, scale=1.0):
    return (x + len(others)) * scale


def named(x, **options):
    return x + options["y"]


def both(x, *more, k=2.0, **options):
    return x * k


A = np.arange(3.0)


@pytest.mark.parametrize(
    ("function", "args", "options"),
    [
        (total, (A,), {}), (total, (A, A + 1.0), {}), (total, (A, A, A), {}),
        (total, ([A, A + 1.0][0], A), {}), (rest, (A,), {}), (rest, (A, A, 2.0), {"scale": 3.0}),
        (named, (A,), {"y": A}), (named, (A,), {"y": 2}), (both, (A,), {}),
        (both, (A, A), {"k": 3.0, "z": A}), (both, (A,), {"z": (A, A)}),
    ],
)  # fmt: skip
def test_any_number_of_arguments(function, args, options):
    kernel = po.kernel(function)
    for _ in range(2):
        np.testing.assert_array_equal(kernel(*args, **options), function(*args, **options))


def test_another_number_of_arguments_is_another_kernel():
    kernel = po.kernel(total)
    for count in (1, 2, 1, 3):
        np.testing.assert_array_equal(kernel(*[A] * count), count * A)
    np.testing.assert_array_equal(kernel.compile(A, A)(A, A), 2.0 * A)
    assert kernel((A, A + 1.0)).shape == (2, 3)
