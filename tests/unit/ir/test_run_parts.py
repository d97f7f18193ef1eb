"""Whole programs by the interpreter: names bound on the way, repetition, faults, library calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyopt.errors import IndexFault, InternalError, ValueFault
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Load, Param, integer
from polyopt.ir.interp import run_program
from polyopt.ir.program import Allocate, Bind, Invoke, Program, Repeat, Require
from polyopt.ir.scop import Array, Role
from polyopt.ir.source import (
    ArrayArg,
    Fault,
    Layout,
    LibraryCall,
    Operand,
    OutputArray,
    Result,
    ResultKind,
    Signature,
    SizeOf,
)
from polyopt.ir.types import DType
from tests.reading import read

F64, I64, BOOL = DType.FLOAT64, DType.INT64, DType.BOOL
N = Param("N")
A = Array("A", F64, (N,), Role.INOUT)
FAULTS = (Fault("PO0231", "first"), Fault("PO0232", "second"))


def scalar(name: str, dtype: DType = F64) -> Array:
    return Array(name, dtype, (), Role.TEMP)


def program(*parts, arrays=(), outputs=(), results=(), library=()) -> Program:
    """`kernel(A)` of `parts`."""
    given = (ArrayArg("A", "A", F64, (N,), Layout.C, True),)
    sizes = (SizeOf("N", 0, 0),)
    nesting = f"({'.' * len(results)})" if len(results) > 1 else "." * len(results) or "N"
    signature = Signature(
        "kernel", given, sizes, outputs, results, nesting, (), FAULTS, tuple(library)
    )
    return Program("kernel", parts, (A, *arrays), signature, "<test>", 1)


def at_most(left, right) -> Compare:
    return Compare(CompareOp.LE, left, right)


def cell(name: str, dtype: DType = F64) -> Load:
    return Load(name, (), dtype)


def test_names_are_bound_once_and_end_with_their_body():
    count = scalar("c", I64)
    n = Bind("n", cell("c", I64))
    made = program(
        read("c = 2", "int64 c; A[N]"),
        n,
        read("c = 3", "int64 c; A[N]"),
        read("for i in range(n): A[i] = n", "A[N]", "N n"),
        arrays=[count],
    )
    found = np.zeros(4)
    assert run_program(made, [found]) is None
    assert found.tolist() == [2.0, 2.0, 0.0, 0.0]
    outside = program(
        Repeat("t", integer(0), integer(1), 1, None, (Bind("n", integer(2)),)),
        read("for i in range(n): A[i] = n", "A[N]", "N n"),
    )
    with pytest.raises(KeyError):
        run_program(outside, [found])


def test_repetition_ends_at_its_bound_or_when_it_is_told():
    step = read("for i in range(1): A[t] = 1; c = c + 1", "A[N]; int64 c", "N t", None)
    stop = read("if c > 2: go = 0", "int64 c; int64 go")
    start = read("c = 0; go = 1", "int64 c; int64 go")
    going = Load("go", (), I64)
    arrays = [scalar("c", I64), scalar("go", I64)]
    for upper, steps in ((N, 3), (None, 3), (integer(2), 2)):
        found = np.zeros(7)
        loop = Repeat("t", integer(0), upper, 1, going, (step, stop))
        run_program(program(start, loop, arrays=arrays), [found])
        assert found.sum() == steps
    found = np.zeros(7)
    run_program(
        program(start, Repeat("t", integer(1), N, 3, None, (step,)), arrays=arrays), [found]
    )
    assert np.flatnonzero(found).tolist() == [1, 4]


def test_private_arrays_start_undefined():
    body = read("A[t] = s; s = 1.0", "A[N]; s", "N t", None)
    for parallel in (False, True):
        loop = Repeat("t", integer(0), N, 1, None, (body,), "", parallel, ("s",))
        found = np.zeros(2)
        run_program(program(loop, arrays=[scalar("s")]), [found])
        assert np.isnan(found).tolist() == [True, parallel]


def test_memory_has_the_sizes_bound_before():
    held = Array("T", F64, (Param("n"),), Role.TEMP)
    fill = read("for i in range(n): T[i] = i\nA[t] = T[n - 1]", "A[N]; T[n]", "N n t", None)
    size = Binary(BinaryOp.ADD, Param("t"), integer(1), I64)
    loop = Repeat("t", integer(0), N, 1, None, (Bind("n", size), Allocate("T"), fill))
    found = np.zeros(3)
    run_program(program(loop, arrays=[held]), [found])
    assert found.tolist() == [0.0, 1.0, 2.0]


def test_requirements_raise_their_fault():
    made = program(read("for i in range(N): A[i] = 1", "A[N]"), Require(at_most(N, integer(2)), 1))
    run_program(made, [np.zeros(2)])
    found = np.zeros(3)
    with pytest.raises(ValueFault, match="second"):
        run_program(made, [found])
    assert found.all()


def test_noted_faults_are_raised_at_the_end_before_others():
    noting = read("for i in range(N):\n if A[i] < 0: faults[0] = 1", "A[N]; faults[2]")
    faults = Array("faults", DType.UINT8, (integer(2),), Role.FAULT)
    after = read("A[0] = 5", "A[N]")
    made = program(noting, after, Require(at_most(N, integer(1)), 1), arrays=[faults])
    run_program(made, [np.ones(1)])
    with pytest.raises(ValueFault):
        run_program(made, [np.ones(2)])
    found = -np.ones(2)
    with pytest.raises(IndexFault):
        run_program(made, [found])
    assert found[0] == 5.0


def test_library_calls_and_lengths():
    sort = LibraryCall("numpy.sort", (Operand(0),), (), ((F64, 1),), ((F64, 1),))
    y = Array("y", F64, (N,), Role.OUTPUT)
    count = Array("n", I64, (), Role.OUTPUT)
    outputs = (OutputArray("y", F64, (N,), "n"), OutputArray("n", I64, ()))
    results = (Result(ResultKind.OUTPUT, "y"), Result(ResultKind.SCALAR, "n"))
    made = program(
        Invoke(0, ("A",), ("y",)),
        read("n = N - 1", "int64 n; A[N]"),
        arrays=[y, count],
        outputs=outputs,
        results=results,
        library=[sort],
    )
    found, length = run_program(made, [np.array([3.0, 1.0, 2.0])])
    assert found.tolist() == [1.0, 2.0]
    assert length == 2
    assert found.flags.owndata
    other = replace(sort, inputs=((F64, 2),))
    wrong = replace(made, signature=replace(made.signature, library=(other,)))
    with pytest.raises(InternalError, match="other arrays"):
        run_program(wrong, [np.ones(2)])
