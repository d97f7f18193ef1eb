"""Replay a refused order on small data to show how values differ.

In: a Scop, a refused tree, small sizes.  Out: the first element that differs, or that none did.
Runs on the slow interpreter, on a few sets of small invented data.
Refuses (says so in `Replay.reason`): more instances or elements than run in a blink.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, unique
from functools import cached_property
from random import Random
from typing import Any, TypeAlias

import islpy as isl
import numpy as np

from polyopt.dataclass import dataclass, replace
from polyopt.errors import InternalError
from polyopt.ir.expr import Expr, Load, Symbol, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import Arrays, fix_params, original_time, points, run_scop
from polyopt.ir.parameters import maps_of
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.ir.storage import storage
from polyopt.ir.types import DType, Kind
from polyopt.schedule.tree import Tree, time_of

MAX_INSTANCES = 6_000
MAX_ELEMENTS = 100_000
SETS = 3
FOUND = 2  # the least extent of an array whose subscripts are data

Instance: TypeAlias = tuple[str, tuple[int, ...]]
Times: TypeAlias = dict[Instance, tuple[int, ...]]
Number: TypeAlias = bool | int | float | complex


@dataclass(frozen=True, slots=True)
class Change:
    """One element with its value in the source's order and in the refused one."""

    array: str
    cell: tuple[int, ...]
    before: Number
    after: Number


@unique
class How(Enum):
    """The way of running a refused tree in which a value differs, for people."""

    REFUSED = "in the refused order"
    SWAPPED = "if the two run in the other order"
    IN_TURN = "if the iterations take turns, statement by statement"
    AT_ONCE = "if both read it before either writes it"


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of runs on `sets` of invented data; `change` None: every element was the same.

    `reason` says why nothing was run, if so; `params` are the sizes of the runs.
    """

    sets: int
    change: Change | None
    how: How = How.REFUSED
    reason: str = ""
    params: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Disorder:
    """The possible orders of the refused tree.

    `together`: the level of the loop that would run the two instances of `pair` at the same time;
    `updates`: both update the same element.  `ties`: nothing orders the two.
    """

    tree: Tree
    pair: tuple[Instance, Instance]
    together: int | None = None
    updates: bool = False
    ties: bool = False


def replay(scop: Scop, params: Mapping[str, int], disorder: Disorder) -> Replay:
    """Return the first element whose value differs, results before temporaries."""
    sizes = dict(params)
    if _instances(scop, sizes) > MAX_INSTANCES:
        return Replay(0, None, reason=f"over {MAX_INSTANCES} iterations at these sizes")
    shapes = _shapes(scop, sizes)
    if sum(map(math.prod, shapes.values())) > MAX_ELEMENTS:
        return Replay(0, None, reason=f"over {MAX_ELEMENTS} elements at these sizes")
    orders = tuple(_orders(scop, sizes, disorder))
    failed = 0
    for number in range(SETS):
        data = _Invented(scop, sizes, shapes, number)
        try:
            before = _run(scop, data, None)
            for how, partial, times in orders:
                change = _first_change(scop, before, _run(partial, data, times))
                if change is not None:
                    return Replay(number + 1, change, how, params=tuple(sizes.items()))
        except InternalError:  # a subscript that is data leaves its array
            failed += 1
    if failed == SETS:
        return Replay(0, None, reason="it needs data that could not be invented")
    return Replay(SETS - failed, None)


def _orders(
    scop: Scop, params: dict[str, int], disorder: Disorder
) -> Iterator[tuple[How, Scop, Times]]:
    """Yield possible orders of the refused tree, the clearest first."""
    times = _times_of(scop, params, disorder.tree)
    first, second = disorder.pair
    if disorder.ties:
        tied = {i: (*time, *_backwards(scop, i, params)) for i, time in times.items()}
        yield How.SWAPPED, scop, tied
    elif disorder.together is None:
        yield How.REFUSED, _only(scop, params, times), times
    else:
        if disorder.updates:
            left = {i: time for i, time in times.items() if i != first}
            yield How.AT_ONCE, _only(scop, params, left), left
        yield How.SWAPPED, scop, _swapped(times, disorder.together, first, second)
        yield How.IN_TURN, scop, _in_turn(times, disorder.together, first)


def _instances(scop: Scop, params: dict[str, int]) -> int:
    """Return a bound on the number of instances at `params`."""
    total = 0
    for statement in scop.statements:
        inside = fix_params(statement.domain, params)
        if inside.is_empty():
            continue
        spans = (
            int(inside.dim_max_val(d).to_python()) - int(inside.dim_min_val(d).to_python()) + 1
            for d in range(inside.dim(isl.dim_type.set))
        )
        total += math.prod(spans)
    return total


def _times_of(scop: Scop, params: dict[str, int], tree: Tree) -> Times:
    """Return instance -> time in the order of a tree; a lost instance has none."""
    domain = scop.domain.intersect_params(fix_params(scop.context, params))
    pieces = maps_of(time_of(tree, domain))
    times: Times = {}
    for piece in pieces:
        name = str(piece.get_tuple_name(isl.dim_type.in_))
        rank = piece.dim(isl.dim_type.in_)
        for both in points(piece.wrap().flatten(), params):
            times[name, both[:rank]] = both[rank:]
    return times


def _swapped(times: Times, level: int, first: Instance, second: Instance) -> Times:
    """Return `times` with two iterations of one loop swapped."""
    one, two = times[first][level], times[second][level]
    swapped = {one: two, two: one}
    return _with_iterations(times, level, first, lambda own, *rest: (swapped.get(own, own), *rest))


def _in_turn(times: Times, level: int, first: Instance) -> Times:
    """Return `times` with a loop moved innermost, so that its iterations run in lockstep."""
    return _with_iterations(times, level, first, lambda own, *rest: (*rest, own))


def _with_iterations(
    times: Times, level: int, first: Instance, change: Callable[..., tuple[int, ...]]
) -> Times:
    """Return `times` with those of one execution of a loop changed, from the loop's own on."""
    prefix = times[first][:level]
    return {
        instance: (*prefix, *change(*time[level:])) if time[:level] == prefix else time
        for instance, time in times.items()
    }


def _backwards(scop: Scop, instance: Instance, params: dict[str, int]) -> tuple[int, ...]:
    time = original_time(scop.statement(instance[0]), instance[1], params)
    length = max(len(statement.order) for statement in scop.statements)
    return tuple(-part for part in (*time, *(0,) * (length - len(time))))


def _only(scop: Scop, params: dict[str, int], times: Times) -> Scop:
    """Return `scop` without the instances that have no time."""

    def kept(statement: Statement) -> Statement:
        domain = statement.domain
        for point in points(statement.domain, params):
            if (statement.name, point) not in times:
                domain = domain.subtract(_singleton(domain, point))
        return statement if domain is statement.domain else replace(statement, domain=domain)

    return replace(scop, statements=tuple(map(kept, scop.statements)))


def _singleton(domain: isl.Set, point: tuple[int, ...]) -> isl.Set:
    found = isl.Set.universe(domain.get_space())
    for dim, value in enumerate(point):
        found = found.fix_val(isl.dim_type.set, dim, isl.Val(value))
    return found


@dataclass(frozen=True, eq=False)
class _Invented:
    """The data of one run: the set `number` for arrays of these shapes."""

    scop: Scop
    params: dict[str, int]
    shapes: dict[str, tuple[int, ...]]
    number: int

    def arrays(self) -> Arrays:
        """Return new arrays; those of the program itself start as not written."""
        return {
            array.name: storage(array, self.shapes[array.name])
            if array.role in (Role.TEMP, Role.OUTPUT)
            else self._given[array.name].copy()
            for array in self.scop.arrays
            if array.role is not Role.FAULT
        }

    @cached_property
    def _given(self) -> Arrays:
        """The arrays that the program is given."""
        return {
            array.name: self._array(array, place)
            for place, array in enumerate(self.scop.arrays)
            if array.role not in (Role.TEMP, Role.OUTPUT, Role.FAULT)
        }

    def _array(self, array: Array, place: int) -> np.ndarray[Any, Any]:
        shape = self.shapes[array.name]
        values = list(_values(array.dtype, math.prod(shape), place, self.number))
        if array.name in _subscripts(self.scop):
            values = [int(value) % FOUND for value in values]
        return np.array(values, dtype=array.dtype.numpy).reshape(shape)

    def symbols(self) -> dict[str, object]:
        """Return a value for every scalar argument."""
        return {
            name: dtype.numpy.type(next(_values(dtype, 1, place + 1, self.number)))
            for place, (name, dtype) in enumerate(_symbols(self.scop))
        }


def _run(scop: Scop, data: _Invented, times: Times | None) -> Arrays:
    arrays = data.arrays()
    order = None if times is None else _order(times)
    run_scop(scop, arrays, data.params, data.symbols(), order)
    return arrays


def _order(times: Times) -> Callable[[Statement, tuple[int, ...]], tuple[int, ...]]:
    return lambda statement, point: times[statement.name, point]


def _shapes(scop: Scop, params: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Return shapes that contain every access at `params`.

    Sizes that a call's checks tie to others may be too small here, since no call is checked.
    """
    shapes = {a.name: [max(0, evaluate(e, params)) for e in a.shape] for a in scop.arrays}
    for statement in scop.statements:
        for access in (statement.write, *statement.reads):
            shape = shapes[access.array]
            if not access.exact:
                shape[:] = [max(extent, FOUND) for extent in shape]
                continue
            touched = fix_params(access.relation.range(), params)
            if touched.is_empty():
                continue
            for dim in range(len(shape)):
                shape[dim] = max(shape[dim], int(touched.dim_max_val(dim).to_python()) + 1)
    return {name: tuple(shape) for name, shape in shapes.items()}


def _values(dtype: DType, count: int, place: int, number: int) -> Iterator[Any]:
    """Yield invented data: small counting numbers, then random integers, then fractions."""
    random = Random(f"{place} {number}")
    signed = dtype.kind is not Kind.UNSIGNED
    for flat in range(count):
        if dtype is DType.BOOL:
            yield (flat + place) % 2 == 0 if number == 0 else random.random() < 0.5
        elif number == 0:
            yield 1 + (3 * flat + 5 * place) % 11
        elif number == 1 or not dtype.is_float:
            yield random.randint(-9 if signed else 0, 9)
        else:
            yield random.uniform(-1, 1)


def _symbols(scop: Scop) -> list[tuple[str, DType]]:
    """Return the scalar arguments that the statements read, by name."""
    found = {
        part.name: part.dtype
        for statement in scop.statements
        for expr in _exprs(statement)
        for part in walk(expr)
        if isinstance(part, Symbol)
    }
    return sorted(found.items(), key=lambda item: item[0])


def _subscripts(scop: Scop) -> set[str]:
    """Return the arrays whose elements are subscripts of others."""
    return {
        inner.array
        for statement in scop.statements
        for expr in _exprs(statement)
        for load in walk(expr)
        if isinstance(load, Load)
        for index in load.index
        for inner in walk(index)
        if isinstance(inner, Load)
    }


def _exprs(statement: Statement) -> tuple[Expr, ...]:
    guard = () if statement.guard is None else (statement.guard,)
    return (statement.target, statement.value, *guard)


def _first_change(scop: Scop, before: Arrays, after: Arrays) -> Change | None:
    visible = [a.name for a in scop.arrays if a.role not in (Role.TEMP, Role.FAULT)]
    hidden = [a.name for a in scop.arrays if a.role is Role.TEMP]
    for name in (*visible, *hidden):
        old, new = before[name], after[name]
        same = (old == new) | ((old != old) & (new != new))
        if not same.all():
            cell = tuple(int(part) for part in np.argwhere(~same)[0])
            return Change(name, cell, old[cell].item(), new[cell].item())
    return None
