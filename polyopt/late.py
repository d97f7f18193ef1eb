"""Imports that wait until a name is used: the one way in which polyopt puts an import off.

A call enters half of polyopt's modules.  Tables say which module has which of the others' names,
and it is imported when one of them is first asked for:

- `names_of` makes the imports under `TYPE_CHECKING`, which type checkers read, the names of a
  package: they are read from its text.  `from polyopt import transforms` imports no step,
  `transforms.Deal` imports `polyopt.transforms.deal`.  (So does `from polyopt.transforms import
  Deal`, which is at once: right for what nearly every call needs.)  Modules are names of the
  package, too: `proof.dataflow.check_dataflow(...)`.
- `Table` joins dictionaries of several modules into one, as the rules of NumPy's functions.
- `named` is for records that say where something is, as the steps of schedules.

A name that a module of the package has, too, is refused: what it stood for would depend on who had
imported what before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

Value = TypeVar("Value")


_IMPORT = re.compile(r"^    from (polyopt[\w.]*) import (\([^)]*\)|.+)$", re.MULTILINE)


@cache
def homes_of(package: str) -> dict[str, str]:
    """Return the module of each name that a loaded package imports under `TYPE_CHECKING`.

    A module of the package stands for itself.
    """
    spec = sys.modules[package].__spec__
    assert spec is not None
    assert spec.origin is not None
    text: bytes = spec.loader.get_data(spec.origin)  # type: ignore[union-attr]
    found = {
        name: f"{package}.{name}" if home == package else home
        for home, names in _IMPORT.findall(text.decode())
        for name in re.findall(r"(\w+)(?: as \w+)?", names)
    }
    homes = set(found.values())
    assert not any(f"{package}.{name}" in homes - {home} for name, home in found.items())
    return found


def names_of(
    package: str,
    before: Callable[[str], None] | None = None,
    instead: str | None = None,
) -> Callable[[str], object]:
    """Return the `__getattr__` of a package: names that it imports under `TYPE_CHECKING`.

    It raises `AttributeError` for a name that is not there; the function `instead` of the package
    ends the text, given the name and those that are.  `before` is told the module of a name that
    is, and may refuse it.
    """

    def load(name: str) -> object:
        homes = homes_of(package)
        if before is not None and (name in homes or f"{package}.{name}" in homes.values()):
            before(homes.get(name, f"{package}.{name}"))
        if f"{package}.{name}" in homes.values():
            return import_module(f"{package}.{name}")  # makes it an attribute of the package
        if name not in homes:
            more = (
                "" if instead is None or name[:2] == "__" else named(package, instead)(name, homes)
            )
            raise AttributeError(f"module `{package}` has no attribute `{name}`{more}")
        value: object = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def named(package: str, place: str) -> Any:  # noqa: ANN401
    """Return what a `place` of a package, as `tile.Tile`, is; its module is imported now."""
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"{package}.{module}"), name)


class Table(Mapping[str, Value]):
    """Values by name: those of the dictionaries `attribute` of modules of a package.

    `homes` has the names, parted by spaces, of each module; the first to be looked up imports it.
    """

    def __init__(self, package: str, attribute: str, homes: Mapping[str, str]) -> None:
        self.package, self.attribute, self.home_of = package, attribute, _by_name(homes)

    def __getitem__(self, name: str) -> Value:
        module = import_module(f"{self.package}.{self.home_of[name]}")
        found: Mapping[str, Value] = getattr(module, self.attribute)
        return found[name]

    def __contains__(self, name: object) -> bool:
        return name in self.home_of

    def __iter__(self) -> Iterator[str]:
        return iter(self.home_of)

    def __len__(self) -> int:
        return len(self.home_of)


def _by_name(homes: Mapping[str, str]) -> dict[str, str]:
    return {name: home for home, names in homes.items() for name in names.split()}
