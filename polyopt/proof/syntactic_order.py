"""Find the statements whose order the text of the loops does not fix by itself.

In: the tree of runs, the iterators proven to be functions of instances, the elements accessed.
Out: `UndecidedOrder`s, sets of statements whose instances may run in another order than the
source's, or at the same time.  Conflicting instances not in one `UndecidedOrder` keep their order.
A loop keeps the source's order where its iterator and the component of the source's time at its
depth differ by one constant; a sequence where the constants at its depth ascend; a concurrent loop
where, besides, no iteration accesses an element that another one writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Expr, integer, sub
from polyopt.ir.linear import Linear, linear
from polyopt.ir.loops import CONCURRENT
from polyopt.proof.accesses import InstanceAccess
from polyopt.proof.instances import PlacedRun
from polyopt.proof.reading import Loop, Piece, Run, all_runs

FEW = 16
"""Statements in a loop whose pairs may as well be compared."""
MOST = 32
"""Different relations of elements and iterations that are united; of more, nothing is said."""


@dataclass(frozen=True, eq=False)
class UndecidedOrder:
    """Statements, and the tree of all their runs, with the loops around them."""

    statements: frozenset[str]
    body: tuple[Piece, ...]


def undecided_orders(
    body: tuple[Piece, ...],
    places: Collection[PlacedRun],
    touched: Mapping[str, Sequence[InstanceAccess]],
) -> tuple[UndecidedOrder, ...]:
    """Return the parts of a tree that may not keep the source's order; no statement is in two.

    `touched` is what instances touch, by statement.
    """
    by_run = {id(placed.run): placed for placed in places}
    return tuple(_Walk(by_run, touched).body(body, 0, ()))


@dataclass(frozen=True, eq=False)
class _Walk:
    """Walks a tree from the outside in.

    Instances below a place that agree on all loops around it agree on the first `depth` components
    of their times; loops and times order all other instances alike.
    """

    places: dict[int, PlacedRun]
    touched: Mapping[str, Sequence[InstanceAccess]]

    def body(
        self, body: tuple[Piece, ...], depth: int, above: tuple[Loop, ...]
    ) -> Iterator[UndecidedOrder]:
        """Yield the undecided orders of a sequence."""
        runs = [self.runs(piece) for piece in body]
        depth = self.common(tuple(run for mine in runs for run in mine), depth)
        for group in self.ascending([p for p, mine in zip(body, runs, strict=True) if mine], depth):
            if len(group) == 1:
                yield from self.piece(group[0], depth, above)
            else:
                yield _undecided_order(group, above)

    def piece(self, piece: Piece, depth: int, above: tuple[Loop, ...]) -> Iterator[UndecidedOrder]:
        """Yield the undecided orders of one piece."""
        runs = self.runs(piece)
        depth = self.common(runs, depth)
        match piece:
            case Run():
                if any(_constant(time) is None for time in self.order(piece)[depth:]):
                    yield _undecided_order((piece,), above)
            case Loop():
                is_kept = self.is_kept(piece, runs, depth)
                if is_kept and piece.loop.kind in CONCURRENT:
                    is_kept = self.is_local(piece, runs, above)
                if not is_kept:
                    yield _undecided_order((piece,), above)
                else:
                    yield from self.body(piece.body, depth + 1, (*above, piece))

    def runs(self, piece: Piece) -> tuple[Run, ...]:
        """Return the runs of statements in a piece."""
        return tuple(run for run in all_runs((piece,)) if run.statement)

    def order(self, run: Run) -> tuple[Expr, ...]:
        """Return the time of a run's instances in the source."""
        return self.places[id(run)].quotients.statement.order

    def time(self, run: Run, position: int) -> Expr:
        """Return one component of a run's time; times are padded with zeros."""
        order = self.order(run)
        return order[position] if position < len(order) else integer(0)

    def common(self, runs: tuple[Run, ...], depth: int) -> int:
        """Return the first position from `depth` on at which times have no common constant."""
        most = max((len(self.order(run)) for run in runs), default=0)
        while depth < most:
            found = {_constant(self.time(run, depth)) for run in runs}
            if len(found) > 1 or None in found:
                break
            depth += 1
        return depth

    def ascending(self, pieces: Sequence[Piece], depth: int) -> list[tuple[Piece, ...]]:
        """Return consecutive pieces in groups whose constants at `depth` ascend.

        Where a piece has times that are not constant, all pieces are one group.
        """
        if len(pieces) <= 1:
            return [tuple(pieces)] if pieces else []
        found: list[tuple[tuple[Piece, ...], int, int]] = []
        for piece in pieces:
            times = [_constant(self.time(run, depth)) for run in self.runs(piece)]
            known = [time for time in times if time is not None]
            if len(known) < len(times):
                return [tuple(pieces)]
            group: tuple[Piece, ...] = (piece,)
            least, most = min(known), max(known)
            while found and found[-1][2] >= least:
                before, low, high = found.pop()
                group, least, most = (*before, *group), min(low, least), max(high, most)
            found.append((group, least, most))
        return [group for group, _, _ in found]

    def is_kept(self, loop: Loop, runs: tuple[Run, ...], depth: int) -> bool:
        """Tell whether a loop's iterator is, up to a constant, component `depth` of the times."""
        distances: set[Linear | None] = set()
        for run in runs:
            value = self.places[id(run)].known.get(loop.loop.iter)
            distances.add(None if value is None else linear(sub(self.time(run, depth), value)))
        found = distances.pop() if len(distances) == 1 else None
        return found is not None and not found.terms

    def is_local(self, loop: Loop, runs: tuple[Run, ...], above: tuple[Loop, ...]) -> bool:
        """Tell whether no written element is accessed in two iterations of a loop.

        Compares iterations that agree on the loops `above`.
        """
        if len(runs) <= FEW:
            return False
        found: dict[str, list[isl.Map]] = {}
        written: set[str] = set()
        for run in runs:
            placed = self.places[id(run)]
            values = [placed.known.get(one.loop.iter) for one in (*above, loop)]
            known = [placed.quotients.function(value) for value in values if value is not None]
            if len(known) < len(values):
                return False
            *outer, inner = known
            for touch in self.touched.get(run.statement, ()):
                name = str(touch.relation.get_tuple_name(isl.dim_type.out))
                place = touch.relation
                for one in outer:
                    place = place.flat_range_product(one)
                iterations = place.reverse().apply_range(inner)
                kept = found.setdefault(name, [])
                if touch.writes:
                    written.add(name)
                if not any(iterations.plain_is_equal(other) for other in kept):
                    kept.append(iterations)
                if len(kept) > MOST:
                    return False
        return all(_is_function(found[name]) for name in sorted(written))


def _is_function(relations: Sequence[isl.Map]) -> bool:
    whole = relations[0]
    for one in relations[1:]:
        whole = whole.union(one)
    return bool(whole.is_single_valued())


def _constant(time: Expr) -> int | None:
    found = linear(time)
    return None if found.terms else found.constant


def _undecided_order(pieces: tuple[Piece, ...], above: tuple[Loop, ...]) -> UndecidedOrder:
    body = pieces
    for loop in reversed(above):
        body = (replace(loop, body=body),)
    return UndecidedOrder(frozenset(run.statement for run in all_runs(pieces)) - {""}, body)
