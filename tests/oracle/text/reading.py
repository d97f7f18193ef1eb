"""Emitted C as a syntax tree, by pycparser.

In: C text.  Out: `Unit`: its functions, vector types and declared reductions.
Nothing is included, no macros but numbers and the emitters' own are known; tests for a compiler all
fail.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast, c_parser

from tests.oracle.text.kinds import NAMED, Kind, Number, Vector

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_VECTOR = re.compile(r"typedef ([\w ]+?) (\w+)\s*__attribute__\(\(vector_size\((\d+)\)")
_DECLARED = re.compile(
    r"omp declare reduction\((\w+) : ([\w ]+) :\s*omp_out = (\w+)\(omp_out, omp_in\)\)"
    r"\s*initializer\(omp_priv = (-?)INFINITY\)"
)
_NUMBER = re.compile(r"^\s*#\s*define (\w+) (\d+)$", re.M)
_SAME = re.compile(r"^\s*#\s*define (\w+)\((\w+)\) \(\2\)$", re.M)
"""A macro that is its argument."""
_STUBS = "".join(f"typedef int {name};\n" for name in NAMED if name.endswith("_t"))


@dataclass(frozen=True, slots=True)
class Declared:
    """A reduction of the file: the function that joins two values, and a thread's first value."""

    join: str
    start: float


@dataclass(frozen=True, eq=False)
class Unit:
    """One file of C."""

    functions: Mapping[str, Any]
    vectors: Mapping[str, Vector]
    declared: Mapping[str, Declared]


def read_unit(text: str) -> Unit:
    """Return the syntax tree of `text`."""
    text = _conditions(_COMMENT.sub(" ", text.replace("\\\n", " ")))
    declared = {
        m[1]: Declared(m[3], float("-inf") if m[4] else float("inf"))
        for m in _DECLARED.finditer(text)
    }
    vectors = {m[2]: _vector(m[1], int(m[3])) for m in _VECTOR.finditer(text)}
    vectors |= {f"{name}_mem": kind for name, kind in vectors.items()}
    for name, number in _NUMBER.findall(text):
        text = re.sub(rf"\b{name}\b", number, text)
    for name, _ in _SAME.findall(text):
        text = re.sub(rf"\b{name}(?=\()", "", text)
    text = re.sub(
        r"^\s*#\s*(include|define|undef|pragma GCC|pragma omp declare).*$", "", text, flags=re.M
    )
    text = _without_attributes(text)
    for old, new in (("bool", "_Bool"), ("complex", "_Complex"), ("true", "1"), ("false", "0")):
        text = re.sub(rf"\b{old}\b", new, text)
    tree = c_parser.CParser().parse(_STUBS + text)
    functions = {e.decl.name: e for e in tree.ext if isinstance(e, c_ast.FuncDef)}
    return Unit(functions, vectors, declared)


def _vector(element: str, length: int) -> Vector:
    kind: Kind = NAMED[element]
    assert isinstance(kind, Number)
    return Vector(kind, length // kind.size)


def _conditions(text: str) -> str:
    """Return the lines for a compiler that has none of the features asked for."""
    lines, keeps = [], [True]
    for line in text.split("\n"):
        word = line.strip().replace("# ", "#").split(" ")[0]
        if word in ("#if", "#ifdef", "#ifndef"):
            keeps.append(word == "#ifndef")
        elif word == "#else":
            keeps[-1] = not keeps[-1]
        elif word == "#endif":
            keeps.pop()
        elif all(keeps):
            lines.append(line)
    return "\n".join(lines)


def _without_attributes(text: str) -> str:
    while (start := text.find("__attribute__")) >= 0:
        end, depth = text.index("(", start), 0
        while True:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
            if depth == 0:
                break
        text = text[:start] + text[end:]
    return text
