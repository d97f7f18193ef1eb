"""What the body of a kernel prints as: its lines, and the limits that they declare first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from polyopt.dataclass import dataclass
from polyopt.emit.c_statements import Block, Code, Line, identifiers
from polyopt.emit.gpu.declarations import KernelDeclarations


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that is declared; `is_fixed`: it is the same wherever its text is."""

    kind: str
    name: str
    text: str
    is_fixed: bool


@dataclass(frozen=True, slots=True)
class Printed:
    """Statements, and the constants to be declared before them."""

    constants: tuple[Constant, ...]
    lines: list[Code]


def with_limits(
    lines: list[Code], declarations: KernelDeclarations, iterator: str | None = None
) -> list[Code]:
    """Return statements after the limits that they use: those over the iterator, or all."""
    used = identifiers(lines)
    here = {k: v for k, v in declarations.limits.items() if iterator is None or iterator in v.iters}
    found = [limit for limit in here.values() if limit.name in used]
    for key in here:
        del declarations.limits[key]
    if not found:
        return lines
    return [*(Line(f"const int {limit.name} = {limit.text};") for limit in found), *lines]


def joined(printed: Printed, known: dict[str, str]) -> list[Code]:
    """Return the statements after their constants; `known` are those of the block around.

    What is known is not declared again; where a name stands for something else there, they get a
    block of their own.
    """
    fresh = [c for c in printed.constants if not (c.is_fixed and known.get(c.name) == c.text)]
    if any(c.name in known for c in fresh):
        return [Block([*declared(printed.constants), *printed.lines])]
    known.update((c.name, c.text) for c in fresh)
    return [*declared(fresh), *printed.lines]


def declared(constants: Sequence[Constant]) -> list[Code]:
    lines: list[Code] = []
    for kind, group in groupby(constants, lambda constant: constant.kind):
        values = ", ".join(f"{constant.name} = {constant.text}" for constant in group)
        lines.append(Line(f"const {kind} {values};"))
    return lines
