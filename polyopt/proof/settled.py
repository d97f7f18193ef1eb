"""Which statements' order the text of the loops settles, whatever these touch.

In: a tree of runs, the iterators that were proven to be functions of instances, what is touched.
Out: `Doubt`s: statements whose instances may run in another order than the source's, or at the
same time.  Any two instances that are not of one `Doubt`, and conflict, run in the source's order.
A loop keeps that order where its iterator differs by one constant from the number that times in
the source have at its place; a sequence where the constants there ascend.  Iterations that may run
at the same time keep it where none touches an element that another one does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Expr, Linear, integer, linear, sub
from polyopt.ir.loops import CONCURRENT
from polyopt.proof.accesses import Touch
from polyopt.proof.instances import Placed
from polyopt.proof.reading import Loop, Piece, Run, all_runs

FEW = 16
"""Statements in a loop whose pairs may as well be compared."""
MOST = 32
"""Different relations of elements and iterations that are united; of more, nothing is said."""


@dataclass(frozen=True, eq=False)
class Doubt:
    """Statements, and the tree of all their runs, with the loops around them."""

    statements: frozenset[str]
    body: tuple[Piece, ...]


def doubts(
    body: tuple[Piece, ...],
    places: Collection[Placed],
    touched: Mapping[str, Sequence[Touch]],
) -> tuple[Doubt, ...]:
    """Return the parts of a tree that may not keep the source's order; no statement is in two.

    `touched` is what instances touch, by statement.
    """
    by_run = {id(placed.run): placed for placed in places}
    return tuple(_Walk(by_run, touched).body(body, 0, ()))


@dataclass(frozen=True, eq=False)
class _Walk:
    """The walk of a tree from outside in.

    Of instances below a place, those that agree on all loops around it agree on the first `depth`
    numbers of their times; of others, loops and times have the same one first.
    """

    places: dict[int, Placed]
    touched: Mapping[str, Sequence[Touch]]

    def body(self, body: tuple[Piece, ...], depth: int, above: tuple[Loop, ...]) -> Iterator[Doubt]:
        """Yield the doubts about a sequence."""
        runs = [self.runs(piece) for piece in body]
        depth = self.common(tuple(run for mine in runs for run in mine), depth)
        for group in self.ascending([p for p, mine in zip(body, runs, strict=True) if mine], depth):
            if len(group) == 1:
                yield from self.piece(group[0], depth, above)
            else:
                yield _doubt(group, above)

    def piece(self, piece: Piece, depth: int, above: tuple[Loop, ...]) -> Iterator[Doubt]:
        """Yield the doubts about one piece."""
        runs = self.runs(piece)
        depth = self.common(runs, depth)
        match piece:
            case Run():
                if any(_constant(time) is None for time in self.order(piece)[depth:]):
                    yield _doubt((piece,), above)
            case Loop():
                is_kept = self.is_kept(piece, runs, depth)
                if is_kept and piece.loop.kind in CONCURRENT:
                    is_kept = self.is_local(piece, runs, above)
                if not is_kept:
                    yield _doubt((piece,), above)
                else:
                    yield from self.body(piece.body, depth + 1, (*above, piece))

    def runs(self, piece: Piece) -> tuple[Run, ...]:
        """Return the runs of statements in a piece."""
        return tuple(run for run in all_runs((piece,)) if run.statement)

    def order(self, run: Run) -> tuple[Expr, ...]:
        """Return the time of a run's instances in the source."""
        return self.places[id(run)].quotients.statement.order

    def time(self, run: Run, position: int) -> Expr:
        """Return one number of the times; all end in zeros."""
        order = self.order(run)
        return order[position] if position < len(order) else integer(0)

    def common(self, runs: tuple[Run, ...], depth: int) -> int:
        """Return the first place from `depth` on at which times have no common constant."""
        most = max((len(self.order(run)) for run in runs), default=0)
        while depth < most:
            found = {_constant(self.time(run, depth)) for run in runs}
            if len(found) > 1 or None in found:
                break
            depth += 1
        return depth

    def ascending(self, pieces: Sequence[Piece], depth: int) -> list[tuple[Piece, ...]]:
        """Return consecutive pieces in groups whose constants at `depth` ascend.

        Where a piece has other times than constants, all are one group.
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
        """Tell whether a loop's iterator is the number at `depth` of times, but for a constant."""
        distances: set[Linear | None] = set()
        for run in runs:
            value = self.places[id(run)].known.get(loop.loop.iter)
            distances.add(None if value is None else linear(sub(self.time(run, depth), value)))
        found = distances.pop() if len(distances) == 1 else None
        return found is not None and not found.terms

    def is_local(self, loop: Loop, runs: tuple[Run, ...], above: tuple[Loop, ...]) -> bool:
        """Tell whether no element that is written is touched in two iterations of a loop.

        Iterations are compared that agree on the loops `above`.
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


def _doubt(pieces: tuple[Piece, ...], above: tuple[Loop, ...]) -> Doubt:
    body = pieces
    for loop in reversed(above):
        body = (replace(loop, body=body),)
    return Doubt(frozenset(run.statement for run in all_runs(pieces)) - {""}, body)
