"""The file that a run is kept in: refused before anything is measured, whole at any time.

In: a path, reports as JSON values.  Out: the file.
Refuses: with `OSError`, a place that cannot be written.
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


@dataclass(frozen=True, slots=True)
class Keeper:
    """Where a run is kept; None keeps nothing."""

    path: Path | None = None

    def prepare(self) -> None:
        """Make the folder and try to write beside the file; raises `OSError`."""
        if self.path is None:
            return
        if self.path.is_dir():
            raise IsADirectoryError(21, "it is a directory", str(self.path))
        if self._is_special():
            self.path.open("w").close()
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise PermissionError(13, "Permission denied", str(self.path))
        handle, staged = self._staged()
        os.close(handle)
        os.unlink(staged)

    def keep(self, report: Mapping[str, Any], say: Callable[[str], None]) -> None:
        """Write a report that is not whole yet; where that fails, say so and go on."""
        try:
            self.write(report)
        except OSError as error:
            say(f"{self.path} cannot be written: {error.strerror}")

    def write(self, report: Mapping[str, Any]) -> None:
        """Replace what the file holds by a report; the file is never half written."""
        if self.path is None:
            return
        text = json.dumps(report, indent=1) + "\n"
        if self._is_special():
            self.path.write_text(text, encoding="utf-8")
            return
        handle, staged = self._staged()
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(staged, 0o666 & ~umask)
            os.replace(staged, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(staged)
            raise

    def _is_special(self) -> bool:
        """Whether the path is a pipe or a device, which is written and not replaced."""
        return self.path is not None and self.path.exists() and not self.path.is_file()

    def _staged(self) -> tuple[int, str]:
        assert self.path is not None
        return tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")


NOWHERE = Keeper()
