"""What a function's text says of its own loops: `po.prange`, `# polyopt: parallel`.

In: a function.  Out: `LoopClaim`s with their places, in textual order; what was not understood.
A comment stands on the line of its loop or alone above it; `fusable` means: with the loop before.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, unique
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.frontend.syntax.name_resolution import resolve
from polyopt.frontend.syntax.parallel_markers import is_marker, is_prange
from polyopt.frontend.syntax.pysource import PyFunction, read_function

_COMMENT = re.compile(r"#\s*polyopt\s*:\s*(.*)")


@unique
class Said(Enum):
    """What can be said of a loop."""

    PARALLEL = "parallel"  # its iterations are independent
    PRANGE = "prange"  # the same, but for sums and the like that are combined at the end
    FUSABLE = "fusable"  # it may be run as one with the loop before it


@dataclass(frozen=True, slots=True)
class LoopClaim:
    """`said` of the loop at `loc`; `before` is the loop it is said to be fusable with."""

    said: Said
    loc: Loc
    before: Loc | None = None


@dataclass(frozen=True, slots=True)
class Unclear:
    """A comment for polyopt that says nothing polyopt knows, or stands at no loop."""

    loc: Loc
    reason: str


def claims_in(func: Callable[..., Any]) -> tuple[LoopClaim | Unclear, ...]:
    """Return what the text of `func` says of its loops; raises as `read_function` does."""
    read = read_function(func)
    loops = dict(_loops(read.tree.body))
    found: list[LoopClaim | Unclear] = []
    for node, _ in loops.values():
        calls = (part for part in ast.walk(node.iter) if isinstance(part, ast.Call))
        for function in (resolve(call.func, read.globals) for call in calls):
            if not is_marker(function):
                continue
            said = Said.PRANGE if is_prange(function) else Said.PARALLEL
            found.append(LoopClaim(said, read.loc(node)))
    for line, column, text, alone in _comments(read):
        found += _said(read, loops, line, column, text, alone)
    return tuple(sorted(dict.fromkeys(found), key=lambda claim: (claim.loc.line, claim.loc.col)))


_Loops = dict[int, tuple[ast.For, ast.For | None]]


def _loops(body: Sequence[ast.stmt]) -> Iterator[tuple[int, tuple[ast.For, ast.For | None]]]:
    """Yield each loop's line, the loop, and the loop before it in the same block."""
    before: ast.For | None = None
    for node in body:
        if isinstance(node, ast.For):
            yield node.lineno, (node, before)
            before = node
        for _, block in ast.iter_fields(node):
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield from _loops(block)


def _comments(read: PyFunction) -> Iterator[tuple[int, int, str, bool]]:
    """Yield line, column, text and whether nothing else stands on the line."""
    text = "\n".join(read.lines) + "\n"
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            match = _COMMENT.fullmatch(token.string) if token.type == tokenize.COMMENT else None
            if match is not None:
                alone = not token.line[: token.start[1]].strip()
                yield token.start[0], token.start[1], match[1], alone
    except (tokenize.TokenError, SyntaxError):
        return


def _said(
    read: PyFunction, loops: _Loops, line: int, column: int, text: str, alone: bool
) -> Iterator[LoopClaim | Unclear]:
    at = read.first_line - 1 + line
    first = column + 1
    place = Loc(read.file, at, first, at, first + len(text))
    target = _below(read, line) if alone else line
    if target not in loops:
        yield Unclear(place, "the comment stands at no `for` loop")
        return
    node, before = loops[target]
    known = {said.value: said for said in (Said.PARALLEL, Said.FUSABLE)}
    for word in (word.strip() for word in text.split(",")):
        said = known.get(word)
        if said is None:
            yield Unclear(place, f"`{word}` says nothing about a loop")
        elif said is Said.FUSABLE and before is None:
            yield Unclear(place, "there is no loop before it to be fused with")
        else:
            other = read.loc(before) if before is not None and said is Said.FUSABLE else None
            yield LoopClaim(said, read.loc(node), other)


def _below(read: PyFunction, line: int) -> int:
    """Return the first line below `line` that is no comment."""
    while line < len(read.lines) and read.lines[line].lstrip().startswith("#"):
        line += 1
    return line + 1
