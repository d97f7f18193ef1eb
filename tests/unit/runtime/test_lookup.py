"""Entries of the cache are found by the values that a function's names have now."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from polyopt.capture.reads import Read, Recording
from polyopt.runtime import lookup
from polyopt.runtime.store import Store

KIND = "kernels"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    root = tmp_path / "cache"
    root.mkdir(mode=0o700)
    return Store(root)


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    """A function of two constants, of which `first` decides whether `second` is read."""
    text = "first, second = 1, 1\n\ndef func():\n    return first\n"
    path = tmp_path / "constants.py"
    path.write_text(text)
    made = ModuleType("constants")
    exec(compile(text, str(path), "exec"), vars(made))
    return made


def read(module: ModuleType) -> tuple[Read, ...]:
    """Return what a front end reads that needs `second` only for a `first` above 2."""
    recording = Recording(module.func)
    scope = recording.scope(module.func)
    recording.text(module.func)
    if scope["first"] > 2:
        scope["second"]
    return recording.reads


def keep(store: Store, module: ModuleType, text: str) -> None:
    key = lookup.key_of(module.func, {})
    lookup.keep(store, KIND, key, read(module), {"text": text.encode()})


def found(store: Store, module: ModuleType) -> str | None:
    key = lookup.key_of(module.func, {})
    entry = lookup.find(store, KIND, key, module.func, lambda entry: entry.text("text"))
    return None if entry is None else entry.value


def test_entries_of_several_values_live_side_by_side(store, module):
    for value in (1, 2, 1.0):
        module.first = value
        assert found(store, module) is None
        keep(store, module, repr(value))
    for value in (1.0, 1, 2, 1):
        module.first = value
        assert found(store, module) == repr(value)
    assert len(list((store.root / lookup.PATHS).iterdir())) == 1


def test_values_may_decide_what_is_read(store, module):
    keep(store, module, "low")
    module.first = 3
    assert found(store, module) is None
    keep(store, module, "high")
    module.second = 2
    assert found(store, module) is None
    keep(store, module, "other")
    assert found(store, module) == "other"
    module.second = 1
    assert found(store, module) == "high"
    module.first = 1
    module.second = 9
    assert found(store, module) == "low"


def test_what_has_no_text_is_not_kept(store, module):
    module.first = object()
    recording = Recording(module.func)
    recording.text(module.func)
    recording.scope(module.func)["first"]
    key = lookup.key_of(module.func, {})
    lookup.keep(store, KIND, key, recording.reads, {"text": b"never"})
    assert found(store, module) is None
    assert not (store.root / KIND).exists()


def test_damaged_paths_are_a_miss(store, module):
    keep(store, module, "one")
    (paths,) = (store.root / lookup.PATHS).iterdir()
    (paths / "paths.json").write_text('[[["nonsense", "x"]]]')
    with pytest.warns(UserWarning, match="damaged"):
        assert found(store, module) is None


def test_what_leads_nowhere_is_another_value(store, module):
    keep(store, module, "one")
    del module.first
    assert found(store, module) is None
