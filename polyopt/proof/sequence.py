"""Split a static control part, and loops that run its nests in order, into consecutive pieces.

In: a Scop, its loops.  Out: Scops of consecutive nests, each with consecutive loops that run only
their statements, and the arrays that the other pieces use too: their contents are compared at the
ends of a piece.  Loops that compute each piece, one after another, compute the whole.  The time of
a proof grows with the square of the number of statements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Const
from polyopt.ir.loops import Body
from polyopt.ir.scop import Scop, Statement
from polyopt.proof.groups import Member, member_of_node, member_of_statement, restricted

LEAST = 8
"""Statements of a piece."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive nests and the loops that should run them; others use the arrays `passing`."""

    scop: Scop
    body: Body
    passing: frozenset[str]


def pieces_of(scop: Scop, body: Body) -> list[Piece]:
    """Return the pieces in order; a single one where the loops do not follow the source's order."""
    places = [_place(statement) for statement in scop.statements]
    if None in places:
        return [Piece(scop, body, frozenset())]
    by_name = {s.name: place for s, place in zip(scop.statements, places, strict=True) if place}
    nodes = [member_of_node(node) for node in body]
    cuts = list(_cuts(scop, nodes, by_name))
    starts = [(0, 0), *_spread(cuts, by_name.values())]
    ends = [*starts[1:], (len(body), max(by_name.values()) + 1)]
    return list(_pieces(scop, body, nodes, by_name, [*zip(starts, ends, strict=True)]))


def _place(statement: Statement) -> int | None:
    """Return the position of a statement's nest, counted from 1, None where it is not known."""
    first = statement.order[0]
    return int(first.value.real) + 1 if isinstance(first, Const) else None


def _cuts(scop: Scop, nodes: Sequence[Member], places: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Yield where the loops and the source can be cut: number of a node, position of a nest.

    Nodes before run nests before and nodes behind run nests behind; no storage that the source
    does not have is used on both sides.
    """
    last = max(places.values())
    runs = [[places[name] for name in node.statements if name in places] for node in nodes]
    before = [0, *accumulate((max(run, default=0) for run in runs), max)]
    behind = [last + 1]
    for run in reversed(runs):
        behind.append(min(min(run, default=last + 1), behind[-1]))
    behind.reverse()
    held = _held(nodes, {array.name for array in scop.arrays})
    for number in range(1, len(nodes)):
        if before[number] and before[number] < behind[number] <= last and number not in held:
            yield number, behind[number]


def _held(nodes: Sequence[Member], own: Collection[str]) -> set[int]:
    """Return the nodes before which storage that the source does not have is in use."""
    ends: dict[str, tuple[int, int]] = {}
    for number, node in enumerate(nodes):
        for name in (node.sets | node.reads) - set(own):
            ends[name] = ends.get(name, (number, number))[0], number
    return {place for first, last in ends.values() for place in range(first + 1, last + 1)}


def _spread(cuts: Iterable[tuple[int, int]], places: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the cuts between which there are at least `LEAST` statements."""
    ordered = sorted(places)
    taken = 0
    for cut in cuts:
        count = sum(place < cut[1] for place in ordered)
        if count - taken >= LEAST and len(ordered) - count >= LEAST:
            taken = count
            yield cut


def _pieces(
    scop: Scop,
    body: Body,
    nodes: Sequence[Member],
    places: dict[str, int],
    spans: Sequence[tuple[tuple[int, int], tuple[int, int]]],
) -> Iterator[Piece]:
    """Yield the pieces between consecutive cuts."""
    if len(spans) == 1:
        yield Piece(scop, body, frozenset())
        return
    found: list[tuple[list[int], list[int]]] = []
    for (node, nest), (end, past) in spans:
        inside = [n for n, s in enumerate(scop.statements) if nest <= places[s.name] < past]
        found.append((inside, list(range(node, end))))
    statements = [member_of_statement(statement) for statement in scop.statements]
    members = [[statements[n] for n in some] + [nodes[n] for n in rest] for some, rest in found]
    used = [frozenset().union(*(m.sets | m.reads for m in some)) for some in members]
    for number, (some, rest) in enumerate(found):
        others = frozenset().union(*used[:number], *used[number + 1 :])
        part = restricted(scop, members[number], some)
        yield Piece(part, tuple(body[n] for n in rest), used[number] & others)
