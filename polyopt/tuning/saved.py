"""Schedules that tuning found, in a file of the user's: a line of JSON for each.

In: a file's name, a function with types and options.  Out: a line more; the last line that was
measured for the same program, types, options and machine.
Refuses: a file that cannot be read, a line that is none of these (PO0639), a file that cannot be
written (PO0614).

The cache keeps what was found for this version of polyopt; such a file can be committed, merged and
given to others.  A schedule is a text that is proven again wherever it is used, so a line of
anybody's can make a kernel slower, never wrong.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from polyopt.capture.reads import own_text
from polyopt.dataclass import asdict
from polyopt.errors import Loc, UsageError
from polyopt.files import read_text
from polyopt.frontend.syntax.annotations import ArgType
from polyopt.runtime.fingerprint import versions
from polyopt.runtime.store import digest
from polyopt.targets import Options, detect_machine

T = TypeVar("T")
MOST_TEXT = 1 << 26  # bytes of a file
_KEYS = ("program", "types", "fp", "schedule_given", "machine")


def append(
    path: str | os.PathLike[str],
    function: Callable[..., object],
    types: tuple[ArgType, ...],
    options: Options,
    found: Mapping[str, object],
) -> None:
    """Add what was found to a file, which is made where there is none.

    Raises: `UsageError` PO0614 where the file cannot be written.
    """
    facts = {
        "function": function.__qualname__,
        **_key(function, types, options),
        "found": dict(found),
        "polyopt": versions()["polyopt"],
    }
    line = (json.dumps(facts) + "\n").encode()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            os.write(handle, line)  # one write: lines of two processes do not mix
        finally:
            os.close(handle)
    except OSError as error:
        reason = f"`{os.fspath(path)}` cannot be written: {error.strerror}"
        raise UsageError("PO0614", reason, hint="choose another place") from None


def last_saved(
    path: str,
    function: Callable[..., object],
    types: tuple[ArgType, ...],
    options: Options,
    decode: Callable[[object], T],
) -> tuple[T, str] | None:
    """Return what the last line for such a kernel on such a machine says, and where it is.

    `decode` reads what was appended; it raises `ValueError` for what never was.

    Raises: `UsageError` PO0639 for a file that holds something else.
    """
    wanted = json.loads(json.dumps(_key(function, types, options)))
    latest = None
    for number, line in _lines(path):
        try:
            entry = json.loads(line)
            if not isinstance(entry, dict) or not all(key in entry for key in _KEYS):
                raise ValueError("it lacks what `polyopt tune --save` writes")
            if all(entry[key] == wanted[key] for key in _KEYS):
                latest = decode(entry.get("found")), f"{path}:{number}"
        except (ValueError, RecursionError) as error:
            loc = Loc(path, number, 1, number, len(line) + 1)
            hint = "remove the line; `polyopt tune --save` adds lines"
            raise UsageError("PO0639", f"line of tuning: {error}", loc=loc, hint=hint) from None
    return latest


def _lines(path: str) -> Iterator[tuple[int, str]]:
    try:
        text = read_text(path, MOST_TEXT)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        hint = "`polyopt tune --save` makes such a file; POLYOPT_TUNINGS and `tunings` name one"
        raise UsageError("PO0639", f"`{path}` cannot be read: {reason}", hint=hint) from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, line


def _key(
    function: Callable[..., object], types: tuple[ArgType, ...], options: Options
) -> dict[str, object]:
    """Return what a line is found by: the program, what it is compiled for, the machine."""
    return {
        "program": digest((own_text(function) or "").encode())[:32],
        "types": [repr(kind) for kind in types],
        "fp": options.fp.value,
        "schedule_given": options.schedule,
        "machine": asdict(detect_machine()),
    }
