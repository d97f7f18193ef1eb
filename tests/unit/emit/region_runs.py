"""Kernels of whole functions for tests: made of loops, run as C text and in Python, compared."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np

from polyopt.emit import emit_c, optimize_loops
from polyopt.emit.fault_exits import exit_on_faults
from polyopt.errors import KernelFault
from polyopt.ir.expr import (
    Compare,
    CompareOp,
    Const,
    Load,
)
from polyopt.ir.interp import run_loops
from polyopt.ir.library import call_library
from polyopt.ir.loops import (
    Assign,
    show_body,
)
from polyopt.ir.scop import Role
from polyopt.ir.source import CParamKind, Fault
from polyopt.ir.types import DType
from polyopt.machine import Machine
from tests.unit.emit.kernels import (
    F64,
    STRICT,
    arguments,
    array,
    at,
    build,
    data,
    ex,
    function,
)

I64, U8, BOOL = DType.INT64, DType.UINT8, DType.BOOL
WIDE = Machine(vector_bytes=64, vector_registers=32)
FAULTS = (
    Fault("PO0231", "first"),
    Fault("PO0232", "second"),
    Fault("PO0233", "third"),
)
LIBRARY = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)
)


def is_(left, sign, right):
    return Compare(CompareOp(sign), ex(left), ex(right))


def scalar(name, dtype=F64):
    return array(name, dtype=dtype, role=Role.TEMP)


def cell(name, dtype=F64):
    return Load(name, (), dtype)


def put(name, value, dtype=F64):
    return Assign(cell(name, dtype), value)


def fault_array(count=3):
    return array("faults", count, dtype=U8, role=Role.FAULT)


def note(number):
    return Assign(at("faults", number, dtype=U8), Const(1, U8))


def kernel(*given, faults=(), library=()):
    fn = function("kernel", *given)
    return replace(fn, signature=replace(fn.signature, faults=faults, library=library))


def run_c(fn, arrays, params, symbols=None, flags=STRICT, times=1):
    """Run the emitted text on copies; return the status and the copies."""
    source = emit_c(exit_on_faults(fn))
    copies = {name: value.copy() for name, value in arrays.items()}
    given = arguments(source, copies, params, symbols or {})
    if source.params and source.params[-1].kind is CParamKind.LIBRARY:
        given.append(LIBRARY(_callback(fn.signature.library)))
    entry = build(source, flags)
    status = {entry(*given) for _ in range(times)}
    assert len(status) == 1
    return status.pop(), copies


def _callback(calls):
    def call(site, data, extents):
        views, at_extent = [], 0
        for dtype, rank in (*calls[site].inputs, *calls[site].outputs):
            shape = tuple(extents[at_extent + d] for d in range(rank))
            at_extent += rank
            size = int(np.prod(shape, dtype=int)) * dtype.size
            memory = (ctypes.c_char * size).from_address(data[len(views)])
            views.append(np.frombuffer(memory, dtype.numpy).reshape(shape))
        given = len(calls[site].inputs)
        try:
            call_library(calls[site], views[:given], views[given:])
        except ValueError:
            return 1
        return 0

    return call


def run_python(fn, arrays, params, symbols=None, shuffle=None):
    """Run the interpreter on copies; return the status and the copies."""
    copies = {name: value.copy() for name, value in arrays.items()}
    try:
        run_loops(fn, copies, params, symbols or {}, shuffle)
    except KernelFault as fault:
        codes = [f.code for f in fn.signature.faults]
        return 2 + codes.index(fault.code), copies
    return 0, copies


def agree(fn, params, symbols=None, flags=STRICT, arrays=None, times=1):
    """Check the text of `fn` and of its optimized form; return the status and the arrays."""
    given = data(fn, params) if arrays is None else arrays
    want = run_python(fn, given, params, symbols)
    for version in (fn, optimize_loops(fn, WIDE, "strict")):
        got = run_c(version, given, params, symbols, flags, times)
        assert got[0] == want[0], "\n".join(show_body(version.body))
        if want[0] != 0 and any(a.role is Role.FAULT for a in fn.arrays):
            continue  # how far it came is not said
        for name, value in want[1].items():
            np.testing.assert_array_equal(got[1][name], value, err_msg=name)
    return want
