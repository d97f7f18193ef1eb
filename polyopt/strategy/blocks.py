"""Blocked factorizations: a nest that eliminates, step by step, becomes products of blocks.

In: a permutable band with a sum whose loops all carry dependences (LU, Cholesky, substitution).
Out: the steps in blocks; of every block first its own rows and columns, then all that is left, a
contraction in register tiles.
As in Dongarra, Duff, Sorensen, van der Vorst, "Numerical Linear Algebra for High-Performance
Computers", 1998, chapter 5; the order of each element's updates stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, Leaf, Sequence, bands, find_band, path_to, statements_of
from polyopt.strategy.contraction import find_roles, order_steps
from polyopt.strategy.strides import Step, loop_moves
from polyopt.transforms import (
    Cut,
    Distribute,
    Interchange,
    Parallelize,
    Separate,
    Split,
    Strip,
    Tile,
    Unroll,
    Vectorize,
)
from polyopt.transforms.amount import Distance, read_amount

BLOCK = 64  # steps of a block: a square of elements that stays in the first-level cache
STRIP = 64  # iterations of a loop without dependences that one thread takes at a time


@dataclass(frozen=True, slots=True)
class _Elimination:
    """Loops of a band: `depth` counts the steps, the others move the element."""

    depth: int
    others: tuple[int, ...]


def blocked(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the elimination at band `label` in blocks, or None for others."""
    found = _find(schedule, label)
    if found is None:
        return None
    band = find_band(schedule.tree, label)
    steps: list[Transform] = order_steps(label, band, (found.depth, *found.others))
    steps += [Strip(f"{label}[0]", BLOCK), Cut(label, 1)]
    inner = f"{label}.inner"
    last = len(band.members) - 1
    steps += [Interchange(f"{inner}[{p}]", f"{inner}[{p + 1}]") for p in range(last)]
    stripped = schedule.attempt(*steps)
    if stripped is None:
        return None
    name = find_band(stripped.tree, label).members[0].name
    end = read_amount(f"{BLOCK}*{name} + {BLOCK}", {})
    split, parts = _parts(stripped, inner, end, 0)
    has_product = False
    for part in parts:
        product = _products(split, part, machine)
        has_product = has_product or product is not None
        split = product or _shared(split, part)
    return split if has_product else None


def _parts(schedule: Schedule, label: str, end: Distance, loop: int) -> tuple[Schedule, list[str]]:
    """Return the nest split, loop by loop, at the end of the block; the parts' labels in order."""
    band = find_band(schedule.tree, label)
    if loop == len(band.members) - 1:
        return schedule, [label]
    steps: list[Transform] = [] if loop == 0 else [Interchange(f"{label}[0]", f"{label}[{loop}]")]
    steps.append(Split(f"{label}[0]", end))
    found = schedule.attempt(*steps)
    if found is None:
        return schedule, [label]
    parts: list[str] = []
    for half in ("low", "high"):
        part = f"{label}.{half}"
        _, domain = path_to(found.tree, found.scop, part)
        if domain.is_empty():
            return _parts(schedule, label, end, loop + 1)
    for half in ("low", "high"):
        found, some = _parts(found, f"{label}.{half}", end, loop + 1)
        parts += some
    return found, parts


def _products(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with every statement of one part as a product, or None if none is one."""
    apart = _distributed(schedule, label)
    if apart is None:
        return None
    found, labels = apart
    is_product = False
    for one in labels:
        product = _product(found, one, machine)
        is_product = is_product or product is not None
        found = product or found
    return found if is_product else None


def _product(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the product at band `label` in register tiles, or None.

    The depth is that of a block already; the edges of tiles and of blocks are the same.
    """
    roles = find_roles(schedule, label)
    if roles is None or roles.batch:
        return None
    band = find_band(schedule.tree, label)
    rows, columns = _register_tile(schedule, label, machine)
    inner = f"{label}.inner"
    tile, point = f"{inner}.tile", f"{inner}.point"
    steps = [
        *order_steps(label, band, (roles.row, roles.column, roles.depth)),
        Strip(f"{label}[0]", STRIP),
        Cut(label, 1),
        Parallelize(f"{label}[0]"),
        Tile(inner, (rows, columns)),
        Interchange(f"{tile}[0]", f"{tile}[1]"),
        Interchange(f"{point}[1]", f"{point}[2]"),
        Interchange(f"{point}[0]", f"{point}[1]"),
        Unroll(f"{point}[1]"),
        Vectorize(f"{point}[2]"),
        Separate(tile, point, (rows, columns)),
    ]
    return schedule.attempt(*steps)


def _register_tile(schedule: Schedule, label: str, machine: Machine) -> tuple[int, int]:
    """Return rows and columns, powers of two: two vectors of columns, the other registers rows."""
    _, domain = path_to(schedule.tree, schedule.scop, label)
    name = statements_of(schedule.scop, domain)[0]
    size = schedule.scop.array(schedule.scop.statement(name).target.array).dtype.size
    lanes = max(1, machine.vector_bytes // size)
    return (8 if machine.vector_registers >= 32 else 4), min(2 * lanes, BLOCK)


def _shared(schedule: Schedule, label: str) -> Schedule:
    """Return `schedule` with strips of a part's free loop shared among threads, if it has one."""
    free = _free(find_band(schedule.tree, label))
    if free is None:
        return schedule
    moves: list[Transform] = [
        Interchange(f"{label}[{p}]", f"{label}[{p - 1}]") for p in range(free, 0, -1)
    ]
    steps = [*moves, Strip(f"{label}[0]", STRIP), Cut(label, 1), Parallelize(f"{label}[0]")]
    return schedule.attempt(*steps) or schedule


def _free(band: Band) -> int | None:
    """Return a loop that carries no dependence."""
    return next((p for p, member in enumerate(band.members) if member.coincident), None)


def _distributed(schedule: Schedule, label: str) -> tuple[Schedule, list[str]] | None:
    """Return the nest with one statement in each band, and the bands' labels."""
    body = find_band(schedule.tree, label).child
    match body:
        case Leaf():
            return schedule, [label]
        case Sequence():
            found = schedule.attempt(Distribute(label))
            if found is None:
                return None
            names = [f"{label}.{number}" for number in range(len(body.parts))]
            return found, [n for n in names if not path_to(found.tree, found.scop, n)[1].is_empty()]
        case _:
            return None


def _find(schedule: Schedule, label: str) -> _Elimination | None:
    """Return the parts that the loops play, or None for a nest that eliminates nothing."""
    band = find_band(schedule.tree, label)
    if not band.permutable or len(band.members) < 3 or next(bands(band.child), None) is not None:
        return None
    _, domain = path_to(schedule.tree, schedule.scop, label)
    depths = set()
    for name in statements_of(schedule.scop, domain):
        statement = schedule.scop.statement(name)
        if len(statement.iters) < 3:
            continue
        moves = loop_moves(schedule, label, statement)
        still = [p for p, move in enumerate(moves) if move[statement.write.ref] is Step.INVARIANT]
        depths.update(still[-1:])
    if len(depths) != 1:
        return None
    depth = depths.pop()
    return _Elimination(depth, tuple(p for p in range(len(band.members)) if p != depth))
