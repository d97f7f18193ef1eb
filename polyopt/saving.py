"""Save a compiled kernel as a file that `polyopt.loading` loads with NumPy alone.

In: the emitted source, the options.  Out: the file, whole or not at all.
Refuses: kernels of devices (PO0637), places that cannot be written (PO0614).
"""

from __future__ import annotations

import os
import platform
import tempfile
from pathlib import Path

from polyopt import __version__
from polyopt.dataclass import replace
from polyopt.errors import UsageError
from polyopt.files import write_whole
from polyopt.ir.source import Source
from polyopt.loading import Facts, instruction_sets, written
from polyopt.runtime import build as builder
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import chosen_level, find_compiler, listed_features


def save_kernel(
    path: str | os.PathLike[str],
    source: object,
    general: object,
    weak: tuple[bool, ...],
    compiler: str | None,
) -> None:
    """Build libraries for calls through ctypes and write the file at `path`.

    `general` is the source for any sizes; None where `source` is.
    """
    if not isinstance(source, Source) or not isinstance(general, Source | None):
        raise UsageError(
            "PO0637",
            "kernels of devices cannot be saved: their libraries belong to the device's driver",
            hint="compile for target C, or write the text with `polyopt compile`",
        )
    level = chosen_level()
    features = instruction_sets(listed_features()) if level is None else tuple(level.features)
    facts = Facts(
        source, weak, platform.system(), platform.machine(), tuple(sorted(features)), __version__,
        general,
    )  # fmt: skip
    made = {one.text: _library(one, compiler) for one in facts.sources}
    _write(Path(path), written(facts, [made[one.text] for one in facts.sources]))


def _library(source: Source, requested: str | None) -> bytes:
    """Return a library that needs nothing but OpenMP's, where it has parallel loops."""
    compiler = find_compiler(open_store(), requested)
    texts = replace(builder.kernel_texts(source, None, None), alone=True)
    with tempfile.TemporaryDirectory(prefix="polyopt-save-") as folder:
        work = Path(folder)
        return (work / builder.build(compiler, texts, work)).read_bytes()


def _write(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise UsageError(
            "PO0614", f"`{path}` cannot be written: {error.strerror}", hint="choose another place"
        ) from None
