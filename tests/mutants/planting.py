"""Faults put into the compiler for a while.

In: an object, a name, what to put there.  Out: a context in which it is there.
"""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from polyopt.frontend.syntax.structure import Rewriter

Around: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class Change:
    """`around(original, *arguments)` in the place of `owner.name`."""

    owner: Any
    name: str
    around: Around

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Make the change while the block runs."""
        original = _raw(self.owner, self.name)
        around = self.around

        def instead(*args: Any, **kwargs: Any) -> Any:
            return around(original, *args, **kwargs)

        setattr(self.owner, self.name, instead)
        try:
            yield
        finally:
            setattr(self.owner, self.name, original)


@dataclass(frozen=True)
class Entry:
    """`value` in the place of `table[key]`."""

    table: dict[Any, Any]
    key: Any
    value: Any

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Make the change while the block runs."""
        original = self.table[self.key]
        self.table[self.key] = self.value
        try:
            yield
        finally:
            self.table[self.key] = original


Plant: TypeAlias = "Change | Entry | Field | Edit | Misread"


def _raw(owner: Any, name: str) -> Any:
    """Return the function itself, not bound to anything."""
    found: Mapping[str, Any] = vars(owner)
    return found[name]


@dataclass(frozen=True)
class Field:
    """`value` in the place of a field of a frozen record, which many may hold."""

    owner: Any
    name: str
    value: Any

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Make the change while the block runs."""
        original = getattr(self.owner, self.name)
        object.__setattr__(self.owner, self.name, self.value)
        try:
            yield
        finally:
            object.__setattr__(self.owner, self.name, original)


@dataclass(frozen=True)
class Edit:
    """`function` with other text in the place of some of its own, wherever it was imported."""

    function: Any
    changes: tuple[tuple[str, str], ...]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Make the change while the block runs."""
        original = self.function.__code__
        text = textwrap.dedent(inspect.getsource(self.function))
        for old, new in self.changes:
            assert text.count(old) == 1, f"{self.function.__name__}: {old!r}"
            text = text.replace(old, new)
        made: dict[str, Any] = {}
        flags = __future__.annotations.compiler_flag
        exec(compile(text, original.co_filename, "exec", flags), self.function.__globals__, made)
        self.function.__code__ = made[self.function.__name__].__code__
        try:
            yield
        finally:
            self.function.__code__ = original


@dataclass(frozen=True)
class Misread:
    """The front end gets another syntax tree than the function's: `change(tree)`."""

    change: Callable[[ast.FunctionDef], ast.FunctionDef]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Make the change while the block runs."""
        change = self.change

        def instead(original: Any, rewriter: Any, tree: ast.FunctionDef) -> Any:
            return original(rewriter, ast.fix_missing_locations(change(copy.deepcopy(tree))))

        with Change(Rewriter, "function", instead).planted():
            yield
