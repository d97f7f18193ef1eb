"""Block closures: updates of a whole matrix by its own row k and column k, for every k.

In: a loop over k around copies of a row and a column and an update of the matrix by both (shortest
paths, transitive closure, Gauss-Jordan elimination).
Out: k in blocks: first the updates of the block's own rows and columns, then those of the rest as
contractions in register tiles.  Each element's updates keep their order.
"""

from __future__ import annotations

from polyopt import transforms
from polyopt.dataclass import dataclass
from polyopt.ir.expr import Iter
from polyopt.ir.scop import Role, Statement
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, Leaf, Sequence, bands, find_band, path_to, statements_of
from polyopt.strategy.blocked_factorization import BlockSizes, register_product
from polyopt.transforms import Distribute, Interchange, Strip


@dataclass(frozen=True, slots=True)
class _Block:
    """The bounds of a block of k, as amounts inside its loop."""

    begin: transforms.Distance
    end: transforms.Distance


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The nests of a split update: `near` in rows and columns of the block, `far` outside."""

    schedule: Schedule
    near: tuple[str, ...]
    far: tuple[str, ...]


def blocked_closure(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the closure at band `label` in blocks of k, or None."""
    updates = _updates(schedule, label)
    if not updates:
        return None
    private = _private(schedule, label)
    if private is None:
        return None
    statement = _statement(private, updates[0])
    sizes = BlockSizes.of(machine, private.scop.array(statement.target.array).dtype.size)
    stripped = private.attempt(Strip(f"{label}[0]", sizes.block))
    if stripped is None:
        return None
    name = find_band(stripped.tree, label).members[0].name
    begin, end = f"{sizes.block}*{name}", f"{sizes.block}*{name} + {sizes.block}"
    block = _Block(transforms.read_amount(begin, {}), transforms.read_amount(end, {}))
    far: list[str] = []
    for update in updates:
        pieces = _split(stripped, update, tuple(range(len(_band(stripped, update).members))), block)
        stripped = pieces.schedule
        far += pieces.far
    apart = _distributed_far_nests(stripped, label, far)
    if apart is None:
        return None
    found, labels = apart
    for one in labels:
        product = register_product(found, one, sizes)
        if product is None:
            return None
        found = product
    return found


def _split(schedule: Schedule, label: str, loops: tuple[int, ...], block: _Block) -> _Pieces:
    """Return the nest with each of `loops` split at both bounds of the block."""
    if not loops:
        return _Pieces(schedule, (), (label,))
    loop, *rest = loops
    first: list[Transform] = [Interchange(f"{label}[0]", f"{label}[{loop}]")] if loop else []
    back = first[::-1]
    schedule = schedule.attempt(*first) or schedule
    schedule, low, high = _halves(schedule, label, block.begin)
    middle: str | None = None
    if high is not None:
        schedule, middle, high = _halves(schedule, high, block.end)
    near: list[str] = []
    far: list[str] = []
    for half in (low, high):
        if half is not None:
            pieces = _split(schedule, half, tuple(rest), block)
            schedule = pieces.schedule
            near += pieces.near
            far += pieces.far
    if middle is not None:
        near.append(middle)
        interchanged = [Interchange(f"{middle}[0]", f"{middle}[{loop}]") for _ in back]
        schedule = schedule.attempt(*interchanged) or schedule
    return _Pieces(schedule, tuple(near), tuple(far))


def _halves(
    schedule: Schedule, label: str, at: transforms.Distance
) -> tuple[Schedule, str | None, str | None]:
    """Return the nest split at a point of its first loop; None for a half without iterations."""
    found = schedule.attempt(transforms.Split(f"{label}[0]", at))
    if found is None:
        return schedule, None, label
    low, high = f"{label}.low", f"{label}.high"
    if path_to(found.tree, found.scop, low)[1].is_empty():
        return schedule, None, label
    if path_to(found.tree, found.scop, high)[1].is_empty():
        return schedule, label, None
    return found, low, high


def _distributed_far_nests(
    schedule: Schedule, label: str, far: list[str]
) -> tuple[Schedule, list[str]] | None:
    """Return the nests `far` distributed behind the others, in loops over k, and their labels.

    The legality check decides whether the steps of the block may run without them.
    """
    body = find_band(schedule.tree, label).child
    assert isinstance(body, Sequence)
    names = [next((band.label for band in bands(part.child)), None) for part in body.parts]
    near = [p for p, name in enumerate(names) if name not in far]
    late = [p for p, name in enumerate(names) if name in far]
    if not near or not late:
        return None
    found = schedule.attempt(
        transforms.Reorder(label, (*near, *late)), Distribute(label, 1, together=len(near))
    )
    if found is None:
        return None
    return found, [f"{label}.{number}" for number in range(1, len(late) + 1)]


def _updates(schedule: Schedule, label: str) -> list[str]:
    """Return the nests that update a matrix by its own row k or column k."""
    band = find_band(schedule.tree, label)
    if len(band.members) != 1 or band.members[0].coincident or not isinstance(band.child, Sequence):
        return []
    found: list[str] = []
    pivots = _pivots(schedule, band)
    for part in band.child.parts:
        nest = part.child
        if not isinstance(nest, Band) or not isinstance(nest.child, Leaf):
            continue
        names = statements_of(schedule.scop, part.domain)
        if len(names) == 1 and len(nest.members) == 2:
            statement = schedule.scop.statement(names[0])
            if statement.target.array in pivots and _is_update(statement):
                found.append(nest.label)
    return found


def _is_update(statement: Statement) -> bool:
    """Tell whether each iteration of the outermost loop updates every element of a matrix."""
    if len(statement.iters) != 3 or len(statement.target.index) != 2:
        return False
    moved = tuple(map(Iter, statement.iters[1:]))
    writes = statement.target.index in (moved, moved[::-1])
    return writes and any(read.index == statement.target.index for read in statement.reads)


def _pivots(schedule: Schedule, band: Band) -> set[str]:
    """Return the arrays of which iteration k reads row k or column k."""
    found: set[str] = set()
    for name in statements_of(schedule.scop, band.members[0].schedule.domain()):
        statement = schedule.scop.statement(name)
        for read in statement.reads:
            if len(read.index) == 2 and Iter(statement.iters[0]) in read.index:
                found.add(read.array)
    return found


def _private(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with every temporary expanded over the loop."""
    band = find_band(schedule.tree, label)
    names = statements_of(schedule.scop, band.members[0].schedule.domain())
    targets = dict.fromkeys(schedule.scop.statement(name).target.array for name in names)
    own = [name for name in targets if schedule.scop.array(name).role is Role.TEMP]
    for name in own:
        found = schedule.attempt(transforms.Expand(name, (f"{label}[0]",)))
        if found is None:
            return None
        schedule = found
    return schedule


def _band(schedule: Schedule, label: str) -> Band:
    return find_band(schedule.tree, label)


def _statement(schedule: Schedule, label: str) -> Statement:
    """Return the only statement of a nest."""
    _, domain = path_to(schedule.tree, schedule.scop, label)
    (name,) = statements_of(schedule.scop, domain)
    return schedule.scop.statement(name)
