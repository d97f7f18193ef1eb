"""Everything a compiled function depends on, as text.

In: a Python function.  Out: JSON values: its text, its helpers' texts, the constants it captures.
Refuses: with None a function that depends on a value without a text of its own; it is not cached.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from polyopt.runtime.store import digest

_KNOWN_MODULES = frozenset({"numpy", "math", "cmath", "builtins", "operator", "polyopt"})
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype)


class _NoText(Exception):
    """A value has no text that tells it from others."""


def fingerprint(function: Callable[..., object]) -> str | None:
    """Return the text of all that `function` is made of, or None."""
    facts: list[object] = []
    try:
        _function(function, facts, set())
    except _NoText:
        return None
    return json.dumps(facts)


def _function(function: Callable[..., object], facts: list[object], seen: set[int]) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    code = getattr(function, "__code__", None)
    if not isinstance(function, types.FunctionType) or code is None:
        raise _NoText
    try:
        linecache.checkcache(code.co_filename)
        text = inspect.getsource(function)
    except (OSError, TypeError):
        raise _NoText from None
    place = [code.co_filename, code.co_firstlineno]
    defaults = [_text(value) for value in (function.__defaults__ or ())]
    keywords = {n: _text(v) for n, v in sorted((function.__kwdefaults__ or {}).items())}
    facts.append(["function", function.__qualname__, place, text, _code(code), defaults, keywords])
    names = sorted(set(_names(code)))
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    for name in names:
        if name in cells:
            try:
                value = cells[name].cell_contents
            except ValueError:
                continue
        elif name in function.__globals__:
            value = function.__globals__[name]
        else:
            continue
        _value(name, value, names, facts, seen)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _code(code: types.CodeType) -> list[object]:
    constants = [_code(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return [digest(code.co_code), list(code.co_names), list(code.co_varnames), constants]


def _value(name: str, value: object, names: list[str], facts: list[object], seen: set[int]) -> None:
    inner = getattr(value, "py_func", None)
    if isinstance(inner, types.FunctionType):
        value = inner
    if isinstance(value, types.FunctionType):
        if value.__module__ is not None and value.__module__.split(".")[0] in _KNOWN_MODULES:
            facts.append(["known", name, value.__module__, value.__qualname__])
            return
        facts.append(["call", name, value.__qualname__])
        _function(value, facts, seen)
        return
    if isinstance(value, types.ModuleType):
        _module(name, value, names, facts, seen)
        return
    facts.append(["value", name, _text(value)])


def _module(
    name: str, module: types.ModuleType, names: list[str], facts: list[object], seen: set[int]
) -> None:
    facts.append(["module", name, module.__name__])
    if module.__name__.split(".")[0] in _KNOWN_MODULES or id(module) in seen:
        return
    seen.add(id(module))
    for attribute in names:
        if attribute in vars(module):
            _value(f"{name}.{attribute}", vars(module)[attribute], names, facts, seen)


def _text(value: object) -> str:
    """Return a text that two values share only when a compiler cannot tell them apart."""
    if isinstance(value, np.ndarray):
        data = digest(np.ascontiguousarray(value).tobytes()) if not value.dtype.hasobject else None
        if data is None:
            raise _NoText
        return f"array {value.dtype.str} {value.shape} {data}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(_text(part) for part in value)})"
    if isinstance(value, type | types.BuiltinFunctionType | np.ufunc):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', repr(value))}"
    text = repr(value)
    if isinstance(value, _PLAIN) or (" at 0x" not in text and _is_frozen(value)):
        return f"{type(value).__module__}.{type(value).__qualname__} {text}"
    raise _NoText


def _is_frozen(value: object) -> bool:
    """Tell whether `value` is a frozen dataclass, whose repr says all of it."""
    params: Any = getattr(type(value), "__dataclass_params__", None)
    return bool(params is not None and params.frozen)


def package_stamp(package: Path) -> str:
    """Return a digest of the names, sizes and times of a package's files."""
    facts = sorted(_files(str(package), ""))
    return digest(json.dumps(facts).encode())


def _files(directory: str, prefix: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _files(entry.path, f"{prefix}{entry.name}/")
            elif entry.name.endswith((".py", ".so", ".pyd")):
                status = entry.stat()
                yield f"{prefix}{entry.name}", status.st_size, status.st_mtime_ns


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of all that takes part in making C text."""
    import polyopt

    isl = importlib.util.find_spec("islpy")
    place = None if isl is None or isl.origin is None else Path(isl.origin).parent
    return {
        "polyopt": polyopt.__version__,
        "files": package_stamp(Path(polyopt.__file__).parent),
        "isl": "none" if place is None else package_stamp(place),
        "numpy": np.__version__,
        "python": sys.version,
    }
