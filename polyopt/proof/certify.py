"""The whole proof of one kernel, part by part.

In: the front end's `Program`, the `LoopFunction` that is printed.  Out: a `Certificate`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from polyopt.ir.loops import Body, LoopFunction
from polyopt.ir.program import Program
from polyopt.ir.scop import Scop
from polyopt.proof.accesses import Tagged, Touch, Unproven, touches
from polyopt.proof.affine import NotAffine
from polyopt.proof.certificate import Certificate, Claim, ClaimKind, Verdict
from polyopt.proof.instances import Placed, check_instances, place
from polyopt.proof.lanes import one_lane
from polyopt.proof.order import conflicts, find_conflict
from polyopt.proof.paths import Path
from polyopt.proof.reading import Nest, Run, Unreadable, read
from polyopt.proof.registers import without_registers
from polyopt.proof.rolling import rolled
from polyopt.proof.source import NotForwarded, SourcePart, source_part
from polyopt.proof.storage import check_storage
from polyopt.proof.values import Differs, Match, Matcher


def certify(program: Program, function: LoopFunction) -> Certificate:
    """Return what was proven of `function` as an implementation of `program`."""
    names = (f"${n}" for n in itertools.count())
    claims: list[Claim] = []
    if program.is_static:
        claims += part_claims(program.scop, function.body, names)
    return Certificate(function.name, tuple(claims))


def part_claims(scop: Scop, body: Body, names: Iterator[str]) -> Iterator[Claim]:
    """Yield the claims about the loops of one static control part."""
    path = Path(scop.params, scop.context)
    plain = rolled(one_lane(without_registers(body, path, frozenset()), names), names)
    try:
        nest = read(plain, path)
        part = source_part(scop, frozenset(run.statement for run in nest.runs()))
    except Unreadable as error:
        yield Claim(ClaimKind.CONTROL, "loops", Verdict.OPEN, "", str(error))
        return
    except NotForwarded as error:
        yield Claim(ClaimKind.INSTANCES, error.statement.name, Verdict.REFUTED, "", error.reason)
        return
    yield from _check_part(part, nest)


def _check_part(part: SourcePart, nest: Nest) -> Iterator[Claim]:
    matches: dict[int, Match] = {}
    by_statement: dict[str, list[Run]] = {s.name: [] for s in part.statements}
    for run in nest.runs():
        if not run.statement:
            continue
        statement = part.by_name.get(run.statement)
        if statement is None:
            yield _values(run.statement, Verdict.REFUTED, "the source has no such statement")
            return
        by_statement[run.statement].append(run)
        try:
            match = Matcher(statement, run, statement.is_reassociable).match()
        except Differs as error:
            yield _values(run.statement, Verdict.REFUTED, str(error))
            return
        matches[id(run)] = match
    for statement in part.statements:
        yield _values(statement.name, Verdict.PROVEN, "")
    try:
        wrong = False
        places: list[Placed] = []
        for statement in part.statements:
            placed = place(part, statement, by_statement[statement.name])
            places += placed
            claim = check_instances(part, statement, placed)
            wrong = wrong or claim.verdict is not Verdict.PROVEN
            yield claim
        if wrong:
            return
        tagged = [Tagged(p, p.quotients.statement, matches[id(p.run)]) for p in places]
        found = touches(part, nest, tuple(tagged))
    except NotAffine as error:
        yield Claim(ClaimKind.INSTANCES, str(error), Verdict.OPEN, "", "it is not affine")
        return
    except Unproven as error:
        yield Claim(ClaimKind.STORAGE, error.subject, Verdict.OPEN, "", error.reason)
        return
    yield from check_storage(part, found)
    yield from _order(part, nest, tuple(places), found)


def _order(
    part: SourcePart, nest: Nest, places: tuple[Placed, ...], found: tuple[Touch, ...]
) -> Iterator[Claim]:
    pairs = conflicts(part, found)
    broken = find_conflict(part, nest.body, places, pairs)
    if broken is None:
        yield Claim(ClaimKind.ORDER, "all pairs", Verdict.PROVEN, str(pairs.kept))
        yield Claim(ClaimKind.CONCURRENCY, "all loops", Verdict.PROVEN, "")
        return
    kind = ClaimKind.CONCURRENCY if broken.is_concurrent else ClaimKind.ORDER
    yield Claim(kind, broken.where, Verdict.REFUTED, str(broken.pairs), "")


def _values(subject: str, verdict: Verdict, reason: str) -> Claim:
    return Claim(ClaimKind.VALUES, subject, verdict, "", reason)
