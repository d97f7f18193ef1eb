"""Unsupported programs: each its own message with a place; what the hints propose compiles.

`unsupported/*.py` hold the functions, `*.txt` beside them all messages, exact
(`--update-golden` rewrites them).  `name__instead` is `name` as the hint says to write it.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError
from tests.errors.unsupported import language, numpy_calls, values
from tests.unit.frontend.harness import agree

MODULES = (language, numpy_calls, values)
ARGUMENTS: dict[str, Any] = {
    "A": np.array([0.5, 2.0, -1.25, 3.0, 0.25]),
    "M": np.arange(25.0).reshape(5, 5),
    "I": np.array([3, 1, 2]),
    "n": 2,
    "x": 3.0,
    "path": "data.txt",
    "rest": 1.0,
    "options": 1.0,
}


def functions(module: ModuleType) -> list[Callable[..., Any]]:
    """The functions of a module that are cases: their first parameter is an array."""
    found = [f for f in vars(module).values() if inspect.isfunction(f)]
    own = [f for f in found if f.__module__ == module.__name__]
    return [f for f in own if next(iter(inspect.signature(f).parameters)) in ("A", "M", "I")]


CASES = [f for m in MODULES for f in functions(m) if not f.__name__.endswith("__instead")]
TWINS = [f for m in MODULES for f in functions(m) if f.__name__.endswith("__instead")]


def example(func: Callable[..., Any]) -> list[Any]:
    """Arguments by the names of the parameters."""
    return [ARGUMENTS[name] for name in inspect.signature(func).parameters]


def refusal(func: Callable[..., Any]) -> FrontendError:
    """The error that compiling a case raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(FrontendError) as caught:
            po.kernel(func).schedule(*example(func))
    return caught.value


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__.rpartition(".")[2])
def test_messages(module: ModuleType, request: pytest.FixtureRequest) -> None:
    path = Path(module.__file__ or "")
    parts = []
    for func in functions(module):
        if func.__name__.endswith("__instead"):
            continue
        error = refusal(func)
        assert error.hint, func.__name__
        assert error.loc is not None, func.__name__
        assert error.loc.file == str(path), f"{func.__name__}: points outside the program"
        parts.append(f"# {func.__name__}\n{error}\n".replace(str(path), path.name))
    text = "\n".join(parts)
    golden = path.with_suffix(".txt")
    if request.config.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("func", TWINS, ids=lambda f: f"{f.__module__[-8:]}-{f.__name__}")
def test_what_the_hint_proposes_is_accepted(func: Callable[..., Any]) -> None:
    agree(func, *example(func))


def test_the_corpus_is_large() -> None:
    assert len(CASES) >= 120
    assert len(TWINS) >= 40


def test_every_proposal_belongs_to_a_case() -> None:
    names = {(f.__module__, f.__name__) for f in CASES}
    assert all((f.__module__, f.__name__.removesuffix("__instead")) in names for f in TWINS)
