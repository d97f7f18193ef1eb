"""A schedule in words: what runs, what depends on what, which loops are parallel and which are not.

In: a Program and its Schedule.  Out: text, section by section, and the same facts as plain data.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import coalesced, only_value
from polyopt.ir.loops import LoopKind
from polyopt.ir.program import Parts, Program, show_parts
from polyopt.ir.scop import Scop
from polyopt.ir.showing import show
from polyopt.report.fusion import explain_fusion
from polyopt.report.mapping import explain_mapping
from polyopt.report.storage import explain_reductions, explain_storage
from polyopt.schedule import Dependence, Dependences, Schedule
from polyopt.schedule.legality import Fault, Violation, carried_pairs
from polyopt.schedule.tree import (
    Band,
    BandMember,
    bands,
    path_to,
    statements_of,
    tuple_names,
)
from polyopt.schedule.witness import find_witness, inexact_access
from polyopt.schedule.witness_text import describe

MOST_PAIRS = 1000
"""Pairs of statements whose dependences are listed, or looked at together for an example."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its lines; lines that begin with a space belong to the line above."""

    title: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"  {line}" for line in self.lines)])


def explain(
    program: Program, schedules: tuple[Schedule, ...], formulas: bool = False
) -> tuple[Section, ...]:
    """Return everything there is to say about a program's schedules, in reading order.

    With `formulas` sets of elements are written out.
    """
    sections: list[Section] = []
    if not program.is_static:
        sections.append(Section("regions", tuple(_regions(program.parts))))
    for number, (scop, schedule) in enumerate(zip(program.scops, schedules, strict=True)):
        part = f"part {number}: " if len(schedules) > 1 else ""
        sections += [
            Section(f"{part}arrays", tuple(_arrays(schedule.scop))),
            Section(f"{part}statements", tuple(_statements(scop))),
            Section(f"{part}dependences", tuple(_dependences(schedule))),
            Section(f"{part}reductions", tuple(explain_reductions(schedule.scop))),
            Section(f"{part}storage", tuple(explain_storage(schedule, formulas))),
            Section(f"{part}steps", tuple(map(str, schedule.trace)) or ("the source's order",)),
            Section(f"{part}loop nest", tuple(str(schedule).splitlines())),
            Section(f"{part}fusion", explain_fusion(schedule)),
            Section(f"{part}loops", tuple(_loops(schedule))),
            Section(f"{part}mapping", explain_mapping(schedule)),
        ]
    return tuple(section for section in sections if section.lines)


def with_memory(sections: tuple[Section, ...], lines: tuple[str, ...]) -> tuple[Section, ...]:
    """Return the sections with what temporaries take under "storage"; a section of its own where
    several parts have one each.
    """
    titles = [section.title for section in sections]
    if "storage" not in titles:
        return (*sections, Section("storage", lines))
    return tuple(
        Section(one.title, (*one.lines, *lines)) if one.title == "storage" else one
        for one in sections
    )


def _regions(parts: Parts) -> Iterator[str]:
    """Yield the control around the static control parts, which are numbered."""
    number = 0
    for line in show_parts(parts, lambda scop: [f"part: {len(scop.statements)} statements"]):
        if line.strip().startswith("part: "):
            line = line.replace("part: ", f"part {number}: ", 1)
            number += 1
        yield line


def show_sections(heading: str, sections: tuple[Section, ...]) -> str:
    """Return the sections as one text."""
    return "\n\n".join([heading, *map(str, sections)])


def _arrays(scop: Scop) -> Iterator[str]:
    for array in scop.arrays:
        shape = f"[{', '.join(map(show, array.shape))}]" if array.shape else ""
        yield f"{array.role.value:<7}{array.name}: {array.dtype}{shape}"


def _statements(scop: Scop) -> Iterator[str]:
    for statement in scop.statements:
        where = f"line {statement.loc.line}: " if statement.loc is not None else ""
        yield f"{statement.name}  {where}{statement.text or statement}"
        yield f"    computes {show(statement.target)} = {show(statement.value)}"
        if statement.guard is not None:
            yield f"    where {show(statement.guard)}"
        yield f"    for {show_set(statement.domain)}"


def show_set(domain: isl.Set) -> str:
    """Return a set without its parameters: `{ S0[i] : 0 <= i < N }`."""
    return str(coalesced(domain)).split("->", 1)[-1].strip()


def _dependences(schedule: Schedule) -> Iterator[str]:
    found = schedule.dependences
    pairs = list(found.pairs([statement.name for statement in schedule.scop.statements]))
    for pair in pairs[:MOST_PAIRS]:
        for dependence in found.between(*pair):
            nature = _nature(schedule.scop, dependence)
            yield f"{show_dependence(dependence)}{_distances(dependence)}{nature}"
    if len(pairs) > MOST_PAIRS:
        yield f"and those of {len(pairs) - MOST_PAIRS} more pairs of statements"


def show_dependence(dependence: Dependence) -> str:
    """Return kind, array and statements of a dependence."""
    pair = f"{dependence.source} -> {dependence.target}"
    return f"{dependence.kind.value:<7}{dependence.array}: {pair}"


def _distances(dependence: Dependence) -> str:
    """Return the distance where source and target are one statement and it is constant."""
    if dependence.source != dependence.target:
        return ""
    deltas = dependence.relation.deltas()
    found = (only_value(deltas, d) for d in range(deltas.dim(isl.dim_type.set)))
    values = ["*" if one is None else str(one) for one in found]
    return f", distance ({', '.join(values)})" if values else ""


def _nature(scop: Scop, dependence: Dependence) -> str:
    facts = []
    if dependence.reduction:
        facts.append("a reduction: may be reordered")
    if not dependence.exact:
        access = inexact_access(scop, dependence)
        facts.append(f"a may-dependence: the subscript of {access} is not affine")
    return f"  ({'; '.join(facts)})" if facts else ""


def _loops(schedule: Schedule) -> Iterator[str]:
    for band in bands(schedule.tree):
        for position, member in enumerate(band.members):
            yield from explain_loop(schedule, band, position, member)


def explain_loop(
    schedule: Schedule, band: Band, position: int, member: BandMember
) -> Iterator[str]:
    """Say how one loop runs, over which statements, and what keeps it from running in parallel."""
    _, domain = path_to(schedule.tree, schedule.scop, band.label)
    inside = ", ".join(statements_of(schedule.scop, domain))
    head = f"{band.label}[{position}] {member.name} ({inside}): "
    if member.coincident:
        yield head + _coincident(schedule, band, position, member)
        return
    yield head + f"{_kind(member)}, because it carries a dependence"
    for some in _batches(schedule.dependences, frozenset(tuple_names(domain))):
        pairs = carried_pairs(some, schedule.tree, band.label, position)
        pairs = pairs.intersect_params(schedule.scop.context)
        if not pairs.is_empty():
            violation = Violation(Fault.CONCURRENT, pairs, member.name)
            witness = find_witness(schedule.scop, some, violation)
            example, kind, *_ = describe(witness, schedule.scop)
            yield f"    {kind.removeprefix('kind: ')}"
            yield f"    {example.partition(';')[0]}"
            return


def _batches(dependences: Dependences, names: frozenset[str]) -> Iterator[Dependences]:
    """Yield the dependences of some statements, those of many pairs a part at a time."""
    waiting = dependences.among(names)
    while some := tuple(islice(waiting, MOST_PAIRS)):
        yield Dependences(dependences.scop, some)


def _kind(member: BandMember) -> str:
    match member.kind:
        case LoopKind.SEQUENTIAL:
            return "in order"
        case LoopKind.MATRIX:
            return "the terms of matrix instructions"
        case LoopKind.SCAN:
            return "a scan by threads"
        case LoopKind.LIBRARY:
            return "of a product that BLAS computes"
        case _:
            return str(member.kind.value)


_RUN = {
    LoopKind.PARALLEL: "parallel across threads",
    LoopKind.VECTOR: "vector lanes",
    LoopKind.UNROLL: "unrolled",
    LoopKind.BLOCK: "across blocks of the grid",
    LoopKind.THREAD: "across threads of a block",
    LoopKind.MATRIX: "by matrix instructions of warps",
    LoopKind.SCAN: "scanned by threads",
    LoopKind.LIBRARY: "of a product that BLAS computes",
    LoopKind.LANE: "across neighbouring threads that combine",
}


def _coincident(schedule: Schedule, band: Band, position: int, member: BandMember) -> str:
    fact = "it carries no dependence"
    if member.kind in _RUN:
        return f"{_RUN[member.kind]}: {fact}"
    outer = _parallel_outside(schedule, band, position)
    why = f"`{outer}` outside it already is" if outer else "it was left in order"
    return f"could be parallel ({fact}); {why}"


def _parallel_outside(schedule: Schedule, band: Band, position: int) -> str | None:
    """Return the name of a parallel loop around the given one."""
    path, _ = path_to(schedule.tree, schedule.scop, band.label)
    for member in (*path, *band.members[:position]):
        if member.kind is LoopKind.PARALLEL:
            return member.name
    return None
