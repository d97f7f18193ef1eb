"""A C file with its regions replaced.

In: the text of a file, its compiled regions.  Out: the text with calls in the regions' places, and
the functions that they call before the functions that the regions are in.  Nothing else changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyopt.cregion.compiling import Compiled
from polyopt.cregion.syntax import Unit
from polyopt.ir.source import Argument, ArrayArg
from polyopt.ir.types import DType

_HEAD = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off", "wrapv")
#endif
"""
_FOOT = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
"""
_DONE = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static inline void polyopt_done(int status)
{
    if (status != 0) {
        fputs(status == 1 ? "polyopt: no memory for the temporary arrays of a region\\n"
                          : "polyopt: a number or subscript of a region is out of range\\n",
            stderr);
        abort();
    }
}
"""
_BARRIER = '__asm__ volatile("" ::: "memory");'
"""What orders accesses: `long long` may be another type than `int64_t`, which the call accesses."""


def spliced(unit: Unit, text: str, regions: Sequence[Compiled]) -> str:
    """Return the file's text with all regions replaced."""
    lines = text.split("\n")
    changes: list[tuple[int, int, list[str]]] = []
    functions: dict[int, list[str]] = {}
    known: set[str] = set()
    for compiled in regions:
        region = compiled.region
        first, last = unit.line(region.begin), unit.line(region.end)
        written = lines[first - 1]
        indent = written[: len(written) - len(written.lstrip())] or _indent(lines[first:last])
        changes.append((first, last, _statement(compiled, lines[first : last - 1], indent)))
        place = _before(lines, unit.line(region.function))
        done = "" if known else _DONE
        text = "\n\n".join((*compiled.helpers, compiled.source.text))
        body = _new_pieces(text, compiled.source.entry, known)
        functions.setdefault(place, []).extend(f"{_HEAD}{done}\n{body}{_FOOT}".split("\n"))
    changes += [(place, place - 1, new) for place, new in functions.items()]
    for first, last, new in sorted(changes, key=lambda change: change[0], reverse=True):
        lines[first - 1 : last] = new
    return "\n".join(lines)


def _statement(compiled: Compiled, written: list[str], indent: str) -> list[str]:
    """Return the statement in a region's place: the call, or else the region as it is written."""
    message = "polyopt read other types or macros"
    calls = [f"polyopt_done({compiled.call});"]
    if any(_is_wide(argument) for argument in compiled.program.signature.arguments):
        calls = [_BARRIER, *calls, _BARRIER]
    unused = [" ".join(f"(void){name};" for name in compiled.unused)] if compiled.unused else []
    asserts = [f'_Static_assert({one}, "{message}");' for one in compiled.fixed]
    first = [*asserts, *unused]
    if compiled.fits:
        opens, closes = ("", "") if len(calls) == 1 else (" {", "} ")
        choice = [f"if ({compiled.fits}){opens}", *(f"  {call}" for call in calls)]
        body = [f"{indent}  {line}" for line in (*first, *choice, f"{closes}else {{")]
        body += [*written, f"{indent}  }}"]
    else:
        body = [f"{indent}  {line}" for line in (*first, *calls)]
    return [f"{indent}{{", *body, f"{indent}}}"]


def _is_wide(argument: Argument) -> bool:
    return isinstance(argument, ArrayArg) and argument.dtype in (DType.INT64, DType.UINT64)


def _indent(lines: list[str]) -> str:
    """Return the indentation of the first statement."""
    for line in lines:
        if line.strip() and not line.lstrip().startswith("#"):
            return line[: len(line) - len(line.lstrip())]
    return ""


def _before(lines: list[str], first: int) -> int:
    """Return the line before which a function's comment, or else the function, begins."""
    line = first
    if line > 1 and lines[line - 2].rstrip().endswith("*/"):
        while line > 1 and "/*" not in lines[line - 2]:
            line -= 1
        return max(1, line - 1)
    while line > 1 and lines[line - 2].lstrip().startswith("//"):
        line -= 1
    return line


def _new_pieces(text: str, entry: str, known: set[str]) -> str:
    """Return an emitted text without the definitions that the file has already."""
    text = re.sub(rf"^int {entry}\(", f"static int {entry}(", text, flags=re.MULTILINE)
    found: list[str] = []
    for piece in re.split(r"\n\s*\n", text.strip("\n")):
        if piece in known and entry not in piece:
            continue
        known.add(piece)
        found.append(piece)
    return "\n\n".join(found) + "\n"
