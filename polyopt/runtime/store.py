"""Content-addressed entries on disk: never torn, never trusted, never overwritten.

In: a kind, a key text and files.  Out: an `Entry` whose files were verified against its manifest.
Refuses: a wrong setting `cache-size` (PO0224).
An entry that does not verify is set aside with one warning and is a miss.
An entry is written in a private staging directory, manifest last, and renamed into place.  Nothing
waits for the disk: what is lost with the machine's power does not verify, and is made again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from polyopt.dataclass import dataclass
from polyopt.digest import hex_digest
from polyopt.errors import UsageError
from polyopt.runtime.notices import CacheWarning, log, notice
from polyopt.settings import chosen, setting

T = TypeVar("T")
FORMAT = "v1"
MANIFEST = "manifest.json"
_MAX_BYTES = 256 * 1024 * 1024
_MAX_MANIFEST = 64 * 1024 * 1024
_MAX_FILES = 64
WRONG_DATA = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, zlib.error,
)  # fmt: skip
_YOUNG = 3600.0
_SWEEP_EVERY = 600.0
_DEFAULT_LIMIT = 1024 * 1024 * 1024
_MOST_DIGITS = 18


def digest(data: bytes) -> str:
    """Return the blake2b-256 of `data` in hexadecimal."""
    return hex_digest(data)


class _Damaged(Exception):
    """An entry does not verify."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A verified entry: where its files are and the contents of the small ones."""

    directory: Path
    files: Mapping[str, bytes]

    def path(self, name: str) -> Path:
        """Return the path of file `name`."""
        return self.directory / name

    def text(self, name: str) -> str:
        """Return file `name` as text."""
        return self.files[name].decode("utf-8")

    def json(self, name: str) -> object:
        """Return the data of the JSON file `name`."""
        found: object = json.loads(self.text(name))
        return found


@dataclass(frozen=True, slots=True)
class Store:
    """The cache directory, or no directory (`root` None): then nothing is kept."""

    root: Path | None
    limit: int = _DEFAULT_LIMIT

    def read(self, kind: str, key: str) -> Entry | None:
        """Return the entry of `key`, or None."""
        return self.load(kind, key, lambda entry: entry)

    def load(self, kind: str, key: str, decode: Callable[[Entry], T]) -> T | None:
        """Return what `decode` makes of the entry of `key`, or None.

        An entry that does not verify, or of which `decode` raises an error of wrong data, is set
        aside: what is kept may be whole and still not be what was written.
        """
        if self.root is None:
            return None
        directory = self.root / kind / digest(key.encode())
        try:
            found = decode(Entry(directory, _verified(directory, key)))
        except FileNotFoundError:
            log("cache", "%s %s is not kept", kind, directory.name)
            return None
        except (_Damaged, OSError, *WRONG_DATA) as error:
            self._set_aside(directory, f"{type(error).__name__}: {error}"[:200])
            return None
        log("cache", "%s %s found", kind, directory.name)
        with contextlib.suppress(OSError):
            os.utime(directory)
        return found

    def reject(self, kind: str, key: str, reason: str) -> None:
        """Set the entry of `key` aside: what it holds cannot be used."""
        if self.root is not None:
            self._set_aside(self.root / kind / digest(key.encode()), reason)

    def write(self, kind: str, key: str, files: Mapping[str, bytes]) -> Entry | None:
        """Keep `files` under `key`; None when they could not be kept (full or read-only disk)."""
        if self.root is None:
            return None
        try:
            with self.staging() as work:
                for name, data in files.items():
                    _write(work / name, data)
                return self.publish(kind, key, work, tuple(files))
        except OSError:
            return None

    def keys(self, kind: str) -> Iterator[tuple[str, float, str]]:
        """Yield the name, the time and the key of each entry; what is damaged is left out."""
        for directory in () if self.root is None else _children(self.root / kind):
            with contextlib.suppress(_Damaged, OSError, *WRONG_DATA):
                handle = _open_directory(directory)
                try:
                    _private(os.fstat(handle), "it")
                    manifest = json.loads(_read(handle, MANIFEST, _MAX_MANIFEST))
                finally:
                    os.close(handle)
                yield directory.name, _modified(directory), str(manifest["key"])

    def forget(self, kind: str, key: str) -> None:
        """Remove the entry of `key`, so that another one can be written."""
        if self.root is not None:
            _remove(self.root / kind / digest(key.encode()))

    def publish(self, kind: str, key: str, work: Path, names: tuple[str, ...]) -> Entry | None:
        """Make the files `names` of staging directory `work` the entry of `key`.

        None when it could not be done or another process was first; `work` is then still usable.
        """
        if self.root is None:
            return None
        target = self.root / kind / digest(key.encode())
        try:
            files = {name: (work / name).read_bytes() for name in names}
            facts = {n: {"size": len(d), "digest": digest(d)} for n, d in files.items()}
            manifest = {"format": FORMAT, "key": key, "files": facts}
            for name in names:
                os.chmod(work / name, 0o600)
            _write(work / MANIFEST, json.dumps(manifest).encode())
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.rename(work, target)
        except OSError:
            return None
        self.sweep()
        return Entry(target, files)

    @contextlib.contextmanager
    def staging(self) -> Iterator[Path]:
        """Give a private directory; it is removed afterwards unless it was published."""
        work = self._staging_directory()
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _staging_directory(self) -> Path:
        prefix = f"polyopt-{os.getpid()}-"
        if self.root is not None:
            parent = self.root / "staging"
            with contextlib.suppress(OSError):
                parent.mkdir(mode=0o700, exist_ok=True)
                return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        return Path(tempfile.mkdtemp(prefix=prefix))

    def _set_aside(self, directory: Path, reason: str) -> None:
        assert self.root is not None
        name = f"{directory.parent.name}-{directory.name[:16]}"
        notice(CacheWarning, f"cache entry {name} is damaged ({reason}); set aside and made again")
        with contextlib.suppress(OSError):
            quarantine = self.root / "quarantine"
            quarantine.mkdir(mode=0o700, exist_ok=True)
            os.rename(directory, Path(tempfile.mkdtemp(dir=quarantine)) / directory.name)

    def sweep(self, now: float | None = None) -> None:
        """Remove the oldest entries above `limit` and leftovers; nothing younger than one hour."""
        if self.root is None:
            return
        moment = time.time() if now is None else now
        stamp = self.root / "swept"
        with contextlib.suppress(OSError):
            if now is None and moment - stamp.stat().st_mtime < _SWEEP_EVERY:
                return
        with contextlib.suppress(OSError):
            stamp.touch(mode=0o600)
            os.utime(stamp)
        for place in _PLACES:
            for leftover in _children(self.root / place):
                if moment - _modified(leftover) > _YOUNG:
                    _remove(leftover)
        entries = [e for kind in KINDS for e in _children(self.root / kind)]
        sized = sorted((_modified(entry), _size(entry), entry) for entry in entries)
        excess = sum(size for _, size, _ in sized) - self.limit
        for modified, size, entry in sized:
            if excess <= 0 or moment - modified < _YOUNG:
                return
            _remove(entry)
            excess -= size


_PLACES = ("staging", "quarantine", "locks")
KINDS = ("kernels", "reads", "libraries", "compilers", "cubins", "machines", "tunings", "plans")


def open_store() -> Store:
    """Return the user's cache, or one that keeps nothing when its directory cannot be used.

    Raises `UsageError` (PO0224) for a wrong setting `cache-size`.
    """
    limit = _limit()
    if (setting("cache") or "").lower() in ("0", "off", "no"):
        return Store(None, limit)
    base = cache_directory()
    root = base / FORMAT
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for directory in (base, root):
            _private(os.stat(directory, follow_symlinks=directory is base), str(directory))
        for name in (*KINDS, *_PLACES):
            with contextlib.suppress(FileNotFoundError):
                status = os.lstat(root / name)
                if not stat.S_ISDIR(status.st_mode):
                    raise _Damaged(f"{root / name} is not a directory")
                _private(status, str(root / name))
    except (OSError, _Damaged) as error:
        notice(CacheWarning, f"the cache directory {base} cannot be used ({error})")
        return Store(None, limit)
    return Store(root, limit)


def cache_directory() -> Path:
    """Return POLYOPT_CACHE_DIR, else XDG_CACHE_HOME/polyopt, else the platform's directory."""
    own = setting("cache-dir")
    if own:
        return Path(own).absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    if shared and os.path.isabs(shared):
        return Path(shared) / "polyopt"
    import platformdirs

    return Path(platformdirs.user_cache_path("polyopt"))


def _limit() -> int:
    """Return the setting `cache-size` in bytes: a number, with K, M or G if it has a unit.

    Raises `UsageError` (PO0224) for anything else.
    """
    text, origin = chosen("cache-size")
    if text is None:
        return _DEFAULT_LIMIT
    scale = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text[-1].lower())
    number = text if scale is None else text[:-1]
    if not number.isdecimal() or len(number) > _MOST_DIGITS:
        hint = "write a number of bytes, or of kilobytes, megabytes or gigabytes: 500M"
        raise UsageError("PO0224", f"{origin} is `{text}`, not a size", hint=hint)
    return int(number) * (scale or 1)


def _private(status: os.stat_result, what: str) -> None:
    if status.st_uid != os.geteuid():
        raise _Damaged(f"{what} belongs to another user")
    if status.st_mode & 0o022:
        raise _Damaged(f"{what} can be written by others")


def _verified(directory: Path, key: str) -> dict[str, bytes]:
    """Return the files of an entry after checking owner, mode, key, sizes and digests."""
    handle = _open_directory(directory)
    try:
        _private(os.fstat(handle), "it")
        manifest = json.loads(_read(handle, MANIFEST, _MAX_MANIFEST))
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise _Damaged("its manifest is malformed")
        if manifest.get("key") != key:
            raise _Damaged("its key is another one")
        facts = manifest.get("files")
        if not isinstance(facts, dict) or len(facts) > _MAX_FILES:
            raise _Damaged("its manifest is malformed")
        files = {}
        for name, fact in facts.items():
            if not isinstance(fact, dict) or os.path.basename(name) != name:
                raise _Damaged("its manifest is malformed")
            data = _read(handle, name, _MAX_BYTES)
            if len(data) != fact.get("size") or digest(data) != fact.get("digest"):
                raise _Damaged(f"{name} changed")
            files[name] = data
        return files
    except FileNotFoundError as error:
        raise _Damaged(f"{error.filename} is missing") from None
    finally:
        os.close(handle)


def _open_directory(directory: Path) -> int:
    try:
        return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except NotADirectoryError:
        raise _Damaged("it is not a directory") from None


def _read(directory: int, name: str, most: int) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    handle = os.open(name, flags, dir_fd=directory)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            raise _Damaged(f"{name} is not a plain file")
        _private(status, name)
        return file.read(most)


def _write(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def _children(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def _modified(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _size(entry: Path) -> int:
    total = 0
    for file in _children(entry):
        with contextlib.suppress(OSError):
            total += file.lstat().st_size
    return total


def _remove(path: Path) -> None:
    """Remove an entry in one step as others see it: first renamed away, then deleted."""
    with contextlib.suppress(OSError):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        grave = path.with_name(f".{path.name}-{os.getpid()}")
        os.rename(path, grave)
        shutil.rmtree(grave, ignore_errors=True)
