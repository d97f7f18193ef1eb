"""All ported programs, and what becomes of one of them.

In: the modules `from_*`.  Out: `PROGRAMS`, and for each an `Outcome`: equal, refused, or a defect.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import polyopt as po
from polyopt.errors import PolyoptError
from tests.ported.record import Ported

GALLERIES = ("numba", "pythran", "jax", "loopy", "halide", "devito")
LINES = 2
"""So many lines of a program may differ."""


def _programs(gallery: str) -> list[Ported]:
    module = importlib.import_module(f"tests.ported.from_{gallery}")
    return [f.ported for f in vars(module).values() if hasattr(f, "ported")]


PROGRAMS = tuple(program for gallery in GALLERIES for program in _programs(gallery))


@dataclass(frozen=True)
class Outcome:
    """What became of a program: `status` is equal, refused, wrong or traceback."""

    program: Ported
    status: str
    detail: str = ""
    error: PolyoptError | None = None


def result_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the result of a call and the arguments after it, of arguments of its own."""
    own = copy.deepcopy(arguments)
    return (function(*own), *own)


def outcome(program: Ported) -> Outcome:
    """Run a program as Python and as a kernel, and compare."""
    expected = None
    if not program.refused:
        expected = result_of(program.function, program.arguments())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = result_of(po.kernel(program.function), program.arguments())
    except PolyoptError as error:
        return Outcome(program, "refused", f"{error.code} {error.message}", error)
    except Exception as error:
        return Outcome(program, "traceback", f"{type(error).__name__}: {error}")
    try:
        same(found, expected)
    except AssertionError as error:
        return Outcome(program, "wrong", " ".join(str(error).split())[:200])
    return Outcome(program, "equal")


def same(found: Any, expected: Any) -> None:
    """Raise AssertionError unless two results are equal, floats nearly."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, dict):
        same(list(found.values()), list(expected.values()))
    elif hasattr(expected, "__dict__"):
        same(vars(found), vars(expected))
    elif expected is None or isinstance(expected, str):
        assert found == expected
    else:
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def lines_of(function: Callable[..., Any]) -> list[str]:
    """Return the lines of a function's text, a statement in one line, without its decorator."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list = []
    return [line.strip() for line in ast.unparse(tree).splitlines()]
