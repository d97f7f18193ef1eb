"""Choose the number of neighbouring iterations per thread, so that it reuses elements.

In: the first loops of a band, the last of them for neighbouring threads.  Out: a number for each.
Short loops, and the last one, keep a thread for every iteration.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from polyopt.ir.expr import Expr, Iter, sub
from polyopt.ir.linear import Linear, linear
from polyopt.ir.scop import Access, Statement
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import bands, find_band, path_to
from polyopt.strategy.extents import constant_extent
from polyopt.strategy.strides import accesses, loop_directions

OWN = 4
"""Iterations that a thread runs along a loop in which it reads elements again."""
SHORT = 64
"""Iterations that a loop needs for threads to run several."""


def iterations_per_thread(
    schedule: Schedule, label: str, count: int, own: int = OWN
) -> tuple[int, ...]:
    """Return how many iterations of each of the first `count` loops of a band one thread runs.

    That is `own` of the loop with the most reuse.
    """
    band = find_band(schedule.tree, label)
    alone = (1,) * count
    if count < 2 or len(band.members) > count or any(True for _ in bands(band.child)):
        return alone
    _, domain = path_to(schedule.tree, schedule.scop, label)
    found = [0] * count
    for statement, moves in loop_directions(schedule, label):
        for position in range(count - 1):
            found[position] += _count_reused_reads(statement, moves[position])
    sizes = [constant_extent(member, domain) for member in band.members]
    for position, size in enumerate(sizes):
        if size is not None and size < SHORT:
            found[position] = 0
    best = max(range(count), key=lambda p: found[p])
    return tuple(own if p == best and found[p] else 1 for p in range(count))


def loads_per_thread(schedule: Schedule, label: str, own: tuple[int, ...]) -> dict[str, int]:
    """Return how many elements of each array a thread reads that runs `own` iterations."""
    found: dict[str, set[tuple[Linear, ...]]] = {}
    for statement, moves in loop_directions(schedule, label):
        for turn in product(*map(range, own)):
            change = _after(statement, moves, turn)
            for read in statement.reads:
                place = tuple(_shifted(index, change) for index in read.index)
                found.setdefault(read.array, set()).add(place)
    return {array: len(places) for array, places in found.items()}


def _after(
    statement: Statement, moves: tuple[tuple[Fraction, ...] | None, ...], turn: tuple[int, ...]
) -> dict[str, Fraction]:
    """Return the change of the iterators after some iterations of each loop."""
    result = dict.fromkeys(statement.iters, Fraction(0))
    for move, count in zip(moves, turn, strict=False):
        for name, step in zip(statement.iters, move or (), strict=False):
            result[name] += step * count
    return result


def _shifted(index: Expr, change: dict[str, Fraction]) -> Linear:
    value = linear(index)
    return Linear(value.constant + int(_subscript_step(index, change)), value.terms)


def _count_reused_reads(statement: Statement, move: tuple[Fraction, ...] | None) -> int:
    """Return the number of reads whose elements other reads access a few iterations later."""
    if move is None:
        return 0
    change = dict(zip(statement.iters, move, strict=True))
    reads = [access for access in accesses(statement) if access is not statement.write]
    return sum(
        one is not other and _follows(one, other, change) for one in reads for other in reads
    )


def _follows(one: Access, other: Access, change: dict[str, Fraction]) -> bool:
    """Tell whether `other` reads the element of `one` at most `OWN` iterations later."""
    if one.array != other.array or not (one.exact and other.exact):
        return False
    found: set[Fraction] = set()
    for left, right in zip(one.index, other.index, strict=True):
        gap = linear(sub(left, right))
        moved = _subscript_step(left, change)
        if gap.terms or (gap.constant and not moved):
            return False
        if moved:
            found.add(Fraction(gap.constant) / moved)
    return len(found) == 1 and 0 < found.pop() < OWN


def _subscript_step(index: Expr, change: dict[str, Fraction]) -> Fraction:
    """Return how far one iteration moves a subscript."""
    terms = linear(index).terms
    return sum((change[a.name] * c for a, c in terms if isinstance(a, Iter)), Fraction(0))
