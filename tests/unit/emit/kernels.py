"""Loop functions for the tests of the emitter: small constructors, compilation, execution.

In: bodies.  Out: `LoopFunction`; results of the compiled text and of the interpreter.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from polyopt.emit import emit_c
from polyopt.ir.expr import Binary, BinaryOp, Expr, Iter, Load, Param, integer
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import run_loops
from polyopt.ir.loops import For, LoopFunction, LoopKind, show_body
from polyopt.ir.scop import Array, Role
from polyopt.ir.source import CParamKind, Layout, ScalarArg, Signature, SizeOf, Source
from polyopt.ir.types import DType

F64 = DType.FLOAT64
STRICT = (
    *("gcc", "-std=c11", "-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp"),
    *("-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"),
)


def array(name, *shape, dtype=F64, role=Role.INOUT, layout=Layout.C):
    return Array(name, dtype, tuple(ex(s) for s in shape), role, layout)


def ex(value) -> Expr:
    """Turn ints into constants, lower-case names into iterators, upper-case ones into sizes."""
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, str):
        return Param(value) if value.isupper() else Iter(value)
    return value


def op(sign, left, right, dtype=F64):
    return Binary(BinaryOp(sign), left, right, dtype)


def i64(sign, left, right):
    return op(sign, ex(left), ex(right), DType.INT64)


def at(name, *index, dtype=F64):
    return Load(name, tuple(ex(i) for i in index), dtype)


def plus(a, b):
    return Binary(BinaryOp.ADD, ex(a), ex(b), DType.INT64)


def least(a, b):
    return Binary(BinaryOp.MIN, ex(a), ex(b), DType.INT64)


def loop(name, lower, upper, *body, step=1, kind=LoopKind.SEQUENTIAL, label="", reductions=()):
    made = For(name, ex(lower), ex(upper), step, kind, tuple(body), label)
    return made.annotated(reductions=tuple(reductions))


def function(name, arrays, params, *body, scalars=(), trace=(), reassociable=()):
    sizes = tuple(SizeOf(p, 0, 0) for p in params)
    arguments = tuple(ScalarArg(s, s, d, False) for s, d in scalars)
    signature = Signature(name, arguments, sizes, (), (), "N", ())
    return LoopFunction(
        name,
        tuple(arrays),
        tuple(params),
        signature,
        tuple(body),
        tuple(trace),
        reassociable=frozenset(reassociable),
    )


def build(source: Source, flags=STRICT):
    """Return the compiled entry as a ctypes function."""
    return getattr(load(source, flags), source.entry)


def load(source: Source, flags=STRICT):
    """Return the compiled text as a library."""
    with tempfile.TemporaryDirectory(prefix="polyopt-kernels-") as folder:
        text = Path(folder, "kernel.c")
        text.write_text(source.text)
        library = Path(folder, "kernel.so")
        command = [*flags, str(text), "-o", str(library), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + source.text
        return ctypes.CDLL(str(library))


_CTYPES = {
    DType.BOOL: ctypes.c_bool,
    DType.INT8: ctypes.c_int8,
    DType.INT16: ctypes.c_int16,
    DType.INT32: ctypes.c_int32,
    DType.INT64: ctypes.c_int64,
    DType.UINT8: ctypes.c_uint8,
    DType.UINT16: ctypes.c_uint16,
    DType.UINT32: ctypes.c_uint32,
    DType.UINT64: ctypes.c_uint64,
    DType.FLOAT32: ctypes.c_float,
    DType.FLOAT64: ctypes.c_double,
}


def arguments(source: Source, arrays, params, symbols):
    """Return the C arguments of a call, in the order of `source.params`."""
    found = []
    for p in source.params:
        match p.kind:
            case CParamKind.ARRAY:
                found.append(ctypes.c_void_p(arrays[p.name].ctypes.data))
            case CParamKind.SIZE:
                found.append(ctypes.c_int64(params[p.name]))
            case CParamKind.STRIDE:
                item = arrays[p.name]
                found.append(ctypes.c_int64(item.strides[p.dim] // item.itemsize))
            case CParamKind.SCALAR:
                found.append(_CTYPES[p.dtype](symbols[p.name]))
    return found


def shown(fn: LoopFunction) -> str:
    return "\n".join(show_body(fn.body))


def call(fn: LoopFunction, arrays, params, symbols=None, flags=STRICT):
    """Compile `fn`, run it on copies of `arrays`, return them."""
    source = emit_c(fn)
    copies = {name: value.copy() for name, value in arrays.items()}
    status = build(source, flags)(*arguments(source, copies, params, symbols or {}))
    assert status == 0
    return copies


def interpret(fn: LoopFunction, arrays, params, symbols=None):
    """Run `fn` by the interpreter on copies of `arrays`, return them."""
    copies = {name: value.copy() for name, value in arrays.items()}
    run_loops(fn, copies, params, symbols or {})
    return copies


def data(fn: LoopFunction, params, seed=0):
    """Return seeded arrays for `fn`'s parameters."""
    rng = np.random.default_rng(seed)
    found = {}
    for item in fn.arrays:
        if item.role is Role.TEMP:
            continue
        shape = tuple(max(0, evaluate(e, params)) for e in item.shape)
        if item.dtype.is_float:
            found[item.name] = rng.standard_normal(shape).astype(item.dtype.numpy)
        else:
            found[item.name] = rng.integers(0, 100, shape).astype(item.dtype.numpy)
    return found


def assert_same(fn: LoopFunction, params, symbols=None, flags=STRICT, other=None):
    """Check that the compiled text does bitwise what the interpreter does on `other` or `fn`."""
    arrays = data(fn, params)
    got = call(fn, arrays, params, symbols, flags)
    want = interpret(other or fn, arrays, params, symbols)
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value, err_msg=name)
