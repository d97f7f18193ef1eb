"""Every hint that names a replacement, followed: the twin of the refused program is accepted."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType

import pytest

from polyopt.building import compile_stages
from polyopt.targets import Options
from tests.errors.test_messages import PROGRAMS, load, parse
from tests.errors.twins import NOTHING_NAMED, TWINS

BY_NAME = {path.stem: path for path in PROGRAMS}


def twin_of(name: str, folder: Path) -> ModuleType:
    """Return the program after its edits."""
    text = BY_NAME[name].read_text(encoding="utf-8")
    for old, new in TWINS[name]:
        assert old in text, f"{name}: there is no `{old}`"
        text = text.replace(old, new)
    path = folder / f"{name}_twin.py"
    path.write_text(text, encoding="utf-8")
    return load(path)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", TWINS)
def test_what_a_hint_says_is_accepted(name: str, tmp_path: Path) -> None:
    module = twin_of(name, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(module, "act"):
            module.act()
        else:
            compile_stages(module.f, parse(module), Options(schedule="source"))


def test_every_program_has_a_twin_or_names_nothing() -> None:
    assert set(TWINS) & NOTHING_NAMED == set()
    assert set(TWINS) | NOTHING_NAMED == set(BY_NAME)
