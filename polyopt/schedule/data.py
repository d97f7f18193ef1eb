"""Prove data steps, which change where values are stored.

In: a proven schedule's Scop and tree, a step.  Out: an equal Scop and the tree that runs it.
Refuses: a step after which a read would get another value, with that read as the witness (PO0316).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.errors import IllegalSchedule, Loc
from polyopt.ir.affine import sample_point
from polyopt.ir.budget import query
from polyopt.ir.parameters import sets_of
from polyopt.ir.scop import Scop, Statement
from polyopt.ir.showing import show
from polyopt.schedule.contraction import keep_lives
from polyopt.schedule.data_steps import (
    DataStep,
    RewrittenProgram,
    changed_arrays,
    reused_dependences,
)
from polyopt.schedule.dataflow import Difference, first_difference, instances_of
from polyopt.schedule.dependences import Dependences
from polyopt.schedule.legality import unaffected
from polyopt.schedule.rebase import rebased
from polyopt.schedule.tree import Tree
from polyopt.schedule.witness import smallest_pair

BUDGET = 3_000_000
"""isl operations for one step and its proof: programs of a page need a tenth."""


@dataclass(frozen=True, slots=True)
class ValueWitness:
    """A read that would get another value.

    `read` is (statement, iteration), or None at the end of the part; it reads `array` and needs
    what `wanted` wrote, but would get what `found` wrote (None: no instance of the part).
    """

    array: str
    read: tuple[str, tuple[int, ...]] | None
    cell: tuple[int, ...] | None
    wanted: tuple[str, tuple[int, ...]] | None
    found: tuple[str, tuple[int, ...]] | None
    params: tuple[tuple[str, int], ...]


def renewed_by_all(
    steps: Sequence[DataStep], tree: Tree, known: Dependences
) -> tuple[Dependences, Tree, Tree] | None:
    """Return `renewed` after several steps, checked once; None if some recompute or copy instances.

    Only steps that keep all instances can be checked together.
    """
    scop, last = known.scop, tree
    for step in steps:
        made = step.renew(last, scop)
        if not made.is_plain:
            return None
        scop, last = made.scop, made.tree
    return renewed(steps[-1], tree, known, RewrittenProgram(scop, last), BUDGET * len(steps))


def renewed(
    step: DataStep,
    tree: Tree,
    known: Dependences,
    made: RewrittenProgram | None = None,
    budget: int = BUDGET,
) -> tuple[Dependences, Tree, Tree]:
    """Return the new Scop, in the order of its tree, with its dependences, and the tree.

    `made` is the step's result, if it is known.
    `known` are the dependences of the Scop that `tree` runs.  The new tree still has to be checked,
    except for subtrees shared with the returned tree, where no dependences have changed.
    Raises `IllegalSchedule` PO0316, `ScheduleError`, `BudgetError`.
    """
    with query("a step that moves data", budget):
        made = made or step.renew(tree, known.scop)
        assert all(len({*s.iters}) == len(s.iters) for s in made.scop.statements), step
        old = rebased(known.scop, tree)
        new = rebased(made.scop, made.tree, old)
        changed = changed_arrays(old, new, made.same, made.copies | made.recomputed)
        touched = _touched(known.scop, new, changed, made)
        compared = changed - made.verified
        difference = first_difference(old, new, made.same, made.copies, compared, touched)
        if difference is not None:
            raise _refusal(step, old, new, difference)
        instances = instances_of(old, new, made.same, made.copies | made.recomputed, touched)
        dependences = reused_dependences(known, new, changed, instances)
        keep_lives(known.scop, new, changed)
        return dependences, made.tree, unaffected(tree, touched)


def _touched(
    old: Scop, new: Scop, arrays: frozenset[str], made: RewrittenProgram
) -> frozenset[str]:
    """Return the statements whose dependences may have changed."""
    if old.params != new.params or not old.context.plain_is_equal(new.context):
        return frozenset(s.name for s in (*old.statements, *new.statements))
    known = {s.name: s for s in old.statements}
    found = {*made.same, *made.copies, *made.recomputed}
    for statement in (*old.statements, *new.statements):
        was = known.get(statement.name)
        touched = {access.array for access in (statement.write, *statement.reads)}
        if was is None or was.domain is not statement.domain or not touched.isdisjoint(arrays):
            found.add(statement.name)
    return frozenset(found)


def _refusal(step: DataStep, old: Scop, new: Scop, difference: Difference) -> IllegalSchedule:
    witness = _witness(old, new, difference)
    reader = None if witness.read is None else new.statement(witness.read[0])
    loc: Loc | None = None if reader is None else reader.loc
    what = "a read would get another value" if reader else "another value would be left"
    return IllegalSchedule(
        "PO0316",
        f"{step} is not legal: {what}",
        witness=witness,
        loc=loc,
        notes=_describe(witness, old, reader),
        hint=step.hint(difference, old),
    )


def _witness(old: Scop, new: Scop, difference: Difference) -> ValueWitness:
    """Return the smallest differing read, with the expected and the actual write."""
    lost, found = difference.lost, difference.found
    reads = (lost if not lost.is_empty() else found).range()
    if reads.is_empty():
        one = difference.old_initial.subtract(difference.new_initial)
        other = difference.new_initial.subtract(difference.old_initial)
        reads = (one if not one.is_empty() else other).domain()
    read_set = isl.Set.from_union_set(isl.UnionSet.from_set(sets_of(reads)[0]))
    pairs = isl.Map.from_domain_and_range(read_set, read_set)
    pairs = pairs.intersect(isl.Map.identity(pairs.get_space()))
    params, point, _ = smallest_pair(pairs, new)
    here = _fixed(read_set, params, point)
    wanted, got = _writer(lost, here), _writer(found, here)
    cell = point if difference.at_end else None
    read = None if difference.at_end else (difference.statement, point)
    items = tuple(params.items())
    return ValueWitness(difference.array, read, cell, wanted, got, items)


def _fixed(value: isl.Set, params: Mapping[str, int], point: tuple[int, ...]) -> isl.UnionSet:
    for name, size in params.items():
        position = value.find_dim_by_name(isl.dim_type.param, name)
        value = value.fix_val(isl.dim_type.param, position, isl.Val(size))
    for position, coordinate in enumerate(point):
        value = value.fix_val(isl.dim_type.set, position, isl.Val(coordinate))
    return isl.UnionSet.from_set(value)


def _writer(pairs: isl.UnionMap, read: isl.UnionSet) -> tuple[str, tuple[int, ...]] | None:
    """Return one write of the pairs whose value the fixed read gets."""
    writes = sets_of(pairs.intersect_range(read).domain())
    for one in sorted(writes, key=lambda part: str(part.get_tuple_name())):
        point = sample_point(one)
        if point is not None:
            return str(one.get_tuple_name()), point[1]
    return None


def _describe(witness: ValueWitness, scop: Scop, reader: Statement | None) -> tuple[str, ...]:
    sizes = ", ".join(f"{name}={value}" for name, value in witness.params)
    start = f"example{': ' + sizes if sizes else ''}: "
    if witness.read is None or reader is None:
        cell = f"[{', '.join(map(str, witness.cell or ()))}]"
        who = f"at the end {witness.array}{cell if witness.cell else ''} holds"
    else:
        who = f"{_iteration(reader, witness.read[1])} reads of {witness.array}"
    wanted = f"what {_instance(scop, witness.wanted)} wrote"
    if witness.wanted is None:
        wanted = "a value from before"
    found = f"it would be what {_instance(scop, witness.found)} wrote"
    if witness.found is None:
        found = "it would be a value that nothing here wrote"
    names = [w[0] for w in (witness.wanted, witness.found) if w is not None]
    statements = [scop.statement(name) for name in names]
    if reader is not None:
        statements.append(reader)
    return (f"{start}{who} {wanted}; {found}", *dict.fromkeys(map(_line, statements)))


def _instance(scop: Scop, instance: tuple[str, tuple[int, ...]] | None) -> str:
    return "" if instance is None else _iteration(scop.statement(instance[0]), instance[1])


def _iteration(statement: Statement, point: tuple[int, ...]) -> str:
    values = ", ".join(f"{n}={v}" for n, v in zip(statement.iters, point, strict=True))
    return f"iteration ({values}) of {statement.name}" if values else f"{statement.name}"


def _line(statement: Statement) -> str:
    where = f"line {statement.loc.line}" if statement.loc is not None else statement.name
    return f"{where}: {statement.text or show(statement.target)}"
