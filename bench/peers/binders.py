"""How each peer is handed a program: from sizes and arguments to a call.

In: a workload of the wanted element type, who computes.  Out: `Bind`.  Runs in the peer's own
environment; a peer is imported only when it computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import workloads
from bench.baseline import Bind
from bench.peers import ccode
from bench.worker import numpy_bind
from workloads import Workload


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is to load."""

    workload: Workload
    peer: str
    form: str
    dtype: str
    fp: str
    threads: int
    library: str

    @property
    def function(self) -> Callable[..., Any]:
        """The form as a Python function."""
        return self.workload.forms[self.form]


def task(command: Mapping[str, Any]) -> Task:
    """Return the task that a command names."""
    workload = replace(workloads.get(command["workload"]), dtype=np.dtype(command["dtype"]))
    names = ("peer", "form", "dtype", "fp", "threads", "library")
    return Task(workload, *(command[name] for name in names))


def bind(chosen: Task) -> Bind:
    """Load the peer; return how it is called."""
    if chosen.peer in ccode.C_PEERS:
        return ccode.bind(chosen.workload, Path(chosen.library))
    return BINDERS[chosen.peer](chosen)


def _numpy(chosen: Task) -> Bind:
    return numpy_bind(chosen.workload)


def _polyopt(chosen: Task) -> Bind:
    import polyopt as po

    form = retyped(chosen.function, chosen.dtype)
    kernel = po.kernel(form).with_options(fp=chosen.fp, threads=chosen.threads)
    kernel.compile(*chosen.workload.make("MINI").values())
    return lambda sizes, arguments: partial(kernel, *arguments.values())


def retyped(function: Callable[..., Any], dtype: str) -> Callable[..., Any]:
    """Return the function with its floating-point annotations in another precision."""
    old, new = ("po.f64", "po.f32") if dtype == "float32" else ("po.f32", "po.f64")
    found = {name: str(text).replace(old, new) for name, text in function.__annotations__.items()}
    if found == function.__annotations__:
        return function
    assert isinstance(function, FunctionType)
    copied = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copied.__annotations__ = found
    copied.__module__ = function.__module__
    copied.__qualname__ = function.__qualname__
    return copied


BINDERS: Mapping[str, Callable[[Task], Bind]] = {"numpy": _numpy, "polyopt": _polyopt}
