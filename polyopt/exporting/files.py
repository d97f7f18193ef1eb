"""Files that a command writes: each one whole or not at all.

In: a directory, texts by name.  Out: the paths.
Refuses: a place that cannot be written (PO0614).
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from polyopt.errors import UsageError


def write_files(directory: Path, files: dict[str, str]) -> list[Path]:
    """Write all files; each one whole or not at all."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return [_write(directory / name, text) for name, text in files.items()]
    except OSError as error:
        raise UsageError(
            "PO0614",
            f"`{directory}` cannot be written: {error.strerror}",
            hint="choose another directory with -o",
        ) from None


def _write(path: Path, text: str) -> Path:
    handle, staged = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(staged, 0o666 & ~umask)
        os.replace(staged, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(staged)
        raise
    return path
