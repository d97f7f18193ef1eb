"""Imports that wait until a name is used: the one way in which polyopt puts an import off.

A call enters half of polyopt's modules.  Tables say which module has which of the others' names,
and it is imported when one of them is first asked for:

- `names_of` makes such a table the names of a package.  `from polyopt import transforms` imports no
  step, `transforms.Deal` imports `polyopt.transforms.deal`.  (So does `from polyopt.transforms
  import Deal`, which is at once: right for what nearly every call needs.)  Modules of the table are
  names of the package, too: `proof.dataflow.check_dataflow(...)`.
- `Table` joins dictionaries of several modules into one, as the rules of NumPy's functions.
- `named` is for records that say where something is, as the steps of schedules.

Type checkers cannot read tables; a package repeats its own as imports under `TYPE_CHECKING`, and
`tests/test_late.py` compares the two.  A name that a module of the package has, too, is refused:
what it stood for would depend on who had imported what before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

Value = TypeVar("Value")


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package: `homes` has the names, parted by spaces, of modules.

    It raises `AttributeError` for a name that is not there.
    """
    home_of = _by_name(homes)
    assert not home_of.keys() & homes.keys()

    def load(name: str) -> object:
        if name in homes:
            return import_module(f"{package}.{name}")  # makes it an attribute of the package
        if name not in home_of:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        value: object = getattr(import_module(f"{package}.{home_of[name]}"), name)
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
