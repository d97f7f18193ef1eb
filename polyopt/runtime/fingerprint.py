"""The versions of everything that takes part in compiling a function.

In: nothing.  Out: versions, and stamps of the files of polyopt and isl.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np

from polyopt.runtime.store import digest


def package_stamp(package: Path) -> str:
    """Return a digest of the names, sizes and times of a package's files."""
    facts: list[str] = []
    folders = [(str(package), "")]
    while folders:
        folder, prefix = folders.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith((".py", ".c", ".h", ".so", ".pyd")):
                    status = entry.stat()
                    facts.append(f"{prefix}{name}|{status.st_size}|{status.st_mtime_ns}")
                elif name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, f"{prefix}{name}/"))
    facts.sort()
    return digest("\n".join(facts).encode())


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of all that takes part in making C text."""
    import polyopt

    isl = importlib.util.find_spec("islpy")
    place = None if isl is None or isl.origin is None else Path(isl.origin).parent
    return {
        "polyopt": polyopt.__version__,
        "files": package_stamp(Path(polyopt.__file__).parent),
        "isl": "none" if place is None else package_stamp(place),
        "numpy": np.__version__,
        "python": sys.version,
    }
