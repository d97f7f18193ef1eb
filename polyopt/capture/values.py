"""Texts of values that a function captures: two values share one only if code cannot differ.

In: a value.  Out: its text, None for a value without one: what depends on it is not cached.
"""

from __future__ import annotations

import struct
import sys
import types

import numpy as np

from polyopt.digest import hex_digest

KNOWN_MODULES = frozenset({"numpy", "math", "cmath", "builtins", "operator", "polyopt", "scipy"})
"""Modules taken to be the same as long as their versions are."""

ABSENT = object()
"""Stands for what a name means that nothing is bound to."""


class _Opaque(Exception):
    """A value has no text."""


def value_text(value: object) -> str | None:
    """Return the text of `value`, None if it has none."""
    if value is ABSENT:
        return "absent"
    try:
        return _text(value, 0)
    except _Opaque:
        return None


def digest(data: bytes) -> str:
    """Return the blake2b-256 of `data` in hexadecimal."""
    return hex_digest(data)


def is_known(module: object) -> bool:
    """Whether a module, given by name, belongs to Python, NumPy or polyopt itself."""
    return str(module or "").split(".")[0] in KNOWN_MODULES


def _text(value: object, depth: int) -> str:  # noqa: C901  one case per kind of value
    if depth > 20:  # it may contain itself
        raise _Opaque
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    match value:
        case None | types.EllipsisType():
            return repr(value)
        case np.ndarray():
            return _array(value, kind)
        case np.generic():
            if value.dtype.hasobject:
                raise _Opaque
            return f"{kind} {value.tobytes().hex()}"
        case float() | complex():
            parts = (value.real, value.imag)
            return f"{kind} {struct.pack('2d', *parts).hex()}"
        case bool() | int():
            return f"{kind} {int(value):x}"  # long ones have no decimal text
        case str():
            return f"{kind} {str.__repr__(value)}"
        case bytes():
            return f"{kind} {bytes.__repr__(value)}"
        case tuple() | list():
            return f"{kind}({', '.join(_text(part, depth + 1) for part in value)})"
        case set() | frozenset():
            return f"{kind}({', '.join(sorted(_text(part, depth + 1) for part in value))})"
        case dict():
            items = (f"{_text(k, depth + 1)}: {_text(v, depth + 1)}" for k, v in value.items())
            return f"{kind}({', '.join(items)})"
        case types.ModuleType():
            return f"module {value.__name__}"
        case np.dtype():
            return f"{kind} {value.name} {value.str} {value.descr!r}"
        case np.vectorize():
            return f"{kind} of {_text(value.pyfunc, depth + 1)}"
        case type() | types.FunctionType() | np.ufunc():
            name = getattr(value, "__qualname__", value.__name__)
            return f"{kind} {getattr(value, '__module__', '')}.{name}"
        case types.BuiltinFunctionType():
            owner = value.__self__
            home = "" if owner is None else _text(owner, depth + 1)
            return f"{kind} {value.__module__}.{value.__qualname__} of {home}"
        case _:
            return _record(value, kind, depth)


def _record(value: object, kind: str, depth: int) -> str:
    """Return the text of a kernel, a frozen dataclass, or a function made by NumPy's C code."""
    inner = getattr(value, "py_func", None)
    if isinstance(inner, types.FunctionType):
        return f"{kind} of {_text(inner, depth + 1)}"
    if hasattr(type(value), "__dataclass_fields__"):
        fields = sys.modules["dataclasses"].fields(value)  # it made the class
        parts = (f"{f.name}={_text(getattr(value, f.name), depth + 1)}" for f in fields)
        return f"{kind}({', '.join(parts)})"
    if isinstance(value, np.finfo | np.iinfo):
        return f"{kind} {value.dtype}"
    name = getattr(value, "__qualname__", None)
    home = getattr(value, "__module__", None)
    if isinstance(name, str) and is_known(home) and is_known(type(value).__module__):
        return f"{kind} {home}.{name}"
    if is_known(type(value).__module__) and value is getattr(np, _last(value), None):
        return f"{kind} numpy.{_last(value)}"
    raise _Opaque


def _last(value: object) -> str:
    """Return the name NumPy gives an object of a class of its own, as `np.r_`."""
    kind = type(value)
    return next((name for name in ("r_", "c_", "mgrid", "ogrid", "s_", "index_exp")
                 if type(getattr(np, name)) is kind), "")  # fmt: skip


def _array(value: np.ndarray, kind: str) -> str:
    if value.dtype.hasobject:
        raise _Opaque
    return f"{kind} {value.dtype.name}{value.dtype.str} {value.shape} {digest(value.tobytes())}"
