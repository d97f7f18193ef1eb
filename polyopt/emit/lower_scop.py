"""Lower one static control part: a proven schedule to loops, through isl's AST generator.

In: a `Schedule`.  Out: loops that run every instance of its Scop once, in order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

import islpy as isl

from polyopt import emit
from polyopt.dataclass import dataclass, replace
from polyopt.emit.regions import placed_by_data
from polyopt.emit.reindex import reindex
from polyopt.errors import BudgetError
from polyopt.ir.budget import query
from polyopt.ir.expr import (
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    VectorLoad,
    rewrite,
    substitute,
    walk,
)
from polyopt.ir.isl_ast import (
    AstBody,
    AstCall,
    AstFor,
    AstIf,
    AstLet,
    AstStep,
    ast_body,
    with_iterators,
)
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Body, For, If, LoopKind, Node
from polyopt.ir.names import depends_on_data, fresh_name
from polyopt.ir.nodes import all_nodes, changed_body, map_bodies
from polyopt.ir.parameters import param_names
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.never import assert_never
from polyopt.schedule.contraction import contraction_chains
from polyopt.schedule.isl_bridge import Marked, nest_to_isl, to_isl, unseparated
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Sequence, Tree, depth


@dataclass(frozen=True, slots=True)
class Lowered:
    """The loops of one static control part.

    `local` arrays are declared in them, `expanded` ones are temporaries that need memory; `arrays`
    are all but the local ones.
    """

    body: Body
    local: frozenset[str]
    reassociable: frozenset[str]
    fusible: frozenset[str]
    expanded: tuple[Array, ...]
    arrays: tuple[Array, ...]


def lower_scop(
    schedule: Schedule,
    names: frozenset[str],
    *,
    moves: bool = True,
    sizes: Collection[str] | None = None,
) -> Lowered:
    """Return the loops that run `schedule`; `names` are taken.

    Without `moves` all values stay where the source has them, and isl separates no loops.
    `sizes`, which are known where threads begin, let these have temporaries of their own.
    The loops made last are kept: who asks what a schedule needs goes on to use it.
    """
    key = (lower_scop, names, moves, None if sizes is None else frozenset(sizes))
    kept = schedule.scop.known.get(key)
    if isinstance(kept, _Kept) and kept.tree is schedule.tree:
        return kept.lowered
    lowered = _lowered(schedule, names, moves, sizes)
    schedule.scop.known[key] = _Kept(schedule.tree, lowered)
    return lowered


@dataclass(frozen=True, slots=True)
class _Kept:
    tree: Tree
    lowered: Lowered


def _lowered(
    schedule: Schedule, names: frozenset[str], moves: bool, sizes: Collection[str] | None
) -> Lowered:
    scop = schedule.scop
    taken = names | {array.name for array in scop.arrays} | set(scop.params)
    body = _joined(
        node
        for marked, loops in _nests(schedule, moves)
        for node in _Lowering(scop, marked, taken).body(loops, {})
    )
    chains = contraction_chains(scop, schedule.tree) if moves else {}
    # no proof follows what the source finds by data to other storage
    whole = placed_by_data(body) & {array.name for array in schedule.history()[0].scop.arrays}
    chains = {name: found for name, found in chains.items() if name not in whole}
    body, arrays = _stored(reindex(body), scop.arrays, chains, sizes, taken)
    body = _settled(body)
    local = {a.name for a in scop.arrays} - {a.name for a in arrays}
    reassociable = frozenset(source_name(s) for s in scop.statements if s.is_reassociable)
    fusible = frozenset(source_name(s) for s in scop.statements if s.fuses)
    expanded = tuple(a for a in arrays if a.role is Role.TEMP)
    return Lowered(body, frozenset(local), reassociable, fusible, expanded, arrays)


def _nests(schedule: Schedule, moves: bool) -> Iterator[tuple[Marked, AstBody]]:
    """Yield isl's loops for each part of the outermost sequence, or of all parts together."""
    tree, levels = schedule.tree, depth(schedule.tree)
    if isinstance(tree, Sequence):
        trees = [nest_to_isl(part, schedule.scop) for part in tree.parts]
    else:
        trees = [to_isl(tree, schedule.scop)]
    for marked in trees:
        yield marked, _loops(marked, levels, moves)


def _joined(nodes: Iterable[Node]) -> Body:
    """Return the nodes with one condition on sizes around neighbours that have the same."""
    found: list[Node] = []
    for node in nodes:
        last = found[-1] if found else None
        if (
            isinstance(node, If)
            and isinstance(last, If)
            and node.condition == last.condition
            and not (node.otherwise or last.otherwise)
            and not depends_on_data(node.condition)
        ):
            found[-1] = If(node.condition, (*last.then, *node.then))
        else:
            found.append(node)
    return tuple(found)


def _loops(marked: Marked, levels: int, moves: bool) -> AstBody:
    build = with_iterators(isl.AstBuild.from_context(marked.context), levels)
    if moves:
        ast = _ast(build, marked.schedule, marked.schedule.get_domain().n_set())
    else:
        ast = build.node_from_schedule(unseparated(marked.schedule))
    return ast_body(ast, frozenset(param_names(marked.context)))


def _stored(
    body: Body,
    arrays: tuple[Array, ...],
    chains: Mapping[str, tuple[tuple[str, ...], ...]],
    sizes: Collection[str] | None,
    taken: Collection[str],
) -> tuple[Body, tuple[Array, ...]]:
    """Return the body with temporaries narrowed to loops in `chains`, and the remaining arrays.

    The innermost loop of each chain comes first; outer ones are taken where it does not hold all
    uses any more, as where isl runs an edge of it before it.
    """
    labels = {node.label for node in all_nodes(body) if isinstance(node, For)}
    around = {name: _levels(found, labels) for name, found in chains.items()}
    while scopes := {name: nest.pop() for name, nest in around.items() if nest}:
        body, local = emit.storage_scope.declare_in_loops(body, arrays, scopes, taken)
        left = tuple(a for a in arrays if a.name not in local)
        if sizes is not None:
            body, left = emit.storage_scope.privatize_by_thread(body, left, scopes, sizes)
        body, after = emit.array_contraction.contract_arrays(body, left, scopes)
        same = {array.name for array in after if array in arrays}
        around = {name: nest for name, nest in around.items() if name in same}
        arrays = after
    return body, arrays


def _settled(body: Body) -> Body:
    """Return `body` with the numbers that conditions say of iterators in their place."""
    found: list[Node] = []
    for node in body:
        match node:
            case If(
                condition=Compare(op=CompareOp.EQ, left=Iter(name=name), right=Const() as number)
            ):
                rule = partial(place, values={name: number})
                node = replace(node, then=changed_body(node.then, rule))
        found.append(map_bodies(node, _settled))
    return tuple(found)


def _levels(chains: tuple[tuple[str, ...], ...], labels: set[str]) -> list[frozenset[str]]:
    """Return the loops to narrow to at once, one of each chain, outermost first.

    >>> _levels((("a", "b"), ("c",)), {"a", "b", "c"}) == [{"a", "c"}, {"b", "c"}]
    True
    """
    there = [[label for label in chain if label in labels] for chain in chains]
    if not all(there):
        return []
    depth = max(map(len, there))
    return [
        frozenset(chain[max(len(chain) - back, 0)] for chain in there)
        for back in range(depth, 0, -1)
    ]


UNKNOWN = "unknown divs"
"""isl's message when it cannot separate loops whose bounds have its own quotients."""
SEPARATION, EACH = 1_000_000, 100_000
"""isl operations to separate loops, and more for each statement: seconds; most need a tenth."""


def _ast(build: isl.AstBuild, schedule: isl.Schedule, statements: int) -> isl.AstNode:
    """Return isl's loops; where separation fails or takes long, loops with conditions.

    Statements at the edges of skewed tiles are separated into loops for every way in which a
    tile, its rows and an edge intersect: too many to prove.  Then loops around loops have
    conditions.
    """
    with (
        suppress(BudgetError),
        _suppress_unknown(),
        query("loops without conditions", operations=SEPARATION + EACH * statements),
    ):
        return build.node_from_schedule(schedule)
    with _suppress_unknown():
        return build.node_from_schedule(unseparated(schedule, innermost=False))
    return build.node_from_schedule(unseparated(schedule))


@contextmanager
def _suppress_unknown() -> Iterator[None]:
    try:
        yield
    except isl.Error as error:
        if UNKNOWN not in str(error):
            raise


class _Lowering:
    """The walk over isl's AST; `names` maps isl's iterators to values over our iterators."""

    def __init__(self, scop: Scop, marked: Marked, taken: frozenset[str]) -> None:
        self.scop = scop
        self.marked = marked
        self.taken = taken
        self.atomic: frozenset[str] = frozenset()

    def body(self, steps: AstBody, names: dict[str, Expr]) -> Body:
        result: list[Node] = []
        for step in steps:
            result += self.step(step, names)
        return tuple(result)

    def step(self, step: AstStep, names: dict[str, Expr]) -> Body:
        match step:
            case AstLet():
                value = simplified(step.value, names)
                return self.body(step.body, names | {step.iterator: value})
            case AstIf():
                condition = simplified(step.condition, names)
                return (
                    If(condition, self.body(step.then, names), self.body(step.otherwise, names)),
                )
            case AstCall():
                return self.call(step, names)
            case AstFor():
                return (self.loop(step, names),)
            case _:
                assert_never(step)

    def loop(self, step: AstFor, names: dict[str, Expr]) -> For:
        band, above = self.marked.bands[step.mark]
        position = step.depth - above
        member = band.members[position]
        inside = {part.name for value in names.values() for part in _iters(value)}
        iterator = fresh_name(member.name, self.taken | inside)
        lower, upper = simplified(step.lower, names), simplified(step.upper, names)
        around = self.atomic
        if member.kind in (LoopKind.BLOCK, LoopKind.THREAD):
            self.atomic = around | member.atomic
        body = self.body(step.body, names | {step.iterator: Iter(iterator)})
        self.atomic = around
        label = f"{band.label}[{position}]"
        pipeline, group = member.pipeline, member.group
        loop = For(iterator, lower, upper, step.step, member.kind, body, label)
        return loop.annotated(pipeline=pipeline, group=group, finishes=member.finishes)

    def call(self, step: AstCall, names: dict[str, Expr]) -> Body:
        statement = self.scop.statement(step.name)
        instance = tuple(simplified(argument, names) for argument in step.arguments)
        body = instance_of(statement, instance)
        return _at_once(body) if statement.name in self.atomic else body


def _at_once(body: Body) -> Body:
    """Return a statement's instance with its update as one."""
    match body:
        case (If() as test,):
            return (replace(test, then=_at_once(test.then)),)
        case (Assign() as node,):
            return (replace(node, is_atomic=True),)
        case _:
            return body


def source_name(statement: Statement) -> str:
    """Return the name of the source's statement that one computes; "" where there is none."""
    return statement.name if statement.origin is None else statement.origin.statement


def instance_of(statement: Statement, instance: tuple[Expr, ...]) -> Body:
    """Return the assignment that runs one instance of a statement, guarded if the statement is."""
    values = dict(zip(statement.iters, instance, strict=True))
    target = place(statement.target, values)
    assert isinstance(target, Load)
    name = source_name(statement)
    if statement.origin is not None:
        instance = tuple(simplified(part, values) for part in statement.origin.instance)
    assign = Assign(target, place(statement.value, values), name, instance)
    if statement.guard is None:
        return (assign,)
    return (If(place(statement.guard, values), (assign,)),)


def place(expr: Expr, values: dict[str, Expr]) -> Expr:
    """Return `expr` with iterators replaced and subscripts collected."""
    return tidy(substitute(expr, values))


def tidy(expr: Expr) -> Expr:
    """Return `expr` with every subscript in normal form."""

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load | VectorLoad):
            index = tuple(normalize(tidy(i)) for i in part.index)
            return replace(part, index=index)
        return None

    return rewrite(expr, rule)


def simplified(expr: Expr, names: dict[str, Expr]) -> Expr:
    """Return a bound, guard or instance over our iterators, sums collected."""
    renamed = substitute(expr, names)
    return _collect(renamed)


def _collect(expr: Expr) -> Expr:
    def rule(part: Expr) -> Expr | None:
        if part.dtype.is_integer:
            return normalize(part)
        return None

    return rewrite(expr, rule)


def _iters(expr: Expr) -> list[Iter]:
    return [part for part in walk(expr) if isinstance(part, Iter)]
