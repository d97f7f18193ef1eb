"""Kernels that stop on the way, call library functions, and make arrays of unknown length."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from polyopt.emit import emit_c
from polyopt.errors import (
    BudgetError,
    IndexFault,
    InternalError,
    KernelFault,
    Loc,
    ToolchainError,
    ValueFault,
    kernel_fault,
)
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Iter,
    Load,
    Param,
    Symbol,
    integer,
)
from polyopt.ir.library import call_library, resolve
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    CallLibrary,
    Declare,
    Fail,
    For,
    If,
    LoopFunction,
    LoopKind,
)
from polyopt.ir.scop import Array, Role
from polyopt.ir.source import (
    ArrayArg,
    Fault,
    IntegerOf,
    Layout,
    LibraryCall,
    Operand,
    OutputArray,
    Result,
    ResultKind,
    ScalarArg,
    Signature,
    SizeOf,
    Source,
)
from polyopt.ir.types import DType
from polyopt.runtime.records import from_json, to_json
from tests.unit.runtime.loading import WAYS, load

pytestmark = pytest.mark.toolchain

F64, I64 = DType.FLOAT64, DType.INT64
N, K = Param("N"), Param("K")
FAULTS = (
    Fault("PO0231", "a subscript of `A` is outside", Loc("kernel.py", 3, 5, 3, 9), "look at it"),
    Fault("PO0140", "shapes do not fit"),
)
SOLVE = LibraryCall(
    "numpy.linalg.solve", (Operand(0), Operand(1)), (), ((F64, 2), (F64, 1)), ((F64, 1),)
)


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


def cell(name, *index, dtype=F64):
    return Load(name, index, dtype)


def plus(left, right, dtype=F64):
    return Binary(BinaryOp.ADD, left, right, dtype)


def is_(left, sign, right):
    return Compare(CompareOp(sign), left, right)


def signature(outputs=(), results=(), faults=(), library=(), nesting="N", matrix=False):
    """`kernel(A, K)` or, with `matrix`, `kernel(A, b, K)`."""
    square = (ArrayArg("A", "A", F64, (N, N), Layout.C, False),)
    vector = ArrayArg("b", "b", F64, (N,), Layout.C, True)
    arrays = (*square, vector) if matrix else (vector,)
    return Signature(
        "kernel",
        (*arrays, ScalarArg("K", "K", I64, True)),
        (SizeOf("N", 0, 0), IntegerOf("K", len(arrays))),
        outputs,
        results,
        nesting,
        (),
        faults,
        library,
    )


def source(signature, arrays, *body):
    found = [Array("b", F64, (N,), Role.INOUT), *arrays]
    return emit_c(LoopFunction("kernel", tuple(found), ("N", "K"), signature, tuple(body)))


def failing() -> Source:
    """Add one to `b[0]`, then fail with fault K unless that is negative."""
    return source(
        signature(faults=FAULTS),
        (),
        Assign(cell("b", integer(0)), plus(cell("b", integer(0)), Const(1.0, F64))),
        If(is_(K, "==", integer(0)), (Fail(0),)),
        If(is_(K, ">", integer(0)), (Fail(1),)),
    )


def test_faults_are_raised_and_the_kernel_runs_once(way):
    loaded = load(failing(), way)
    for call in (loaded.call, loaded.dispatch):
        b = np.zeros(2)
        with pytest.raises(IndexError) as caught:
            call(b, 0)
        assert isinstance(caught.value, IndexFault)
        assert (caught.value.code, caught.value.hint) == ("PO0231", "look at it")
        assert caught.value.loc == FAULTS[0].loc
        assert b[0] == 1.0
    with pytest.raises(ValueFault, match="shapes do not fit"):
        loaded.call(b, 1)
    assert loaded.call(b, -1) is None
    assert b[0] == 3.0


def test_the_class_of_a_fault_tells_the_python_exception():
    for code, kind in (
        ("PO0231", IndexError),
        ("PO0170", IndexError),
        ("PO0233", ZeroDivisionError),
        ("PO0234", OverflowError),
        ("PO0235", AssertionError),
        ("PO0173", ValueError),
    ):
        fault = kernel_fault(code, "message")
        assert isinstance(fault, kind)
        assert isinstance(fault, KernelFault)
        assert str(fault) == f"error[{code}]: message"


def test_memory_that_runs_out_on_the_way_is_not_asked_for_twice(way):
    held = Array("T", F64, (Symbol("m", I64),), Role.TEMP)
    one = Assign(cell("b", integer(0)), plus(cell("b", integer(0)), Const(1.0, F64)))
    size = Binary(BinaryOp.MUL, K, integer(1 << 30), I64)
    loaded = load(
        source(
            signature(),
            [held],
            one,
            Declare("m", I64, 1, size),
            AllocateArray(held),
            If(is_(K, "<", integer(0)), (Assign(cell("T", integer(0)), Const(1.0, F64)),)),
            one,
        ),
        way,
    )
    b = np.zeros(1)
    with pytest.raises(BudgetError, match="not enough memory"):
        loaded.call(b, 1 << 30)
    assert b[0] == 1.0
    assert loaded.call(b, 0) is None
    assert b[0] == 3.0


def solver() -> Source:
    """`b = solve(A, b) + solve(A, b)[0]`, then fault 0 when the first element is zero."""
    A = Array("A", F64, (N, N), Role.INPUT)
    b = Array("b", F64, (N,), Role.INOUT)
    x = Array("x", F64, (N,), Role.TEMP)
    found = plus(cell("x", Iter("i")), cell("x", integer(0)))
    return source(
        signature(matrix=True, faults=FAULTS, library=(SOLVE,)),
        [A, x],
        If(is_(K, ">", integer(0)), (Fail(0),)),
        CallLibrary(0, (A, b), (x,)),
        For(
            "i",
            integer(0),
            N,
            1,
            LoopKind.SEQUENTIAL,
            (Assign(cell("b", Iter("i")), found),),
        ),
    )


def test_library_functions_are_called_and_their_exceptions_passed_on(way):
    loaded = load(solver(), way)
    A, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 5.0])
    want = np.linalg.solve(A, b)
    assert loaded.call(A, b, 0) is None
    np.testing.assert_array_equal(b, want + want[0])
    before = b.copy()
    with pytest.raises(np.linalg.LinAlgError) as caught:
        loaded.call(np.zeros((2, 2)), b, 0)
    np.testing.assert_array_equal(b, before)
    frame = caught.value.__traceback__
    while frame is not None:  # nothing below sees the kernel's memory
        assert not any(
            isinstance(v, np.ndarray) and v.base is not None
            for v in frame.tb_frame.f_locals.values()
        )
        frame = frame.tb_next
    with pytest.raises(IndexFault):
        loaded.call(A, b, 1)


def test_empty_arrays_reach_library_functions(way):
    assert load(solver(), way).call(np.zeros((0, 0)), np.zeros(0), 0) is None


def applied(name: str) -> Source:
    """`b = numpy.name(b)`."""
    call = LibraryCall(f"numpy.{name}", (Operand(0),), (), ((F64, 1),), ((F64, 1),))
    b, y = Array("b", F64, (N,), Role.INOUT), Array("y", F64, (N,), Role.TEMP)
    copy = Assign(cell("b", Iter("i")), cell("y", Iter("i")))
    loop = For("i", integer(0), N, 1, LoopKind.SEQUENTIAL, (copy,))
    return source(signature(library=(call,)), [y], CallLibrary(0, (b,), (y,)), loop)


def test_a_callback_may_call_kernels(way, monkeypatch):
    inner = load(failing(), way)
    outer = load(applied("polyopt_nested"), way)

    def nested(x):
        if len(x) > 1:
            again = x[1:].copy()
            outer.call(again, 0)
            x = np.concatenate([x[:1], again])
        with pytest.raises(IndexError):
            inner.call(np.zeros(1), 0)
        return x * 2.0

    monkeypatch.setattr(np, "polyopt_nested", nested, raising=False)
    b = np.ones(4)
    outer.call(b, 0)
    assert b.tolist() == [2.0, 4.0, 8.0, 16.0]
    resolve.cache_clear()


def test_exceptions_stay_in_their_thread(way):
    loaded = load(solver(), way)
    found: dict[int, object] = {}

    def work(number: int) -> None:
        b = np.full(3, float(number))
        A = np.eye(3) if number % 2 else np.zeros((3, 3))
        try:
            for _ in range(50):
                loaded.call(A, b, 0)
                b[:] = number
            found[number] = None
        except np.linalg.LinAlgError as error:
            found[number] = error

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[k] is None for k in range(4)] == [False, True, False, True]


def test_results_of_another_type_or_shape_are_refused(way):
    for name in ("argsort", "sum"):
        with pytest.raises(InternalError, match="was expected") as caught:
            load(applied(name), way).call(np.ones(2), 0)
        assert caught.value.code == "PO0903"
    b = np.array([3.0, 1.0, 2.0])
    load(applied("sort"), way).call(b, 0)
    assert b.tolist() == [1.0, 2.0, 3.0]


def test_names_that_are_no_library_functions():
    for name in ("os.system", "numpy", "numpy._core", "numpy.pi"):
        with pytest.raises(InternalError):
            resolve(name)
    for name in ("numpy.no_such_function", "numpy.linalg.nothing"):
        with pytest.raises(ToolchainError) as caught:
            resolve(name)
        assert caught.value.code == "PO0507"


def test_operands_constants_and_several_results():
    call = LibraryCall(
        "numpy.linalg.qr", (Operand(0),), (("mode", "reduced"),), ((F64, 2),), ((F64, 2),) * 2
    )
    A, Q, R = np.arange(6.0).reshape(3, 2), np.empty((3, 2)), np.empty((2, 2))
    call_library(call, [A], [Q, R])
    np.testing.assert_allclose(Q @ R, A)
    roll = LibraryCall(
        "numpy.roll", (Operand(0), (Operand(1), 0), (0, 1)), (), ((F64, 2), (I64, 0)), ((F64, 2),)
    )
    out = np.empty((3, 2))
    call_library(roll, [A, np.array(1)], [out])
    np.testing.assert_array_equal(out, np.roll(A, (1, 0), (0, 1)))
    sorts = LibraryCall("numpy.ndarray.sort", (Operand(0),), (), ((F64, 1),), ())
    with pytest.raises(ValueError, match="read-only"):
        call_library(sorts, [np.array([2.0, 1.0])], [])


def counted(returns_tuple: bool) -> Source:
    """The first K entries of an array of N rows, and how many there are."""
    outputs = (
        OutputArray("y", F64, (N, integer(2)), length="n"),
        OutputArray("n", I64, ()),
    )
    results = (Result(ResultKind.OUTPUT, "y"), Result(ResultKind.SCALAR, "n"))
    arrays = [
        Array("y", F64, (N, integer(2)), Role.OUTPUT),
        Array("n", I64, (), Role.OUTPUT),
    ]
    rows = tuple(Assign(cell("y", Iter("i"), integer(c)), cell("b", Iter("i"))) for c in (0, 1))
    return source(
        signature(
            outputs,
            results if returns_tuple else results[:1],
            (),
            (),
            "(..)" if returns_tuple else ".",
        ),
        arrays,
        Assign(cell("n", dtype=I64), K),
        For("i", integer(0), N, 1, LoopKind.SEQUENTIAL, rows),
    )


def test_arrays_are_cut_to_their_length(way):
    loaded = load(counted(True), way)
    for n in (0, 1, 5):
        y, length = loaded.call(np.arange(5.0), n)
        assert (y.shape, length) == ((n, 2), n)
        assert y.flags.owndata
        np.testing.assert_array_equal(y[:, 1], np.arange(float(n)))
    assert load(counted(False), way).call(np.arange(5.0), 2).shape == (2, 2)
    with pytest.raises(InternalError):
        loaded.call(np.zeros(2), 3)


def test_reference_counts_of_cut_arrays_and_errors():
    loaded = load(counted(True))
    y, _ = loaded.call(np.arange(3.0), 1)
    import sys

    assert sys.getrefcount(y) == 2
    b = np.zeros(3)
    failed = load(failing())
    before = sys.getrefcount(b)
    for _ in range(20):
        with pytest.raises(IndexError):
            failed.call(b, 0)
    assert sys.getrefcount(b) == before


def test_faults_and_library_calls_survive_the_cache():
    record = solver()
    again = from_json(json.loads(json.dumps(to_json(record))))
    assert again == record


def test_an_unknown_status_is_told(way):
    broken = failing()
    text = broken.text.replace("return 0;", "return 77;")
    unknown = Source("c", broken.entry, text, "", broken.params, broken.signature, False, False)
    with pytest.raises(InternalError, match="77") as caught:
        load(unknown, way).call(np.zeros(1), -1)
    assert caught.value.code == "PO0904"
