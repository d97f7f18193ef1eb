"""Which instance's value every read gets, in a program before and after a step that moves data.

In: both programs with their trees, at known sizes.  Out: the producer of each read and of what is
left at the end, by last write; copies pass on what they read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from polyopt.errors import IllegalSchedule
from polyopt.ir.expr import loads
from polyopt.ir.integers import evaluate
from polyopt.ir.scop import Scop, Statement
from tests.oracle.domains import holds, pieces_of
from tests.oracle.judge import Cell, Instance
from tests.oracle.tree_times import tree_places

Producer: TypeAlias = tuple[str, tuple[int, ...]]  # an instance, or an element nobody wrote


def producers(
    scop: Scop,
    tree: Any,
    params: Mapping[str, int],
    same: Mapping[str, Any],
    copies: frozenset[str],
) -> tuple[dict[Instance, list[Producer]], dict[Cell, Producer]]:
    """Return what the reads of every instance get, in their order, and each element at the end.

    `same` names, for a statement, the one of the old program that it stands for.
    """
    places = tree_places(tree, scop, params)
    order = sorted(places, key=lambda instance: [place.value for place in places[instance]])
    memory: dict[Cell, Producer] = {}
    reads: dict[Instance, list[Producer]] = {}
    for name, point in order:
        statement = scop.statement(name)
        env = {**params, **dict(zip(statement.iters, point, strict=True))}
        given = []
        for load in _reads(statement):
            cell = (load.array, tuple(evaluate(part, env) for part in load.index))
            given.append(memory.get(cell, cell))
        reads[name, point] = given
        index = tuple(evaluate(part, env) for part in statement.target.index)
        here = (statement.target.array, index)
        memory[here] = given[0] if name in copies else _stands_for(statement, point, env, same)
    return reads, memory


def _reads(statement: Statement) -> list[Any]:
    guard = [] if statement.guard is None else loads(statement.guard)
    return [*loads(statement.value), *guard]


def _stands_for(
    statement: Statement, point: tuple[int, ...], env: Mapping[str, int], same: Mapping[str, Any]
) -> Producer:
    origin = same.get(statement.name)
    if origin is None:
        return (statement.name, point)
    return (origin.statement, tuple(evaluate(part, env) for part in origin.instance))


def confirm_moved(scop: Scop, tree: Any, step: Any, witness: Any) -> None:
    """Assert that after `step` a read gets, or an element holds, not what it needs.

    Programs with conditions on data are let pass: which write counts depends on the data.
    """
    if any(statement.guard is not None for statement in scop.statements):
        return
    params = dict(witness.params)
    try:
        made = step.renew(tree, scop)
    except IllegalSchedule:
        _confirm_shared(scop, witness, params)
        return
    reads, memory = producers(made.scop, made.tree, params, made.same, made.copies)
    old_reads, old_memory = producers(scop, tree, params, {}, frozenset())
    if witness.read is None:
        cell = (witness.array, witness.cell)
        assert memory.get(cell, cell) != old_memory.get(cell, cell), (str(step), witness)
        return
    name, point = witness.read
    statement = made.scop.statement(name)
    env = {**params, **dict(zip(statement.iters, point, strict=True))}
    there = _stands_for(statement, point, env, made.same)
    assert witness.wanted is None or witness.wanted in old_reads[there], (str(step), witness)
    assert reads[name, point] != old_reads[there], (str(step), witness)


def _confirm_shared(scop: Scop, witness: Any, params: Mapping[str, int]) -> None:
    """Assert that the witness's two instances exist and use one element, where nothing was made."""
    cells = []
    for name, point in (witness.read, witness.wanted):
        named = [s for s in scop.statements if s.name in (name, name.removesuffix("_in"))]
        (statement,) = named[-1:]
        inner = point[len(point) - len(statement.iters) :]
        assert holds(pieces_of(statement.domain), inner, params), (name, point, params)
        env = {**params, **dict(zip(statement.iters, inner, strict=True))}
        used = [statement.target, *_reads(statement)]
        cells.append(
            {tuple(evaluate(i, env) for i in u.index) for u in used if u.array == witness.array}
        )
    assert cells[0] & cells[1], (witness, cells)
