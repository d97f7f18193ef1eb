"""Regions of C, to be refused: `read(text)` does what `polyopt compile region.c` does first."""

from __future__ import annotations

import linecache
import os
import tempfile
from pathlib import Path

from polyopt.cregion.compiling import compile_region
from polyopt.cregion.declarations import find_regions
from polyopt.cregion.function import translate
from polyopt.cregion.preprocessing import preprocess
from polyopt.cregion.syntax import parse_unit
from polyopt.machine import Machine
from polyopt.targets import Options

NAME = "region.c"


def read(text: str) -> None:
    """Compile the regions of a C file with this text."""
    linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path(NAME).write_text(text, encoding="utf-8")
            preprocessed, macros = preprocess(Path(NAME), [])
            unit = parse_unit(preprocessed, NAME)
            for region in find_regions(unit, NAME):
                translated = translate(unit, region, macros)
                compile_region(unit, region, translated, Options(), Machine())
        finally:
            os.chdir(before)


def region(body: str, head: str = "int n, double *x, double A[n][n]") -> None:
    """Compile a function with these statements as its region."""
    read(f"void f({head})\n{{\n  int i, j;\n#pragma scop\n{body}#pragma endscop\n}}\n")
