"""The exact value of an expression: one NumPy scalar, or vector of lanes, at a time.

In: an `Expr` and a `Frame` (arrays, sizes, symbols, iterators).  Out: a value of its dtype.
Refuses: an element outside its array (`InternalError` PO0910); mathematics come from the C library.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import operator
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from polyopt.dataclass import dataclass, field
from polyopt.errors import InternalError
from polyopt.ir import random_words
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
)
from polyopt.ir.integers import COMPARISONS
from polyopt.ir.showing import show
from polyopt.ir.types import DType, Kind
from polyopt.never import assert_never

Value: TypeAlias = Any  # a NumPy scalar, or a one-dimensional array of lanes
Cell: TypeAlias = tuple[str, tuple[int, ...]]  # an element of an array; a local is ("name", ())


@dataclass(slots=True)
class Frame:
    """What an expression may read; `on_read` and `on_write` are told of every element touched.

    `accumulator` is the element a reassociable reduction is updating, and that statement's name.
    """

    arrays: dict[str, np.ndarray[Any, Any]]
    params: dict[str, int]
    symbols: dict[str, Value]
    iters: dict[str, int] = field(default_factory=dict)
    on_read: Callable[[Cell], None] | None = None
    on_write: Callable[[Cell], None] | None = None
    accumulator: tuple[Cell, str] | None = None


Thunk: TypeAlias = Callable[[Frame], Value]


def compile_expr(expr: Expr) -> Thunk:  # noqa: C901  one case per node
    """Return a function from a frame to the value of `expr`."""
    match expr:
        case Const():
            constant = expr.dtype.numpy.type(expr.value)
            return lambda frame: constant
        case Iter(name=name):
            return lambda frame: np.int64(frame.iters[name])
        case Param(name=name):
            return lambda frame: np.int64(frame.params[name])
        case Symbol():
            return _symbol(expr)
        case Load() | VectorLoad():
            return _load(expr)
        case Unary():
            unary, operand = _UNARY[expr.op], compile_expr(expr.operand)
            return lambda frame: unary(operand(frame))
        case Binary():
            binary, left, right = _binary(expr), compile_expr(expr.left), compile_expr(expr.right)
            return lambda frame: binary(left(frame), right(frame))
        case Compare():
            left, right = compile_expr(expr.left), compile_expr(expr.right)
            compare = COMPARISONS[expr.op]
            return lambda frame: compare(left(frame), right(frame))
        case Call():
            return _call(expr)
        case Select():
            return _select(expr)
        case Cast(dtype=dtype):
            source, target = compile_expr(expr.operand), dtype.numpy.type
            return lambda frame: convert(source(frame), target)
        case Broadcast(lanes=lanes):
            scalar = compile_expr(expr.operand)
            return lambda frame: np.repeat(scalar(frame), lanes)
        case _:
            assert_never(expr)


def _symbol(expr: Symbol) -> Thunk:
    name, kind = expr.name, expr.dtype.numpy.type

    def value(frame: Frame) -> Value:
        if frame.on_read is not None:
            frame.on_read((name, ()))
        found = frame.symbols[name]
        return found if isinstance(found, np.ndarray) else kind(found)

    return value


def _load(expr: Load | VectorLoad) -> Thunk:
    index = compile_index(expr.index)
    lanes = expr.lanes if isinstance(expr, VectorLoad) else 0
    step = expr.step if isinstance(expr, VectorLoad) else 1

    def value(frame: Frame) -> Value:
        cell = (expr.array, index(frame))
        for touched in touch(frame, cell, lanes, expr):
            if frame.on_read is not None:
                frame.on_read(touched)
        array = frame.arrays[expr.array]
        if lanes:
            return array[lanes_of(cell[1], lanes, step)].copy()
        return array[cell[1]]

    return value


def compile_index(index: tuple[Expr, ...]) -> Callable[[Frame], tuple[int, ...]]:
    """Return a function from a frame to the subscript's integers."""
    parts = tuple(compile_expr(part) for part in index)
    return lambda frame: tuple(int(part(frame)) for part in parts)


def lanes_of(index: tuple[int, ...], lanes: int, step: int = 1) -> tuple[Any, ...]:
    """Return the NumPy subscript of `lanes` elements from `index` on, `step` apart."""
    return (*index[:-1], slice(index[-1], index[-1] + (lanes - 1) * step + 1, step))


def touch(frame: Frame, cell: Cell, lanes: int, expr: Load | VectorLoad) -> tuple[Cell, ...]:
    """Return the elements `expr` covers (`lanes`, 0 for a scalar); raises PO0910 outside."""
    name, index = cell
    shape = frame.arrays[name].shape
    width = max(lanes, 1)
    step = expr.step if isinstance(expr, VectorLoad) else 1
    reach = (width - 1) * step
    inside = len(index) == len(shape) and all(0 <= i < n for i, n in zip(index, shape, strict=True))
    if not inside or (lanes and index[-1] + reach >= shape[-1]):
        raise InternalError(
            "PO0910",
            f"{show(expr)} touches {name}{list(index)}"
            + (f" and {reach} elements after it" if lanes else "")
            + f", outside the shape {shape}",
            notes=(f"iterators {frame.iters}, sizes {frame.params}",),
        )
    if width == 1:
        return (cell,)
    return tuple((name, (*index[:-1], index[-1] + lane * step)) for lane in range(width))


def compile_store(target: Load | VectorLoad) -> Callable[[Frame, Thunk], None]:
    """Return a function that evaluates a value and stores it into `target`."""
    index = compile_index(target.index)
    lanes = target.lanes if isinstance(target, VectorLoad) else 0
    kind = target.dtype.numpy.type

    def store(frame: Frame, value: Thunk) -> None:
        cell = (target.array, index(frame))
        touched = touch(frame, cell, lanes, target)
        new = convert(value(frame), kind)
        for part in touched:
            if frame.on_write is not None:
                frame.on_write(part)
        array = frame.arrays[target.array]
        if lanes:
            array[lanes_of(cell[1], lanes)] = new
        else:
            array[cell[1]] = new

    return store


def convert(value: Value, target: type[np.generic]) -> Value:
    """Return `value` as `target` by C's rules: truncation, wraparound, nonzero is true."""
    if np.iscomplexobj(value) and not issubclass(target, (np.complexfloating, np.bool_)):
        value = value.real
    return value.astype(target)


def _select(expr: Select) -> Thunk:
    condition, then = compile_expr(expr.condition), compile_expr(expr.then)
    otherwise = compile_expr(expr.otherwise)

    def value(frame: Frame) -> Value:
        chosen = condition(frame)
        if isinstance(chosen, np.ndarray):
            return np.where(chosen, then(frame), otherwise(frame))
        return then(frame) if chosen else otherwise(frame)

    return value


_UNARY: dict[UnaryOp, Callable[[Value], Value]] = {
    UnaryOp.NEG: operator.neg,
    UnaryOp.INVERT: operator.invert,
    UnaryOp.ABS: np.abs,
}
_BINARY: dict[BinaryOp, Callable[[Value, Value], Value]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.DIV: operator.truediv,
    BinaryOp.RATIO: operator.truediv,
    BinaryOp.FLOORDIV: np.floor_divide,
    BinaryOp.MOD: np.remainder,
    BinaryOp.POW: np.power,
    BinaryOp.MIN: np.minimum,
    BinaryOp.MAX: np.maximum,
    BinaryOp.AND: operator.and_,
    BinaryOp.OR: operator.or_,
    BinaryOp.XOR: operator.xor,
    BinaryOp.SHL: np.left_shift,
    BinaryOp.SHR: np.right_shift,
}


def _binary(expr: Binary) -> Callable[[Value, Value], Value]:
    if expr.op is BinaryOp.POW and expr.dtype.is_float:
        return _by_lane(_library("pow", expr.dtype, 2), expr.dtype)
    return _BINARY[expr.op]


def _popcount(value: Value) -> Value:
    return np.uint8(int(value).bit_count())


def _high_product(left: Value, right: Value) -> Value:
    return np.uint64(int(left) * int(right) >> 64)


def _normal(word: Value) -> Value:
    return random_words.quantile(word)


def _philox_of(dtype: DType) -> Callable[..., Value]:
    word = random_words.word if dtype is DType.UINT64 else random_words.half
    return lambda *args: dtype.numpy.type(word(*map(int, args)))


def _complex_of(dtype: DType) -> Callable[[Value, Value], Value]:
    """Return the function that makes a complex number of its parts, infinite ones too."""

    def make(real: Value, imag: Value) -> Value:
        result = np.empty(np.shape(real), dtype.numpy)
        result.real, result.imag = real, imag
        return result[()]

    return make


_NUMPY_CALLS: dict[MathFunc, Callable[..., Value]] = {
    MathFunc.SQRT: np.sqrt,
    MathFunc.FLOOR: np.floor,
    MathFunc.CEIL: np.ceil,
    MathFunc.TRUNC: np.trunc,
    MathFunc.RINT: np.rint,
    MathFunc.COPYSIGN: np.copysign,
    MathFunc.ISNAN: np.isnan,
    MathFunc.ISINF: np.isinf,
    MathFunc.ISFINITE: np.isfinite,
    MathFunc.SIGNBIT: np.signbit,
    MathFunc.REAL: np.real,
    MathFunc.IMAG: np.imag,
    MathFunc.CONJ: np.conj,
    MathFunc.LDEXP: np.ldexp,
    MathFunc.NEXTAFTER: np.nextafter,
    MathFunc.GCD: np.gcd,
    MathFunc.POPCOUNT: _popcount,
    MathFunc.HIGH_PRODUCT: _high_product,
    MathFunc.NORMAL: _normal,
}
_NUMPY_NAMES = {
    MathFunc.ASIN: "arcsin",
    MathFunc.ACOS: "arccos",
    MathFunc.ATAN: "arctan",
    MathFunc.ASINH: "arcsinh",
    MathFunc.ACOSH: "arccosh",
    MathFunc.ATANH: "arctanh",
}


def _call(expr: Call) -> Thunk:
    args = tuple(compile_expr(arg) for arg in expr.args)
    operand = expr.args[0].dtype
    if expr.func is MathFunc.COMPLEX:
        func = _complex_of(expr.dtype)
    elif expr.func is MathFunc.PHILOX:
        func = _philox_of(expr.dtype)
    elif expr.func in _NUMPY_CALLS:
        func = _NUMPY_CALLS[expr.func]
    elif operand.is_complex:
        func = getattr(np, _NUMPY_NAMES.get(expr.func, expr.func.value))
    else:
        func = _by_lane(_library(expr.func.c_name, operand, len(args)), operand)
    return lambda frame: func(*(arg(frame) for arg in args))


def _by_lane(func: Callable[..., float], dtype: DType) -> Callable[..., Value]:
    """Return `func` over NumPy scalars, and over vectors lane by lane."""
    kind = dtype.numpy.type

    def apply(*values: Value) -> Value:
        if any(isinstance(v, np.ndarray) for v in values):
            return np.array([func(*lane) for lane in np.broadcast(*values)], dtype=kind)
        return kind(func(*values))

    return apply


@cache
def _library(name: str, dtype: DType, arity: int) -> Callable[..., float]:
    """Return the C library's `name` for doubles, or its `f` variant for float32."""
    if dtype.kind is not Kind.FLOAT:
        raise InternalError("PO0911", f"{name} is not defined for {dtype}")
    library = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
    single = dtype is DType.FLOAT32
    func = getattr(library, f"{name}f" if single else name)
    func.restype = ctypes.c_float if single else ctypes.c_double
    func.argtypes = [func.restype] * arity
    return func  # type: ignore[no-any-return]
