"""What a function's names stand for while it is read: modules, builtins and helpers of ours.

In: a Python function.  Out: the same code over symbolic values.
Refuses: names that nothing here knows (`Unread`), when they are used.
"""

from __future__ import annotations

import builtins
import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.reader.functions import (
    ASKED,
    CALLED,
    CONSTANT,
    FUNCTIONS,
    LINALG,
    MOVES,
    Ufunc,
    asked,
    called_back,
    moved,
    sliding,
)
from tests.reader.values import (
    Arr,
    Sym,
    Unread,
    Value,
    apply,
    as_arr,
    as_sym,
    cast,
    numbers,
    of_numbers,
    of_python,
    weakened,
)

_MATH = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "atan2": "arctan2",
    "pow": "power",
    "fabs": "absolute",
}
_PLAIN = frozenset(
    [
        "cbrt",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "fmod",
        "hypot",
        "log",
        "log10",
        "log1p",
        "log2",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
    ]
)


class ElementType:
    """An element type as programs use it: called, and given as `dtype=`."""

    def __init__(self, kind: Any) -> None:
        self.dtype = np.dtype(kind)

    def __call__(self, value: Any = 0) -> Value:
        if isinstance(value, Arr):
            return as_arr(value, self.dtype)
        if isinstance(value, Sym):
            return cast(value, self.dtype)
        return self.dtype.type(value)

    def __eq__(self, other: object) -> bool:
        return self.dtype == (other.dtype if isinstance(other, ElementType) else other)

    def __hash__(self) -> int:
        return hash(self.dtype)


class Numpy:
    """The module `numpy`."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:  # noqa: C901  one case per kind
        if self._prefix == "linalg." and name in LINALG:
            return LINALG[name]
        full = self._prefix + name
        if full in CALLED:
            return called_back(full)
        if full == "lib.stride_tricks.sliding_window_view":
            return sliding
        if full in ("linalg", "fft", "lib", "lib.stride_tricks"):
            return Numpy(f"{full}.")
        if self._prefix:
            raise Unread(f"np.{full}")
        real: Any = getattr(np, name)
        if isinstance(real, type) and issubclass(real, np.generic):
            return ElementType(real)
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        if name in MOVES:
            return functools.partial(moved, name)
        if name in CONSTANT:
            return functools.partial(_constants, real)
        if name in ("ogrid", "mgrid"):
            return Grid(real)
        if name in ASKED:
            return asked(name)
        if isinstance(real, np.ufunc):
            return Ufunc(name)
        if isinstance(real, float | int | type(None) | type(np.s_)) or name in (
            "errstate",
            "dtype",
            "iinfo",
            "finfo",
            "newaxis",
        ):
            return real
        raise Unread(f"np.{name}")


def _constants(real: Any, *args: Any, **kwargs: Any) -> Any:
    """Return arrays made of sizes alone."""
    given = (*args, *kwargs.values())
    if any(isinstance(v, Arr) or (isinstance(v, Sym) and v.dtype.kind in "fc") for v in given):
        raise Unread(f"np.{real.__name__} of data")
    return as_consts(real(*map(numbers, args), **{n: numbers(v) for n, v in kwargs.items()}))


class Grid:
    """`np.ogrid` and `np.mgrid`."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getitem__(self, key: Any) -> Any:
        return as_consts(self._real[numbers(key)])


def as_consts(value: Any) -> Any:
    """Return arrays of numbers as arrays of constants."""
    if isinstance(value, np.ndarray):
        return of_numbers(value)
    return type(value)(map(as_consts, value)) if isinstance(value, list | tuple) else value


class Math:
    """The module `math`: functions of Python's floats."""

    def __getattr__(self, name: str) -> Any:
        real = getattr(math, name)
        if not callable(real):
            return real
        if name in _MATH or name in _PLAIN:
            return lambda *args: self._apply(real, _MATH.get(name, name), args)
        if name in ("isnan", "isinf", "isfinite", "gcd", "prod"):
            return lambda *args: real(*map(numbers, args))
        if name in ("floor", "ceil", "trunc"):
            return lambda x: (
                weakened(cast(apply(name, _float(x)), np.dtype(int)))
                if isinstance(x, Sym)
                else real(x)
            )
        raise Unread(f"math.{name}")

    def _apply(self, real: Any, name: str, args: tuple[Any, ...]) -> Any:
        if not any(isinstance(a, Sym | Arr) for a in args):
            return real(*args)
        if any(isinstance(a, Arr) for a in args):
            args = tuple(a.cells.item() if isinstance(a, Arr) else a for a in args)
        real(*map(numbers, args))  # raises what Python raises
        return of_python(name, list(map(_float, args)))


def _float(value: Any) -> Sym:
    return weakened(cast(as_sym(value), np.dtype(float)))


def to_float(value: Any = 0.0) -> Any:
    return _float(value) if isinstance(value, Sym | Arr) else float(value)


def to_int(value: Any = 0) -> Any:
    if not isinstance(value, Sym | Arr):
        return int(value)
    one = as_sym(value)
    int(one.number)
    return weakened(cast(one, np.dtype(int)))


def to_complex(*parts: Any) -> Any:
    if not any(isinstance(p, Sym | Arr) for p in parts):
        return complex(*parts)
    if len(parts) == 1:
        return weakened(cast(as_sym(parts[0]), np.dtype(complex)))
    raise Unread("complex of two numbers")


def to_bool(value: Any = False) -> bool:
    return bool(value)


def summed(values: Any, start: Any = 0) -> Any:
    for value in values:
        start = start + value
    return start


def is_instance(value: Any, kinds: Any) -> bool:
    raise Unread("isinstance")


def powered(*args: Any) -> Any:
    return args[0] ** args[1]


def rounded(value: Any, digits: Any = None) -> Any:
    if not isinstance(value, Sym | Arr):
        return round(value, digits)
    if digits is not None:
        raise Unread("round to digits")
    return weakened(cast(apply("rint", value), np.dtype(int)))


def ordered(values: Any, **options: Any) -> Any:
    found = list(values)
    if any(isinstance(value, Sym | Arr) for value in found):
        raise Unread("sorted: by comparisons or by NumPy")
    return sorted(found, **options)


for _made, _kind in ((to_float, float), (to_int, int), (to_complex, complex), (to_bool, bool)):
    _made.dtype = np.dtype(_kind)  # type: ignore[attr-defined]  # as `dtype=int` is written

BUILTINS = {
    **vars(builtins), "float": to_float, "int": to_int, "complex": to_complex, "bool": to_bool,
    "sum": summed, "isinstance": is_instance, "pow": powered, "round": rounded,
    "sorted": ordered,
}  # fmt: skip


def reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` over symbolic values, its helpers too."""
    return _Renaming().function(function)


class _Renaming:
    def __init__(self) -> None:
        self.known: dict[int, Any] = {}
        self.spaces: dict[int, dict[str, Any]] = {}

    def function(self, function: Any) -> Any:
        function = getattr(function, "py_func", function)
        if id(function) in self.known:
            return self.known[id(function)]
        code, space = function.__code__, self._space(function.__globals__)
        cells = tuple(
            types.CellType(self.value(c.cell_contents)) for c in function.__closure__ or ()
        )
        defaults = tuple(map(self.value, function.__defaults__ or ()))
        made = types.FunctionType(code, space, function.__name__, defaults, cells)
        made.__kwdefaults__ = {k: self.value(v) for k, v in (function.__kwdefaults__ or {}).items()}
        self.known[id(function)] = made
        return made

    def _space(self, space: dict[str, Any]) -> dict[str, Any]:
        if id(space) not in self.spaces:
            found = self.spaces[id(space)] = _Lazy(self, space)
            found["__builtins__"] = BUILTINS
        return self.spaces[id(space)]

    def value(self, value: Any) -> Any:  # noqa: C901  one case per kind
        """Return what a captured value stands for."""
        match value:
            case types.FunctionType():
                return self.function(value)
            case np.ndarray():
                return of_numbers(value)
            case types.ModuleType() if value is np:
                return Numpy()
            case types.ModuleType() if value is math:
                return Math()
            case types.ModuleType() if value.__name__ in ("numpy.linalg", "numpy.fft"):
                return Numpy(f"{value.__name__.partition('.')[2]}.")
            case type() if value in _ELEMENTS:
                return BUILTINS[value.__name__]
            case type() if issubclass(value, np.generic):
                return ElementType(value)
            case np.ufunc():
                return Ufunc(value.__name__)
            case tuple():
                return tuple(map(self.value, value))
            case _ if hasattr(value, "py_func"):
                return self.function(value)
            case types.BuiltinFunctionType() if getattr(value, "__module__", "") == "math":
                return getattr(Math(), value.__name__)
            case _ if callable(value) and (getattr(value, "__module__", "") or "").startswith(
                "numpy"
            ):
                return getattr(Numpy(), value.__name__)
            case _:
                return value


_ELEMENTS = (float, int, complex, bool)


class _Lazy(dict[str, Any]):
    """Global names, made when they are used."""

    def __init__(self, renaming: _Renaming, space: dict[str, Any]) -> None:
        super().__init__()
        self._renaming = renaming
        for name, value in space.items():
            if name != "__builtins__" and not name.startswith("__"):
                try:
                    self[name] = renaming_of(renaming, value)
                except Unread:
                    continue


def renaming_of(renaming: _Renaming, value: Any) -> Any:
    """Return a module's value; functions are made when they are called."""
    if isinstance(value, types.FunctionType) or hasattr(value, "py_func"):
        return functools.partial(_called, renaming, value)
    return renaming.value(value)


def _called(renaming: _Renaming, function: Any, *args: Any, **kwargs: Any) -> Any:
    return renaming.function(function)(*args, **kwargs)
