"""Row recurrences: which loops are vectorized across rows, the same bits around the tile sizes."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.helpers import Helper, HelperKind, definition
from polyopt.emit.passes.outer_vectorization import vectorize_across_rows
from polyopt.emit.passes.row_recurrences import row_recurrence
from polyopt.ir.expr import Compare, CompareOp, loads
from polyopt.ir.loops import Assign, For, If, LoopKind, show_body
from polyopt.ir.types import DType
from polyopt.machine import Machine
from tests.unit.emit.kernels import array, at, data, ex, function, interpret, loop, op, plus

# ruff: noqa: F821, UP037 - sizes are named by strings

ROWS = frozenset("XYZ")
SMALL = Machine(vector_bytes=32)


def strip(*statements, rows=8):
    """The rows of a strip, in lanes."""
    return loop("i", 0, rows, *statements, kind=LoopKind.VECTOR)


def store(target, *terms):
    value = terms[0]
    for term in terms[1:]:
        value = op("+", value, term)
    return Assign(target, value, "S0")


Y = at("Y", "i", "j")
BEFORE = at("Y", "i", plus("j", -1))
NEXT = at("Y", "i", plus("j", 1))
X = at("X", "i", "j")


def found(*body, lanes=4):
    return row_recurrence(loop("j", 1, 30, *body), lanes, ROWS)


def test_values_of_row_reads_are_computed_along_rows():
    made = found(strip(store(Y, X, at("X", "i", plus("j", 1)), BEFORE)))
    assert made is not None
    (read,) = made.reads
    assert not read.descends
    assert [len(w.past) for w in made.writes] == [1]
    assert made.rows == 8
    assert len(made.groups) == 2


def test_elements_that_are_not_yet_written_are_read():
    made = found(strip(store(Y, Y, NEXT, BEFORE)))
    assert made is not None
    assert len(made.reads) == 1
    assert [len(w.past) for w in made.writes] == [1]


def test_values_of_several_steps_are_kept():
    made = found(strip(store(Y, X, at("Y", "i", plus("j", -3)))))
    assert made is not None
    assert [len(w.past) for w in made.writes] == [3]


def test_lanes_may_write_down_columns_and_read_rows():
    made = found(strip(store(at("Z", "j", "i"), X, at("Z", plus("j", -1), "i"))))
    assert made is not None
    assert len(made.reads) == 1
    assert not made.writes


def test_what_the_loop_writes_is_not_read_ahead():
    first = strip(store(at("Z", "j", "i"), X))
    made = found(first, strip(store(Y, op("*", X, at("Z", 3, 5)))))
    assert made is not None
    assert all(read.array == "X" for transposed in made.reads for read in loads(transposed.value))


@pytest.mark.parametrize(
    "body",
    [
        (strip(store(Y, at("Y", plus("i", 1), plus("j", -1)))),),  # another row's
        (strip(store(Y, at("Y", "i", plus("j", -5)))),),  # too far back
        (strip(store(Y, at("X", "i", "i"))),),
        (strip(store(Y, at("X", "j", op("*", ex("i"), ex(2), DType.INT64)))),),
        (strip(store(Y, X), store(Y, BEFORE)),),
        (strip(store(Y, X)), store(at("Y", 0, "j"), X)),
        (strip(store(Y, at("W", "i", "j"))),),  # not by rows
        (strip(store(Y, X), rows=6),),
        (strip(store(Y, X)), strip(store(at("Z", "i", "j"), X), rows=16)),
        (strip(store(at("Z", "j", "i"), Y)), strip(store(Y, at("Z", "i", "j")))),
        (store(at("X", 0, "j"), BEFORE),),
    ],
)
def test_other_accesses_are_refused(body):
    assert found(*body) is None


def test_loops_over_few_steps_are_left_alone():
    arrays = [array("X", 8, 8), array("Y", 8, 8)]
    body = strip(store(Y, X, BEFORE))
    few = function("f", arrays, (), loop("j", 1, 4, body))
    assert vectorize_across_rows(few, SMALL) == few
    assert vectorize_across_rows(few, Machine(vector_bytes=16)) != few
    assert vectorize_across_rows(few, Machine(vector_bytes=8)) == few


def compare(left, sign, right):
    return Compare(CompareOp(sign), ex(left), ex(right))


def single(lower, upper, condition, *, negated=False):
    arrays = [array("X", 8, 20), array("Y", 8, 20)]
    one, other = strip(store(Y, X, BEFORE)), strip(store(Y, X))
    then = (If(condition, (other,), (one,)),) if negated else (If(condition, (one,), (other,)),)
    return function("f", arrays, (), loop("j", lower, upper, *then))


@pytest.mark.parametrize(
    ("condition", "loops"),
    [
        (compare("j", ">", 1), 2),
        (compare("j", "<", 18), 2),
        (compare("j", ">=", 1), 1),
        (compare("j", "==", 1), 2),
        (compare("j", ">=", 18), 2),
        (compare("j", ">=", 9), 0),
    ],
)
@pytest.mark.parametrize("negated", [False, True])
def test_iterations_under_conditions_are_peeled(condition, loops, negated):
    fn = single(1, 19, condition, negated=negated)
    made = vectorize_across_rows(fn, SMALL)
    marked = [node for node in made.body if isinstance(node, For) and node.lanes > 1]
    assert len(marked) == (1 if loops else 0)
    assert len(made.body) == max(loops, 1)
    arrays = data(fn, {})
    assert show_body(fn.body) != show_body(made.body) or loops < 2
    for name, value in interpret(fn, arrays, {}).items():
        np.testing.assert_array_equal(interpret(made, arrays, {})[name], value)


@pytest.mark.toolchain
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize(
    ("dtype", "lanes"),
    [(DType.FLOAT64, 2), (DType.FLOAT64, 8), (DType.FLOAT32, 16), (DType.INT32, 4)],
)
def test_register_tiles_are_transposed(dtype, lanes, older, tmp_path):
    """Also as compilers do it that have no shuffles."""
    vector = definition(Helper(HelperKind.VECTOR, dtype, lanes))
    turn = Helper(HelperKind.TRANSPOSE, dtype, lanes)
    text = "\n".join(definition(turn))
    text = text.replace("defined(__clang__) || __GNUC__ >= 12", "0" if older else "1")
    lines = [
        "#include <stdint.h>",
        *vector,
        text,
        f"void turn({dtype.ctype} *square)",
        "{",
        f"    po_{turn.name.rpartition('_')[2]} rows[{lanes}];",
        "    __builtin_memcpy(rows, square, sizeof rows);",
        f"    {turn.name}(rows);",
        "    __builtin_memcpy(square, rows, sizeof rows);",
        "}",
    ]
    source, library = tmp_path / "turn.c", tmp_path / "turn.so"
    source.write_text("\n".join(lines))
    compiler = shutil.which("gcc") or "cc"
    flags = ["-O3", "-march=native", "-fPIC", "-shared", "-w"]
    subprocess.run([compiler, *flags, source, "-o", library], check=True)
    square = np.arange(lanes * lanes).reshape(lanes, lanes).astype(dtype.numpy)
    got = square.copy()
    ctypes.CDLL(str(library)).turn(ctypes.c_void_p(got.ctypes.data))
    np.testing.assert_array_equal(got, square.T)


# -- results ----------------------------------------------------------------------------------


def forwards(y: po.f64["N,T"], x: po.f64["N,T"]):
    for i in range(x.shape[0]):
        for t in range(3, x.shape[1]):
            y[i, t] = 0.5 * x[i, t] + y[i, t - 1] * 0.25 - y[i, t - 3] * 0.125 + y[i, t]


def backwards(y: po.f64["N,T"], x: po.f64["N,T"]):
    for i in range(x.shape[0]):
        for t in range(x.shape[1] - 3, -1, -1):
            y[i, t] = x[i, t] * 2.0 - y[i, t + 1] + 0.5 * y[i, t + 2]


def ahead(y: po.f64["N,T"], x: po.f64["N,T"]):
    for i in range(x.shape[0]):
        for t in range(1, x.shape[1] - 1):
            y[i, t] = y[i, t - 1] * 0.5 + y[i, t + 1] * 0.25 + x[i, t + 1] - x[i, t - 1]


def both_ways(y: po.f64["N,T"], x: po.f64["N,T"]):
    last = x.shape[1] - 1
    for i in range(x.shape[0]):
        for t in range(1, last + 1):
            y[i, t] = y[i, t - 1] * 0.5 + x[i, last - t] * x[i, t]


def coupled(y: po.f64["N,T"], z: po.f64["N,T"], x: po.f64["N,T"]):
    for i in range(x.shape[0]):
        for t in range(1, x.shape[1]):
            y[i, t] = y[i, t - 1] * 0.5 + z[i, t - 1]
            z[i, t] = z[i, t - 1] * 0.25 + y[i, t] * x[i, t]


def neighbours(y: po.f64["N,T"], x: po.f64["N,T"]):
    for i in range(1, x.shape[0] - 1):
        for t in range(1, x.shape[1]):
            y[i, t] = y[i, t - 1] * 0.5 + x[i - 1, t] + x[i + 1, t - 1] / (1.5 + x[i, t])


def integers(y: po.i32["N,T"], x: po.i32["N,T"]):
    for i in range(x.shape[0]):
        for t in range(1, x.shape[1]):
            y[i, t] = y[i, t - 1] * 3 + x[i, t]


def single_precision(y: po.f32["N,T"], x: po.f32["N,T"]):
    for i in range(x.shape[0]):
        for t in range(2, x.shape[1]):
            y[i, t] = x[i, t] - np.float32(0.5) * y[i, t - 1] + y[i, t - 2] / np.float32(3)


def scanned(y: po.f64["N,T"], x: po.f64["N,T"]):
    y[:] = np.cumprod(x, axis=1) + np.cumsum(x[:, ::-1], axis=1)


def planes(y: po.f64["N,N,T"], x: po.f64["N,N,T"]):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for t in range(1, x.shape[2]):
                y[i, j, t] = y[i, j, t - 1] + x[i, j, t]


def step(y: po.f64["N,T"], x: po.f64["N,T"], lane: po.f64, step: po.f64, y_past1: po.f64):
    """Names that the text uses as well."""
    for i in range(x.shape[0]):
        for t in range(1, x.shape[1]):
            y[i, t] = y[i, t - 1] * lane + x[i, t] * step - y_past1


def tridiagonal(y: po.f64["N,T"], x: po.f64["N,T"]):
    for i in range(x.shape[0]):
        for t in range(x.shape[1]):
            above = 0.5 * x[i, t + 1] if t < x.shape[1] - 1 else 0.0
            if t > 0:
                y[i, t] = (x[i, t] - y[i, t - 1] * x[i, t - 1]) / (3.0 + above)
            else:
                y[i, t] = x[i, t] / (3.0 + above)


def chosen(y: po.f64["N,T"], x: po.f64["N,T"]):
    for t in range(1, x.shape[1]):
        y[:, t] = np.where(x[:, t] >= y[:, t - 1], x[:, t], y[:, t - 1] - x[:, t] / 2)


def limited(y: po.f64["N,T"], x: po.f64["N,T"]):
    for i in range(x.shape[0]):
        for t in range(1, x.shape[1]):
            more = max(y[i, t - 1] + x[i, t], 0.0)
            y[i, t] = more if x[i, t - 1] < 0.5 else min(y[i, t - 1], x[i, t])


def drawdown(y: po.f64["N"], x: po.f64["N,T"]):
    top = np.maximum.accumulate(x, axis=1)
    y[:] = np.min(x / top - 1, axis=1)


DTYPES = {"i32": np.int32, "f32": np.float32}
PROGRAMS = [
    *(forwards, backwards, ahead, both_ways, coupled, neighbours, integers, single_precision),
    *(scanned, planes, step, chosen, drawdown, limited),
]


def arguments_of(program, rows, steps):
    """Random arguments; numbers for those that are no arrays."""
    rng = np.random.default_rng(1)
    found = []
    for annotation in map(str, program.__annotations__.values()):
        dims = re.findall(r"[NT]", annotation.partition("[")[2])
        made = rng.uniform(-9, 9, [rows if dim == "N" else steps for dim in dims])
        dtype = next((d for name, d in DTYPES.items() if name in annotation), np.float64)
        found.append(made.astype(dtype) if dims else float(made))
    return found


@pytest.mark.matrix(3)
@pytest.mark.toolchain
@pytest.mark.parametrize("program", [*PROGRAMS, tridiagonal])
def test_register_transposes_keep_the_bits(program):
    kernel = po.kernel(program, threads=1)
    assert "po_turn_" in kernel.compile(*arguments_of(program, 40, 40)).source
    for rows, steps in ((1, 1), (16, 9), (17, 8), (33, 40), (15, 17), (32, 3), (40, 26), (3, 99)):
        arguments = arguments_of(program, rows, steps)
        expected = [np.copy(each) for each in arguments]
        with np.errstate(all="ignore"):
            program(*expected)
        kernel(*arguments)
        for got, right in zip(arguments, expected, strict=True):
            np.testing.assert_array_equal(got, right)
