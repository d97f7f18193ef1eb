"""Files that a command writes: each one whole or not at all.

In: a directory, texts by name.  Out: the paths.
Refuses: a place that cannot be written (PO0614).
"""

from __future__ import annotations

from pathlib import Path

from polyopt.errors import UsageError
from polyopt.files import write_whole


def write_files(directory: Path, files: dict[str, str]) -> list[Path]:
    """Write all files; each one whole or not at all."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_whole(directory / name, text)
    except OSError as error:
        raise UsageError(
            "PO0614",
            f"`{directory}` cannot be written: {error.strerror}",
            hint="choose another directory with -o",
        ) from None
    return [directory / name for name in files]
