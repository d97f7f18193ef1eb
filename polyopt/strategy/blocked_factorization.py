"""Block factorizations so that most of their work is contractions.

In: a permutable band with a sum whose loops all carry dependences (LU, Cholesky, substitution).
Out: the steps in blocks: for each block first its own rows and columns, a few rows at a time, then
the trailing update as a contraction in register tiles (Dongarra, Duff, Sorensen, van der Vorst,
"Numerical Linear Algebra for High-Performance Computers", 1998, chapter 5).  Each element's updates
keep their order, except in lanes of reassociable sums.
"""

from __future__ import annotations

from polyopt import transforms
from polyopt.dataclass import dataclass, replace
from polyopt.ir.scop import Statement
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    Band,
    Leaf,
    Sequence,
    bands,
    find_band,
    path_to,
    statements_at,
    statements_of,
)
from polyopt.strategy.contraction import find_roles
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.strategy.sums import ROWS, sums
from polyopt.transforms import (
    Cut,
    Distribute,
    Interchange,
    Parallelize,
    Separate,
    Strip,
    Tile,
    Unroll,
    Vectorize,
)

WIDE = 4  # blocks that are one where nothing but a vector is eliminated


_ACROSS = {Stride.STRIDED, Stride.CONTIGUOUS, Stride.INVARIANT}


@dataclass(frozen=True, slots=True)
class _Elimination:
    """Roles of a band's loops: `depth` counts steps, the others move elements of `size` bytes."""

    depth: int
    others: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """Steps of a block; rows and columns of a register tile."""

    block: int
    rows: int
    columns: int
    machine: Machine

    @staticmethod
    def of(machine: Machine, size: int) -> BlockSizes:
        """Return powers of two: a square block fits into L1; a tile is two vectors wide.

        Each is a multiple of the next, so that edges of blocks are edges of tiles.
        """
        block = 1
        while (2 * block) ** 2 * size <= machine.l1:
            block *= 2
        lanes = max(1, machine.vector_bytes // size)
        rows = 8 if machine.vector_registers >= 32 else 4
        columns = min(2 * lanes, block)
        return BlockSizes(block, min(rows, block), columns, machine)


def block_factorization(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the factorization at band `label` in blocks, or None for others.

    With a single right side no block is reused.  One thread takes all terms of a few rows before
    the next ones; many share wide blocks of terms, which read long pieces of the matrix's rows, and
    whose triangles are blocked again.
    """
    found = _find(schedule, label)
    if found is None:
        return None
    sizes = BlockSizes.of(machine, found.size)
    if len(found.others) > 1:
        return _in_blocks(schedule, label, found, sizes)
    if machine.cores == 1 and (rows := _in_rows(schedule, label, found, sizes)):
        return rows
    wide = _in_blocks(schedule, label, found, replace(sizes, block=WIDE * sizes.block))
    if wide is None:
        return None
    own = f"{label}.inner.low"
    again = _find(wide, own) if own in wide.tree.by_label else None
    return (again and _in_blocks(wide, own, again, sizes)) or wide


def _in_rows(
    schedule: Schedule, label: str, found: _Elimination, sizes: BlockSizes
) -> Schedule | None:
    """Return `schedule` with the terms of rows before a block, then those in it, or None.

    Rows of the matrix are read from their beginning on, and each sum is stored once.
    """
    (row,) = found.others
    band = find_band(schedule.tree, label)
    inside = statements_at(schedule.tree, schedule.scop, label)
    updates = [statement for statement in inside if len(statement.iters) == len(band.members)]
    moves = [loop_moves(schedule, label, update)[found.depth] for update in updates]
    if any(Stride.STRIDED in move.values() for move in moves):
        return None  # the matrix is read along its columns
    steps = order_steps(label, band, (row, found.depth))
    stripped = schedule.attempt(*steps, Strip(f"{label}[0]", 2 * ROWS), Cut(label, 1))
    if stripped is None:
        return None
    name = find_band(stripped.tree, label).members[0].name
    begin = transforms.read_amount(f"{2 * ROWS}*{name}", {})
    inner = f"{label}.inner"
    turned = Interchange(f"{inner}[0]", f"{inner}[1]")
    split = stripped.attempt(turned, transforms.Split(f"{inner}[0]", begin))
    if split is None:
        return None
    block = f"{inner}.high"
    split = split.attempt(Interchange(f"{block}[0]", f"{block}[1]")) or split
    return _products(split, f"{inner}.low", sizes)


def _in_blocks(
    schedule: Schedule, label: str, found: _Elimination, sizes: BlockSizes
) -> Schedule | None:
    """Return `schedule` with the steps in blocks, or None if no part becomes a contraction."""
    band = find_band(schedule.tree, label)
    steps: list[Transform] = order_steps(label, band, (found.depth, *found.others))
    steps += [Strip(f"{label}[0]", sizes.block), Cut(label, 1)]
    inner = f"{label}.inner"
    last = len(band.members) - 1
    steps += [Interchange(f"{inner}[{p}]", f"{inner}[{p + 1}]") for p in range(last)]
    stripped = schedule.attempt(*steps)
    if stripped is None:
        return None
    name = find_band(stripped.tree, label).members[0].name
    free = [m.coincident for m in find_band(stripped.tree, inner).members[:last]]
    if all(free):
        return None
    end = transforms.read_amount(f"{sizes.block}*{name} + {sizes.block}", {})
    bound = tuple(p for p in range(last) if not free[p])
    split, parts = _parts(stripped, inner, end, bound)
    has_product = False
    for part in parts:
        product = _products(split, part, sizes)
        has_product = has_product or product is not None
        split = product or _with_parallel_strips(split, part, sizes.block)
    return split if has_product else None


def _parts(
    schedule: Schedule, label: str, end: transforms.Distance, loops: tuple[int, ...]
) -> tuple[Schedule, list[str]]:
    """Return the nest with each of `loops` split at the end of the block; the parts' labels."""
    if not loops:
        return schedule, [label]
    loop, *rest = loops
    steps: list[Transform] = [Interchange(f"{label}[0]", f"{label}[{loop}]")] if loop else []
    found = schedule.attempt(*steps, transforms.Split(f"{label}[0]", end))
    if found is None:
        return schedule, [label]
    halves = [f"{label}.low", f"{label}.high"]
    if any(path_to(found.tree, found.scop, half)[1].is_empty() for half in halves):
        return _parts(schedule, label, end, tuple(rest))
    parts: list[str] = []
    for half in halves:
        found, some = _parts(found, half, end, tuple(rest))
        parts += some
    return found, parts


def _products(schedule: Schedule, label: str, sizes: BlockSizes) -> Schedule | None:
    """Return `schedule` with every statement of a part tiled as a contraction, or None."""
    apart = _distributed(schedule, label)
    if apart is None:
        return None
    found, labels = apart
    is_product = False
    for one in labels:
        product = register_product(found, one, sizes)
        is_product = is_product or product is not None
        found = product or found
    return found if is_product else None


def register_product(schedule: Schedule, label: str, sizes: BlockSizes) -> Schedule | None:
    """Return `schedule` with the contraction or sums at band `label` in register tiles, or None.

    The depth is already that of a block; edges of tiles and of blocks coincide.
    """
    band = find_band(schedule.tree, label)
    if len(band.members) == 2:
        return sums(schedule, label, sizes.machine, recurrent=True)
    roles = find_roles(schedule, label)
    if roles is None or roles.batch:
        return None
    return schedule.attempt(
        *order_steps(label, band, (roles.row, roles.column, roles.depth)),
        Strip(f"{label}[0]", sizes.block),
        Cut(label, 1),
        Parallelize(f"{label}[0]"),
        *register_tile(f"{label}.inner", sizes),
    )


def register_tile(label: str, sizes: BlockSizes) -> list[Transform]:
    """Return the steps that tile rows, columns and depth and keep the tile in registers."""
    tile, point = f"{label}.tile", f"{label}.point"
    return [
        Tile(label, (sizes.rows, sizes.columns)),
        Interchange(f"{tile}[0]", f"{tile}[1]"),
        Interchange(f"{point}[1]", f"{point}[2]"),
        Interchange(f"{point}[0]", f"{point}[1]"),
        Unroll(f"{point}[1]"),
        Vectorize(f"{point}[2]"),
        Separate(tile, point, (sizes.rows, sizes.columns)),
    ]


def _with_parallel_strips(schedule: Schedule, label: str, strip: int) -> Schedule:
    """Return `schedule` with strips of a part's independent loop parallel, if there is one."""
    free = _free(find_band(schedule.tree, label))
    if free is None:
        return schedule
    apart = _rows_and_columns(schedule, label, free)
    if apart is not None:
        for half in (f"{label}.0", f"{label}.1"):
            apart = _with_parallel_strips(apart, half, strip)
        return apart
    moves: list[Transform] = [
        Interchange(f"{label}[{p}]", f"{label}[{p - 1}]") for p in range(free, 0, -1)
    ]
    steps = [*moves, Strip(f"{label}[0]", strip), Cut(label, 1), Parallelize(f"{label}[0]")]
    shared = schedule.attempt(*steps)
    return schedule if shared is None else _jammed_rows(shared, f"{label}.inner", min(ROWS, strip))


def _rows_and_columns(schedule: Schedule, label: str, free: int) -> Schedule | None:
    """Return `schedule` with updates along rows distributed from those along columns, or None.

    In one nest the parallel loop would be strided for one of them.
    """
    band = find_band(schedule.tree, label)
    parts = band.child.parts if isinstance(band.child, Sequence) else ()
    kinds: list[Stride | None] = []
    for part in parts:
        (name, *more) = statements_of(schedule.scop, part.domain)
        statement = schedule.scop.statement(name)
        whole = not more and len(statement.iters) == len(band.members)
        moves = loop_moves(schedule, label, statement) if whole else ()
        kinds.append(moves[free][statement.write.ref] if moves else None)
    if {Stride.CONTIGUOUS, Stride.STRIDED} - set(kinds):
        return None
    first = next(kind for kind in kinds if kind is not None)
    at = next(n for n, kind in enumerate(kinds) if kind not in (first, None))
    return schedule.attempt(Distribute(label, 0, at - len(kinds) if at == 1 else at))


def _jammed_rows(schedule: Schedule, label: str, rows: int) -> Schedule:
    """Return `schedule` with rows of a part unrolled and jammed, since one row alone has latency.

    Sums along rows get an accumulator each; other rows take each step one after the other.
    """
    band = find_band(schedule.tree, label)
    inside = statements_at(schedule.tree, schedule.scop, label)
    updates = [statement for statement in inside if len(statement.iters) == len(band.members)]
    if len(band.members) != 3:
        return schedule
    if not all(_is_along_row(schedule, label, update) for update in updates):
        return _step_by_step(schedule, label, rows, updates)
    tile, point = f"{label}.tile", f"{label}.point"
    steps: list[Transform] = [
        Tile(label, (rows,)),
        Interchange(f"{point}[0]", f"{point}[1]"),
        Interchange(f"{point}[1]", f"{point}[2]"),
        Separate(tile, point, (rows,)),
        Distribute(point, 2),
    ]
    jammed = schedule.attempt(*steps)
    if jammed is None:
        return schedule
    parts = [b.label for b in bands(jammed.tree) if b.label.removeprefix(f"{point}.").isdigit()]
    for part in parts:
        if not path_to(jammed.tree, jammed.scop, part)[1].is_empty():
            jammed = jammed.attempt(Unroll(f"{part}[1]")) or jammed
    return jammed


def _step_by_step(schedule: Schedule, label: str, rows: int, updates: list[Statement]) -> Schedule:
    """Return `schedule` with each step of the elimination run for several rows.

    The first loop moves across rows, another one along them, the third one counts the steps.
    """
    kinds = [
        tuple(move[update.write.ref] for move in loop_moves(schedule, label, update))
        for update in updates
    ]
    if not kinds or any(set(kind) != _ACROSS or kind[0] is not Stride.STRIDED for kind in kinds):
        return schedule
    depth = kinds[0].index(Stride.INVARIANT)
    if any(kind[depth] is not Stride.INVARIANT for kind in kinds):
        return schedule
    point = f"{label}.point"
    steps: list[Transform] = [Tile(label, (rows,))]
    steps += [Interchange(f"{point}[{p}]", f"{point}[{p - 1}]") for p in range(depth, 0, -1)]
    return schedule.attempt(*steps) or schedule


def _is_along_row(schedule: Schedule, label: str, statement: Statement) -> bool:
    """Tell whether an update sums along rows, across which its first loop moves."""
    rows, _, terms = loop_moves(schedule, label, statement)
    write = statement.write.ref
    return (
        terms[write] is Stride.INVARIANT
        and rows[write] is Stride.STRIDED
        and Stride.STRIDED not in terms.values()
    )


def _free(band: Band) -> int | None:
    """Return a loop that carries no dependences."""
    return next((p for p, member in enumerate(band.members) if member.coincident), None)


def _distributed(schedule: Schedule, label: str) -> tuple[Schedule, list[str]] | None:
    """Return the nest distributed over its statements, and the labels of the bands."""
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
    """Return the roles of the loops, or None for a nest that is not an elimination."""
    band = find_band(schedule.tree, label)
    if not band.permutable or len(band.members) < 2 or next(bands(band.child), None) is not None:
        return None
    depths: set[int] = set()
    size = 1
    for statement in statements_at(schedule.tree, schedule.scop, label):
        if len(statement.iters) < len(band.members):
            continue
        moves = loop_moves(schedule, label, statement)
        still = [p for p, move in enumerate(moves) if move[statement.write.ref] is Stride.INVARIANT]
        depths.update(still[-1:])
        size = max(size, schedule.scop.array(statement.target.array).dtype.size)
    if len(depths) != 1:
        return None
    (depth,) = depths
    others = tuple(p for p in range(len(band.members)) if p != depth)
    if all(band.members[p].coincident for p in others):
        return None
    return _Elimination(depth, others, size)
