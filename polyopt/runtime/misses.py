"""Why the cache has no entry for a kernel: what differs from the entries that it has.

In: the key of a kernel's function and facts, and the entries of the cache.  Out: `Miss`es, the
entry with the fewest differences first; none of a function that was never kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from polyopt.capture.reads import read_back, resolved, shown
from polyopt.dataclass import dataclass
from polyopt.runtime.store import Store

LONGEST = 60  # characters of a value
_ENUM = re.compile(r"<\w+\.\w+: '?([^'>]*)'?>")
_NAMES = {
    "abi": "polyopt's binary interface",
    "foreign": "calls through ctypes",
    "libc": "the C library",
    "processor": "the processor",
    "python": "the Python interpreter",
    "seconds": "seconds to compile",
    "shared": "how threads are shared",
}
_VERSIONS = {"files": "polyopt's own files", "isl": "islpy's files"}
TEXT = "the function's text or defaults"
Compare: TypeAlias = Callable[[Any, Any], "Iterator[Difference]"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that decides what is compiled: as it was for an entry, and as it is now.

    Values that say nothing to people are left out.
    """

    what: str
    before: str = ""
    now: str = ""

    def __str__(self) -> str:
        if self.before and self.now:
            return f"{self.what}: {self.before} -> {self.now}"
        return self.what


@dataclass(frozen=True, slots=True)
class Miss:
    """An entry of the same function, and all in which it differs; nothing: it is the one."""

    entry: str
    made: float
    differences: tuple[Difference, ...]


def misses(
    store: Store, kind: str, key: str | None, function: Callable[..., object]
) -> tuple[Miss, ...]:
    """Return the entries of a function, the nearest first; `key` as `lookup.key_of` gives it."""
    if key is None:
        return ()
    now = json.loads(key)
    found = []
    for name, made, text in store.keys(kind):
        try:
            before, reads = json.loads(text)
            facts = json.loads(before)
            if _name_of(facts) != _name_of(now):
                continue
            differences = (*_of_facts(facts, now), *_of_reads(reads, function))
        except (LookupError, TypeError, ValueError, AttributeError):
            continue  # an entry of another version
        found.append(Miss(name, made, tuple(dict.fromkeys(differences))))
    return tuple(sorted(found, key=lambda miss: (len(miss.differences), -miss.made)))


def _name_of(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return a function's name and its file's, without the folder."""
    name, file, *_ = json.loads(facts["function"])
    return str(name), re.split(r"[/\\]", file)[-1]


def _of_facts(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        if old != new:
            yield from _HOW.get(name, _of_value(_NAMES.get(name, name)))(old, new)


def _of_value(what: str) -> Compare:
    return lambda old, new: iter((Difference(what, _short(old), _short(new)),))


def _of_function(before: str, now: str) -> Iterator[Difference]:
    _, file, line, code = json.loads(before)
    _, new_file, new_line, new_code = json.loads(now)
    if file != new_file:
        yield Difference("path of the file", file, new_file)
    if line != new_line:
        yield Difference("line of the function", str(line), str(new_line))
    if code != new_code:
        yield Difference(TEXT)


def _of_versions(before: dict[str, str], now: dict[str, str]) -> Iterator[Difference]:
    for part in sorted({*before, *now}):
        old, new = before.get(part), now.get(part)
        if old != new and part in _VERSIONS:
            yield Difference(_VERSIONS[part])
        elif old != new:
            yield Difference(f"version of {part}", _short(old), _short(new))


def _of_compiler(before: list[object], now: list[object]) -> Iterator[Difference]:
    """Yield what differs of a command, what the compiler says of itself, its target."""
    if before[0] != now[0]:
        yield Difference("the C compiler's command", _short(before[0]), _short(now[0]))
    elif before != now:
        yield Difference("the C compiler")


def _of_types(before: list[str], now: list[str]) -> Iterator[Difference]:
    if len(before) != len(now):
        yield Difference("number of arguments", str(len(before)), str(len(now)))
    for number, (old, new) in enumerate(zip(before, now, strict=False), start=1):
        if old.partition("(")[0] != new.partition("(")[0]:
            yield Difference(f"type of argument {number}", _short(old), _short(new))
        elif old != new:
            yield from _of_fields(f"argument {number}", old, new)


def _of_fields(word: str, before: str, now: str) -> Iterator[Difference]:
    """Yield the fields in which two dataclasses, as they print, differ."""
    old, new = _fields(before), _fields(now)
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield Difference(f"{word} `{name}`", _short(old.get(name)), _short(new.get(name)))


def _fields(text: str) -> dict[str, str]:
    """Return the fields of `Name(a=1, b=(2, 3))` as text."""
    inside, depth, start, parts = text[text.find("(") + 1 : text.rfind(")")], 0, 0, []
    quoted = ""
    for position, letter in enumerate(inside):
        if quoted:
            quoted = "" if letter == quoted and inside[position - 1] != "\\" else quoted
        elif letter in "'\"":
            quoted = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(inside[start:position])
            start = position + 1
    pairs = (part.strip().partition("=") for part in (*parts, inside[start:]))
    return {name: value for name, _, value in pairs if name}


def _of_reads(
    reads: list[tuple[str, str]], function: Callable[..., object]
) -> Iterator[Difference]:
    """Yield the values outside of the function that are others than the entry was made for."""
    paths = [read_back(path)[0] for path, _ in reads]
    for (_, before), read in zip(reads, resolved(function, paths), strict=True):
        if read.text != before:
            name = shown(read.path)
            is_text = name == "the function's text"
            yield Difference(TEXT if is_text else f"value of `{name}`")


def _short(value: object) -> str:
    text = _ENUM.sub(r"\1", str(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


_HOW: dict[str, Compare] = {
    "compiler": _of_compiler,
    "function": _of_function,
    "machine": partial(_of_fields, "machine"),
    "options": partial(_of_fields, "option"),
    "types": _of_types,
    "versions": _of_versions,
}
