"""Cache entries of functions, found by what compiling them read.

In: a function, a key text of everything else that decides.  Out: the entry for the values that the
function's names have now, or None.
An entry's key holds the texts of all values that were read.  Which ones these are is kept under the
key without them: lists of paths, one for each set of paths that some values led to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from polyopt.capture.reads import Path, Read, own_text, read_back, resolved, written
from polyopt.dataclass import dataclass
from polyopt.runtime.store import Entry, Store

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
PATHS = "reads"
"""The kind of the entries that hold paths."""
_MOST = 16  # lists of paths of one function; more are not cached


@dataclass(frozen=True, slots=True)
class Found(Generic[T_co]):
    """What an entry says, and what was read when it was made, with the same values as now."""

    value: T_co
    reads: tuple[Read, ...]


def key_of(function: Callable[..., object], facts: Mapping[str, object]) -> str | None:
    """Return the key of a function's code and `facts`, None for one without a text."""
    text = own_text(function)
    return None if text is None else json.dumps({**facts, "function": text}, sort_keys=True)


def find(
    store: Store,
    kind: str,
    key: str | None,
    function: Callable[..., object],
    decode: Callable[[Entry], T],
) -> Found[T] | None:
    """Return what `decode` makes of the entry for the values that are there now."""
    if key is None:
        return None
    for paths in _listed(store, kind, key):
        reads = resolved(function, paths)
        whole = _whole(key, reads)
        found = None if whole is None else store.load(kind, whole, decode)
        if found is not None:
            return Found(found, reads)
    return None


def keep(
    store: Store,
    kind: str,
    key: str | None,
    reads: tuple[Read, ...],
    files: Mapping[str, bytes],
    anew: bool = False,
) -> None:
    """Keep `files` for the values that were read, `anew`: in place of an earlier entry."""
    whole = _whole(key, reads)
    if key is None or whole is None:
        return
    paths = tuple(read.path for read in reads)
    known = list(_listed(store, kind, key))
    if paths not in known:
        if len(known) == _MOST:
            return
        store.write(
            PATHS, _numbered(kind, key, len(known)), {"paths.json": written(paths).encode()}
        )
    if anew:
        store.forget(kind, whole)
    store.write(kind, whole, files)


def _listed(store: Store, kind: str, key: str) -> Iterator[tuple[Path, ...]]:
    for number in range(_MOST):
        paths = store.load(PATHS, _numbered(kind, key, number), _paths)
        if paths is None:
            return
        yield paths


def _paths(entry: Entry) -> tuple[Path, ...]:
    return read_back(entry.text("paths.json"))


def _numbered(kind: str, key: str, number: int) -> str:
    return json.dumps([kind, number, key])


def _whole(key: str | None, reads: tuple[Read, ...]) -> str | None:
    if key is None or not reads or any(read.text is None for read in reads):
        return None  # not even the function's own text was read, or something without one
    return json.dumps([key, [[written([read.path]), read.text] for read in reads]])
