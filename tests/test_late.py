"""The tables of names that are imported on use: all is there, and type checkers see it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

import polyopt
from polyopt.emit.functions import table as c_table
from polyopt.frontend.python import table as python_table
from polyopt.late import Table, homes_of, names_of
from tests.late_tables import table

PACKAGE = Path(__file__).resolve().parent.parent / "polyopt"


def _packages() -> list[str]:
    found = [p for p in PACKAGE.rglob("__init__.py") if "= names_of(" in p.read_text("utf-8")]
    return sorted(".".join(p.parent.relative_to(PACKAGE.parent).parts) for p in found)


@pytest.mark.parametrize("package", _packages())
def test_the_names_of_a_package_are_its_imports_for_type_checkers(package: str) -> None:
    tables = {
        name: f"{package}.{home}"
        for home, names in table(package).items()
        for name in names or {home}
    }
    import_module(package)
    found = homes_of(package)
    assert {name: home for name, home in found.items() if name not in table(package)} == {
        name: home for name, home in tables.items() if name not in table(package)
    }
    assert table(package).keys() <= {home.removeprefix(f"{package}.") for home in found.values()}


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
    load = names_of("polyopt.proof")
    with pytest.raises(AttributeError, match=r"`polyopt\.proof` has no attribute `Skew`"):
        load("Skew")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("njit", "po.kernel compiles a function"),
        ("float32", "types are annotations, such as po.f32['N,M']"),
        ("kernal", "did you mean `kernel`?"),
    ],
)
def test_names_of_other_libraries_lead_to_ours(name: str, text: str) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(polyopt, name)
    assert str(refused.value) == f"module `polyopt` has no attribute `{name}`: {text}"


def test_a_name_that_is_like_none() -> None:
    assert not hasattr(polyopt, "xyzzy")


def test_a_name_that_a_module_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "twice").mkdir()
    (tmp_path / "twice" / "__init__.py").write_text(
        "TYPE_CHECKING = False\n"
        "if TYPE_CHECKING:\n"
        "    from polyopt.twice.tile import Tile as Tile\n"
        "    from polyopt.twice.skew import tile as tile\n"
    )
    monkeypatch.setattr("polyopt.__path__", [str(tmp_path)])
    import_module("polyopt.twice")
    with pytest.raises(AssertionError):
        homes_of("polyopt.twice")


def test_names_are_read_from_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "archive.zip"
    with ZipFile(archive, "w") as made:
        made.writestr(
            "zipped/__init__.py",
            "TYPE_CHECKING = False\n"
            "if TYPE_CHECKING:\n"
            "    from polyopt.zipped.tile import Tile as Tile\n",
        )
    monkeypatch.setattr("polyopt.__path__", [str(archive)])
    import_module("polyopt.zipped")
    assert homes_of("polyopt.zipped") == {"Tile": "polyopt.zipped.tile"}


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
