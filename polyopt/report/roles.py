"""Which of the user's loops a nest runs in parallel, in vectors and in tiles.

In: a nest of the final loops, the statements of the program.  Out: names of loops.  A loop of the
nest stands for those of the user's that its variable moves, by itself or by the bounds of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Expr
from polyopt.ir.loops import Assign, Body, Declare, For, LoopKind, SetLocal
from polyopt.ir.names import iterators
from polyopt.ir.nodes import nodes_in_loops
from polyopt.ir.scop import Statement
from polyopt.model.nests import Nest, is_vector
from polyopt.report.names import dimension
from polyopt.schedule import Schedule
from polyopt.schedule.tree import leaves, tuple_names

_ACROSS = (LoopKind.PARALLEL, LoopKind.BLOCK, LoopKind.THREAD)
_Instance = Assign | Declare | SetLocal


@dataclass(frozen=True, slots=True)
class Roles:
    """Names of the user's loops; `within` are those of each statement that the nest itself runs."""

    parallel: tuple[str, ...]
    vector: tuple[str, ...]
    within: Mapping[str, tuple[int, ...]]


def roles_of(nest: Nest, statements: Mapping[str, Statement]) -> Roles:
    """Return what the loops of a nest do for the loops of the user's."""
    parallel: dict[str, None] = {}
    vector: dict[str, None] = {}
    within: dict[str, set[int]] = {}
    around = {loop.iter for loop in nest.around if isinstance(loop, For)}
    for node, stack in _instances(nest.body):
        statement = statements.get(node.statement)
        if statement is None or len(statement.iters) != len(node.instance):
            continue
        moved = [_moving(index, stack) for index in node.instance]
        own = within.setdefault(statement.name, set())
        own |= {d for d, names in enumerate(moved) if names - around}
        for position, loop in enumerate(stack):
            if loop.kind in _ACROSS:
                note = " in wavefronts" if _is_wavefront(stack[:position], loop, moved) else ""
                found = _names(loop, statement, node.instance, moved)
                parallel |= dict.fromkeys(f"{name}{note}" for name in found)
            if is_vector(loop, nest.in_lanes):
                vector |= dict.fromkeys(_names(loop, statement, node.instance, moved))
        vector |= dict.fromkeys(
            dimension(statement, d) for d, step in enumerate(node.steps) if step
        )
    kept = {name: tuple(sorted(found)) for name, found in within.items()}
    return Roles(tuple(parallel), tuple(vector), kept)


def _is_wavefront(before: tuple[For, ...], loop: For, moved: list[frozenset[str]]) -> bool:
    """Tell whether a loop in order around a parallel one moves what that moves, too."""
    mine = [names for names in moved if loop.iter in names]
    ordered = {one.iter for one in before if one.kind is LoopKind.SEQUENTIAL}
    return bool(mine) and all(names & ordered for names in mine)


def _instances(body: Body) -> Iterator[tuple[_Instance, tuple[For, ...]]]:
    """Yield what runs an instance of a statement, and the loops around it in the nest."""
    for stack, node in nodes_in_loops(body):
        if isinstance(node, Assign | Declare | SetLocal) and node.statement:
            yield node, stack


def _moving(index: Expr, stack: tuple[For, ...]) -> frozenset[str]:
    """Return the loops whose variables move an index, directly or by bounds."""
    found = set(iterators(index))
    for loop in reversed(stack):
        if loop.iter in found:
            found |= iterators(loop.lower, loop.upper)
    return frozenset(found)


def _names(
    loop: For, statement: Statement, instance: tuple[Expr, ...], moved: list[frozenset[str]]
) -> Iterator[str]:
    """Yield the user's names for what a loop moves: that of the same name, or all."""
    all_ = [d for d, names in enumerate(moved) if loop.iter in names]
    direct = [d for d in all_ if loop.iter in iterators(instance[d])]
    same = [d for d in all_ if loop.iter.split("_")[0] == statement.iters[d]]
    for position in same or direct or all_:
        yield dimension(statement, position)


def tiles_of(
    schedule: Schedule, names: Iterable[str], originals: Mapping[str, Statement]
) -> dict[str, list[int]]:
    """Return the tile sizes of the user's loops around some statements, outermost level first."""
    wanted = set(names)
    found: dict[str, list[int]] = {}
    seen: set[int] = set()
    for path, domain in leaves(schedule.tree, schedule.scop.domain):
        inside = [name for name in tuple_names(domain) if name in wanted and name in originals]
        for member in path:
            sizes = [part.size for part in member.parts or () if part.size]
            if not inside or id(member) in seen or not sizes:
                continue
            seen.add(id(member))
            found.setdefault(_tiled(member.name, originals[inside[0]]), []).append(sizes[0])
    return {name: list(dict.fromkeys(sizes)) for name, sizes in found.items()}


def _tiled(name: str, statement: Statement) -> str:
    """Return the user's name for the loop that `i_tile` counts tiles of."""
    stem = name.split("_")[0]
    if stem not in statement.iters:
        return stem
    return dimension(statement, statement.iters.index(stem))
