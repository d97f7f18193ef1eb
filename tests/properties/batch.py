"""Many small kernels in one C file, built once.

In: emitted sources with different entries.  Out: the loaded library.
The threshold under which a parallel loop runs on one thread is taken out of the text.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from pathlib import Path

from polyopt.ir.source import Source
from tests.conftest import build

FLAGS = ("-std=c11", "-O1", "-fopenmp", "-fwrapv", "-ffp-contract=off", "-w")
_ATTRIBUTE = r"__attribute__\s*\(\(\w+\)\)"
_STATIC = re.compile(
    rf"^(?:{_ATTRIBUTE}\s+)?static\b(?:\s+inline\b)?(?:\s*{_ATTRIBUTE})?[^;{{(=]*?\b(\w+)\s*\(",
    re.MULTILINE,
)
_TYPEDEF = re.compile(
    r"^typedef\b[^;]*?\b(\w+)\s*(?:__attribute__\s*\(\(.*?\)\))?\s*;", re.MULTILINE
)
_REDUCTION = re.compile(r"^#pragma omp declare reduction\((\w+)", re.MULTILINE)
_DEFINE = re.compile(r"^#define\s+(\w+)", re.MULTILINE)
_THRESHOLD = re.compile(r"^(\s*#pragma omp parallel for.*?) if \(.*\)$", re.MULTILINE)


def build_batch(sources: Sequence[Source], directory: Path) -> ctypes.CDLL:
    """Return all entries in one library."""
    return build("\n".join(apart(s.text, n) for n, s in enumerate(sources)), directory, FLAGS)


def apart(text: str, number: int) -> str:
    """Return `text` with its own names marked by `number`."""
    text = _THRESHOLD.sub(r"\1", text)
    own = {*_STATIC.findall(text), *_TYPEDEF.findall(text), *_REDUCTION.findall(text)}
    if own:
        pattern = re.compile(rf"\b({'|'.join(sorted(own))})\b")
        text = pattern.sub(rf"\1_{number}", text)
    return text + "".join(f"#undef {name}\n" for name in _DEFINE.findall(text))
