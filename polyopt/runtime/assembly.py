"""The C compiler's assembly of a kernel.

In: what is compiled, a compiler.  Out: lines of assembly, each with the line of C it came from.
Refuses: what `build` refuses, a compiler that is not there (PO0501) or fails (PO0502).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from polyopt.runtime.build import Texts, build_assembly
from polyopt.runtime.toolchain import Compiler

_PLACE = re.compile(r"\s*\.loc\s+\d+\s+(\d+)")
_LABEL = re.compile(r"^[.\w$]+:")
_DEBUG = re.compile(r"^\s*\.section\s+\.debug")
_TEXT = re.compile(r"^\s*\.(?:text|section\s+\.(?:text|rodata))")


def assembly(compiler: Compiler, texts: Texts, work: Path) -> tuple[tuple[str, int], ...]:
    """Return instructions and labels, each with a line number of the kernel's C, 0 for none."""
    return tuple(_lines(build_assembly(compiler, texts, work)))


def _lines(text: str) -> Iterator[tuple[str, int]]:
    place, in_debug = 0, False
    for line in text.splitlines():
        found = _PLACE.match(line)
        if found is not None:
            place = int(found[1])
        elif _DEBUG.match(line):
            in_debug = True
        elif _TEXT.match(line):
            in_debug = False
        elif in_debug or not line.strip() or line.lstrip().startswith("#"):
            continue
        elif _LABEL.match(line):
            if not re.match(r"\.L(?:VL|FB|FE|BB|BE|func|tmp|debug|text|etext|cold)", line):
                yield line, 0
        elif not line.lstrip().startswith("."):
            yield line.replace("\t", "    ").rstrip(), place
