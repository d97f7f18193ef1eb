"""Every error code: a program that raises it and the whole message, exact.

`programs/PO0110_name.py` holds a function `f` with its `TYPES`, or a function `act` that does
something else; the message is `programs/PO0110_name.txt` (`--update-golden` rewrites it).
"""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from polyopt.cli.prepare import parse_types
from polyopt.errors import PolyoptError
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArgType
from polyopt.report.catalogue import CATALOGUE, entries, page
from tests.cli.test_targets import CASES as COMMAND_CASES

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
_CODE = re.compile(r"\bPO0\d{3}\b")


def load(path: Path) -> ModuleType:
    """Run a program's file."""
    spec = importlib.util.spec_from_file_location(f"program_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def provoke(path: Path) -> PolyoptError:
    """Do what the program says and return the error it raises."""
    module = load(path)
    act = getattr(module, "act", None) or (lambda: build(module.f, parse(module)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(PolyoptError) as caught:
            act()
    return caught.value


def parse(module: ModuleType) -> tuple[ArgType, ...]:
    """The types a program asks for."""
    return parse_types(module.TYPES, module.f)


@pytest.mark.toolchain
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_message_is_exact(path: Path, request: pytest.FixtureRequest) -> None:
    if path.stem.startswith("PO08") and sys.version_info < (3, 11):
        pytest.skip("frames of Python 3.10 have lines and no columns")
    error = provoke(path)
    message = str(error).replace(str(path), path.name) + "\n"
    expected = path.with_suffix(".txt")
    if request.config.getoption("--update-golden"):
        expected.write_text(message, encoding="utf-8")
    assert message == expected.read_text(encoding="utf-8")
    assert error.code == path.stem[:6]
    assert str(ROOT) not in message


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_messages_follow_the_house_style(path: Path) -> None:
    head = path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()[0]
    text = head.partition(": ")[2]
    assert not text.endswith("."), "no full stop"
    assert not re.match(r"(?!NumPy)[A-Z][a-z]", text), "lower case"


def codes_in(*folders: str) -> set[str]:
    """The codes that appear as whole strings in Python files."""
    found: set[str] = set()
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "codes.py":
                found |= set(re.findall(r"[\"'\[](PO0\d{3})[\"'\]]", path.read_text("utf-8")))
    return found


def test_every_raised_code_has_an_entry() -> None:
    assert codes_in("polyopt") - set(CATALOGUE) == set()


def test_every_entry_is_raised_somewhere() -> None:
    text = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "polyopt").rglob("*.py")
        if path.name != "codes.py"
    )
    assert {code for code in CATALOGUE if code not in text} == set()


# isl's scheduler has no program known to defeat it; the other states what our own code guarantees
UNPROVOKED = {"PO0307", "PO0902"}


def test_every_code_has_a_case() -> None:
    shown = {path.stem[:6] for path in PROGRAMS}
    shown |= {_CODE.search(message)[0] for _, _, message in COMMAND_CASES.values()}
    elsewhere = codes_in(
        "tests/unit", "tests/cli", "tests/semantics", "tests/properties", "tests/race", "tests/gpu"
    )
    assert set(CATALOGUE) - shown - elsewhere == UNPROVOKED


def test_the_page_is_nothing_but_entries_in_groups() -> None:
    assert page() == ROOT / "docs" / "errors.md"
    introduction, *groups = re.split(r"^## .+\n\n", page().read_text("utf-8"), flags=re.M)
    assert "###" not in introduction
    found = [code for group in groups for code in entries(group)]
    assert found == list(CATALOGUE)
    assert len(groups) == 8
    for group in groups:
        parts = [f"### {code}\n\n{entry.meaning}\n\n```text\n{entry.example}\n```\n\n{entry.action}"
                 for code, entry in entries(group).items()]  # fmt: skip
        assert "\n\n".join(parts) == group.rstrip("\n")


@pytest.mark.parametrize("code", CATALOGUE)
def test_entries_are_sentences(code: str) -> None:
    entry = CATALOGUE[code]
    for text in (entry.meaning, entry.action):
        assert re.fullmatch(r"[A-Z`].*\.", text)
