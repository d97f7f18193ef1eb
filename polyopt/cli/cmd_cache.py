"""`polyopt cache info`, `polyopt cache clear` and `polyopt cache explain FILE.py:FUNC`.

In: the cache directory.  Out: what it holds, that it was emptied, or why a kernel is not in it.
Refuses: a directory that cannot be emptied (PO0614).
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import click

from polyopt.cli.console import result, result_json
from polyopt.cli.prepare import (
    compile_options,
    json_option,
    make_options,
    parse_sizes,
    prepare,
    sizes_option,
    target_argument,
    types_option,
)
from polyopt.dataclass import asdict, dataclass
from polyopt.errors import UsageError


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Where the cache is and what it holds; `directory` is None when nothing is kept."""

    directory: Path | None
    entries: dict[str, int]
    size: int
    limit: int


@click.group("cache")
def command() -> None:
    """Show, clear or explain the build cache."""


@command.command("info")
@json_option
def info(as_json: bool) -> None:
    """Show where the cache is and what it holds."""
    found = cache_info()
    if as_json:
        where = None if found.directory is None else str(found.directory)
        result_json({"directory": where, "entries": found.entries, "bytes": found.size})
        return
    if found.directory is None:
        result("cache: off; nothing is kept")
        return
    result(f"cache: {found.directory}")
    for kind, count in found.entries.items():
        result(f"  {kind:<12}{count:6}")
    result(f"  {'size':<12}{show_size(found.size)} of at most {show_size(found.limit)}")


@command.command("clear")
@json_option
def clear(as_json: bool) -> None:
    """Remove everything from the cache."""
    found = cache_info()
    if found.directory is not None:
        _empty(found.directory)
    count = sum(found.entries.values())
    if as_json:
        result_json({"removed": count, "bytes": found.size})
        return
    entries = "entry" if count == 1 else "entries"
    result(f"cache: removed {count} {entries}, {show_size(found.size)}")


@command.command("explain")
@target_argument
@types_option
@sizes_option
@compile_options
@json_option
def explain(
    target: str,
    types: str | None,
    sizes: str | None,
    as_json: bool,
) -> None:
    """Tell whether a kernel is in the cache, and if not, what differs from the kernels that are."""
    from polyopt.explaining import cache_misses
    from polyopt.tuning.kept import as_tuned

    prepared = prepare(target, types, parse_sizes(sizes))
    function, known = prepared.target.func, prepared.types
    options = make_options(prepared.target.kernel)
    found = as_tuned(function, known, options, {}, lambda own: cache_misses(function, known, own))
    if as_json:
        is_hit = bool(found) and not found[0].differences
        result_json({"hit": is_hit, "entries": [asdict(miss) for miss in found]})
        return
    name = prepared.target.name
    if not found:
        result(f"miss: nothing is kept of `{name}`")
        return
    nearest = found[0]
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(nearest.made))
    entry = f"entry {nearest.entry[:12]}, used last {when}"
    if not nearest.differences:
        result(f"hit: {entry}")
        return
    entries = "1 entry" if len(found) == 1 else f"{len(found)} entries"
    result(f"miss: {entries} of `{name}`; the nearest, {entry}, was made for something else")
    for difference in nearest.differences:
        result(f"  {difference}")


def cache_info() -> CacheInfo:
    """Return what the cache holds."""
    from polyopt.runtime.store import KINDS, open_store

    store = open_store()
    if store.root is None:
        return CacheInfo(None, dict.fromkeys(KINDS, 0), 0, store.limit)
    entries = {kind: _count(store.root / kind) for kind in KINDS}
    size = sum(p.lstat().st_size for p in store.root.rglob("*") if p.is_file())
    return CacheInfo(store.root, entries, size, store.limit)


def _count(directory: Path) -> int:
    if not directory.is_dir():
        return 0
    return sum(not entry.name.startswith(".") for entry in directory.iterdir())


def _empty(root: Path) -> None:
    try:
        for entry in root.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    except FileNotFoundError:
        pass  # another process cleared it at the same time
    except OSError as error:
        raise UsageError(
            "PO0614",
            f"the cache `{root}` cannot be emptied: {error.strerror}",
            hint="check who owns the directory, or choose another with POLYOPT_CACHE_DIR",
        ) from None


def show_size(count: int) -> str:
    """Return a number of bytes for people."""
    for scale, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} B"
