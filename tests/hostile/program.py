"""A program as text: modules of a package, and calls that make its arguments.

In: text.  Out: `HostileProgram`, its function and arguments; one file for the corpus.
"""

from __future__ import annotations

import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

FUNCTION = "f"
"""The function that is compiled."""
_MAIN = "main"
_SECTION = re.compile(r"^# (?:file: (\w+)|(call))$", re.MULTILINE)
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class HostileProgram:
    """Modules by name, `main` with the function among them, and calls.

    A call is text that assigns the tuple `args`; `np`, `nan` and `inf` are known to it.
    """

    modules: dict[str, str]
    calls: tuple[str, ...]
    seed: int = -1
    productions: frozenset[str] = field(default_factory=frozenset)

    @property
    def main(self) -> str:
        """The text of the module with the function."""
        return self.modules[_MAIN]

    def show(self, note: str = "") -> str:
        """Return all of it as one text that `parse` reads."""
        parts = [f"# {line}\n" for line in note.splitlines()]
        for name in sorted(self.modules, key=lambda name: (name == _MAIN, name)):
            parts.append(f"# file: {name}\n{self.modules[name].strip()}\n")
        parts += [f"# call\n{call.strip()}\n" for call in self.calls]
        return "".join(parts)


def parse(text: str) -> HostileProgram:
    """Return the program that `HostileProgram.show` wrote."""
    modules: dict[str, str] = {}
    calls: list[str] = []
    found = list(_SECTION.finditer(text))
    for section, following in itertools.zip_longest(found, found[1:]):
        body = text[section.end() : following.start() if following else len(text)].strip() + "\n"
        if section[2]:
            calls.append(body)
        else:
            modules[section[1]] = body
    return HostileProgram(modules, tuple(calls))


def arguments(call: str) -> tuple[Any, ...]:
    """Return new arguments for a call."""
    import numpy as np

    space: dict[str, Any] = {"np": np, "nan": float("nan"), "inf": float("inf")}
    exec(call, space)
    return tuple(space["args"])


@contextmanager
def loaded(program: HostileProgram, directory: Path) -> Iterator[Callable[..., Any]]:
    """Give the function, imported from real files in `directory`, which is on `sys.path` then."""
    package = f"hostile_{next(_NUMBERS)}"
    place = directory / package
    place.mkdir(parents=True)
    (place / "__init__.py").write_text("")
    for name, text in program.modules.items():
        (place / f"{name}.py").write_text(text)
    sys.path.insert(0, str(directory))
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    invalidate_caches()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = getattr(import_module(f"{package}.{_MAIN}"), FUNCTION)
        yield function
    finally:
        sys.path.remove(str(directory))
        sys.dont_write_bytecode = writes
        for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
            del sys.modules[name]
        for path in sorted(place.iterdir()):
            path.unlink()
        place.rmdir()
