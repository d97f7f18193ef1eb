"""The files that a run is kept in: refused before anything is measured, whole at any time.

In: paths, how reports are written, reports.  Out: the files.
Refuses: with `Unwritable`, a place that cannot be written.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Unwritable(Exception):
    """A place cannot be written; `path` and `reason` say which and why."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.path, self.reason = path, error.strerror or str(error)
        super().__init__(f"{path} cannot be written: {self.reason}")


def json_text(value: Mapping[str, Any]) -> str:
    """Return JSON values as the text of a file."""
    return json.dumps(value, indent=1) + "\n"


def report_text(report: Any) -> str:  # noqa: ANN401
    """Return a report as JSON."""
    return json_text(report.as_json())


def prepare_file(path: Path) -> None:
    """Make the folder and try to write beside the file; raises `Unwritable`."""
    try:
        if path.is_dir():
            raise IsADirectoryError(21, "it is a directory", str(path))
        if _is_special(path):
            path.open("w").close()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(13, "Permission denied", str(path))
        handle, staged = _staged(path)
        os.close(handle)
        os.unlink(staged)
    except OSError as error:
        raise Unwritable(path, error) from None


def replace_file(path: Path, text: str) -> None:
    """Replace what a file holds; it is never half written.  Raises `Unwritable`."""
    try:
        if _is_special(path):
            path.write_text(text, encoding="utf-8")
            return
        handle, staged = _staged(path)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(staged, 0o666 & ~umask)
            os.replace(staged, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(staged)
            raise
    except OSError as error:
        raise Unwritable(path, error) from None


def _is_special(path: Path) -> bool:
    """Whether a path is a pipe or a device, which is written and not replaced."""
    return path.exists() and not path.is_file()


def _staged(path: Path) -> tuple[int, str]:
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")


@dataclass(frozen=True, slots=True)
class Output:
    """A file for a run, and how a report becomes its text."""

    path: Path
    form: Callable[[Any], str] = report_text


@dataclass(frozen=True, slots=True)
class Outputs:
    """All files that a run is kept in."""

    files: tuple[Output, ...] = ()

    def prepare(self) -> None:
        """Refuse places that cannot be written."""
        for file in self.files:
            prepare_file(file.path)

    def keep(self, report: Any, say: Callable[[str], None]) -> None:  # noqa: ANN401
        """Write a report that is not whole yet; where that fails, say so and go on."""
        for file in self.files:
            try:
                replace_file(file.path, file.form(report))
            except Unwritable as error:
                say(str(error))

    def write(self, report: Any) -> None:  # noqa: ANN401
        """Write a report."""
        for file in self.files:
            replace_file(file.path, file.form(report))


NOWHERE = Outputs()
