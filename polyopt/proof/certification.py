"""Prove that loops implement a program, part by part.

In: the front end's `Program`, the `LoopFunction` that is printed.  Out: a `Certificate`.
Vector statements become loops over lanes, chains of choices loops in order.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import islpy as isl

from polyopt import proof
from polyopt.dataclass import replace
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import (
    BinaryOp,
    Broadcast,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    VectorLoad,
    add,
    integer,
    mul,
    operands,
    rewrite,
)
from polyopt.ir.loops import Assign, Body, For, LoopFunction, LoopKind, Node
from polyopt.ir.nodes import map_bodies
from polyopt.ir.program import Bind, Program, all_parts
from polyopt.ir.scop import Role, Scop
from polyopt.ir.source import ArrayArg, Computed, Signature, SizeOf
from polyopt.ir.views import without_views
from polyopt.proof.accesses import Copies, Tagged, Unproven, instance_accesses
from polyopt.proof.affine import Frame, NotAffine
from polyopt.proof.bounds import check_bounds
from polyopt.proof.certificate import Certificate, Claim, ClaimKind, Verdict
from polyopt.proof.chunks import without_chunks, without_strips
from polyopt.proof.declarations import check_declarations, scalars_of, unhidden
from polyopt.proof.forms import check_forms, check_scans
from polyopt.proof.forward_substitution import substitute_operands
from polyopt.proof.groups import groups_of
from polyopt.proof.instances import PlacedRun, check_instances, place_runs
from polyopt.proof.kernels import check_kernels, has_kernels, without_kernels
from polyopt.proof.order import check_order
from polyopt.proof.partial import mentioned, without_partial_results
from polyopt.proof.paths import Path
from polyopt.proof.pipelines import without_pipelines
from polyopt.proof.reading import Run, RunTree, Unreadable, read
from polyopt.proof.regions import Mismatch, Regions, without_stops
from polyopt.proof.registers import without_registers
from polyopt.proof.rerolling import reroll
from polyopt.proof.sharing import Use, find_shared
from polyopt.proof.source import NotForwarded, SourcePart, source_part
from polyopt.proof.storage import check_storage
from polyopt.proof.values import Differs, Match, match_statement
from polyopt.proof.versions import without_versions
from polyopt.proof.widths import check_widths

MANY = 40
"""Statements of a part that is proven in pieces."""
FEW = 4
"""Pieces of what is known of the sizes; more are joined where that is one piece."""


def certify(program: Program, function: LoopFunction) -> Certificate:
    """Return the certificate of `function` as an implementation of `program`."""
    claims: list[Claim] = []
    for law in function.laws:
        claims.append(_check_law(program, law))
        program = law
    if all(claim.verdict is Verdict.PROVEN for claim in claims):
        claims += _claims(program, function)
    return Certificate(function.name, tuple(claims))


def _check_law(program: Program, law: Program) -> Claim:
    """Return the claim that a program computes what the one before does, by a law of arithmetic."""
    if proof.mirroring.is_mirrored(program, law):
        return proof.mirroring.check_mirrored(program, law)
    return proof.rescaling.check_rescaled(program, law)


def _claims(program: Program, function: LoopFunction) -> Iterator[Claim]:
    names = (f"${n}" for n in itertools.count())
    faults = frozenset(a.name for a in function.arrays if a.role is Role.FAULT)
    bound = bound_names(program)
    path = Path((*function.params, *bound), context_of(program))
    taken = {*function.params, *scalars_of(program), *(array.name for array in function.arrays)}
    function = replace(function, body=unhidden(function.body, frozenset(taken), names))
    for claim in _form_claims(program, function, path):
        yield claim
        if claim.verdict is not Verdict.PROVEN:
            return
    function = replace(function, body=without_extrema(without_views(function.body)))
    if has_kernels(function.body):
        touched = replace(function, body=proof.matrix.as_touched(function.body))
        yield from proof.barriers.check_synchronisation(touched, path)
    function = replace(function, body=without_kernels(function.body))
    given = {array.name: array for array in program.arrays}
    bounds = check_bounds(function, given, path.params, path.context)
    yield from bounds
    yield check_widths(function, bound)
    plain = without_pipelines(without_stops(function.body, faults))
    plain = without_chunks(without_versions(without_strips(plain), path), path)
    plain = without_registers(plain, path, frozenset(bound))
    trusted = frozenset(c.subject for c in bounds if c.verdict is Verdict.TRUSTED)
    undone = replace(function, body=plain)

    def proven(is_wanted: Callable[[Node], bool]) -> frozenset[str]:
        found = check_bounds(undone, given, path.params, path.context, is_wanted)
        return frozenset(c.subject for c in found if c.verdict is Verdict.PROVEN)

    untrusted = proof.trusted_accesses.untrusted_array
    other = untrusted(function.body, plain, trusted, frozenset(bound), proven)
    if other is not None:
        reason = "its subscripts are data where the source has no such access"
        yield Claim(ClaimKind.BOUNDS, other, Verdict.OPEN, "", reason)
        return
    uses = proof.trusted_accesses.used_untested
    tested = next((n for n in sorted(trusted) if uses(program, function.body, n)), None)
    if tested is not None:
        reason = "the source tests its subscripts, the loops do not"
        yield Claim(ClaimKind.BOUNDS, tested, Verdict.OPEN, "", reason)
        return
    plain = substitute_operands(reroll(one_lane(plain, names), names), names)
    used = mentioned(plain)
    if program.is_static:
        is_temporary = _is_temporary(program.scop)
        yield from part_claims(program.scop, plain, is_temporary, frozenset(given), used)
        return
    try:
        for found in Regions(program, path).match(plain):
            part = found.scop, found.body, found.is_temporary
            yield from part_claims(*part, frozenset(given), used)
    except Mismatch as error:
        yield Claim(ClaimKind.CONTROL, error.subject, Verdict.OPEN, "", error.reason)
        return
    yield Claim(ClaimKind.CONTROL, "regions", Verdict.PROVEN, "")


def _form_claims(program: Program, function: LoopFunction, path: Path) -> Iterator[Claim]:
    """Yield whether the loops have the form that the other claims rely on."""
    yield check_declarations(program, function)
    yield check_forms(function)
    kernels = check_kernels(function)
    has_some = has_kernels(function.body)
    if kernels.verdict is not Verdict.PROVEN or has_some:
        yield kernels
    if has_some:
        yield from proof.matrix.check_matrices(program, function, path)
    yield from check_scans(program, function)
    if function.turns:
        plain = replace(function, body=without_views(function.body))
        yield from proof.turns.check_turns(plain)


def bound_names(program: Program) -> tuple[str, ...]:
    """Return the sizes that the program computes at run time."""
    return tuple(part.param for part in all_parts(program.parts) if isinstance(part, Bind))


def context_of(program: Program) -> isl.Set:
    """Return the constraints on sizes that hold everywhere: a call checks them."""
    signature = program.signature
    names = [size.param for size in (*signature.sizes, *signature.computed, *signature.starts)]
    frame = Frame(tuple(dict.fromkeys(names)))
    result = frame.universe
    for size in signature.sizes:
        if isinstance(size, SizeOf):
            least = Compare(CompareOp.GE, Param(size.param), integer(0))
            result = result.intersect(frame.condition(least))
    for condition in (*(c.condition for c in signature.checks), *_shapes(signature)):
        with contextlib.suppress(NotAffine):
            result = result.intersect(frame.condition(condition))
            if result.n_basic_set() > FEW:
                result = coalesced(result)
    for computed in signature.computed:
        result = result.intersect(_as_product(computed, frame))
    context = coalesced(result).params()
    return context.intersect(program.scop.context) if program.is_static else context


def _as_product(computed: Computed, frame: Frame) -> isl.Set:
    """Return the sizes at which a computed size may be its product: no factor is 0."""
    factors = operands(computed.value, BinaryOp.MUL)
    found = frame.universe
    if len(factors) == 1:
        return found
    for factor in factors:
        with contextlib.suppress(NotAffine):
            found = found.intersect(frame.condition(Compare(CompareOp.NE, factor, integer(0))))
    return found.union(frame.condition(Compare(CompareOp.EQ, Param(computed.param), integer(0))))


def _shapes(signature: Signature) -> Iterator[Expr]:
    """Yield that sizes are the extents of their arguments, as a call checks."""
    for size in signature.sizes:
        if isinstance(size, SizeOf):
            argument = signature.arguments[size.argument]
            if isinstance(argument, ArrayArg):
                extent = argument.shape[size.dim]
                yield Compare(CompareOp.EQ, Param(size.param), extent)


def _is_temporary(scop: Scop) -> Callable[[str], bool]:
    return lambda name: scop.array(name).role is Role.TEMP


def part_claims(
    scop: Scop,
    body: Body,
    is_temporary: Callable[[str], bool],
    given: frozenset[str],
    used: Counter[str],
) -> Iterator[Claim]:
    """Yield the claims about the loops of one static control part of a program with `given`.

    `used` is the number of times that the whole program mentions each array.
    """
    if any(s.guard is not None for s in scop.statements):
        body = proof.kept_values.with_conditions(body, scop)
    claims = (
        claim
        for some, loops in groups_of(scop, body)
        for claim in _in_sequence(some, loops, is_temporary, given, used)
    )
    yield from dict.fromkeys(claims)


def _in_sequence(
    scop: Scop,
    body: Body,
    is_temporary: Callable[[str], bool],
    given: frozenset[str],
    used: Counter[str],
) -> Iterator[Claim]:
    """Yield claims about consecutive pieces; about the whole where one of these is not proven."""
    found: list[Claim] = []
    is_large = len(scop.statements) >= MANY
    pieces = proof.sequence.pieces_of(scop, body) if is_large else []
    for piece in pieces if len(pieces) > 1 else ():
        own = partial(_is_own, is_temporary, piece.passing)
        found += _group_claims(piece.scop, piece.body, own, given, used)
        if any(claim.verdict is not Verdict.PROVEN for claim in found):
            break
    else:
        if found:
            yield from found
            return
    yield from _group_claims(scop, body, is_temporary, given, used)


def _is_own(is_temporary: Callable[[str], bool], passing: frozenset[str], name: str) -> bool:
    """Tell whether an array is temporary in a piece that passes on the arrays `passing`."""
    return name not in passing and is_temporary(name)


def _group_claims(
    scop: Scop,
    body: Body,
    is_temporary: Callable[[str], bool],
    given: frozenset[str],
    used: Counter[str],
) -> Iterator[Claim]:
    path = Path(scop.params, scop.context)
    statements = {statement.name: statement for statement in scop.statements}
    body = without_partial_results(body, path, statements, given, used)
    try:
        faults = frozenset(a.name for a in scop.arrays if a.role is Role.FAULT)
        nest = read(body, path, faults)
        running = frozenset(run.statement for run in nest.runs())
        part = source_part(scop, running, is_temporary)
    except Unreadable as error:
        yield Claim(ClaimKind.CONTROL, "loops", Verdict.OPEN, "", str(error))
        return
    except NotForwarded as error:
        yield Claim(ClaimKind.INSTANCES, error.statement.name, Verdict.REFUTED, "", error.reason)
        return
    stranger = _stranger(part, nest, given)
    if stranger is not None:
        reason = "it is written by a copy that the source does not have"
        yield Claim(ClaimKind.STORAGE, stranger, Verdict.REFUTED, "", reason)
        return
    yield from _check_part(part, replace(nest, homes=_homes(part, nest)))


def _homes(part: SourcePart, nest: RunTree) -> dict[str, int]:
    """Return the loops' own storage: around what copies alone set without a declaration is none."""
    targets = [run.target for run in nest.runs() if not run.statement]
    names = {target.array for target in targets if isinstance(target, Load)}
    return {**{name: 0 for name in names if part.array(name) is None}, **nest.homes}


def _stranger(part: SourcePart, nest: RunTree, given: frozenset[str]) -> str | None:
    """Return storage of others that the loops of a part set, or a fault they note themselves."""
    for run in nest.runs():
        target = run.target
        name = target.name if isinstance(target, Symbol) else target.array
        if isinstance(target, Symbol) and name not in nest.homes:
            return name
        if name in given and part.array(name) is None:
            return name
        if name in part.unordered and not run.statement:
            return name
    return None


def _check_part(part: SourcePart, nest: RunTree) -> Iterator[Claim]:
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
            match = match_statement(statement, run)
        except Differs as error:
            yield _values(run.statement, Verdict.REFUTED, str(error))
            return
        matches[id(run)] = match
    for statement in part.statements:
        yield _values(statement.name, Verdict.PROVEN, "")
    in_order = _in_order(part, nest, by_statement, matches)
    claims: list[Claim] = []
    for claim in in_order:
        claims.append(claim)
        if claim.verdict is not Verdict.PROVEN:
            by_flow = tuple(proof.dataflow.check_dataflow(part, nest, matches))
            if all(other.verdict is Verdict.PROVEN for other in by_flow):
                yield from by_flow
                return
            break
    yield from (*claims, *in_order)


def _in_order(
    part: SourcePart,
    nest: RunTree,
    by_statement: dict[str, list[Run]],
    matches: dict[int, Match],
) -> Iterator[Claim]:
    """Yield claims for loops that keep the order of every conflicting pair."""
    try:
        wrong = False
        places: list[PlacedRun] = []
        for statement in part.statements:
            placed = place_runs(part, statement, by_statement[statement.name])
            places += placed
            claim = check_instances(part, statement, placed)
            wrong = wrong or claim.verdict is not Verdict.PROVEN
            yield claim
        if wrong:
            return
        tagged = [Tagged(p, p.quotients.statement, matches[id(p.run)]) for p in places]
        found = instance_accesses(part, nest, tuple(tagged))
        shared = find_shared(nest, _copies(part, nest), part.unordered)
    except NotAffine as error:
        yield Claim(ClaimKind.INSTANCES, str(error), Verdict.OPEN, "", "it is not affine")
        return
    except Unproven as error:
        yield Claim(ClaimKind.STORAGE, error.subject, Verdict.OPEN, "", error.reason)
        return
    if shared is not None:
        loop, array = shared
        reason = f"iterations share {array}"
        yield Claim(ClaimKind.CONCURRENCY, f"loop {loop}", Verdict.REFUTED, "", reason)
        return
    storage = check_storage(part, nest, tuple(tagged), found)
    yield from storage.claims
    yield from check_order(part, nest.body, tuple(places), found, storage.settled)


def _copies(part: SourcePart, nest: RunTree) -> list[Use]:
    """Return the storage set by runs that are not instances of the source."""
    places = Copies(part, nest)
    runs = [run for run in nest.runs() if not run.statement]
    return [Use(run, places.location(run, run.target), True, None) for run in runs]


def _values(subject: str, verdict: Verdict, reason: str) -> Claim:
    return Claim(ClaimKind.VALUES, subject, verdict, "", reason)


def one_lane(body: Body, names: Iterator[str]) -> Body:
    """Return `body` with its vector assignments as loops, over iterators called by `names`."""
    return tuple(_node(node, names) for node in body)


def _node(node: Node, names: Iterator[str]) -> Node:
    match node:
        case Assign(target=VectorLoad() as target):
            lane = Iter(next(names))
            inner = Assign(
                _element(target, lane),
                _lane(node.value, lane),
                node.statement,
                tuple(
                    add(part, mul(integer(step), lane)) if step else part
                    for part, step in zip(node.instance, node.steps, strict=False)
                ),
            )
            if len(node.steps) != len(node.instance):
                inner = replace(inner, statement="", instance=())
            upper = integer(target.lanes)
            return For(lane.name, integer(0), upper, 1, LoopKind.VECTOR, (inner,), "lanes")
        case _:
            return map_bodies(node, one_lane, names)


def _element(cell: VectorLoad, lane: Iter) -> Load:
    *outer, last = cell.index
    away = mul(integer(cell.step), lane) if cell.step != 1 else lane
    return Load(cell.array, (*outer, add(last, away)), cell.dtype)


def _lane(value: Expr, lane: Iter) -> Expr:
    def rule(part: Expr) -> Expr | None:
        match part:
            case VectorLoad():
                return _element(part, lane)
            case Broadcast():
                return _lane(part.operand, lane)
            case Symbol() if part.lanes > 1:
                return replace(part, lanes=1)
            case _:
                return None

    return rewrite(value, rule)


def without_extrema(body: Body) -> Body:
    """Return `body` with its EXTREMUM loops in order."""
    return tuple(map(_serialized, body))


def _serialized(node: Node) -> Node:
    if isinstance(node, For) and node.kind is LoopKind.EXTREMUM:
        return replace(node, kind=LoopKind.SEQUENTIAL)
    return map_bodies(node, without_extrema)
