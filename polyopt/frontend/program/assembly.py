"""The drafts of a function become the parts of a program: exact domains, checks, names, roles.

In: the builder after the last reading.  Out: `Finished`.
Values that no iteration reads are not computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.frontend.integers.affine_integers import TRUE, ZERO, is_size, less
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.checks import (
    DynamicChecks,
    as_if_run,
    checks_of,
    context_of,
    is_dynamic,
    passing_of,
    without_repeated_checks,
)
from polyopt.frontend.program.condition_splitting import Piece, Sizes, pieces_of, split_conditions
from polyopt.frontend.program.control_flow import place_of, shared_loops
from polyopt.frontend.program.drafts import (
    Binding,
    Draft,
    Invocation,
    Mark,
    Storage,
    dynamic_params,
)
from polyopt.frontend.program.regions import Former, Known, used_params
from polyopt.frontend.program.renaming import (
    Renaming,
    renamed_draft,
    renamed_fault,
    renamed_mark,
)
from polyopt.frontend.program.statement_domains import scope_exprs, size_context
from polyopt.frontend.values.values import Buffer, Index
from polyopt.ir.affine import coalesced, condition_set, param_space
from polyopt.ir.clock import checkpoint
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    Const,
    Expr,
    Load,
    Select,
    integer,
    loads,
    rewrite,
)
from polyopt.ir.extremum import chosen
from polyopt.ir.linear import normalize
from polyopt.ir.names import params_of, reads
from polyopt.ir.parameters import param_names, without_params
from polyopt.ir.program import Part, Parts
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.ir.source import Check, Fault
from polyopt.never import assert_never

_PARAM = isl.dim_type.param


@dataclass(frozen=True, eq=False)
class Alive:
    """What can reach an argument, a result or a fault: drafts and marks."""

    drafts: tuple[Draft, ...]
    marks: tuple[Mark, ...]

    @property
    def items(self) -> tuple[Draft | Mark, ...]:
        """Both, in no order."""
        return (*self.drafts, *self.marks)


def alive(b: Builder) -> Alive:
    """Return the drafts and marks that matter to the caller.

    Loops that data ends run as often as the source's where something is demanded in them.
    """
    needed = {
        buffer.name for buffer in b.buffers if buffer.argument or buffer.returned or buffer.faults
    }
    needed |= {
        loop.going.array for d in b.demands for loop in d.scope.loops if loop.going is not None
    }
    demanded = [e for d in b.demands for e in (*scope_exprs(d.scope), d.condition)]
    sizes = set(dynamic_params(*demanded))
    faults = {buffer.name for buffer in b.buffers if buffer.faults}
    all_drafts = without_repeated_checks(b.drafts, b.marks, faults)
    uses = [
        ({load.array for load in draft_loads(draft)}, dynamic_params(*_all_exprs(draft)))
        for draft in all_drafts
    ]
    while True:
        checkpoint()
        kept = [n for n, draft in enumerate(all_drafts) if draft.target.array in needed]
        drafts = [all_drafts[n] for n in kept]
        marks = [mark for mark in b.marks if _is_needed(mark, needed, sizes)]
        reads = {name for n in kept for name in uses[n][0]}
        reads |= {name for mark in marks for name in _touched(mark)}
        exprs = [e for mark in marks for e in scope_exprs(mark.scope)]
        exprs += [e for buffer in b.buffers if buffer.name in needed | reads for e in buffer.shape]
        named = dynamic_params(*exprs).union(*(uses[n][1] for n in kept))
        if reads <= needed and named <= sizes:
            return Alive(tuple(drafts), tuple(marks))
        needed |= reads
        sizes |= named


def _is_needed(mark: Mark, needed: set[str], sizes: set[str]) -> bool:
    match mark.what:
        case Binding(param=param):
            return param in sizes
        case Storage(buffer=buffer):
            return buffer.name in needed
        case Invocation():
            return True  # it may raise
        case _:
            assert_never(mark.what)


def _touched(mark: Mark) -> set[str]:
    """Return the arrays that a mark and the loops around it read or write."""
    found = {loop.going.array for loop in mark.scope.loops if loop.going is not None}
    match mark.what:
        case Binding(value=value):
            found |= reads(value)
        case Storage():
            pass
        case Invocation(inputs=inputs, outputs=outputs):
            found |= {*inputs, *outputs}
        case _:
            assert_never(mark.what)
    return found


def _all_exprs(draft: Draft) -> list[Expr]:
    return [*scope_exprs(draft.scope), draft.scope.guard, draft.target, draft.value]


def written_by(b: Builder) -> frozenset[str]:
    """Return the buffers that statements and library calls write."""
    calls = (mark.what for mark in b.marks if isinstance(mark.what, Invocation))
    made = {name for call in calls for name in call.outputs}
    return frozenset(made | {draft.target.array for draft in b.drafts})


def draft_loads(draft: Draft) -> tuple[Load, ...]:
    """Return what a draft reads, to know whether its loops go on too."""
    going = (loop.going for loop in draft.scope.loops if loop.going is not None)
    parts = (draft.value, draft.scope.guard, *draft.target.index, *going)
    return tuple(load for part in parts for load in loads(part))


def isl_params(b: Builder, found: Alive) -> frozenset[str]:
    """Return the parameters that domains, subscripts, shapes and demands use."""
    drafts = found.drafts
    exprs: list[Expr] = [e for mark in found.marks for e in scope_exprs(mark.scope)]
    for draft in drafts:
        exprs += scope_exprs(draft.scope)
        for load in (draft.target, *draft_loads(draft)):
            exprs += load.index
        exprs += split_conditions(draft)
    for buffer in b.buffers:
        exprs += buffer.shape
    for demand in b.demands:
        exprs += [*scope_exprs(demand.scope), demand.condition]
    used = params_of(exprs)
    in_values = params_of(b.facts.expanded(draft.value) for draft in drafts)
    return used | frozenset(p for p in in_values if is_size(p))


@dataclass(frozen=True, eq=False)
class Finished:
    """The parts of a program, its arrays, and what a call and a run have to check."""

    parts: Parts
    arrays: tuple[Array, ...]
    checks: tuple[Check, ...]
    faults: tuple[Fault, ...]


def finish(b: Builder, rename: Renaming, found: Alive, params: tuple[str, ...]) -> Finished:
    """Return the program's parts; `params` are the sizes a call decides."""
    sizes = tuple(rename.expr(size) for size in b.sizes)
    context = size_context(params, sizes)
    any_sizes = b.facts.any_sizes
    demands = b.demands if any_sizes else [as_if_run(demand) for demand in b.demands]
    static = [demand for demand in demands if not is_dynamic(demand)]
    checks = checks_of(static, rename, params, context, any_sizes=any_sizes)
    context = context_of(context, checks, params)
    dynamic = DynamicChecks(
        [demand for demand in demands if is_dynamic(demand)], found.marks, rename, b.faults
    )
    _check_memory(found)
    drafts = [renamed_draft(rename, draft) for draft in found.drafts]
    marks = [renamed_mark(rename, mark) for mark in found.marks]
    used = _used(drafts, marks)
    buffers = [x for x in b.buffers if x.argument is not None or x.returned or x.name in used]
    written = {draft.target.array for draft in drafts}
    written |= {a for m in marks if isinstance(m.what, Invocation) for a in m.what.outputs}
    arrays = tuple(
        _array(buffer, _shape(b, buffer, rename, context), written) for buffer in buffers
    )
    is_static = not marks and not any(loop.going for d in drafts for loop in d.scope.loops)
    passing = passing_of(context, checks, params) if is_static else ()
    former = Former(_Scops(arrays, params if is_static else None, passing), dynamic.after)
    parts = former.parts([*drafts, *marks], Known(params, context))
    if is_static and not parts:
        parts = (Scop(params, context, arrays, ()),)
    if is_static:
        parts = tuple(map(_needed, parts))
    faults = tuple(renamed_fault(rename, fault) for fault in b.faults)
    return Finished(parts, arrays, checks, faults)


def _check_memory(found: Alive) -> None:
    """Arrays with extents that are found inside a loop are used inside that loop alone."""
    homes = {m.what.buffer.name: m.scope.loops for m in found.marks if isinstance(m.what, Storage)}
    uses = [(d.scope, {d.target.array, *(x.array for x in draft_loads(d))}) for d in found.drafts]
    uses += [(mark.scope, _touched(mark)) for mark in found.marks]
    for scope, names in uses:
        for name in names & homes.keys():
            home = homes[name]
            assert scope.loops[: len(home)] == home, f"{name} is used outside the loop that made it"


@dataclass(eq=False)
class _Scops:
    """Makes static control parts; statements are numbered through the whole program.

    `params`: a program that is one part names all its sizes, whether it uses them or not; these are
    in each of the sets `passing`.
    """

    arrays: tuple[Array, ...]
    params: tuple[str, ...] | None
    passing: tuple[isl.Set, ...]
    count: int = 0

    def __call__(self, drafts: Sequence[Draft], known: Known) -> Scop | None:
        params, context, arrays = known.params, known.context, self.arrays
        if self.params is None:
            names = {load.array for d in drafts for load in (d.target, *draft_loads(d))}
            arrays = tuple(_shared(array) for array in arrays if array.name in names)
            used = used_params(drafts) | params_of(e for array in arrays for e in array.shape)
            params = tuple(param for param in known.params if param in used)
            context = projected(known.context, params)
        statements: list[Statement] = []
        sizes = Sizes(context, self.passing)
        own = {array.name for array in arrays if array.role in (Role.TEMP, Role.OUTPUT)}
        for draft in drafts:
            reads = any(load.array in own for load in draft_loads(draft))
            for piece in pieces_of(draft, params, sizes, narrows=reads):
                statements.append(_statement(f"S{self.count}", draft, piece))
                self.count += 1
        return Scop(params, context, arrays, tuple(statements)) if statements else None


def _shared(array: Array) -> Array:
    """Return the array as one part of several sees it: its contents pass between parts."""
    passing = array.role in (Role.TEMP, Role.OUTPUT)
    return replace(array, role=Role.INOUT) if passing else array


def projected(context: isl.Set, params: tuple[str, ...]) -> isl.Set:
    """Return what a parameter set says of `params`, in this order."""
    others = [name for name in reversed(param_names(context)) if name not in params]
    return without_params(context, others).align_params(param_space(params))


def _shape(b: Builder, buffer: Buffer, rename: Renaming, context: isl.Set) -> Index:
    if buffer.faults:
        return (integer(len(b.faults)),)
    shape = tuple(rename.expr(extent) for extent in buffer.shape)
    if buffer.argument is not None:
        return shape  # the caller's, as it was declared
    return tuple(tidy(extent, context) for extent in shape)


def tidy(extent: Expr, context: isl.Set) -> Expr:
    """Return an extent without `max(…, 0)` where the checks rule negative values out."""
    if not params_of((extent,)) <= set(param_names(context)):
        return normalize(extent)  # a dynamic size

    def rule(expr: Expr) -> Expr | None:
        match expr:
            case Binary(op=BinaryOp.MAX, right=Const(value=0)):
                inner = tidy(expr.left, context)
                negative = condition_set(less(inner, ZERO), context.get_space())
                return inner if negative.intersect(context).is_empty() else None
            case _:
                return None

    return normalize(rewrite(extent, rule))


def _statement(name: str, draft: Draft, piece: Piece) -> Statement:
    domain = piece.domain.set_tuple_name(name)
    guard = None if piece.guard == TRUE else piece.guard
    value = piece.value
    if isinstance(guard, Compare):
        choice = Select(guard, value, piece.target, value.dtype)
        if chosen(choice, piece.target) is not None:  # `if x > m: m = x`
            value, guard = choice, None
    return Statement(
        name=name,
        iters=draft.scope.iters,
        domain=domain,
        order=draft.scope.order,
        target=piece.target,
        value=value,
        loc=draft.loc,
        text=draft.text,
        reduction=draft.reduction,
        guard=guard,
        loops=tuple(loop.loc for loop in draft.scope.loops),
        written=draft.written,
    )


def _needed(part: Part) -> Part:
    """Return a program's only part without what nothing reads."""
    if not isinstance(part, Scop):
        return part
    return replace(part, statements=without_unread_instances(part.statements, part.arrays))


def _used(drafts: Sequence[Draft], marks: Sequence[Mark]) -> set[str]:
    """Return the arrays that statements or marks read or write."""
    used = {name for mark in marks for name in _touched(mark)}
    used |= {draft.target.array for draft in drafts}
    return used | {load.array for draft in drafts for load in draft_loads(draft)}


def _array(buffer: Buffer, shape: Index, written: set[str]) -> Array:
    if buffer.argument is not None:
        role = Role.INOUT if buffer.name in written else Role.INPUT
    elif buffer.faults:
        role = Role.FAULT
    else:
        role = Role.OUTPUT if buffer.returned else Role.TEMP
    return Array(buffer.name, buffer.dtype, shape, role, buffer.layout)


def without_unread_instances(
    statements: Sequence[Statement], arrays: Sequence[Array]
) -> tuple[Statement, ...]:
    """Return `statements` without the instances whose result no instance reads."""
    found = {statement.name: statement for statement in statements}
    numbers = {a.name for a in arrays if a.role is Role.TEMP and not a.shape}
    for name in [statement.name for statement in reversed(statements)]:
        statement = found[name]
        if statement.target.array in numbers and statement.guard is None and statement.iters:
            readers = [s for s in found.values() if _reads(s, statement.target.array)]
            writers = [s for s in found.values() if s.target.array == statement.target.array]
            if len(writers) == 1 and readers and all(_follows(r, statement) for r in readers):
                found[name] = _restricted(statement, readers)
    return tuple(found.values())


def _reads(statement: Statement, array: str) -> bool:
    return any(access.array == array for access in statement.reads)


def _follows(reader: Statement, writer: Statement) -> bool:
    """Tell whether a reader runs after the writer in the same iteration of all its loops."""
    shared = shared_loops(writer.order, reader.order)
    return shared == len(writer.iters) and place_of(writer.order) < place_of(reader.order)


def _restricted(writer: Statement, readers: Sequence[Statement]) -> Statement:
    """Return the writer for the iterations in which there is a reader."""
    needed = isl.Set.empty(writer.domain.get_space())
    for reader in readers:
        inner = len(reader.iters) - len(writer.iters)
        outer = reader.domain.project_out(isl.dim_type.set, len(writer.iters), inner)
        needed = needed.union(outer.set_tuple_name(writer.name))
    if writer.domain.is_subset(needed):
        return writer
    return replace(writer, domain=coalesced(writer.domain.intersect(needed)))
