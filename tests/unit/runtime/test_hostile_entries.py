"""Entries whose manifests were written anew for changed files: a miss once, then replaced."""

from __future__ import annotations

import copy
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt import kernel_entries
from polyopt.measuring import capabilities, rates
from polyopt.runtime import build, caller, toolchain
from polyopt.runtime.elf import ElfKind, check_elf
from polyopt.runtime.notices import CacheWarning
from polyopt.runtime.store import KINDS, MANIFEST, WRONG_DATA, Entry, Store, digest, open_store
from polyopt.tuning import kept

DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
WRONG = (None, True, -1, 10**40, 1e300, "text", "x" * 100_000, [], {}, DEEP)
RATES = dict.fromkeys(("float64", "float32", "l1", "l2", "l3", "memory", "stream"), 1.5)


def double(a):
    for i in range(a.shape[0]):
        a[i] = 2.0 * a[i]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("polyopt.runtime.notices._GIVEN", {})
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    """Return a cache that holds a kernel, made once."""
    path = tmp_path_factory.mktemp("filled") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYOPT_CACHE_DIR", str(path))
        call()
    return path


def call() -> None:
    """Compile as a new process does, run, and compare."""
    caller._LOADED.clear()
    a = np.arange(5.0)
    po.kernel(double, schedule="source", threads=1)(a)
    assert a.tolist() == [0, 2, 4, 6, 8]


def reseal(entry: Path) -> None:
    """Write a manifest that fits the files, as somebody who may write them can."""
    manifest = json.loads((entry / MANIFEST).read_text())
    manifest["files"] = {
        path.name: {"size": path.stat().st_size, "digest": digest(path.read_bytes())}
        for path in entry.iterdir()
        if path.name != MANIFEST
    }
    (entry / MANIFEST).write_text(json.dumps(manifest))


def changed(value: Any) -> Iterator[Any]:
    """Yield copies of JSON data: each part missing, and each part something else."""
    for path in paths(value):
        for wrong in WRONG:
            yield put(value, path, wrong)
        if path:
            yield put(value, path, None, remove=True)


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in items:
            yield from paths(part, (*at, name))


def put(value: Any, path: tuple[Any, ...], new: Any, *, remove: bool = False) -> Any:
    if not path:
        return new
    whole = copy.deepcopy(value)
    place = whole
    for name in path[:-1]:
        place = place[name]
    if remove:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return whole


TUNED = {
    "text": "unroll(i)", "threads": 2, "sizes": ["n=3"], "seconds": 1.0, "before": 2.0, "tried": 3,
}  # fmt: skip
COMPILER = {"family": "gcc", "version": "12", "identity": "x", "machine": ["-march=native"]}
DECODERS: dict[str, tuple[str, Any, Callable[[Entry], object]]] = {
    "tuned": ("tuned.json", TUNED, kept._from_entry),
    "rates": (
        "rates.json",
        {"one": RATES, "every": RATES, "region": 1e-6, "hertz": 3e9},
        lambda entry: rates._from_record(entry.json("rates.json")),
    ),
    "capabilities": (
        "capabilities.json",
        dict.fromkeys(capabilities.TEXTS, True),
        lambda entry: capabilities._from_record(entry.json("capabilities.json")),
    ),
    "compiler": (
        "compiler.json",
        COMPILER,
        lambda entry: toolchain._from_record(("cc",), entry.json("compiler.json")),
    ),
}


@pytest.mark.parametrize("name", DECODERS)
def test_every_field_of_small_records(name):
    file, good, decode = DECODERS[name]
    whole = decoded(decode, {file: json.dumps(good).encode()})
    assert whole is not None
    for data in changed(good):
        found = decoded(decode, {file: json.dumps(data).encode()})
        assert found is None or type(found) is type(whole)
    for path in paths(good):
        deep = json.dumps(put(good, path, DEEP)).encode()
        assert decoded(decode, {file: deep}) is None


def decoded(decode: Callable[[Entry], object], files: dict[str, bytes]) -> object:
    """Return what an entry holds, None where it would be set aside."""
    try:
        return decode(Entry(Path("/nowhere"), files))
    except WRONG_DATA:
        return None


@pytest.mark.parametrize("data", [b"", b"[" * 100_000, b"\xff", b"{}", b"[]", b"1" * 5000])
def test_wrong_data_is_a_miss_once(data):
    store = open_store()
    assert store.write("tunings", "key", {"tuned.json": data}) is not None
    with pytest.warns(CacheWarning, match="set aside") as caught:
        assert store.load("tunings", "key", kept._from_entry) is None
    assert len(caught) == 1
    assert store.load("tunings", "key", kept._from_entry) is None
    good = {"tuned.json": json.dumps(TUNED).encode()}
    assert store.write("tunings", "key", good) is not None
    assert store.load("tunings", "key", kept._from_entry) is not None


@pytest.mark.toolchain
def test_every_field_of_a_kernel(filled):
    """Parts of another type are found; whatever is accepted has the types of what was written."""
    (entry,) = (filled / "v1" / "kernels").iterdir()
    files = {path.name: path.read_bytes() for path in entry.iterdir() if path.name != MANIFEST}
    source = json.loads(files["source.json"])
    assert isinstance(kernel_entries.recall(Entry(entry, files)), kernel_entries.KnownKernel)
    every = list(changed(source))
    accepted = 0
    for data in every:
        text = json.dumps(data).encode()
        found = decoded(kernel_entries.recall, {**files, "source.json": text})
        assert found is None or isinstance(found, kernel_entries.KnownKernel)
        accepted += found is not None
    assert accepted < len(every) / 5  # texts are texts, and numbers in texts are numbers
    texts = ("schedule.txt", "library.key", "warning.txt", kernel_entries.ARTEFACT)
    for name in files:
        for data in (b"", b"\xff\xfe", b"[" * 100_000, b'{"a": 1}'):
            found = decoded(kernel_entries.recall, {**files, name: data})
            assert found is None or name in texts


def entries(root: Path) -> list[tuple[str, Path]]:
    return [
        (kind, entry)
        for kind in KINDS
        if (root / "v1" / kind).is_dir()
        for entry in sorted((root / "v1" / kind).iterdir())
    ]


def to_text(path: Path) -> None:
    path.write_text("not what it was")


def to_half(path: Path) -> None:
    data = path.read_bytes() or b"longer"
    path.write_bytes(data[: len(data) // 2])


def to_nothing(path: Path) -> None:
    path.write_bytes(b"")


def to_flipped(path: Path) -> None:
    data = bytearray(path.read_bytes() or b"\0")
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def to_link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def to_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def to_absent(path: Path) -> None:
    path.unlink()


def test_shared_objects():
    good = Path(np._core._multiarray_umath.__file__).read_bytes()
    check_elf(good, ElfKind.LIBRARY)
    for data in (b"", b"\x7fELF", good[:64], good[: len(good) // 2], b"text" * 100):
        with pytest.raises(ValueError, match="it"):
            check_elf(data, ElfKind.LIBRARY)
    with pytest.raises(ValueError, match="object"):
        check_elf(good, ElfKind.OBJECT)
    other = bytearray(good)
    other[18] ^= 0x7F  # another machine
    with pytest.raises(ValueError, match="machine"):
        check_elf(bytes(other), ElfKind.LIBRARY)


@pytest.mark.toolchain
@pytest.mark.parametrize("spoil", [to_text, to_half, to_nothing], ids=lambda f: f.__name__)
def test_resealed_files_are_replaced(filled, cache, spoil):
    """The digests fit, the contents do not: the kernel is made again, once."""
    _check_files(filled, cache, spoil, reseals=True)


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "spoil",
    [to_flipped, to_half, to_link, to_folder, to_fifo, to_absent],
    ids=lambda f: f.__name__,
)
def test_damaged_files_are_replaced(filled, cache, spoil):
    _check_files(filled, cache, spoil, reseals=False)


def _check_files(
    filled: Path, cache: Path, spoil: Callable[[Path], None], *, reseals: bool
) -> None:
    harmless = ("schedule.txt", "warning.txt", kernel_entries.ARTEFACT)
    for kind, entry in entries(filled):
        for file in sorted(path.name for path in entry.iterdir()):
            if reseals and (file == MANIFEST or file in harmless):
                continue
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(filled, cache)
            spoiled = cache / "v1" / kind / entry.name
            spoil(spoiled / file)
            if reseals:
                reseal(spoiled)
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always")
                call()
            said = [str(one.message) for one in given if one.category is CacheWarning]
            if file != "library.key":
                assert len(said) == 1, (kind, file, said)
                assert "set aside" in said[0]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                call()


@pytest.mark.parametrize("name", [*KINDS, "staging", "quarantine", "locks"])
def test_folders_that_others_can_change(name):
    root = open_store().root
    assert root is not None
    place = root / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700)
    assert open_store().root == root
    place.chmod(0o770)
    with pytest.warns(CacheWarning, match="written by others"):
        assert open_store().root is None
    place.rmdir()
    place.symlink_to(root.parent)
    with pytest.warns(CacheWarning, match="not a directory"):
        assert open_store().root is None
    place.unlink()
    place.write_text("")
    with pytest.warns(CacheWarning, match="not a directory"):
        assert open_store().root is None


@pytest.mark.toolchain
def test_an_artefact_that_is_damaged_is_made_again(filled, cache):
    shutil.copytree(filled, cache)
    (entry,) = (cache / "v1" / "kernels").iterdir()
    (entry / kernel_entries.ARTEFACT).write_bytes(b"x")
    reseal(entry)
    compiled = po.kernel(double, schedule="source", threads=1).compile(np.ones(3))
    assert compiled.certificate_text == kernel_entries.artefact_of(compiled.stages)


def test_names_of_libraries_are_of_their_contents():
    with pytest.raises(ValueError, match="contents"):
        build._library_of(Entry(Path("/"), {"polyopt_00.so": b"x"}))
    with pytest.raises(ValueError, match="values"):
        build._library_of(Entry(Path("/"), {}))
    assert Store(None).load("libraries", "key", build._library_of) is None
