"""The cache's protocol: races, kills, damage, foreign files, full and read-only disks, eviction."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import pytest

from polyopt.errors import UsageError
from polyopt.runtime import store as module
from polyopt.runtime.notices import CacheWarning
from polyopt.runtime.store import MANIFEST, Store, cache_directory, digest, open_store

FILES = {"a.txt": b"alpha", "b.bin": bytes(range(256)) * 40}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("polyopt.runtime.notices._GIVEN", {})
    return open_store()


def entry_of(store: Store, key: str = "key") -> Path:
    assert store.root is not None
    return store.root / "kernels" / digest(key.encode())


def test_round_trip(store):
    assert store.read("kernels", "key") is None
    written = store.write("kernels", "key", FILES)
    assert written is not None
    found = store.read("kernels", "key")
    assert found is not None
    assert dict(found.files) == FILES
    assert found.text("a.txt") == "alpha"
    assert found.path("b.bin").read_bytes() == FILES["b.bin"]
    assert store.read("libraries", "key") is None
    assert store.read("kernels", "other") is None
    assert not list((store.root / "staging").iterdir())


def test_directories_and_files_are_private(store):
    store.write("kernels", "key", FILES)
    for path in [store.root, *store.root.rglob("*")]:
        assert not path.stat().st_mode & 0o077, path


def test_second_writer_loses_and_keeps_its_own(store):
    store.write("kernels", "key", FILES)
    with store.staging() as work:
        (work / "mine").write_bytes(b"mine")
        assert store.publish("kernels", "key", work, ("mine",)) is None
        assert (work / "mine").read_bytes() == b"mine"
    found = store.read("kernels", "key")
    assert found is not None
    assert dict(found.files) == FILES


def damage_truncate(entry: Path) -> None:
    (entry / "b.bin").write_bytes(FILES["b.bin"][:-1])


def damage_flip(entry: Path) -> None:
    data = bytearray(FILES["b.bin"])
    data[random.Random(7).randrange(len(data))] ^= 4
    (entry / "b.bin").write_bytes(data)


def damage_empty_manifest(entry: Path) -> None:
    (entry / MANIFEST).write_bytes(b"")


def damage_nested_manifest(entry: Path) -> None:
    (entry / MANIFEST).write_bytes(b"[" * 100_000)


def damage_manifest_type(entry: Path) -> None:
    (entry / MANIFEST).write_text('["format", "v1"]')


def damage_no_manifest(entry: Path) -> None:
    (entry / MANIFEST).unlink()


def damage_missing_file(entry: Path) -> None:
    (entry / "a.txt").unlink()


def damage_link_file(entry: Path) -> None:
    (entry / "a.txt").rename(entry.parent / "elsewhere")
    (entry / "a.txt").symlink_to(entry.parent / "elsewhere")


def damage_link_entry(entry: Path) -> None:
    entry.rename(entry.with_name("moved"))
    entry.symlink_to(entry.with_name("moved"))


def damage_writable_file(entry: Path) -> None:
    (entry / "a.txt").chmod(0o666)


def damage_writable_entry(entry: Path) -> None:
    entry.chmod(0o777)


def damage_pipe(entry: Path) -> None:
    (entry / "a.txt").unlink()
    os.mkfifo(entry / "a.txt", 0o600)


def damage_file_for_entry(entry: Path) -> None:
    entry.rename(entry.with_name("moved"))
    entry.write_text("not a directory")


def damage_key(entry: Path) -> None:
    manifest = json.loads((entry / MANIFEST).read_text())
    manifest["key"] = "another"
    (entry / MANIFEST).write_text(json.dumps(manifest))


def damage_path(entry: Path) -> None:
    manifest = json.loads((entry / MANIFEST).read_text())
    manifest["files"]["../x"] = manifest["files"]["a.txt"]
    (entry / MANIFEST).write_text(json.dumps(manifest))


def damage_format(entry: Path) -> None:
    manifest = json.loads((entry / MANIFEST).read_text())
    manifest["format"] = "v0"
    (entry / MANIFEST).write_text(json.dumps(manifest))


DAMAGES = [value for name, value in sorted(globals().items()) if name.startswith("damage_")]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda f: f.__name__[7:])
def test_damaged_entries_are_set_aside_and_made_again(store, damage):
    store.write("kernels", "key", FILES)
    damage(entry_of(store))
    with pytest.warns(CacheWarning, match="damaged") as caught:
        assert store.read("kernels", "key") is None
    assert len(caught) == 1
    assert not os.path.lexists(entry_of(store))
    assert any((store.root / "quarantine").iterdir())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.read("kernels", "key") is None
        assert store.write("kernels", "key", FILES) is not None
        assert store.read("kernels", "key") is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_foreign_owners_are_not_trusted(store):
    store.write("kernels", "key", FILES)
    os.chown(entry_of(store) / "a.txt", 12345, 12345)
    with pytest.warns(CacheWarning, match="another user"):
        assert store.read("kernels", "key") is None
    os.chown(store.root, 12345, 12345)
    with pytest.warns(CacheWarning, match="another user"):
        assert open_store().root is None


def test_directory_writable_by_others_is_not_used(store):
    store.root.chmod(0o777)
    with pytest.warns(CacheWarning, match="written by others"):
        assert open_store().root is None


def test_unusable_directory_means_memory_only(tmp_path, monkeypatch):
    monkeypatch.setattr("polyopt.runtime.notices._GIVEN", {})
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "file" / "below"))
    with pytest.warns(CacheWarning, match="cannot be used"):
        found = open_store()
    assert found.root is None
    assert found.write("kernels", "key", FILES) is None
    assert found.read("kernels", "key") is None
    with found.staging() as work:
        assert work.is_dir()
    assert not work.exists()


def test_failing_writes_leave_nothing_behind(store, monkeypatch):
    def fail(path: Path, data: bytes) -> None:
        path.write_bytes(data[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write", fail)
    assert store.write("kernels", "key", FILES) is None
    assert store.read("kernels", "key") is None
    assert not list((store.root / "staging").iterdir())


def test_failing_rename_means_not_kept(store, monkeypatch):
    def fail(*paths: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "rename", fail)
    assert store.write("kernels", "key", FILES) is None


def test_cache_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE", "off")
    assert open_store().root is None


def test_cache_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.delenv("POLYOPT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "polyopt"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory().is_absolute()


def test_sweep_removes_the_oldest_first_and_nothing_young(store):
    small = Store(store.root, limit=3 * 20_600)
    for n in range(6):
        small.write("kernels", f"key{n}", {"data": bytes(20_000)})
        age = 10_000 - 1000 * n
        os.utime(entry_of(store, f"key{n}"), (time.time() - age, time.time() - age))
    small.write("kernels", "young", {"data": bytes(20_000)})
    small.sweep(time.time())
    left = [n for n in range(6) if entry_of(store, f"key{n}").exists()]
    assert left == [4, 5]
    assert entry_of(store, "young").exists()
    tiny = Store(store.root, limit=0)
    tiny.sweep(time.time())
    assert entry_of(store, "young").exists()


def test_reading_makes_an_entry_young(store):
    store.write("kernels", "key", FILES)
    os.utime(entry_of(store), (1, 1))
    store.read("kernels", "key")
    Store(store.root, limit=0).sweep(time.time())
    assert entry_of(store).exists()


def test_sweep_removes_old_leftovers(store):
    old = store.root / "staging" / "polyopt-1-x"
    old.mkdir(parents=True)
    (old / "kernel.c").write_text("")
    os.utime(old, (1, 1))
    with store.staging() as work:
        store.sweep(time.time())
        assert work.exists()
    assert not old.exists()


def test_size_limit_from_the_environment(monkeypatch):
    sizes = [("5", 5), ("2K", 2048), ("3m", 3 << 20), ("1G", 1 << 30), ("", 1 << 30)]
    for text, expected in sizes:
        monkeypatch.setenv("POLYOPT_CACHE_SIZE", text)
        assert open_store().limit == expected


@pytest.mark.parametrize("text", ["x", "-1", "G", "1T", "1.5G", "9" * 5000])
def test_a_wrong_size_limit_is_refused(monkeypatch, text):
    monkeypatch.setenv("POLYOPT_CACHE_SIZE", text)
    with pytest.raises(UsageError, match="not a size") as refused:
        open_store()
    assert refused.value.code == "PO0224"
    monkeypatch.setenv("POLYOPT_CACHE_SIZE", str(refused.value.hint).split()[-1])
    assert open_store().limit == 500 << 20


WRITER = textwrap.dedent(
    """
    import os, sys, random
    from polyopt.runtime.store import open_store
    store, seed, rounds = open_store(), int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    for n in range(rounds):
        key = f"key{rng.randrange(8)}"
        files = {"data": key.encode() * 4000, "more": key.encode()}
        found = store.read("kernels", key)
        if found is None:
            store.write("kernels", key, files)
        else:
            assert dict(found.files) == files, key
    print("done")
    """
)


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", WRITER, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_processes_racing_for_the_same_keys(store):
    running = [start(str(seed), "150") for seed in range(4)]
    for process in running:
        output, _ = process.communicate(timeout=600)
        assert output.strip() == "done", output
    kept = list((store.root / "kernels").iterdir())
    assert 0 < len(kept) <= 8
    assert not list((store.root / "staging").iterdir())
    assert not (store.root / "quarantine").exists()


def test_killed_writers_leave_the_cache_intact(store):
    rng = random.Random(3)
    for round_ in range(12):
        process = start(str(round_), "1000000")
        while not (store.root / "staging").exists():
            time.sleep(0.01)
        time.sleep(0.15 + 0.15 * rng.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for n in range(8):
                found = store.read("kernels", f"key{n}")
                assert found is None or found.files["more"] == f"key{n}".encode()
        for entry in (store.root / "kernels").glob("*") if round_ % 3 == 2 else ():
            module._remove(entry)
    store.sweep(time.time() + 2 * 3600)
    assert not list((store.root / "staging").iterdir())
