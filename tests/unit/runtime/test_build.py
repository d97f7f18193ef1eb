"""One process or thread builds a library; others wait for it, for a while."""

from __future__ import annotations

import multiprocessing
import stat
import sysconfig
from multiprocessing.connection import Connection
from pathlib import Path

from polyopt.runtime import build
from polyopt.runtime.build import _one_builder
from polyopt.runtime.store import Store


def _hold(root: Path, pipe: Connection) -> None:
    with _one_builder(Store(root), "key") as is_kept:
        pipe.send(is_kept)
        pipe.recv()


def test_others_are_kept_from_the_same_work(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with (
        _one_builder(store, "key") as first,
        _one_builder(store, "key", 0.0) as second,
        _one_builder(store, "other", 0.0) as third,
    ):
        assert (first, second, third) == (True, False, True)
    with _one_builder(store, "key", 0.0) as again:
        assert again
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "locks").iterdir()}
    assert modes == {0o600}


def test_a_process_that_dies_keeps_nobody_from_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_hold, args=(tmp_path, theirs), daemon=True)
    process.start()
    assert ours.recv() is True
    with _one_builder(Store(tmp_path), "key", 0.0) as is_kept:
        assert not is_kept
    process.kill()
    process.join()
    with _one_builder(Store(tmp_path), "key", 0.0) as is_kept:
        assert is_kept


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    with _one_builder(Store(tmp_path), "key"):
        (path,) = (tmp_path / "locks").iterdir()
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with _one_builder(Store(tmp_path), "key", 0.0) as is_kept:
        assert not is_kept
    assert not (tmp_path / "elsewhere").exists()


def test_the_interpreter_is_known_while_another_thread_looks_at_it(monkeypatch):
    whole = build.python_abi()
    assert whole[2] == sysconfig.get_config_var("EXT_SUFFIX")
    monkeypatch.setattr(sysconfig, "_CONFIG_VARS", {})  # as it is until it is filled
    assert build.python_abi() == whole
