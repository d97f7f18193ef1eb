"""The user's names for what a program calls otherwise: sizes, arrays, dimensions of expressions.

In: a Program and the Python function's own names.  Out: texts in the words of the source.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import PurePath

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.ir.names import iterators
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement
from polyopt.ir.showing import show
from polyopt.ir.source import ArrayArg, IntegerOf, Signature, SizeOf
from polyopt.report.nests import Loop

_WORD = re.compile(r"[A-Za-z_]\w*")
_FROM_END = re.compile(r"([^\s\[(,`][^,`]*?) \+ [\w.\[\]]+ if \1 < 0 else \1(?=[\],])")
"""A subscript that may count from the end, `p[i] + N if p[i] < 0 else p[i]`."""


@dataclass(frozen=True, eq=False)
class Names:
    """Says things of `program` in the words of its function; `own` are the function's variables."""

    program: Program
    own: frozenset[str]

    @cached_property
    def _sizes(self) -> Mapping[str, str]:
        return size_names(self.program.signature, self.own)

    @cached_property
    def _renamed(self) -> Mapping[str, str]:
        arrays = {
            a.array: a.name
            for a in self.program.signature.arguments
            if isinstance(a, ArrayArg) and a.part is None
        }
        return {**arrays, **self._sizes}

    def text(self, text: str) -> str:
        """Return a text of the program's with the user's names and subscripts."""
        named = _WORD.sub(lambda word: self.variable(word[0]) or word[0], text)
        return _FROM_END.sub(lambda found: found[1], named)

    def variable(self, name: str) -> str | None:
        """Return what the user calls an array, a size or a loop; None for what has no name."""
        if name in self._renamed:
            return self._renamed[name]
        base = re.sub(r"_\d+$", "", name)
        return next((wish for wish in (name, base, f"_{base}") if wish in self.own), None)

    def sizes(self, values: Mapping[str, int]) -> str:
        """Return sizes as text, those that have one name once."""
        shown = {self._sizes.get(name, name): value for name, value in values.items()}
        return ", ".join(f"{name}={value}" for name, value in shown.items())

    def place(self, loc: Loc | None) -> str:
        """Return `file.py:4`."""
        return "" if loc is None else f"{PurePath(loc.file).name}:{loc.line}"


def size_names(signature: Signature, own: Collection[str]) -> Mapping[str, str]:
    """Return what the user can write for each size parameter: `N`, `u.shape[0]`."""
    found: dict[str, str] = {}
    for size in signature.sizes:
        argument = signature.arguments[size.argument].name
        match size:
            case IntegerOf():
                found[size.param] = argument
            case SizeOf(param=param, dim=dim):
                made = re.fullmatch(rf"{re.escape(argument)}_{dim}(_\d+)?", param)
                found[param] = f"{argument}.shape[{dim}]" if made and param not in own else param
    return found


def dimension(statement: Statement, position: int) -> str:
    """Return the user's name for a loop of a statement; `axis 0` where the source has none."""
    name = statement.iters[position]
    places = statement.loops
    if position < len(places) and places[position] is not None:
        return name
    for axis, index in enumerate(statement.target.index):
        if name in iterators(index):
            return f"axis {axis}"
    return name if not places else "the summed axis"


def statement_line(statement: Statement) -> int | None:
    """Return the line a statement stands on."""
    return None if statement.loc is None else statement.loc.line


def lines_text(lines: Collection[int]) -> str:
    """Return `line 4`, `lines 4-9`, `lines 4, 9`."""
    found = sorted(set(lines))
    if not found:
        return "no line"
    if len(found) == 1:
        return f"line {found[0]}"
    if found[-1] - found[0] == len(found) - 1 or len(found) > 4:
        return f"lines {found[0]}-{found[-1]}"
    return f"lines {', '.join(map(str, found))}"


def access_text(names: Names, statement: Statement, array: str, *, write: bool) -> str:
    """Return how a statement writes an array, or reads it first: `A[i, j - 1]`."""
    if write:
        return names.text(show(statement.target))
    reads = [access for access in statement.reads if access.array == array]
    index = ", ".join(map(show, reads[0].index)) if reads else ""
    return names.text(f"{array}[{index}]" if index else array)


def loop_name(names: Names, loop: Loop) -> str:
    """Return `loop t`, or the line of a loop whose variable has no name in the source."""
    name = names.variable(loop.name)
    if name is not None and name != "_" and (loop.loc is not None or loop.place is None):
        return f"loop {name}"
    if loop.place is None:
        return "a loop"
    return f"the loop {'over' if loop.loc is None else 'of'} line {loop.place.line}"
