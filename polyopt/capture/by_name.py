"""Functions by their names, as pickles refer to them: a module and a name in it.

In: a function.  Out: what `__reduce__` returns, which finds the function by its name again.
Refuses: functions whose name means something else, or nothing (PO0250).
"""

from __future__ import annotations

import importlib
import operator
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

from polyopt.errors import UsageError

T = TypeVar("T")
Function = Callable[..., Any]


class UnfoundFunction(UsageError, pickle.PicklingError):
    """A function cannot be found by its name."""


def by_name(function: Function, make: Callable[..., T], *rest: object) -> tuple[object, ...]:
    """Return what pickles as `make(function, *rest)`, with the function found by its name."""
    module, name = (
        getattr(function, "__module__", "__main__"),
        getattr(function, "__qualname__", ""),
    )
    if _found(module, name) is not function:
        raise _lost(module, name)
    return _made, (module, name, make, *rest)


def _made(module: str, name: str, make: Callable[..., T], *rest: object) -> T:
    function = _found(module, name)
    if function is None:
        raise _lost(module, name)
    return make(function, *rest)


def _found(module: str, name: str) -> Function | None:
    """Return the function of this name, without the kernel around it; None if there is none."""
    try:
        value: Any = operator.attrgetter(name)(importlib.import_module(module))
    except (ImportError, AttributeError):
        return None
    return getattr(value, "py_func", value)  # type: ignore[no-any-return]


def _lost(module: str, name: str) -> UsageError:
    return UnfoundFunction(
        "PO0250",
        f"`{name}` is pickled by its name, which is not that of a function in `{module}`",
        hint="define it by `def` at the top level of a module that other processes import",
    )
