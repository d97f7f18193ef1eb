"""Texts of schedules: their items with places, files of them, values for the sizes they name.

In: text or a file.  Out: the items in order, for `polyopt.transforms` to make steps of; needs no
isl.  Refuses: what is no item (PO0321), sizes that do not fit (PO0326), other versions (PO0329).
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from polyopt.dataclass import dataclass
from polyopt.errors import Loc, ScheduleError, UsageError
from polyopt.files import read_text, write_whole

HEADER = "polyopt-schedule 1"
FUSED = "fused"
WHOLE = ("source", FUSED)
"""Names of schedules of a whole program: the source's order; all temporaries recomputed."""
NOWHERE = "<schedule>"
MAX_CHARACTERS = 1_000_000
MAX_ITEMS = 10_000
MAX_SIZE = 2**31 - 1
"""The largest number a step may hold: products with a size of an array stay in 64 bits."""


class ScheduleText(str):
    """The text of a schedule that knows its file, for messages.

    >>> ScheduleText("unroll(i)", "fast.sched").origin
    'fast.sched'
    """

    origin: str

    def __new__(cls, text: str, origin: str = NOWHERE) -> ScheduleText:
        """Make one; `origin` is the file's name."""
        made = super().__new__(cls, text)
        made.origin = origin
        return made

    def __reduce__(self) -> tuple[type[ScheduleText], tuple[str, str]]:
        return ScheduleText, (str(self), self.origin)


@dataclass(frozen=True, slots=True)
class Word:
    """One argument; `loc` is its place."""

    text: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Call:
    """`name(word, …)`: a step, or `part(1)`."""

    name: str
    words: tuple[Word, ...]
    text: str
    loc: Loc


@dataclass(frozen=True, slots=True)
class Let:
    """`let T = 32`: from here on `T` stands for 32 where a step takes a number."""

    name: str
    value: int
    loc: Loc


Item: TypeAlias = Call | Let

_CALL = re.compile(r"([A-Za-z_]\w*)\s*\((.*)\)", re.DOTALL)
_LET = re.compile(r"let\s+([^\W\d]\w*)\s*=\s*(-?[0-9]{1,18})")
_HEADER = re.compile(r"polyopt-schedule\b\s*(.*)", re.DOTALL)


def read_items(text: str) -> tuple[Item, ...]:
    """Return the items of `text`, separated by `;` or line ends; `#` starts a comment.

    Raises `ScheduleError` PO0321 (syntax), PO0326 (a value too large), PO0329 (version, length).
    """
    origin = text.origin if isinstance(text, ScheduleText) else NOWHERE
    if len(text) > MAX_CHARACTERS:
        raise ScheduleError(
            "PO0329", f"the schedule has {len(text)} characters, {MAX_CHARACTERS} are allowed"
        )
    items: list[Item] = []
    for number, (piece, loc) in enumerate(_pieces(text, origin)):
        header = _HEADER.fullmatch(piece)
        if header is not None:
            _check_header(piece, number, loc)
            continue
        items.append(_item(piece, loc))
        if len(items) > MAX_ITEMS:
            raise ScheduleError("PO0329", f"the schedule has over {MAX_ITEMS} steps", loc=loc)
    return tuple(items)


def _pieces(text: str, origin: str) -> Iterator[tuple[str, Loc]]:
    """Yield what stands between separators, without the blanks around it, with its place."""
    for number, line in enumerate(text.split("\n"), start=1):
        start = 0
        for piece in line.partition("#")[0].split(";"):
            bare = piece.strip()
            if bare:
                yield bare, _place(origin, number, start + piece.index(bare), bare)
            start += len(piece) + 1


def _place(origin: str, line: int, start: int, text: str) -> Loc:
    return Loc(origin, line, start + 1, line, start + 1 + len(text))


def _check_header(piece: str, number: int, loc: Loc) -> None:
    if " ".join(piece.split()) != HEADER:
        raise ScheduleError(
            "PO0329",
            f"`{piece}`: this version of polyopt does not read it",
            loc=loc,
            hint=f"a schedule begins with `{HEADER}`",
        )
    if number > 0:
        raise ScheduleError(
            "PO0329", f"`{piece}` stands inside a schedule", loc=loc, hint="put it first"
        )


def _item(piece: str, loc: Loc) -> Item:
    let = _LET.fullmatch(piece)
    if let is not None and let[1].isidentifier():
        return Let(let[1], check_value(let[1], int(let[2]), loc), loc)
    call = _CALL.fullmatch(piece)
    spans = None if call is None else _arguments(call[2])
    if call is None or spans is None:
        hint = "write steps as name(argument, …), separated by `;`"
        if piece.startswith("let"):
            hint = "write the value of a size as `let T = 32`"
        raise ScheduleError("PO0321", f"`{piece}` is not a step", loc=loc, hint=hint)
    first = loc.col - 1 + call.start(2)
    words = tuple(Word(w, _place(loc.file, loc.line, first + at, w)) for w, at in spans)
    return Call(call[1], words, piece, loc)


def _arguments(text: str) -> list[tuple[str, int]] | None:
    """Return the arguments with their offsets, or None where parentheses do not match."""
    if not text.strip():
        return []
    found: list[tuple[str, int]] = []
    depth = start = 0
    for position, character in enumerate(text + ","):
        depth += (character == "(") - (character == ")")
        if depth < 0 or (position == len(text) and depth > 0):
            return None
        if character == "," and depth == 0:
            piece = text[start:position]
            found.append((piece.strip(), start + len(piece) - len(piece.lstrip())))
            start = position + 1
    return found


def check_value(name: str, value: object, loc: Loc | None = None) -> int:
    """Return the value of a size; raises `ScheduleError` PO0326."""
    if type(value) is not int or abs(value) > MAX_SIZE:
        raise ScheduleError(
            "PO0326",
            f"the size `{name}` is {value!r}",
            loc=loc,
            hint=f"give it a whole number up to {MAX_SIZE}",
        )
    return value


def with_sizes(text: str, sizes: Mapping[str, object]) -> str:
    """Return `text` in which the sizes have these values, whatever its own `let` lines say.

    >>> with_sizes("let T = 32; tile(L0, T, T)", {"T": 16})
    'let T = 16; tile(L0, T, T)'
    >>> with_sizes("tile(L0, T)", {"T": 16})
    'let T = 16; tile(L0, T)'

    Raises `ScheduleError` PO0326 for a name that the text does not use.
    """
    if not sizes:
        return text
    items = read_items(text)
    lets = [item for item in items if isinstance(item, Let)]
    known = {let.name for let in lets} | set(_free_names(items))
    for name, value in sizes.items():
        check_value(name, value)
        if name not in known:
            raise _unknown(name, sorted(known), sorted({let.name for let in lets}))
    lines = text.split("\n")
    for let in reversed(lets):
        if let.name in sizes:
            line = lines[let.loc.line - 1]
            said = f"let {let.name} = {sizes[let.name]}"
            lines[let.loc.line - 1] = line[: let.loc.col - 1] + said + line[let.loc.end_col - 1 :]
    bound = {let.name for let in lets}
    new = "".join(f"let {name} = {sizes[name]}; " for name in sizes if name not in bound)
    if new:
        first = items[0].loc
        line = lines[first.line - 1]
        lines[first.line - 1] = line[: first.col - 1] + new + line[first.col - 1 :]
    origin = text.origin if isinstance(text, ScheduleText) else NOWHERE
    return ScheduleText("\n".join(lines), origin)


def _free_names(items: tuple[Item, ...]) -> Iterator[str]:
    for item in items:
        if isinstance(item, Call):
            for word in item.words:
                yield from re.findall(r"(?<![\w.\]])[^\W\d]\w*(?![\w.\[])", word.text)


def _unknown(name: str, known: list[str], lets: list[str]) -> ScheduleError:
    hint = "a size is a name in the place of a step's number: tile(L0, T, T)"
    near = nearest(name, known)
    if near is not None:
        hint = f"did you mean `{near}`?"
    elif lets:
        hint = f"the sizes it names: {', '.join(lets)}"
    return ScheduleError("PO0326", f"the schedule names no size `{name}`", hint=hint)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, capital letters aside, or None.

    >>> nearest("paralellize", ["parallelize", "peel"]), nearest("t", ["T"]), nearest("x", ["i"])
    ('parallelize', 'T', None)
    """
    lower = {one.lower(): one for one in reversed([*known])}
    from difflib import get_close_matches

    found = get_close_matches(name.lower(), lower, n=1, cutoff=0.7)
    return lower[found[0]] if found else None


def parse_setting(text: str) -> tuple[str, int]:
    """Return name and value of `T=32`, as a command line gives them; raises `ScheduleError`."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name.isidentifier() or not re.fullmatch(r"-?[0-9]{1,18}", value):
        raise ScheduleError(
            "PO0326", f"`{text}` does not give a size a value", hint="write it as T=32"
        )
    return name, check_value(name, int(value))


def load_text(path: str | os.PathLike[str]) -> ScheduleText:
    """Return the text of a file; raises `UsageError` PO0601, `ScheduleError` PO0329."""
    place = Path(path)
    try:
        return ScheduleText(read_text(place, 4 * MAX_CHARACTERS, "utf-8-sig"), str(place))
    except UnicodeDecodeError:
        raise ScheduleError(
            "PO0329", f"`{place}` is not a text in UTF-8", hint="give a file of schedule steps"
        ) from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise ScheduleError(
                "PO0329", f"`{place}` is too long, {MAX_CHARACTERS} characters are allowed"
            ) from None
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            "PO0601",
            f"the schedule `{place}` cannot be read: {reason}",
            hint='give a file name or steps, such as "tile(L0, 32, 32); parallelize(i)"',
        ) from None


def text_or_file(value: str | os.PathLike[str]) -> str:
    """Return `value` where it is a text, else the text of the file of that name.

    Steps have parentheses; a value without any, without line ends and without comments is a name,
    and so is what has blanks only where there is a file of that name.
    """
    if not isinstance(value, str):
        return load_text(value)
    bare = value.strip()
    plain = not bare or any(mark in value for mark in "(\n#;") or bare in WHOLE
    if plain or _HEADER.fullmatch(bare) or _LET.fullmatch(bare):
        return value
    if any(mark.isspace() for mark in bare) and not Path(bare).is_file():
        return value
    return load_text(bare)


def save_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a schedule's text with its header; raises `UsageError` PO0601."""
    try:
        write_whole(path, f"{HEADER}\n{text}\n")
    except OSError as error:
        raise UsageError(
            "PO0601", f"the schedule `{path}` cannot be written: {error.strerror}"
        ) from None
