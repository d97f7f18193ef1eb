"""The tables of names that are imported on use: all is there, and type checkers see it."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from polyopt.emit.functions import table as c_table
from polyopt.frontend.python import table as python_table
from polyopt.late import Table, names_of
from tests.late_tables import Homes, table, tree

PACKAGE = Path(__file__).resolve().parent.parent / "polyopt"


def _packages() -> list[str]:
    found = [p for p in PACKAGE.rglob("__init__.py") if "= names_of(" in p.read_text("utf-8")]
    return sorted(".".join(p.parent.relative_to(PACKAGE.parent).parts) for p in found)


def _checked(package: str) -> Homes:
    """Return the same table, from the imports for type checkers."""
    found: Homes = {}
    for block in tree(package).body:
        if not isinstance(block, ast.If):
            continue
        for node in block.body:
            assert isinstance(node, ast.ImportFrom)
            names = {alias.name for alias in node.names}
            assert node.module is not None
            if node.module == package:
                found.update({name: set() for name in names})
            else:
                home = node.module.removeprefix(f"{package}.")
                found[home] = found.get(home, set()) | names
    return found


@pytest.mark.parametrize("package", _packages())
def test_type_checkers_see_the_table_of_a_package(package: str) -> None:
    assert table(package) == _checked(package)


@pytest.mark.parametrize("package", _packages())
def test_every_name_of_a_package_is_there(package: str) -> None:
    module = import_module(package)
    for home, names in table(package).items():
        for name in names:
            assert getattr(module, name) is getattr(import_module(f"{package}.{home}"), name)
        if "." not in home:
            assert isinstance(getattr(module, home), ModuleType)


@pytest.mark.parametrize("package", _packages())
def test_no_name_of_a_package_is_one_of_its_modules(package: str) -> None:
    folder = PACKAGE.parent.joinpath(*package.split("."))
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert modules.isdisjoint(name for names in table(package).values() for name in names)


def test_a_package_has_no_other_names() -> None:
    load = names_of("polyopt.transforms", {"tile": "Tile"})
    with pytest.raises(AttributeError, match=r"`polyopt\.transforms` has no attribute `Skew`"):
        load("Skew")


def test_a_name_that_a_module_has_is_refused() -> None:
    with pytest.raises(AssertionError):
        names_of("polyopt.transforms", {"tile": "tile"})


def _tables() -> list[Table[object]]:
    modules = (python_table, c_table)
    return [value for m in modules for value in vars(m).values() if isinstance(value, Table)]


@pytest.mark.parametrize("table", _tables(), ids=lambda table: table.attribute)
def test_modules_have_the_names_that_a_table_says_they_have(table: Table[object]) -> None:
    for home in set(table.home_of.values()):
        found = getattr(import_module(f"{table.package}.{home}"), table.attribute)
        assert set(found) == {name for name in table if table.home_of[name] == home}
        assert all(table[name] is value for name, value in found.items())


def test_a_table_has_no_other_names() -> None:
    table: Table[object] = Table("polyopt.frontend", "BUILTINS", {"python.sorting": "sorted"})
    assert ("sorted" in table, "len" in table, list(table)) == (True, False, ["sorted"])
    with pytest.raises(KeyError):
        table["len"]
