"""The expression printer: text, and meaning compared with NumPy element by element."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.ranges import Ranges
from polyopt.emit.views import View
from polyopt.errors import EmitError
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Select,
    Unary,
    UnaryOp,
    integer,
)
from polyopt.ir.loops import Assign
from polyopt.ir.scop import Array, Role
from polyopt.ir.source import Layout
from polyopt.ir.types import DType, Kind
from tests.dtypes import DTYPES, comparable
from tests.unit.emit.kernels import array, at, call, function, loop

F64, F32, I64, BOOL = DType.FLOAT64, DType.FLOAT32, DType.INT64, DType.BOOL
i, j, N = Iter("i"), Iter("j"), Param("N")
x, y, z = (Load(name, (i,), F64) for name in "xyz")


def text(expr: Expr) -> str:
    arrays = [Array(n, F64, (N,), Role.INPUT) for n in "xyz"]
    arrays.append(Array("s", F64, (), Role.INPUT))
    views = {a.name: View(a, a.name, a.name, written=False) for a in arrays}
    rows = Array("A", F64, (N, N), Role.INPUT, Layout.ROWS)
    views["A"] = View(rows, "A", "A", written=False, strides=("A_s0", "1"))
    ranges = Ranges(params={"N": 0}, lower={"i": 0})
    return ExprPrinter(views, {}, ranges, {}).text(expr)


def b(op: str, left: Expr, right: Expr, dtype: DType = F64) -> Binary:
    return Binary(BinaryOp(op), left, right, dtype)


def c(value: complex, dtype: DType = F64) -> Const:
    return Const(value, dtype)


@pytest.mark.parametrize(
    "expr,expected",
    [
        (b("+", b("+", x, y), z), "x[i] + y[i] + z[i]"),
        (b("+", x, b("+", y, z)), "x[i] + (y[i] + z[i])"),
        (b("*", b("+", x, y), z), "(x[i] + y[i]) * z[i]"),
        (b("-", x, b("-", y, z)), "x[i] - (y[i] - z[i])"),
        (b("/", x, b("*", y, z)), "x[i] / (y[i] * z[i])"),
        (Unary(UnaryOp.NEG, b("+", x, y), F64), "-(x[i] + y[i])"),
        (Unary(UnaryOp.NEG, Unary(UnaryOp.NEG, x, F64), F64), "-(-x[i])"),
        (b("-", x, c(-1.0)), "x[i] - -1.0"),
        (c(0.1), "0.1"),
        (c(0.1, F32), "0.1f"),
        (c(1e300), "1e+300"),
        (c(3), "3.0"),
        (c(16777216.0, F32), "1.6777216e+07f"),
        (c(float("inf")), "INFINITY"),
        (c(-float("inf"), F32), "-INFINITY"),
        (c(float("nan")), "NAN"),
        (c(-0.0), "-0.0"),
        (c(1 - 2j, DType.COMPLEX128), "CMPLX(1.0, -2.0)"),
        (c(-(2**63), I64), "INT64_MIN"),
        (c(2**40, I64), "INT64_C(1099511627776)"),
        (b("*", c(2**20, I64), c(2**20, I64), I64), "INT64_C(1048576) * 1048576"),
        (b("<<", c(1, I64), c(40, I64), I64), "INT64_C(1) << 40"),
        (b("//", b("+", N, integer(31), I64), integer(32), I64), "(N + 31) / 32"),
        (b("//", b("-", N, integer(1), I64), integer(32), I64), "(N - 1) >> 5"),
        (b("//", b("-", N, integer(1), I64), integer(12), I64), "po_floor_div(N - 1, 12)"),
        (b("%", b("+", N, i, I64), integer(3), I64), "(N + i) % 3"),
        (b("%", j, integer(3), I64), "po_mod(j, 3)"),
        (b("min", N, i, I64), "po_min(N, i)"),
        (b("max", x, y), "po_max_f64(x[i], y[i])"),
        (Load("A", (b("+", i, integer(1), I64), j), F64), "A[(i + 1) * A_s0 + j]"),
        (Load("s", (), F64), "s[0]"),
        (Call(MathFunc.SQRT, (Cast(x, F32),), F32), "sqrtf((float)x[i])"),
        (Call(MathFunc.ISNAN, (x,), BOOL), "(isnan(x[i]) != 0)"),
        (Select(Compare(CompareOp.LT, x, y), x, y, F64), "x[i] < y[i] ? x[i] : y[i]"),
        (Cast(b("+", x, y), I64), "(int64_t)(x[i] + y[i])"),
        (
            b("&", Compare(CompareOp.LT, i, N), Compare(CompareOp.GE, j, i), BOOL),
            "i < N && j >= i",
        ),
        (
            b("&", Compare(CompareOp.LT, x, y), Compare(CompareOp.GE, j, i), BOOL),
            "(x[i] < y[i]) & (j >= i)",
        ),
        (
            Unary(UnaryOp.INVERT, Compare(CompareOp.LT, x, y), BOOL),
            "!(x[i] < y[i])",
        ),
    ],
)
def test_text(expr, expected):
    assert text(expr) == expected


def test_narrow_integers_are_cast_back():
    a = Load("x", (i,), DType.INT8)
    expr = b("*", b("+", a, a, DType.INT8), a, DType.INT8)
    assert text(expr) == "(int8_t)((int8_t)(x[i] + x[i]) * x[i])"


def test_complex_numbers_have_no_order():
    a = Load("x", (i,), DType.COMPLEX128)
    with pytest.raises(EmitError) as caught:
        text(Compare(CompareOp.LT, a, a))
    assert caught.value.code == "PO0401"


def test_missing_function_is_refused():
    a = Load("x", (i,), DType.COMPLEX128)
    with pytest.raises(EmitError) as caught:
        text(Call(MathFunc.ERF, (a,), DType.COMPLEX128))
    assert caught.value.code == "PO0402"


def special(dtype: DType) -> np.ndarray:
    """Return values at the edges of `dtype`."""
    rng = np.random.default_rng(3)
    match dtype.kind:
        case Kind.BOOL:
            return np.array([False, True])
        case Kind.FLOAT:
            edge = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                2.5,
                -2.5,
                np.inf,
                -np.inf,
                np.nan,
                1e-310,
                7.0,
                3.0,
                1e30,
            ]
            with np.errstate(over="ignore"):
                return np.concatenate([edge, rng.standard_normal(8) * 10]).astype(dtype.numpy)
        case Kind.COMPLEX:
            parts = [0.0, -0.0, 1.0, -2.5, 1e200, 3.0]
            values = [complex(p, q) for p in parts for q in parts]
            values += [complex(*rng.standard_normal(2)) for _ in range(20)]
            with np.errstate(over="ignore"):
                return np.array(values).astype(dtype.numpy)
        case _:
            info = np.iinfo(dtype.numpy)
            edge = [0, 1, 2, 3, 5, 7, 8, 31, 33, 63, 64, 65, 100, info.max, info.max - 1, info.min]
            signed = [-1, -2, -3, -7, -64, info.min + 1] if info.min < 0 else []
            return np.array([*edge, *signed], dtype=dtype.numpy)


def pairs(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    values = special(dtype)
    left, right = np.meshgrid(values, values)
    return left.ravel().copy(), right.ravel().copy()


def run_binary(dtype: DType, exprs: dict[str, tuple[Expr, DType]]) -> tuple[dict, tuple]:
    left, right = pairs(dtype)
    arrays = [array("a", "N", dtype=dtype), array("b", "N", dtype=dtype)]
    arrays += [array(name, "N", dtype=d) for name, (_, d) in exprs.items()]
    body = [Assign(at(n, "i", dtype=d), e) for n, (e, d) in exprs.items()]
    fn = function("f", arrays, ["N"], loop("i", 0, "N", *body))
    values = {"a": left, "b": right}
    for name, (_, d) in exprs.items():
        values[name] = np.zeros(left.shape, d.numpy)
    return call(fn, values, {"N": left.size}), (left, right)


NUMBERS = [d for d in DTYPES if d is not BOOL]
REALS = [d for d in NUMBERS if not d.is_complex]
INTEGERS = [d for d in NUMBERS if d.is_integer]


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_arithmetic_is_numpys(dtype):
    a, b_ = at("a", "i", dtype=dtype), at("b", "i", dtype=dtype)
    functions = {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "//": np.floor_divide,
        "%": np.remainder,
        "min": np.minimum,
        "max": np.maximum,
    }
    if dtype.is_float:
        functions["/"] = np.divide
    else:
        functions |= {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
        functions |= {"<<": np.left_shift, ">>": np.right_shift}
    exprs = {f"o{k}": (b(op, a, b_, dtype), dtype) for k, op in enumerate(functions)}
    exprs["neg"] = (Unary(UnaryOp.NEG, a, dtype), dtype)
    exprs["abs"] = (Unary(UnaryOp.ABS, a, dtype), dtype)
    if not dtype.is_float:
        exprs["inv"] = (Unary(UnaryOp.INVERT, a, dtype), dtype)
    for cmp in CompareOp:
        exprs[f"c{cmp.name}"] = (Compare(cmp, a, b_), BOOL)
    got, (left, right) = run_binary(dtype, exprs)
    with np.errstate(all="ignore"):
        for k, (op, ufunc) in enumerate(functions.items()):
            assert_bits(got[f"o{k}"], ufunc(left, right), f"{op} on {dtype}")
        assert_bits(got["neg"], np.negative(left), "neg")
        assert_bits(got["abs"], np.abs(left), "abs")
        if not dtype.is_float:
            assert_bits(got["inv"], np.invert(left), "invert")
        for cmp in CompareOp:
            want = eval(f"left {cmp.value} right", {}, {"left": left, "right": right})
            assert_bits(got[f"c{cmp.name}"], want, cmp.name)


def assert_bits(got: np.ndarray, want: np.ndarray, what: str) -> None:
    """Compare values and the signs of zeros; any NaN equals any NaN."""
    got, want = comparable(got), comparable(want)
    np.testing.assert_array_equal(got, want, err_msg=what)
    if got.dtype.kind in "fc":
        for part in (np.real, np.imag):
            ours, theirs = part(got), part(want)
            known = ~np.isnan(theirs)
            np.testing.assert_array_equal(
                np.signbit(ours)[known], np.signbit(theirs)[known], err_msg=what
            )


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_power(dtype):
    a = at("a", "i", dtype=dtype)
    exprs = {f"p{k}": (b("**", a, c(k, dtype), dtype), dtype) for k in (0, 1, 2, 3, 7)}
    got, (left, _) = run_binary(dtype, exprs)
    for k in (0, 1, 2, 3, 7):
        assert_bits(got[f"p{k}"], left ** dtype.numpy.type(k), f"** {k}")


def naive_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Multiply by the formula; NumPy's vector loops fuse it where the processor can."""
    result = np.empty_like(left)
    result.real = left.real * right.real - left.imag * right.imag
    result.imag = left.real * right.imag + left.imag * right.real
    return result


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [DType.COMPLEX64, DType.COMPLEX128], ids=str)
def test_complex_arithmetic_is_numpys(dtype):
    a, b_ = at("a", "i", dtype=dtype), at("b", "i", dtype=dtype)
    real = F32 if dtype is DType.COMPLEX64 else F64
    functions = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
    exprs = {f"o{k}": (b(op, a, b_, dtype), dtype) for k, op in enumerate(functions)}
    exprs["conj"] = (Call(MathFunc.CONJ, (a,), dtype), dtype)
    exprs["real"] = (Call(MathFunc.REAL, (a,), real), real)
    exprs["imag"] = (Call(MathFunc.IMAG, (a,), real), real)
    exprs["eq"] = (Compare(CompareOp.EQ, a, b_), BOOL)
    exprs["neg"] = (Unary(UnaryOp.NEG, a, dtype), dtype)
    exprs["abs"] = (Unary(UnaryOp.ABS, a, real), real)
    got, (left, right) = run_binary(dtype, exprs)
    with np.errstate(all="ignore"):
        for k, (op, ufunc) in enumerate(functions.items()):
            want = naive_product(left, right) if op == "*" else ufunc(left, right)
            np.testing.assert_array_equal(got[f"o{k}"], want, err_msg=op)
        np.testing.assert_array_equal(got["conj"], np.conj(left))
        np.testing.assert_array_equal(got["real"], left.real)
        np.testing.assert_array_equal(got["imag"], left.imag)
        np.testing.assert_array_equal(got["eq"], left == right)
        np.testing.assert_array_equal(got["neg"], -left)
        near = 2.5 * np.finfo(real.numpy).eps
        np.testing.assert_allclose(got["abs"], np.abs(left), rtol=near)


@pytest.mark.toolchain
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_casts_are_numpys(source):
    a = at("a", "i", dtype=source)
    targets = [d for d in DTYPES if not (source.is_complex and not d.is_complex)]
    exprs = {f"t_{d.value}": (Cast(a, d), d) for d in targets}
    left, right = pairs(source)
    if source.is_float:  # conversions that overflow an integer are undefined
        known = np.nan_to_num(left.astype(np.float64), nan=2.0, posinf=100.0, neginf=0.0)
        left = (np.abs(known) % 100).astype(source.numpy)
    arrays = [array("a", "N", dtype=source)]
    arrays += [array(name, "N", dtype=d) for name, (_, d) in exprs.items()]
    body = [Assign(at(n, "i", dtype=d), e) for n, (e, d) in exprs.items()]
    fn = function("f", arrays, ["N"], loop("i", 0, "N", *body))
    values = {"a": left} | {n: np.zeros(left.shape, d.numpy) for n, (_, d) in exprs.items()}
    got = call(fn, values, {"N": left.size})
    with np.errstate(all="ignore"):
        for target in targets:
            want = left.astype(target.numpy)
            ours = comparable(got[f"t_{target.value}"])
            np.testing.assert_array_equal(ours, comparable(want), err_msg=str(target))
    del right


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_math_functions(dtype):
    a, b_ = at("a", "i", dtype=dtype), at("b", "i", dtype=dtype)
    unary = {
        MathFunc.SQRT: np.sqrt,
        MathFunc.EXP: np.exp,
        MathFunc.LOG: np.log,
        MathFunc.TANH: np.tanh,
        MathFunc.FLOOR: np.floor,
        MathFunc.CEIL: np.ceil,
        MathFunc.TRUNC: np.trunc,
        MathFunc.RINT: np.rint,
    }
    binary = {
        MathFunc.ATAN2: np.arctan2,
        MathFunc.HYPOT: np.hypot,
        MathFunc.COPYSIGN: np.copysign,
        MathFunc.FMOD: np.fmod,
    }
    tests = {
        MathFunc.ISNAN: np.isnan,
        MathFunc.ISINF: np.isinf,
        MathFunc.ISFINITE: np.isfinite,
        MathFunc.SIGNBIT: np.signbit,
    }
    exprs = {f.name: (Call(f, (a,), dtype), dtype) for f in unary}
    exprs |= {f.name: (Call(f, (a, b_), dtype), dtype) for f in binary}
    exprs |= {f.name: (Call(f, (a,), BOOL), BOOL) for f in tests}
    exprs["POW"] = (b("**", a, b_, dtype), dtype)
    got, (left, right) = run_binary(dtype, exprs)
    tolerance = 1e-6 if dtype is F32 else 1e-15
    with np.errstate(all="ignore"):
        for f, ufunc in unary.items():
            np.testing.assert_allclose(got[f.name], ufunc(left), rtol=tolerance, err_msg=f.name)
        for f, ufunc in binary.items():
            want = ufunc(left, right)
            np.testing.assert_allclose(got[f.name], want, rtol=tolerance, err_msg=f.name)
        for f, ufunc in tests.items():
            np.testing.assert_array_equal(got[f.name], ufunc(left), err_msg=f.name)
        np.testing.assert_allclose(got["POW"], left**right, rtol=tolerance)


@pytest.mark.toolchain
def test_neighbouring_sum_and_difference_of_products_are_not_fused():
    even, odd = b("*", integer(2), i, I64), b("+", b("*", integer(2), i, I64), integer(1), I64)

    def value(op: str, k: Expr) -> Expr:
        return b(op, b("*", at("a", k), at("b", k)), at("c", k))

    size = b("*", integer(2), N, I64)
    fn = function(
        "f",
        [array(n, size) for n in "abco"],
        ["N"],
        loop(
            "i",
            0,
            "N",
            Assign(at("o", even), value("-", even)),
            Assign(at("o", odd), value("+", odd)),
        ),
    )
    rng = np.random.default_rng(1)
    values = {n: rng.standard_normal(200) for n in "abco"}
    got = call(fn, values, {"N": 100})["o"]
    product = values["a"] * values["b"]
    want = np.where(np.arange(200) % 2 == 0, product - values["c"], product + values["c"])
    np.testing.assert_array_equal(got, want)
