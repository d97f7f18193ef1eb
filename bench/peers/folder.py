"""Where environments of peers, their builds and checked results are kept.

In: `POLYOPT_BENCH_DIR`, or a folder in the user's cache.  Out: paths.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path


def folder() -> Path:
    """Return the folder of the harness."""
    given = os.environ.get("POLYOPT_BENCH_DIR")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else cache / "polyopt-bench"


def environment(name: str) -> Path:
    """Return the virtual environment of a peer."""
    return folder() / "peers" / name


def python(name: str) -> Path:
    """Return the interpreter of a peer's environment."""
    return environment(name) / "bin" / "python"


def packages(name: str) -> list[str]:
    """Return the folders of a peer's environment that Python looks for modules in."""
    return [str(path) for path in environment(name).glob("lib/python*/site-packages")]


def digest(*parts: object) -> str:
    """Return a short name for what decides a result."""
    return blake2b(repr(parts).encode(), digest_size=12).hexdigest()


def store(kind: str) -> Path:
    """Return the folder for one kind of kept files, made if it is not there."""
    path = folder() / kind
    path.mkdir(parents=True, exist_ok=True)
    return path
