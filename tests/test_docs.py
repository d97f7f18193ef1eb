"""The examples of README and docs run and print what they say; the package's doctests pass.

A `python` block whose first line is `# NAME.py` is written to that file; other `python` blocks of a
page run one after the other in one module.  A `console` block runs its `$ polyopt …` lines; `...`
stands for anything, `[exit N]` for an exit code other than 0.
"""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyopt
from polyopt.ir.scop import Role

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w/]+\.py)\n")
_PATH = re.compile(r"`((?:[\w-]+/)+|(?:[\w-]+/)*[\w-]+\.(?:py|md)|(?:[\w-]+/)+[\w-]+\.\w+)`")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        yield Block(match[1], match[2], text.count("\n", 0, match.start()) + 1)


def lay_out(page: Path, directory: Path) -> Path | None:
    """Write the page's named files, and its other Python blocks as one script."""
    parts = []
    for block in blocks(page):
        if block.language != "python":
            continue
        named = _FILE.match(block.text)
        if named is not None:
            (directory / named[1]).write_text(block.text, encoding="utf-8")
        else:
            parts.append(block.text)
    if not parts:
        return None
    script = directory / "page.py"
    script.write_text("\n".join(parts), encoding="utf-8")
    return script


@dataclass(frozen=True)
class Step:
    """A command of a console block and what it should print."""

    command: str
    expected: str
    code: int


def steps(block: Block) -> Iterator[Step]:
    """The commands of a console block."""
    for piece in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = piece.partition("\n")
        exits = re.search(r"^\[exit (\d+)\]\n?", expected, flags=re.MULTILINE)
        code = int(exits[1]) if exits else 0
        yield Step(command, expected.replace(exits[0], "") if exits else expected, code)


def with_python(pages: list[Path], language: str) -> list[Path]:
    return [page for page in pages if any(b.language == language for b in blocks(page))]


@pytest.mark.toolchain
@pytest.mark.parametrize("page", with_python(PAGES, "python"), ids=lambda p: p.name)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if '"emulated"' in page.read_text(encoding="utf-8") and shutil.which("g++") is None:
        pytest.skip("no g++ for the emulator")
    script = lay_out(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    if script is not None:
        runpy.run_path(str(script), run_name="page")


@pytest.mark.toolchain
@pytest.mark.parametrize("page", with_python(PAGES, "console"), ids=lambda p: p.name)
def test_console_examples_print_what_they_say(page: Path, tmp_path: Path) -> None:
    lay_out(page, tmp_path)
    checker = doctest.OutputChecker()
    ran = 0
    for block in blocks(page):
        for step in steps(block) if block.language == "console" else ():
            if not step.command.startswith("polyopt "):
                continue
            ran += 1
            done = subprocess.run(
                step.command.replace("polyopt", f"{sys.executable} -m polyopt", 1),
                shell=True,
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=900,
                env=os.environ | {"NO_COLOR": "1"},
            )
            where = f"{page.name}:{block.line}: $ {step.command}\n{done.stdout}"
            assert checker.check_output(step.expected, done.stdout, _FLAGS), where
            assert done.returncode == step.code, where
    assert ran > 0, "a console block without a command proves nothing"


BUILDING = {f"polyopt.tracing.{name}" for name in ("compiling", "contraction", "declaring")}
"""Modules whose examples compile."""


def _modules() -> list[str]:
    found = pkgutil.walk_packages(polyopt.__path__, "polyopt.")
    return sorted(module.name for module in found if module.name != "polyopt.__main__")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.toolchain] if n in BUILDING else []) for n in _modules()],
)
def test_doctests(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=_FLAGS)
    assert result.failed == 0


def test_pages_name_no_absolute_places() -> None:
    pattern = re.compile(r"https?://|(?<![\w.])/(?:home|root|work|tmp)/")
    wrong = [str(page) for page in PAGES if pattern.search(page.read_text(encoding="utf-8"))]
    assert wrong == []


def test_pages_name_files_that_exist() -> None:
    missing = []
    for page in PAGES:
        written = {m[1] for block in blocks(page) if (m := _FILE.match(block.text))}
        for match in _PATH.finditer(page.read_text(encoding="utf-8")):
            name = match[1]
            if name in written or Path(name).stem.isupper():
                continue
            if not any((place / name).exists() for place in (ROOT, ROOT / "polyopt")):
                missing.append(f"{page.name}: {name}")
    assert missing == []


def test_links_of_pages_lead_to_files() -> None:
    link = re.compile(r"\]\(([\w./-]+)(?:#[\w-]+)?\)")
    missing = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in link.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_the_numpy_page_shows_the_tables(request: pytest.FixtureRequest) -> None:
    from polyopt.frontend.numpy.guide import markdown

    page = ROOT / "docs" / "numpy.md"
    head, mark, _ = page.read_text(encoding="utf-8").partition("compiler's own tables.\n\n")
    if request.config.getoption("--update-golden"):
        page.write_text(head + mark + markdown(), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == head + mark + markdown()


def test_a_function_of_numpys_is_in_one_group() -> None:
    from polyopt.frontend.numpy.guide import rows

    found = [row.name for row in rows()]
    assert sorted(found) == sorted(set(found))


def test_the_schedules_page_lists_every_step() -> None:
    from polyopt.transforms.text import STEPS

    page = (ROOT / "docs" / "schedules.md").read_text(encoding="utf-8")
    table = page.partition("## Steps")[2].partition("## What")[0]
    assert set(re.findall(r"^\| `(\w+)\(", table, flags=re.MULTILINE)) == set(STEPS)


def test_the_reference_of_commands_is_up_to_date(request: pytest.FixtureRequest) -> None:
    from docs.reference import commands

    if request.config.getoption("--update-golden"):
        commands.PAGE.write_text(commands.page(), encoding="utf-8")
    assert commands.PAGE.read_text(encoding="utf-8") == commands.page()


def test_the_reference_of_the_api_has_every_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"auto\w+:: polyopt\.(\w+)$", page, flags=re.MULTILINE))
    types = {"f16", "bf16", "f32", "f64", "c64", "c128", "bool_"}
    types |= {f"{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64)}
    assert set(polyopt.__all__) - listed - types == {"__version__"}
    assert all(hasattr(polyopt, name) for name in listed)


def test_the_cookbook_shows_every_step(request: pytest.FixtureRequest) -> None:
    from docs.cookbook import making
    from polyopt.transforms.text import STEPS

    if request.config.getoption("--update-golden"):
        making.write()
    assert sorted(map(making.name_of, making.RECIPES)) == sorted(STEPS)
    assert making.PAGE.read_text(encoding="utf-8") == making.page()


def _recipes() -> list[Any]:
    from docs.cookbook.recipes import RECIPES

    return list(RECIPES)


@pytest.mark.parametrize("recipe", _recipes(), ids=lambda recipe: recipe.step)
def test_pictures_of_the_cookbook_show_what_runs(recipe: Any) -> None:
    from docs.cookbook import making

    path = making.PICTURES / f"{making.name_of(recipe)}.svg"
    assert path.read_text(encoding="utf-8") == making.picture(recipe)


@pytest.mark.parametrize("recipe", _recipes(), ids=lambda recipe: recipe.step)
def test_schedules_of_the_cookbook_compute_the_same(recipe: Any) -> None:
    from docs.cookbook import making
    from polyopt.ir.interp import poison, run_scop
    from polyopt.schedule.tree import time_of

    before, after = making.schedules(recipe)
    sizes, scop = dict(recipe.sizes), before.scop
    given = [array for array in scop.arrays if array.role not in (Role.TEMP, Role.FAULT)]
    random = np.random.default_rng(3)
    filled = {a.name: poison(a, sizes) for a in given}
    arrays = {n: random.integers(0, 3, a.shape).astype(a.dtype) for n, a in filled.items()}
    found = {name: array.copy() for name, array in arrays.items()}
    run_scop(scop, arrays, dict(sizes))
    run_scop(after.scop, found, dict(sizes), order=time_of(after.tree, after.scop.domain))
    for name, array in arrays.items():
        assert np.allclose(found[name], array), name
