"""Symbolic numbers and arrays of them, which NumPy itself slices, broadcasts and assigns.

In: fingerprints with types and numbers.  Out: `Sym`, `Arr`; operators ask NumPy for types.
Refuses: what has no symbolic meaning here (`Unread`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tests.reader.algebra import Algebra, Kind

Cells: TypeAlias = np.ndarray[Any, Any]


class Unread(Exception):
    """The reader has no meaning for a construct."""


@dataclass(slots=True)
class World:
    """The algebra of the reading under way."""

    algebra: Algebra


WORLD = World(Algebra())
NAMES = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/",
    "floor_divide": "//", "remainder": "%", "mod": "%", "power": "**", "float_power": "**",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "left_shift": "<<", "right_shift": ">>", "negative": "neg", "absolute": "abs", "abs": "abs",
    "fabs": "abs", "invert": "~", "bitwise_not": "~", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "conjugate": "conj",
}  # fmt: skip
KEPT = frozenset(
    [
        "cbrt",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "fmod",
        "gcd",
        "hypot",
        "ldexp",
        "log",
        "log10",
        "log1p",
        "log2",
        "nextafter",
        "rint",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
    ]
)
"""Functions that keep their name; NumPy's own names are C's."""


class Sym:
    """A number that depends on data: fingerprint, element type, number; `weak`: Python's own."""

    __slots__ = ("code", "dtype", "number", "weak")
    __array_ufunc__ = None

    def __init__(self, code: int, dtype: Kind, number: Any, weak: bool = False) -> None:
        self.code, self.dtype, self.number, self.weak = code, dtype, number, weak

    def __bool__(self) -> bool:
        return bool(self.number)

    def __index__(self) -> int:
        return operator.index(self.number)

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return f"{self.dtype}:{self.number}#{self.code % 9973}"

    def astype(self, dtype: Any) -> Sym:
        return cast(self, np.dtype(dtype))

    def item(self) -> Any:
        return weakened(self)

    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1

    @property
    def real(self) -> Any:
        return part_of("creal", self)

    @property
    def imag(self) -> Any:
        return part_of("cimag", self)

    def conjugate(self) -> Any:
        return apply("conjugate", self)

    conj = conjugate

    def __round__(self, digits: int | None = None) -> Any:
        raise Unread("round")

    def __float__(self) -> float:
        raise Unread("a number left the symbolic world: float")

    def __int__(self) -> int:
        raise Unread("a number left the symbolic world: int")


class Arr:
    """An array of `Sym`s: `cells` are NumPy's objects, `dtype` what they stand for."""

    __slots__ = ("cells", "dtype")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, cells: Cells, dtype: Kind) -> None:
        self.cells, self.dtype = cells, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cells.shape

    @property
    def ndim(self) -> int:
        return self.cells.ndim

    @property
    def size(self) -> int:
        return self.cells.size

    @property
    def T(self) -> Arr:
        return Arr(self.cells.T, self.dtype)

    @property
    def flat(self) -> Any:
        return Arr(self.cells.reshape(-1), self.dtype)

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self.cells)))

    def __bool__(self) -> bool:
        return bool(self.cells.item())

    def __index__(self) -> int:
        return operator.index(self.cells.item())

    def __getitem__(self, key: Any) -> Any:
        return boxed(self.cells[subscript(key)], self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        key = subscript(key)
        new = as_arr(value)
        cells = casted(new, self.dtype).cells
        self.cells[key] = cells.copy() if cells.ndim else cells.item()

    @property
    def real(self) -> Any:
        return part_of("creal", self)

    @property
    def imag(self) -> Any:
        return part_of("cimag", self)

    def __matmul__(self, other: Any) -> Any:
        from tests.reader.functions import FUNCTIONS

        return FUNCTIONS["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return as_arr(other) @ self

    def __getattr__(self, name: str) -> Any:
        from tests.reader.functions import METHODS

        if name in METHODS:
            method = METHODS[name]
            return lambda *args, **kwargs: method(self, *args, **kwargs)
        raise Unread(f"array.{name}")

    def __repr__(self) -> str:
        return f"Arr({self.dtype}, {self.cells.tolist()})"


Value: TypeAlias = Any  # Sym, Arr, a number, an array


def boxed(cells: Any, dtype: Kind) -> Value:
    """Return what a subscript gives: an element, or an array."""
    if isinstance(cells, np.ndarray):
        return Arr(cells, dtype)
    return literal(cells, dtype) if not isinstance(cells, Sym) else cells


def literal(number: Any, dtype: Kind, weak: bool = False) -> Sym:
    """Return a constant."""
    with np.errstate(all="ignore"):
        value = number if weak else np.asarray(number).astype(dtype)[()]
    return Sym(WORLD.algebra.constant(value, dtype), dtype, value, weak)


def as_sym(value: Any) -> Sym:
    """Return a number as a symbolic one."""
    if isinstance(value, Sym):
        return value
    if isinstance(value, Arr):
        return value.cells.item()  # type: ignore[no-any-return]
    if isinstance(value, np.generic):
        return literal(value, value.dtype)
    is_int = isinstance(value, int) and not isinstance(value, bool)
    kind = np.dtype(np.int64 if is_int else type(value))
    return literal(value, kind, weak=not isinstance(value, bool))


def as_arr(value: Any, dtype: Any = None) -> Arr:
    """Return a value as an array, a copy only where it is none."""
    if isinstance(value, Arr):
        found = value
    elif isinstance(value, list | tuple):
        parts = [as_arr(part) for part in value]
        kind = np.result_type(*(p.dtype for p in parts)) if parts else np.dtype(float)
        cells = np.empty((len(parts), *(parts[0].shape if parts else ())), object)
        for n, part in enumerate(parts):
            cells[n] = casted(part, kind).cells if part.ndim else casted(part, kind).cells.item()
        found = Arr(cells, kind)
    elif isinstance(value, np.ndarray):
        found = of_numbers(value)
    else:
        one = as_sym(value)
        cells = np.empty((), object)
        cells[()] = one
        found = Arr(cells, one.dtype)
    return found if dtype is None else casted(found, np.dtype(dtype))


def of_numbers(array: np.ndarray[Any, Any]) -> Arr:
    """Return an array of constants."""
    cells = np.empty(array.shape, object)
    for place in np.ndindex(array.shape):
        cells[place] = literal(array[place], array.dtype)
    return Arr(cells, array.dtype)


def numbers(value: Any) -> Any:
    """Return the numbers at hand of anything."""
    match value:
        case Sym():
            return value.number
        case Arr():
            found = np.empty(value.shape, value.dtype)
            for place in np.ndindex(value.shape):
                found[place] = value.cells[place].number
            return found
        case tuple():
            return tuple(map(numbers, value))
        case list():
            return list(map(numbers, value))
        case slice():
            return slice(*map(numbers, (value.start, value.stop, value.step)))
        case _:
            return value


def subscript(key: Any) -> Any:
    """Return a subscript of numbers: which elements are meant is taken for the numbers at hand."""
    return numbers(key)


def weakened(value: Sym) -> Sym:
    """Return a number as Python's own of its kind."""
    kind = {"i": np.int64, "u": np.int64, "f": np.float64, "c": np.complex128, "b": np.bool_}
    wide = cast(value, np.dtype(kind[value.dtype.kind]))
    return Sym(
        wide.code,
        wide.dtype,
        wide.number.item() if hasattr(wide.number, "item") else wide.number,
        True,
    )


def cast(value: Sym, dtype: Kind) -> Sym:
    """Return a number converted."""
    if value.dtype == dtype:
        return value if not value.weak else Sym(value.code, dtype, dtype.type(value.number))
    with np.errstate(all="ignore"):
        number = np.asarray(value.number)
        if number.dtype.kind == "c" and dtype.kind not in "cb":
            number = number.real
        number = number.astype(dtype)[()]
    code = WORLD.algebra.cast(value.code, value.dtype, dtype, value.number, number)
    return Sym(code, dtype, number)


def casted(value: Arr, dtype: Kind) -> Arr:
    """Return an array converted, itself where nothing is to do."""
    if value.dtype == dtype:
        return value
    cells = np.empty(value.shape, object)
    for place in np.ndindex(value.shape):
        cells[place] = cast(value.cells[place], dtype)
    return Arr(cells, dtype)


def part_of(name: str, value: Value) -> Value:
    """Return the real or imaginary part."""
    if isinstance(value, Arr):
        cells = np.frompyfunc(lambda one: part_of(name, one), 1, 1)(value.cells)
        kind = np.dtype(f"f{value.dtype.itemsize // 2}") if value.dtype.kind == "c" else value.dtype
        return Arr(np.asarray(cells, object), kind)
    if value.dtype.kind != "c":
        return value if name == "creal" else literal(0, value.dtype)
    kind = np.dtype(f"f{value.dtype.itemsize // 2}")
    number = np.real(value.number) if name == "creal" else np.imag(value.number)
    operands = [(value.code, value.dtype, value.number)]
    code = WORLD.algebra.operation(name, kind, operands, kind.type(number))
    return Sym(code, kind, kind.type(number), value.weak)


# -- operations ---------------------------------------------------------------------------------

_PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "power": operator.pow, "negative": operator.neg, "absolute": abs, "positive": operator.pos,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "left_shift": operator.lshift, "right_shift": operator.rshift, "invert": operator.invert,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip


def kind_of(value: Any) -> Any:
    """Return what NumPy's promotion is asked with: an element type, or Python's type if weak."""
    if isinstance(value, Sym) and value.weak:
        return {"i": int, "f": float, "c": complex, "b": np.dtype(bool)}[value.dtype.kind]
    if isinstance(value, Sym | Arr):
        return value.dtype
    return (
        as_arr(value).dtype
        if isinstance(value, list | tuple | np.ndarray)
        else kind_of(as_sym(value))
    )


def loop_of(ufunc: np.ufunc, kinds: Sequence[Any], dtype: Any = None) -> tuple[Kind, ...]:
    """Return the types a ufunc computes in, as NumPy resolves them."""
    asked = tuple(np.dtype(int) if k is bool else k for k in kinds)
    rest: dict[str, Any] = {}
    if dtype is not None:
        rest["signature"] = (*[None] * ufunc.nin, np.dtype(dtype))
    try:
        return ufunc.resolve_dtypes((*asked, *[None] * ufunc.nout), **rest)
    except TypeError as error:
        raise Unread(f"{ufunc.__name__} of {asked}: {error}") from None


def operate(name: str, *operands: Any) -> Value:
    """Return an operator of Python's: of numbers of its own, or else a ufunc."""
    if all(isinstance(o, Sym | int | float | complex) for o in operands) and all(
        isinstance(kind_of(o), type) for o in operands
    ):
        return of_python(name, [as_sym(o) for o in operands])
    base, exponent = operands[0], operands[-1]
    if name == "power" and isinstance(base, Arr) and type(exponent) is int and exponent == 2:
        return apply("square", base)  # as NumPy's operator does, with the type of a square
    return apply(name, *operands)


def apply(name: str, *operands: Any, dtype: Any = None) -> Value:
    """Return NumPy's ufunc `name` of numbers or arrays."""
    ufunc: np.ufunc = getattr(np, name)
    if not any(isinstance(o, Sym | Arr | list | tuple) for o in operands) and dtype is None:
        return ufunc(*operands)
    kinds = [kind_of(o) for o in operands]
    loop = loop_of(ufunc, kinds, dtype)

    def one(*parts: Any) -> Sym:
        return _one(
            ufunc, [cast(as_sym(p), kind) for p, kind in zip(parts, loop, strict=False)], loop
        )

    if ufunc.nout != 1:
        raise Unread(name)
    if not any(isinstance(o, Arr | list | tuple | np.ndarray) for o in operands):
        return one(*operands)
    cells = [as_arr(o).cells for o in operands]
    made = np.frompyfunc(one, ufunc.nin, 1)(*cells)
    return boxed(made, loop[-1]) if isinstance(made, np.ndarray) else made


def of_python(name: str, operands: list[Sym]) -> Sym:
    """Return an operation on numbers of Python's own."""
    values = [o.number for o in operands]
    if name in _PYTHON:
        number = _PYTHON[name](*values)
    elif name in ("erf", "erfc"):
        number = getattr(math, name)(*values)
    else:
        with np.errstate(all="ignore"):
            number = getattr(np, name)(*values)
            number = number.item() if hasattr(number, "item") else number
    wide = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}
    result = np.dtype(wide[type(number)])
    kinds = [np.result_type(*(o.dtype for o in operands)) for o in operands]
    if result.kind in "fc" and name not in ("creal", "cimag"):
        kinds = [result if k.kind in "iub" else k for k in kinds]
    parts = [cast(o, k) for o, k in zip(operands, kinds, strict=True)]
    return _made(name, parts, result, number, weak=not isinstance(number, bool))


def _one(ufunc: np.ufunc, parts: list[Sym], loop: tuple[Kind, ...]) -> Sym:
    with np.errstate(all="ignore"):
        number = ufunc(*(p.number for p in parts))
    return _made(ufunc.__name__, parts, loop[-1], number)


_EXPANDED = frozenset(["sign", "rint", "exp2", "expm1", "log2", "log10", "log1p", "reciprocal"])
_SPELLED: dict[str, Callable[..., Any]] = {
    "square": lambda x: apply("multiply", x, x),
    "reciprocal": lambda x: apply("divide", literal(1, x.dtype), x),
    "positive": lambda x: x,
    "radians": lambda x: apply("multiply", x, literal(math.pi / 180, x.dtype)),
    "deg2rad": lambda x: apply("multiply", x, literal(math.pi / 180, x.dtype)),
}


def _made(name: str, parts: list[Sym], result: Kind, number: Any, weak: bool = False) -> Sym:
    if name in ("minimum", "maximum", "fmin", "fmax"):
        return next((p for p in parts if same_number(p.number, number)), parts[0])
    if name in ("absolute", "fabs") and parts[0].dtype.kind != "c":
        return apply("negative", parts[0]) if number != parts[0].number else parts[0]  # type: ignore[no-any-return]
    if parts[0].dtype.kind == "c" and name in _EXPANDED:
        raise Unread(f"np.{name} of complex numbers")
    if parts[0].dtype.kind in "iu" and name in ("reciprocal", "fmod", "ldexp"):
        raise Unread(f"np.{name} of integers")
    if name == "ldexp":
        raise Unread("np.ldexp")
    if result.kind == "b" or name in ("sign", "heaviside"):
        return Sym(WORLD.algebra.constant(number, result), result, number, weak)
    if name in _SPELLED:
        return _SPELLED[name](*parts)  # type: ignore[no-any-return]
    shown = NAMES.get(name, name if name in KEPT else "")
    if not shown:
        raise Unread(f"np.{name}")
    operands = [(p.code, p.dtype, p.number) for p in parts]
    code = WORLD.algebra.operation(shown, result, operands, number)
    return Sym(code, result, number, weak)


def same_number(one: Any, other: Any) -> bool:
    """Tell whether two numbers are one, NaN being like NaN."""
    return bool(one == other or (one != one and other != other))


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return (lambda a, b: operate(name, a, b)), (lambda a, b: operate(name, b, a))


def _in_place(name: str) -> Callable[..., Any]:
    def run(self: Arr, other: Any) -> Arr:
        new = as_arr(apply(name, self, other))
        if not np.can_cast(new.dtype, self.dtype, "same_kind"):
            raise TypeError(f"cannot cast {new.dtype} to {self.dtype}")
        self.cells[...] = casted(new, self.dtype).cells
        return self

    return run


for _dunder, _name in (
    ("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"),
    ("floordiv", "floor_divide"), ("mod", "remainder"), ("pow", "power"), ("and", "bitwise_and"),
    ("or", "bitwise_or"), ("xor", "bitwise_xor"), ("lshift", "left_shift"),
    ("rshift", "right_shift"),
):  # fmt: skip
    _forward, _backward = _binary(_name)
    for _class in (Sym, Arr):
        setattr(_class, f"__{_dunder}__", _forward)
        setattr(_class, f"__r{_dunder}__", _backward)
    setattr(Arr, f"__i{_dunder}__", _in_place(_name))
for _dunder, _name in (
    ("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal"),
    ("eq", "equal"), ("ne", "not_equal"),
):  # fmt: skip
    for _class in (Sym, Arr):
        setattr(_class, f"__{_dunder}__", _binary(_name)[0])
for _dunder, _name in (
    ("neg", "negative"), ("pos", "positive"), ("abs", "absolute"), ("invert", "invert"),
):  # fmt: skip
    for _class in (Sym, Arr):
        setattr(_class, f"__{_dunder}__", lambda self, _name=_name: operate(_name, self))
