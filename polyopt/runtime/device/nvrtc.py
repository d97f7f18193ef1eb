"""NVRTC through ctypes: CUDA text to a cubin in this process, without nvcc and without a driver.

In: text and options.  Out: the binary and the log, or the log alone.
Refuses: nothing; `find_nvrtc` returns None where the library is not installed.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyopt.dataclass import dataclass

_OK = 0


@dataclass(frozen=True, slots=True, eq=False)
class Nvrtc:
    """The loaded library."""

    library: Any
    path: str
    version: str

    def compile(self, text: str, options: tuple[str, ...]) -> tuple[bytes | None, str]:
        """Return the cubin, or None where the text was refused, and what was said."""
        program = ctypes.c_void_p()
        self._ask(
            "nvrtcCreateProgram", ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None
        )
        try:
            given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            status = self.library.nvrtcCompileProgram(program, len(options), given)
            log = self._text("ProgramLog", program).rstrip(b"\0").decode("utf-8", "replace")
            image = self._text("CUBIN", program) if status == _OK else None
            return image, log
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, what: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t(0)
        self._ask(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(1, size.value))
        self._ask(f"nvrtcGet{what}", program, buffer)
        return buffer.raw[: size.value]

    def _ask(self, function: str, *arguments: object) -> None:
        status = int(getattr(self.library, function)(*arguments))
        if status != _OK:
            raise OSError(f"{function} failed with status {status}")


def find_nvrtc() -> Nvrtc | None:
    """Return NVRTC from its wheel, from a toolkit, or from where the system finds libraries."""
    for path in _places():
        try:
            for builtins in sorted(path.parent.glob("libnvrtc-builtins.so*")):
                ctypes.CDLL(str(builtins))  # NVRTC itself looks for it in the system's places only
            library = ctypes.CDLL(str(path))
            major, minor = ctypes.c_int(0), ctypes.c_int(0)
            if library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == _OK:
                return Nvrtc(library, str(path), f"{major.value}.{minor.value}")
        except (OSError, AttributeError):
            continue
    return None


def _places() -> Iterator[Path]:
    spec = importlib.util.find_spec("nvidia")
    roots = [] if spec is None else list(spec.submodule_search_locations or ())
    for root in roots:
        yield from _newest(Path(root), "*/lib/libnvrtc.so.*")
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    for home in homes:
        if home:
            yield from _newest(Path(home), "lib64/libnvrtc.so.*")
    for major in (14, 13, 12):
        yield Path(f"libnvrtc.so.{major}")


def _newest(root: Path, pattern: str) -> list[Path]:
    found = [path for path in root.glob(pattern) if re.fullmatch(r"\d+", path.name.split(".")[-1])]
    return sorted(found, key=lambda path: int(path.name.split(".")[-1]), reverse=True)
