"""The loops of a program, by the names a person has for them: `i`, `L0[1]`, a line of the source.

In: a Program, the source's schedules of its parts, a name or a line.  Out: `Loop`s.
A NumPy expression's loops are found by its line.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.ir.program import Parts, Program, Repeat
from polyopt.schedule import Schedule
from polyopt.schedule.tree import bands, path_to, statements_of


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop of static control part `part`, or a region (`region`, part -1).

    `loc` is the loop's place in the source, where it has one; `at` is where to point otherwise.
    `statements` are those inside, of whose loops it is number `depth`.
    """

    name: str
    part: int
    label: str = ""
    position: int = 0
    loc: Loc | None = None
    at: Loc | None = None
    region: Repeat | None = None
    statements: tuple[str, ...] = ()
    depth: int = 0

    @property
    def reference(self) -> str:
        """The loop's unique name in the schedule language."""
        return self.name if self.region is not None else f"{self.label}[{self.position}]"

    @property
    def place(self) -> Loc | None:
        """Where to point."""
        return self.loc or self.at

    def __str__(self) -> str:
        where = f" (line {self.place.line})" if self.place is not None else ""
        return f"`{self.name}`{where}"


def loops_of(program: Program, schedules: tuple[Schedule, ...]) -> tuple[Loop, ...]:
    """Return all loops: regions first, then those of each part in textual order."""
    found = list(_regions(program.parts))
    for part, schedule in enumerate(schedules):
        found += _static(part, schedule)
    return tuple(found)


def _regions(parts: Parts) -> Iterator[Loop]:
    for part in parts:
        if isinstance(part, Repeat):
            yield Loop(part.param, -1, loc=part.loc, region=part)
            yield from _regions(part.body)


def _static(part: int, schedule: Schedule) -> Iterator[Loop]:
    scop = schedule.scop
    for band in bands(schedule.tree):
        above, domain = path_to(schedule.tree, scop, band.label)
        inside = [scop.statement(name) for name in statements_of(scop, domain)]
        for position, member in enumerate(band.members):
            depth = len(above) + position
            places = [s.loops[depth] for s in inside if depth < len(s.loops)]
            loc = next((place for place in places if place is not None), None)
            at = next((s.loc for s in inside if s.loc is not None), None)
            names = tuple(s.name for s in inside)
            yield Loop(
                member.name, part, band.label, position, loc, at, statements=names, depth=depth
            )


def named(loops: tuple[Loop, ...], name: str) -> tuple[Loop, ...]:
    """Return the loops `name` stands for: a line, a reference, or a name that several may have.

    A band's label stands for its only loop; of a line without `for`, the outermost loops count.
    """
    if name.isdecimal():
        line = int(name)
        exact = [loop for loop in loops if loop.loc is not None and loop.loc.line == line]
        if exact:
            return tuple(exact)
        near = [loop for loop in loops if loop.loc is None and _line(loop.at) == line]
        return tuple(loop for loop in near if loop.position == 0)
    exact = [loop for loop in loops if name in (loop.reference, loop.name)]
    if exact:
        return tuple(exact)
    band = [loop for loop in loops if loop.label == name]
    return tuple(band) if len(band) == 1 else ()


def _line(loc: Loc | None) -> int | None:
    return None if loc is None else loc.line
