"""Which statements' order the text of the loops settles, whatever these touch.

In: a tree of runs, the iterators that were proven to be functions of instances.
Out: `Doubt`s: statements whose instances may run in another order than the source's, or at the
same time.  Any two instances that are not of one `Doubt` run in the source's order.
A loop keeps that order where its iterator differs by one constant from the number that times in
the source have at its place; a sequence where the constants there ascend.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from polyopt.ir.expr import Expr, Linear, integer, linear, sub
from polyopt.ir.loops import CONCURRENT
from polyopt.proof.instances import Placed
from polyopt.proof.reading import Loop, Piece, Run, all_runs


@dataclass(frozen=True, eq=False)
class Doubt:
    """Statements, and the tree of all their runs, with the loops around them."""

    statements: frozenset[str]
    body: tuple[Piece, ...]


def doubts(body: tuple[Piece, ...], places: Collection[Placed]) -> tuple[Doubt, ...]:
    """Return the parts of a tree that may not keep the source's order; no statement is in two."""
    by_run = {id(placed.run): placed for placed in places}
    return tuple(_Walk(by_run).body(body, 0, ()))


@dataclass(frozen=True, eq=False)
class _Walk:
    """The walk of a tree from outside in.

    Of instances below a place, those that agree on all loops around it agree on the first `depth`
    numbers of their times; of others, loops and times have the same one first.
    """

    places: dict[int, Placed]

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
                if piece.loop.kind in CONCURRENT or not self.is_kept(piece, runs, depth):
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


def _constant(time: Expr) -> int | None:
    found = linear(time)
    return None if found.terms else found.constant


def _doubt(pieces: tuple[Piece, ...], above: tuple[Loop, ...]) -> Doubt:
    body = pieces
    for loop in reversed(above):
        body = (replace(loop, body=body),)
    return Doubt(frozenset(run.statement for run in all_runs(pieces)) - {""}, body)
