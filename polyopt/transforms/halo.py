"""Compute the halo of a tile that runs several time steps: what it recomputes of its neighbours.

In: statements in the order of a time step that write and read elements at constant distances.
Out: for each statement and side the width of the halo, by the number of time steps left.
Refuses (`NoHalo`): distances that are not constant, halos that grow without bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Expr, sub
from polyopt.ir.linear import linear
from polyopt.ir.scop import Statement

STEEPEST = 8
"""Elements that a tile may grow by, on one side, for each time step."""


class NoHalo(Exception):
    """No halo has all values that a tile needs; the text says why."""


@dataclass(frozen=True, slots=True)
class HaloWidth:
    """Elements around a tile: `least` in the last time step, `slope` more per step before it."""

    least: int
    slope: int

    def at(self, left: int) -> int:
        """Return the number of elements when `left` time steps are left."""
        return self.least + self.slope * left


@dataclass(frozen=True, slots=True)
class Halo:
    """The widths of a statement's halo in one dimension, below and above a tile."""

    below: HaloWidth
    above: HaloWidth


@dataclass(frozen=True, slots=True)
class _Need:
    """A statement reads at `distance` what `producer` writes, in this time step or before."""

    reader: int
    producer: int
    distance: int
    same_step: bool


def halos(statements: Sequence[Statement], rank: int) -> dict[str, tuple[Halo, ...]]:
    """Return the halo of each statement in each of the `rank` dimensions of its target.

    Statements are in the order of a time step; raises `NoHalo`.
    """
    for statement in statements:
        own = [distances(statement, statement.target.array, dim) for dim in range(rank)]
        if any(map(any, own)):
            raise NoHalo(f"{statement.name} needs what it computes itself in the same time step")
    found: dict[str, list[Halo]] = {statement.name: [] for statement in statements}
    for dim in range(rank):
        needs = _needs(statements, dim)
        below = _widths([(n, max(0, -n.distance)) for n in needs], len(statements))
        above = _widths([(n, max(0, n.distance)) for n in needs], len(statements))
        for statement, low, high in zip(statements, below, above, strict=True):
            found[statement.name].append(Halo(low, high))
    return {name: tuple(own) for name, own in found.items()}


def distances(statement: Statement, array: str, dim: int) -> list[int]:
    """Return the distances from a statement's target to its reads of an array; raises `NoHalo`."""
    own = statement.target.index[dim]
    found = []
    for read in statement.reads:
        if read.array == array:
            if len(read.index) != len(statement.target.index) or not read.exact:
                raise NoHalo(f"{statement.name} does not read {array} at a constant distance")
            found.append(_distance(read.index[dim], own, f"{statement.name} reads {array}"))
    return found


def _distance(one: Expr, other: Expr, what: str) -> int:
    value = linear(sub(one, other))
    if value.terms:
        raise NoHalo(f"{what} at no constant distance from what it writes")
    return value.constant


def _needs(statements: Sequence[Statement], dim: int) -> list[_Need]:
    writers: Mapping[str, list[int]] = {}
    writers = {s.target.array: [] for s in statements}
    for number, statement in enumerate(statements):
        writers[statement.target.array].append(number)
    found = []
    for reader, statement in enumerate(statements):
        for array, producers in writers.items():
            for distance in distances(statement, array, dim):
                found += [_Need(reader, p, distance, p < reader) for p in producers]
    return found


def _widths(needs: list[tuple[_Need, int]], count: int) -> list[HaloWidth]:
    """Return the smallest widths for which every producer covers the reads of its consumers."""
    for slope in range(STEEPEST + 1):
        least = [0] * count
        for _ in range(count + 1):
            grown = list(least)
            for need, further in needs:
                wanted = least[need.reader] + further - (0 if need.same_step else slope)
                grown[need.producer] = max(grown[need.producer], wanted)
            if grown == least:
                return [HaloWidth(value, slope) for value in least]
            least = grown
    raise NoHalo("what a tile needs of its neighbours grows too fast, or within one time step")
