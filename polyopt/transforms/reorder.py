"""Reorder: run the parts of a loop's body in another order.

In: a band over a sequence and a permutation.  Out: the sequence permuted.
Refuses: a body that is no sequence, something that is no permutation of its parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.tree import Band, Sequence, Tree, find_band, replace_band, statements_of
from polyopt.transforms.repair_loops import name_of
from polyopt.transforms.shift import Shift
from polyopt.transforms.written import Written

MAX_PARTS = 4


@dataclass(frozen=True, slots=True)
class Reorder(Written):
    """Run part `order[0]` of the body of `band` first, then part `order[1]`, and so on."""

    band: str
    order: tuple[int, ...]

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree, its parts permuted; raises `ScheduleError` PO0301, PO0303, PO0306."""
        body = find_band(tree, self.band).child
        if not isinstance(body, Sequence):
            raise ScheduleError(
                "PO0306", f"{self}: the loop has one body", hint="only several parts have an order"
            )
        if sorted(self.order) != list(range(len(body.parts))):
            raise ScheduleError(
                "PO0303",
                f"{self}: the body has {len(body.parts)} parts",
                hint=f"name each of 0 to {len(body.parts) - 1} once",
            )
        parts = tuple(body.parts[position] for position in self.order)

        def change(band: Band) -> Tree:
            return replace(band, child=Sequence(parts))

        return replace_band(tree, self.band, change)

    def repairs(self, refused: RefusedStep) -> Iterator[Repair]:
        """Yield what might be legal instead, cheapest first."""
        yield from late_parts(refused, self.band, self.order, self)
        for order in orders(len(self.order)):
            if order != self.order:
                yield Repair(RepairKind.REORDER, (replace(self, order=order),))


def orders(count: int) -> Iterator[tuple[int, ...]]:
    """Yield the orders of `count` parts but their own, those that move few parts first."""
    own = tuple(range(count))
    if count <= MAX_PARTS:
        found = (order for order in permutations(own) if order != own)
        yield from sorted(
            found, key=lambda order: sum(a != b for a, b in zip(order, own, strict=True))
        )


def late_parts(
    refused: RefusedStep, band: str, order: tuple[int, ...], step: Reorder
) -> Iterator[Repair]:
    """Yield the step after parts that move ahead of others were delayed by an iteration each.

    What they use was made in earlier iterations then (software pipelining: Lam, 1988).
    """
    body = find_band(refused.tree, band).child
    if not isinstance(body, Sequence):
        return
    last = len(find_band(refused.tree, band).members) - 1
    name = name_of(refused.tree, band, last)
    delay = dict.fromkeys(range(len(order)), 0)
    for part in range(len(order)):
        behind = [p for p in range(part) if order.index(p) > order.index(part)]
        delay[part] = max((delay[p] + 1 for p in behind), default=delay[part - 1] if part else 0)
    shifts = tuple(
        Shift(name, amount, statement)
        for part, amount in delay.items()
        if amount
        for statement in statements_of(refused.scop, body.parts[part].domain)
    )
    if shifts:
        yield Repair(RepairKind.SHIFT, (*shifts, step))
