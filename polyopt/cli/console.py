"""What goes to which stream, and in which dress.

In: results, talk and errors.  Out: results on stdout, talk and errors on stderr; colours only on a
terminal (`NO_COLOR`, `FORCE_COLOR` and `CLICOLOR_FORCE` are followed); JSON where it was asked for.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from polyopt.dataclass import replace
from polyopt.digest import hex_digest
from polyopt.errors import PolyoptError, render

_RED, _BLUE, _GREEN, _RESET = "\x1b[1;31m", "\x1b[1;34m", "\x1b[1;32m", "\x1b[0m"


def result(text: str) -> None:
    """Print a result."""
    sys.stdout.write(text + "\n")


def result_json(value: Mapping[str, object]) -> None:
    """Print a result as JSON."""
    import json

    sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")


def talk(text: str) -> None:
    """Say something that is neither the result nor an error; `-q` leaves it out."""
    if not _QUIET:
        complain(text)


def complain(text: str) -> None:
    """Say what is wrong."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


_QUIET: list[bool] = []


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out talk and polyopt's warnings inside."""
    from polyopt.runtime.notices import PolyoptWarning

    _QUIET.append(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolyoptWarning)
            yield
    finally:
        _QUIET.pop()


@contextmanager
def verbose() -> Iterator[None]:
    """Show inside what polyopt logs: what the cache holds, commands of compilers, times."""
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    logger = logging.getLogger("polyopt")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def report_error(error: PolyoptError, as_json: bool) -> None:
    """Print an error: text on stderr, or JSON on stdout."""
    shorten(error)
    if as_json:
        result_json({"error": error_record(error)})
        return
    text = render(error)
    complain(paint_error(text) if has_colour(sys.stderr) else text)


def shorten(error: PolyoptError) -> None:
    """Name the files of an error relative to the current directory where they lie below it."""
    if error.loc is not None:
        error.loc = replace(error.loc, file=short_path(error.loc.file))
    error.notes = tuple(map(without_directory, error.notes))


def without_directory(text: str) -> str:
    """Return a text with the names of files below the current directory relative to it."""
    return text.replace(os.path.join(os.getcwd(), ""), "")


def short_path(file: str) -> str:
    """Return `file` relative to the current directory where it lies below it."""
    try:
        relative = os.path.relpath(file)
    except (OSError, ValueError):
        return file
    return file if relative.startswith(os.pardir) else relative


def error_record(error: PolyoptError) -> dict[str, object]:
    """Return an error as plain data."""
    from polyopt.report.findings import error_record as record

    return record(error)


def has_colour(stream: TextIO) -> bool:
    """Whether colours are welcome on `stream`."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = (os.environ.get("FORCE_COLOR"), os.environ.get("CLICOLOR_FORCE"))
    if any(value not in (None, "", "0") for value in forced):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint_error(text: str) -> str:
    """Return a rendered error with its headline, carets and labels coloured."""
    text = re.sub(r"^error\[\w+\]", rf"{_RED}\g<0>{_RESET}", text)
    text = re.sub(r"(?m)^( +\| +)(\^+)$", rf"\1{_RED}\2{_RESET}", text)
    text = re.sub(r"(?m)^   = help:", rf"{_GREEN}\g<0>{_RESET}", text)
    return re.sub(r"(?m)^(   = note:|  -->)", rf"{_BLUE}\g<0>{_RESET}", text)


def report_crash(error: BaseException, arguments: list[str]) -> None:
    """Say in one paragraph that polyopt failed, and keep the traceback in a file."""
    import tempfile
    import traceback
    from pathlib import Path

    details = "".join(traceback.format_exception(error))
    lines = [f"polyopt {own_version()}", f"python {platform.python_version()}", platform.platform()]
    lines += [f"arguments: {arguments!r}", "", details]
    digest = hex_digest(details.encode(), 6)
    path = Path(tempfile.gettempdir()) / f"polyopt-crash-{digest}.txt"
    try:
        path.write_text("\n".join(lines), encoding="utf-8")
        kept = f"The details are in {path}; please attach it to a report."
    except OSError:
        kept = "The details could not be written to the temporary directory."
    complain(
        f"error[PO0901]: polyopt failed on its own account ({type(error).__name__}). "
        f"This is a defect of polyopt, not of your program. {kept} "
        "Set POLYOPT_DEBUG=1 to see the traceback."
    )


def own_version() -> str:
    """Return polyopt's version, as installed."""
    from importlib.metadata import PackageNotFoundError, version  # slow, and seldom asked for

    try:
        return version("polyopt")
    except PackageNotFoundError:
        return "unknown (not installed)"
