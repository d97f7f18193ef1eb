"""The regions of a parsed C file.

In: a `Unit`.  Out: `Region`s in textual order.
Refuses (PO0191): files without a region, a pragma without its partner, regions that begin and end
in different blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyopt.cregion.syntax import Unit, field, walk
from polyopt.dataclass import dataclass
from polyopt.errors import FrontendError, Loc

if TYPE_CHECKING:
    from tree_sitter import Node

_PRAGMA = re.compile(r"#\s*pragma\s+(scop|endscop)\s*")


@dataclass(frozen=True, eq=False)
class Region:
    """Statements of a function between the two pragmas; `number` counts those of the function."""

    function: Node
    name: str
    number: int
    begin: Node
    end: Node
    statements: tuple[Node, ...]


def find_regions(unit: Unit, file: str) -> tuple[Region, ...]:
    """Return the regions of the file, not of what it includes."""
    found: list[Region] = []
    seen: set[int] = set()
    for function in walk(unit.root):
        if (
            function.type == "function_definition"
            and unit.places[function.start_point[0]][0] == file
        ):
            found += _regions_of(unit, function)
    for region in found:
        seen |= {region.begin.start_byte, region.end.start_byte}
    for node in walk(unit.root):
        if _pragma(unit, node) and node.start_byte not in seen:
            unit.refuse("PO0191", "a region lies inside one function", node, _HINT)
    if not found:
        hint = "write `#pragma scop` before and `#pragma endscop` behind the loops to optimize"
        raise FrontendError(
            "PO0191", f"`{file}` has no region to compile", loc=Loc(file, 1, 1, 1, 1), hint=hint
        )
    return tuple(found)


_HINT = "put `#pragma scop` and `#pragma endscop` into the same block of one function"


def _pragma(unit: Unit, node: Node) -> str | None:
    if node.type != "preproc_call":
        return None
    match = _PRAGMA.fullmatch(unit.source(node).strip())
    return None if match is None else match[1]


def _regions_of(unit: Unit, function: Node) -> Iterator[Region]:
    name = function_name(unit, function)
    number = 0
    for block in walk(function):
        if block.type != "compound_statement":
            continue
        begin: Node | None = None
        inside: list[Node] = []
        for child in block.children:
            match _pragma(unit, child):
                case "scop":
                    if begin is not None:
                        unit.refuse("PO0191", "a region begins inside a region", child, _HINT)
                    begin, inside = child, []
                case "endscop":
                    if begin is None:
                        unit.refuse("PO0191", "no region begins in this block", child, _HINT)
                    number += 1
                    yield Region(function, name, number, begin, child, tuple(inside))
                    begin = None
                case _:
                    inside.append(child)
        if begin is not None:
            unit.refuse("PO0191", "the region does not end in this block", begin, _HINT)


def function_name(unit: Unit, function: Node) -> str:
    """Return the name of a function that is defined."""
    declarator = field(function, "declarator")
    while declarator.type != "identifier":
        declarator = field(declarator, "declarator")
    return unit.source(declarator)
