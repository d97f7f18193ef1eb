"""Find elementwise nests before and after a contraction: its prologues and epilogues.

In: a contraction's band.  Out: nests with a loop for each loop of the result, in its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Iter
from polyopt.ir.linear import linear
from polyopt.ir.scop import Access, Statement
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import (
    Band,
    Leaf,
    Sequence,
    Tree,
    children,
    find_band,
)
from polyopt.strategy.gpu.mapped_loops import is_mapped
from polyopt.strategy.strides import accesses, loop_directions

Pattern = tuple[int | None, ...]
"""For each loop of the result, the subscript of an array that it alone moves, by one."""


@dataclass(frozen=True, slots=True)
class ElementwiseNest:
    """A nest called `label`; `order` are its loops in the order of the result's.

    `arrays` are those it writes, with the subscripts that the loops move.
    """

    label: str
    order: tuple[int, ...]
    arrays: Mapping[str, Pattern]


def subscript_patterns(
    schedule: Schedule, label: str, loops: tuple[int, ...]
) -> tuple[dict[str, set[Pattern]], dict[str, Pattern]]:
    """Return the subscripts that the loops of a band move, of all accesses and of writes."""
    touched: dict[str, set[Pattern]] = {}
    written: dict[str, Pattern] = {}
    for statement, ways in loop_directions(schedule, label):
        for access in accesses(statement):
            found = tuple(_moved_subscript(access, statement, ways[p]) for p in loops)
            touched.setdefault(access.array, set()).add(found)
            if access is statement.write:
                written[access.array] = found
    return touched, written


def _moved_subscript(
    access: Access, statement: Statement, way: tuple[Fraction, ...] | None
) -> int | None:
    change = dict(zip(statement.iters, way or (), strict=False))
    moves = []
    for number, index in enumerate(access.index):
        terms = linear(index).terms
        parts = (change.get(a.name, Fraction(0)) * c for a, c in terms if isinstance(a, Iter))
        step = sum(parts, Fraction(0))
        if step:
            moves.append((number, step))
    return moves[0][0] if len(moves) == 1 and moves[0][1] == 1 else None


def elementwise_nest(
    schedule: Schedule, label: str, arrays: Mapping[str, Pattern]
) -> ElementwiseNest | None:
    """Return the nest `label` if each iteration accesses one result's elements of `arrays`."""
    band = find_band(schedule.tree, label)
    if is_mapped(band) or not isinstance(band.child, Leaf):
        return None
    if not all(member.coincident for member in band.members):
        return None
    loops = tuple(range(len(band.members)))
    touched, written = subscript_patterns(schedule, label, loops)
    shared = [name for name in touched if name in arrays]
    orders = {
        tuple(found.index(part) if part in found else None for part in arrays[name])
        for name in shared
        for found in touched[name]
    }
    if len(orders) != 1:
        return None
    (order,) = orders
    known = tuple(position for position in order if position is not None)
    if len(known) != len(order) or sorted(known) != list(loops):
        return None
    moved = {name: tuple(found[position] for position in known) for name, found in written.items()}
    return ElementwiseNest(label, known, moved)


def sibling_labels(tree: Tree, label: str) -> list[str]:
    """Return the labels of the parts of the sequence of band `label`, "" for statements."""
    if isinstance(tree, Sequence):
        labels = [p.child.label if isinstance(p.child, Band) else "" for p in tree.parts]
        if label in labels:
            return labels
    return next((f for child in children(tree) if label in (f := sibling_labels(child, label))), [])
