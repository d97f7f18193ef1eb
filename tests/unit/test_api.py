"""Kernels: binding, specialisation, refusals, the cache; with a front end that is made up here."""

from __future__ import annotations

import copy
import pickle
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt import building
from polyopt.errors import ArgumentError, BudgetError, FrontendError, PolyoptError, UsageError
from polyopt.frontend.syntax.annotations import ArrayType, ConstType, NeedConstant, ScalarType
from polyopt.ir.expr import Const, Expr, Param
from polyopt.ir.source import (
    ArrayArg,
    ConstArg,
    CParam,
    CParamKind,
    Layout,
    Result,
    ResultKind,
    ScalarArg,
    Signature,
    SizeOf,
    Source,
)
from polyopt.ir.types import DType
from tests.unit.runtime import sources

pytestmark = pytest.mark.toolchain


class FakeFrontend:
    """Stands in for front end and pipeline: `C = A + B * k` elementwise, any layout, any dtype.

    `B` may broadcast where its type says a dimension is 1.  `mode`, if there is one, must be known.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[object, ...]] = []

    def __call__(
        self,
        function: Any,
        types: Any,
        options: Any,
        machine: Any = None,
        recording: Any = None,
        accept: Any = None,
        expect: Any = None,
    ) -> Any:
        self.seen.append(types)
        if len(types) > 4 and not isinstance(types[4], ConstType):
            raise NeedConstant("mode")
        source = add_scaled(types)
        schedule = "parallelize(L0)"
        return SimpleNamespace(
            source=source,
            schedule_text=schedule,
            timings={"schedule": 0.0},
            certificate=None,
            dropped=(),
        )


def add_scaled(types: tuple[Any, ...]) -> Source:
    rank = getattr(types[0], "rank", 0)
    params = [Param(f"n{d}") for d in range(rank)]
    arguments: list[Any] = []
    for name, kind in zip("ABC", types, strict=False):
        if not isinstance(kind, ArrayType):
            raise FrontendError("PO0140", f"`{name}` is not an array", hint="pass one")
        if kind.rank != rank:
            raise FrontendError("PO0140", "ranks differ", hint="make them equal")
        one: Expr = Const(1, DType.INT64)
        shape = tuple(one if o else p for o, p in zip(kind.ones, params, strict=True))
        if name == "C" and any(kind.ones):
            raise FrontendError("PO0140", "the target is smaller", hint="enlarge it")
        arguments.append(ArrayArg(name, name, kind.dtype, shape, kind.layout, name == "C"))
    if len(types) > 3:
        assert isinstance(types[3], ScalarType)
        arguments.append(ScalarArg("k", "k", types[3].dtype, False))
    if len(types) > 4:
        arguments.append(ConstArg("mode", types[4].value))
    sizes = []
    for d, param in enumerate(params):
        holder = next(a for a in range(3) if arguments[a].shape[d] == param)
        sizes.append(SizeOf(param.name, holder, d))
    signature = Signature("add_scaled", tuple(arguments), tuple(sizes), (),
                          (Result(ResultKind.ARGUMENT, "C"),), ".", ())  # fmt: skip
    return Source("c", "entry", *print_text(signature, rank), signature, False, False)


def print_text(signature: Signature, rank: int) -> tuple[str, str, tuple[CParam, ...]]:
    params: list[CParam] = []
    subscripts: dict[str, str] = {}
    for argument in signature.arguments:
        if isinstance(argument, ArrayArg):
            written = argument.written
            name, dtype = argument.name, argument.dtype
            params.append(CParam(CParamKind.ARRAY, name, dtype, name, written))
            subscripts[name] = subscript(argument, rank, params)
    params += [CParam(CParamKind.SIZE, f"n{d}", DType.INT64, f"n{d}") for d in range(rank)]
    numbers = [a for a in signature.arguments if isinstance(a, ScalarArg)]
    params += [CParam(CParamKind.SCALAR, "k", a.dtype, "k") for a in numbers]
    declared = []
    for param in params:
        pointer = "*" if param.kind is CParamKind.ARRAY else ""
        counts = param.kind in (CParamKind.SIZE, CParamKind.STRIDE)
        kind = "int64_t" if counts else param.dtype.ctype
        declared.append(f"{kind} {pointer}{param.text}")
    loops = " ".join(f"for (int64_t i{d} = 0; i{d} < n{d}; i{d}++)" for d in range(rank))
    factor = " * k" if numbers else ""
    head = "#include <stdint.h>\n#include <stdbool.h>\n#include <complex.h>\n"
    text = (
        f"{head}int entry({', '.join(declared)}) {{\n{loops} C[{subscripts['C']}] = "
        f"A[{subscripts['A']}] + B[{subscripts['B']}]{factor};\nreturn 0;\n}}"
    )
    return text, "int entry(void);", tuple(params)


def subscript(argument: ArrayArg, rank: int, params: list[CParam]) -> str:
    """Print the offset of element [i0, i1, …]; strides that are needed become parameters."""
    one = Const(1, DType.INT64)
    terms = []
    for d in [d for d in range(rank) if argument.shape[d] != one]:
        later = [e for e in range(d + 1, rank) if argument.shape[e] != one]
        if argument.layout is Layout.C:
            terms.append(" * ".join([f"i{d}", *(f"n{e}" for e in later)]))
        elif argument.layout is Layout.ROWS and d == rank - 1:
            terms.append(f"i{d}")
        else:
            name = argument.name
            params.append(CParam(CParamKind.STRIDE, name, argument.dtype, f"{name}_s{d}", dim=d))
            terms.append(f"i{d} * {name}_s{d}")
    return " + ".join(terms) or "0"


@pytest.fixture(autouse=True)
def frontend(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any) -> FakeFrontend:
    fake = FakeFrontend()
    monkeypatch.setattr(building, "compile_stages", fake)
    # entries made by the made-up front end must not be met by others
    monkeypatch.setattr(building, "kernel_key", lambda *a: None)
    return fake


def three(A, B, C):
    C[:] = A + B
    return C


def four(A, B, C, k=1.0):
    C[:] = A + B * k
    return C


def five(A, B, C, k=1.0, mode="plain"):
    C[:] = A + B * k
    return C


@po.kernel
def decorated(A, B, C):
    """Add."""
    return three(A, B, C)


def arrays(shape: Any = 5, dtype: Any = np.float64) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    A, B = ((10 * rng.random(shape)).astype(dtype) for _ in range(2))
    return A, B, np.zeros(shape, dtype)


def test_call_and_result(frontend):
    k = po.kernel(three)
    A, B, C = arrays()
    assert k(A, B, C) is C
    np.testing.assert_array_equal(C, A + B)
    assert k.py_func is three
    for n in (0, 1, 7):
        A, B, C = arrays(n)
        k(A, B, C)
        np.testing.assert_array_equal(C, A + B)
    assert len(frontend.seen) == 1


def test_decorator_keeps_the_functions_face():
    assert decorated.__name__ == "decorated"
    assert decorated.__doc__ == "Add."
    assert decorated.py_func.__name__ == "decorated"
    assert "decorated(A, B, C)" in repr(decorated)
    made = po.kernel(fp="fast", threads=2)(three)
    assert made.options.fp is po.FpMode.FAST
    assert po.kernel(made).py_func is three


def test_each_dtype_rank_and_layout_has_its_code(frontend):
    k = po.kernel(three)
    for _ in range(2):
        for dtype in (np.float64, np.float32, np.int8, np.complex64):
            A, B, C = arrays((3, 4), dtype)
            k(A, B, C)
            np.testing.assert_array_equal(C, A + B)
    assert len(frontend.seen) == 4
    A, B, C = arrays((300, 400))
    k(A.T, B.T, C.T)
    np.testing.assert_array_equal(C, A + B)
    k(A[:, ::-1], B, C)
    np.testing.assert_array_equal(C, A[:, ::-1] + B)
    k(A[:, 1:], B[:, 1:], C[:, 1:])
    np.testing.assert_array_equal(C[:, 1:], A[:, 1:] + B[:, 1:])
    layouts = [[t.layout for t in types] for types in frontend.seen[4:]]
    c, rows, strided = Layout.C, Layout.ROWS, Layout.STRIDED
    assert layouts == [[strided] * 3, [strided, c, c], [rows] * 3]


def test_general_code_serves_small_arrays_but_not_large_regular_ones(frontend):
    k = po.kernel(three)
    A, B, C = arrays((60, 80))
    k(A.T, B.T, C.T)
    k(A[:2, :2], B[:2, :2], C[:2, :2])
    small = arrays((2, 2))
    k(*small)
    assert len(frontend.seen) == 1
    k(A, B, C)
    assert len(frontend.seen) == 2
    k(*small)
    k(A.T, B.T, C.T)
    k(A, B, C)
    assert len(frontend.seen) == 2


def test_numbers_have_types(frontend):
    k = po.kernel(four)
    A, B, C = arrays()
    for value in (2.5, 3, np.float32(1.5), np.int16(4), np.float64(2), True, 2.5, 3):
        k(A, B, C, value)
        np.testing.assert_array_equal(C, A + B * float(value))
    kinds = [(t[3].dtype.value, t[3].weak) for t in frontend.seen]
    assert kinds == [
        ("float64", True), ("int64", True), ("float32", False), ("int16", False),
        ("float64", False), ("bool", True),
    ]  # fmt: skip


def test_defaults_and_keywords():
    k = po.kernel(four)
    A, B, C = arrays()
    k(A, B, C)
    np.testing.assert_array_equal(C, A + B)
    k(A, C=C, B=B, k=3.0)
    np.testing.assert_array_equal(C, A + B * 3)
    k(k=2.0, A=A, C=C, B=B)
    np.testing.assert_array_equal(C, A + B * 2)


@pytest.mark.parametrize(
    "args, kwargs",
    [((), {}), ((1,), {}), ((1, 2, 3, 4, 5), {}), ((1, 2, 3), {"z": 1}), ((1, 2, 3), {"A": 1})],
)
def test_calls_that_do_not_bind(args, kwargs):
    with pytest.raises(ArgumentError) as caught:
        po.kernel(four)(*args, **kwargs)
    assert caught.value.code == "PO0201"
    assert "k=1.0" in caught.value.hint


def test_values_that_must_be_known(frontend):
    k = po.kernel(five)
    A, B, C = arrays()
    k(A, B, C, 2.0, 1)
    k(A, B, C, 3.0, 1)
    k(A, B, C, 3.0, 2)
    k(A, B, C, 3.0, np.int32(2))
    np.testing.assert_array_equal(C, A + B * 3)
    k(A, B, C, 3.0)
    assert [t[4] for t in frontend.seen] == [
        ScalarType(DType.INT64), ConstType(1), ConstType(2), ConstType(2, DType.INT32),
        ConstType("plain"),
    ]  # fmt: skip
    with pytest.raises(ArgumentError) as caught:
        k.compile(*frontend.seen[0])
    assert caught.value.code == "PO0225"
    assert k.compile(*frontend.seen[0][:4], ConstType(7)).types[4] == ConstType(7)


def test_dimensions_of_one_broadcast(frontend):
    k = po.kernel(three)
    A, B, C = arrays((4, 3))
    k(A, B, C)
    k(A, B[:, :1], C)
    np.testing.assert_array_equal(C, A + B[:, :1])
    k(A, B[:1], C)
    np.testing.assert_array_equal(C, A + B[:1])
    k(A[:1, :1], B, C)
    np.testing.assert_array_equal(C, A[:1, :1] + B)
    compiled = len(frontend.seen)
    k(A, B[1:2], C)
    k(A[:1, 1:2], B, C)
    k(A[:1], B[:1], C[:1])
    assert len(frontend.seen) == compiled


def test_shapes_that_do_not_fit(frontend):
    k = po.kernel(three)
    A, B, C = arrays((4, 3))
    k(A, B, C)
    for values in [(A, B[:2], C), (A, B, C[:, :2]), (A, B, C[:1]), (A, B[:2, :1], C)]:
        C[:] = 7
        with pytest.raises(ArgumentError) as caught:
            k(*values)
        assert caught.value.code == "PO0203"
        assert caught.value.hint
        assert (C == 7).all()


@pytest.mark.parametrize(
    "bad, code",
    [
        ([1.0, 2.0], "PO0206"),
        (None, "PO0206"),
        ({}, "PO0206"),
        (object(), "PO0206"),
        (np.zeros(5, object), "PO0202"),
        (np.zeros(5, ">f8"), "PO0202"),
        (np.zeros(5, "m8[s]"), "PO0202"),
        (np.zeros(5, [("a", "f8"), ("b", "f8")]), "PO0202"),
        (np.zeros(5, "M8[s]"), "PO0202"),
        (np.zeros(5, "U3"), "PO0202"),
        (np.zeros(5, np.longdouble), "PO0202"),
        (np.ma.masked_array(np.zeros(5)), "PO0206"),
        (2**64, "PO0210"),
        (np.zeros(41, np.uint8)[1:].view(np.float64), "PO0211"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_refused_values(bad, code):
    k = po.kernel(three)
    A, _, C = arrays()
    for warm in (False, True):
        if warm:
            k(A, A, C)
        C[:] = 7
        with pytest.raises(ArgumentError) as caught:
            k(A, bad, C)
        assert caught.value.code == code
        assert caught.value.hint
        assert "`B`" in caught.value.message
        assert (C == 7).all()


def test_read_only_and_overlapping():
    k = po.kernel(three)
    A, B, C = arrays()
    C.flags.writeable = False
    with pytest.raises(ArgumentError, match="PO0204"):
        k(A, B, C)
    with pytest.raises(ArgumentError, match="PO0205"):
        k.compile(A, B, np.zeros_like(A))(A, B, B)
    np.testing.assert_array_equal(B, arrays()[1])
    with pytest.raises(ArgumentError, match="PO0212"):
        k(A, B, np.lib.stride_tricks.as_strided(np.zeros(5), (5,), (0,)))


def test_buffer_exporters_and_subclasses():
    import array
    import mmap

    k = po.kernel(three)
    A, B, C = arrays()
    out = array.array("d", [0] * 5)
    assert k(array.array("d", A), memoryview(B), out) is out
    np.testing.assert_array_equal(np.array(out), A + B)
    with mmap.mmap(-1, 40) as memory:
        view = memoryview(memory).cast("d")
        assert k(A, B, view) is view
        np.testing.assert_array_equal(np.array(view), A + B)
        view.release()

    class Sub(np.ndarray):
        pass

    own = C.view(Sub)
    assert k(A.view(Sub), B, own) is own
    np.testing.assert_array_equal(C, A + B)


def test_compile_by_example_and_by_type(frontend):
    k = po.kernel(four)
    A, B, C = arrays()
    compiled = k.compile(A, B, C, 2.0)
    assert compiled(A, B, C, 2.0) is C
    np.testing.assert_array_equal(C, A + B * 2)
    assert compiled(A, B, C, 3) is C  # a number that float64 holds
    np.testing.assert_array_equal(C, A + B * 3)
    assert compiled(A, k=4.0, C=C, B=B) is C
    np.testing.assert_array_equal(C, A + B * 4)
    assert compiled(A, B, C) is C  # with the default
    assert "A[" in compiled.source
    assert compiled.header == "int entry(void);"
    assert compiled.schedule_text == "parallelize(L0)"
    assert set(compiled.timings) >= {"schedule", "build", "load"}
    assert "float64[:]" in repr(compiled)
    same = k.compile(po.f64["N"], po.f64["N"], po.f64["N"], po.f64)
    assert same is compiled
    assert k.compile(po.f32["N"], po.f32["N"], po.f32["N"], po.i64) is not compiled


@pytest.mark.parametrize(
    "position, value, code",
    [
        (0, np.zeros(5, np.float32), "PO0207"), (1, np.zeros((5, 1)), "PO0208"),
        (1, np.zeros(10)[::2], "PO0209"), (2, np.zeros(4), "PO0203"), (0, [1], "PO0206"),
        (3, "x", "PO0215"), (3, 1j, "PO0207"), (3, np.zeros(2), "PO0215"), (3, 2**60 + 1, "PO0207"),
    ],
)  # fmt: skip
def test_compiled_kernels_take_their_types_only(position, value, code):
    A, B, C = arrays()
    compiled = po.kernel(four).compile(A, B, C, 2.0)
    values = [A, B, C, 2.0]
    values[position] = value
    with pytest.raises(ArgumentError) as caught:
        compiled(*values)
    assert caught.value.code == code
    assert caught.value.hint
    with pytest.raises(ArgumentError, match="PO0201"):
        compiled(A, B)


def test_memory_that_cannot_be_had(monkeypatch):
    source = sources.without_memory()
    monkeypatch.setattr(
        building, "compile_stages",
        lambda *a: SimpleNamespace(
            source=source, schedule_text="", timings={}, certificate=None, dropped=()
        ),
    )  # fmt: skip
    with pytest.raises(BudgetError) as caught:
        po.kernel(lambda A: None)(np.zeros(3))
    assert caught.value.code == "PO0702"


def test_disabled_kernels_run_python(monkeypatch, frontend):
    monkeypatch.setenv("POLYOPT_DISABLE", "1")
    A, B, C = arrays()
    assert po.kernel(three)(A, B, C=C) is C
    assert po.kernel(lambda x: x)("anything") == "anything"
    assert not frontend.seen


def test_options_make_new_kernels():
    k = po.kernel(three)
    other = k.with_options(fp="reassociate", threads=1)
    assert (other.options.fp, other.options.threads) == (po.FpMode.REASSOCIATE, 1)
    assert k.options == po.Options()
    assert k.with_schedule("tile(L0, 32)").options.schedule == "tile(L0, 32)"
    with pytest.raises(UsageError, match="PO0221"):
        k.with_options(thread=1)
    with pytest.raises(UsageError, match="PO0221"):
        po.kernel(thread=1)


@pytest.mark.parametrize("thing", [3, "text", int, np.add, [], print])
def test_only_functions_become_kernels(thing):
    with pytest.raises(UsageError) as caught:
        po.kernel(thing)
    assert caught.value.code == "PO0223"


def test_pickles_as_a_reference_with_options():
    k = decorated.with_options(threads=1)
    data = pickle.dumps(k)
    assert len(data) < 1000
    back = pickle.loads(data)
    assert back.options == k.options
    assert back.py_func is decorated.py_func
    assert pickle.loads(pickle.dumps(po.kernel(three))).py_func is three
    assert copy.copy(k).py_func is k.py_func
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(po.kernel(lambda A: A))


def test_threads_compile_once(frontend):
    k = po.kernel(three)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            A, B, C = arrays()
            k(A, B, C)
            np.testing.assert_array_equal(C, A + B)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    assert len(frontend.seen) == 1


def test_errors_of_the_front_end_pass_through():
    with pytest.raises(PolyoptError, match="PO0140"):
        po.kernel(three)(1.0, np.zeros(3), np.zeros(3))


def test_ctypes_serves_the_same_calls(monkeypatch, frontend):
    monkeypatch.setenv("POLYOPT_FORCE_CTYPES", "1")
    test_call_and_result(frontend)
    test_defaults_and_keywords()
    test_dimensions_of_one_broadcast(frontend)
    test_buffer_exporters_and_subclasses()
    with pytest.raises(ArgumentError, match="PO0206"):
        po.kernel(three)(None, np.zeros(3), np.zeros(3))
