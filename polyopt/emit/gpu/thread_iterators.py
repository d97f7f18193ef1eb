"""Compute the iterators of THREAD loops from the number of a thread, as text.

In: a nest, a number of threads.  Out: each iterator's value, the loop over the iterations of one
thread, guards for threads that have fewer.
Iterations of a box are distributed cyclically over the threads of a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.bound_tests import tests_below
from polyopt.emit.gpu.declarations import KernelDeclarations
from polyopt.emit.gpu.expressions import KernelPrinter
from polyopt.emit.gpu.nests import ThreadNest
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    add,
    integer,
    mul,
    operands,
    sub,
)
from polyopt.ir.linear import normalize
from polyopt.ir.loops import For
from polyopt.ir.types import DType

MOST_UNROLLED = 16
"""Iterations of a thread that are worth printing as a loop to be unrolled."""


@dataclass(frozen=True, slots=True)
class IteratorValue:
    """An iterator and its value."""

    name: str
    value: Expr
    is_int: bool


@dataclass(frozen=True, slots=True)
class DistributedNest:
    """A nest as it is printed; `head` is the loop over the iterations of one thread.

    `printer` prints what is inside; `values` are declared there if used, under `guards`.  `names`
    are in scope there.
    """

    printer: KernelPrinter
    head: str | None
    unrolls: bool
    values: tuple[IteratorValue, ...]
    guards: tuple[Expr, ...]
    names: frozenset[str]


def distribute_nest(
    nest: ThreadNest,
    threads: int,
    declarations: KernelDeclarations,
    printer: KernelPrinter,
    scope: frozenset[str],
) -> DistributedNest:
    """Return the distribution of `nest` over threads; `scope` are names around it."""
    parts, found = _coordinates(
        distribute_cyclically(nest.extents, threads), declarations, printer, scope
    )
    for number, loop in enumerate(nest.loops):
        values, tests, inner = iterator_value(loop, parts[number], found.printer)
        tests += [test for after, test in nest.conditions if after == number + 1]
        found = replace(
            found, printer=inner, values=(*found.values, *values), guards=(*found.guards, *tests)
        )
    return found


def _coordinates(
    distributed: CyclicDistribution,
    declarations: KernelDeclarations,
    printer: KernelPrinter,
    scope: frozenset[str],
) -> tuple[list[Expr], DistributedNest]:
    """Return the iteration counts of each loop, in terms of coordinates of the thread."""
    declarations.group()
    row = declarations.coordinate(
        distributed.row(declarations.thread), len(distributed.inner), distributed.columns
    )
    printer = printer.with_int(row, 0, distributed.passes - 1)
    parts: list[Expr] = [integer(0)] * len(distributed.extents)
    for place, dim in enumerate(reversed(distributed.inner)):
        name = declarations.coordinate(
            distributed.column(dim, declarations.thread), place, distributed.columns
        )
        printer = printer.with_int(name, 0, distributed.extents[dim] - 1)
        parts[dim] = Iter(name)
    found = DistributedNest(printer, None, unrolls=False, values=(), guards=(), names=frozenset())
    number: Expr = Iter(row)
    if distributed.is_strided:
        number, found = _strided(distributed, row, found, declarations, scope)
    elif distributed.has_idle:
        guards = (Compare(CompareOp.LT, number, integer(distributed.rows)),)
        found = replace(found, guards=guards, printer=printer.knowing(guards))
    if len(distributed.outer) == 1:
        parts[distributed.outer[0]] = number
        return parts, found
    for place, dim in enumerate(reversed(distributed.outer)):
        assert isinstance(number, Iter)
        if distributed.is_strided:
            name = declarations.local(f"{number.name}{'xyzw'[min(place, 3)]}", scope | found.names)
            value = IteratorValue(name, _row_part(distributed, dim, number), is_int=True)
            found = replace(found, values=(value, *found.values), names=found.names | {name})
        else:
            name = declarations.coordinate(
                distributed.row_part(dim, number.name), place, distributed.extents[dim]
            )
        found = replace(
            found, printer=found.printer.with_int(name, 0, distributed.extents[dim] - 1)
        )
        parts[dim] = Iter(name)
    return parts, found


def _strided(
    distributed: CyclicDistribution,
    row: str,
    found: DistributedNest,
    declarations: KernelDeclarations,
    scope: frozenset[str],
) -> tuple[Expr, DistributedNest]:
    """Return the number of a row, and the loop over the rows of a thread."""
    name = declarations.local("r" if distributed.inner else "e", scope)
    is_even = distributed.rows % distributed.passes == 0 and len(distributed.outer) == 1
    first = "0" if is_even else row
    head = (
        f"for (int {name} = {first}; {name} < {distributed.rows}; {name} += {distributed.passes})"
    )
    last = distributed.rows - (distributed.passes if is_even else 1)
    found = DistributedNest(
        found.printer.with_int(name, 0, last),
        head,
        unrolls=is_even and distributed.rows // distributed.passes <= MOST_UNROLLED,
        values=(),
        guards=(),
        names=frozenset({name}),
    )
    return add(Iter(row), Iter(name)) if is_even else Iter(name), found


def _row_part(distributed: CyclicDistribution, dim: int, row: Expr) -> Expr:
    below = prod(distributed.extents[d] for d in distributed.outer if d > dim)
    part = row if below == 1 else Binary(BinaryOp.FLOORDIV, row, integer(below), DType.INT64)
    if dim == distributed.outer[0]:
        return part
    return Binary(BinaryOp.MOD, part, integer(distributed.extents[dim]), DType.INT64)


def iterator_value(
    loop: For, part: Expr, printer: KernelPrinter
) -> tuple[list[IteratorValue], list[Expr], KernelPrinter]:
    """Return the value of an iterator after `part` iterations, the bounds to test, the printer.

    Declares nothing for an iterator that equals another one.
    """
    value = normalize(add(loop.lower, mul(integer(loop.step), part)))
    counted = printer.counted(value)
    tests: list[Expr] = []
    for limit in operands(loop.upper, BinaryOp.MIN):
        gap = normalize(sub(printer.counted(limit), counted))
        if not printer.is_positive(gap):
            tests += tests_below(Iter(loop.iter), limit)
    ranges = printer.ranges.inside(loop)
    is_int = printer.is_int(counted)
    if is_int:
        least, most = printer.ranges.least(counted), printer.ranges.most(counted)
        is_int = least is not None and most is not None
        ranges = replace(ranges, lower={**ranges.lower}, upper={**ranges.upper})
    offsets = {**printer.offsets, loop.iter: counted}
    inner = replace(printer, ranges=ranges, offsets=offsets).knowing(tests)
    if is_int and least is not None and most is not None:
        inner = inner.with_int(loop.iter, least, most)
    if isinstance(counted, Iter) and is_int:
        same = printer.names.get(counted.name, counted.name)
        return [], tests, replace(inner, names={**printer.names, loop.iter: same})
    return [IteratorValue(loop.iter, counted if is_int else value, is_int)], tests, inner


@dataclass(frozen=True, slots=True)
class CyclicDistribution:
    """The cyclic distribution of a box of `extents` over `threads` threads.

    `t % columns` determines the dimensions `inner`, the row `t / columns` the dimensions `outer`.
    A thread has every `passes`-th row; other dimensions have length 1.
    """

    extents: tuple[int, ...]
    threads: int
    outer: tuple[int, ...]
    inner: tuple[int, ...]

    @property
    def columns(self) -> int:
        """Threads that share a row."""
        return prod(self.extents[d] for d in self.inner)

    @property
    def rows(self) -> int:
        """Rows of the box."""
        return prod(self.extents[d] for d in self.outer)

    @property
    def passes(self) -> int:
        """Rows that the threads run at once."""
        return self.threads // self.columns

    @property
    def is_strided(self) -> bool:
        """Whether a thread may have several iterations."""
        return self.rows > self.passes

    @property
    def has_idle(self) -> bool:
        """Whether there are threads without an iteration."""
        return self.rows < self.passes

    def column(self, dim: int, thread: str) -> str:
        """Return the coordinate in an inner dimension."""
        below = prod(self.extents[d] for d in self.inner if d > dim)
        text = thread if below == 1 else f"{thread} / {below}"
        is_first = dim == self.inner[0] and self.columns == self.threads
        return text if is_first else f"{text} % {self.extents[dim]}"

    def row(self, thread: str) -> str:
        """Return the number of the first row."""
        return thread if self.columns == 1 else f"{thread} / {self.columns}"

    def row_part(self, dim: int, row: str) -> str:
        """Return the coordinate in an outer dimension of row number `row`."""
        below = prod(self.extents[d] for d in self.outer if d > dim)
        text = row if below == 1 else f"{row} / {below}"
        return text if dim == self.outer[0] else f"{text} % {self.extents[dim]}"


def distribute_cyclically(extents: Sequence[int], threads: int) -> CyclicDistribution:
    """Return the distribution of a box: columns are as many dimensions as divide the threads.

    >>> distribute_cyclically((32, 32), 256).inner, distribute_cyclically((20, 20), 256).inner
    ((1,), ())
    """
    long = [d for d, extent in enumerate(extents) if extent != 1]
    inner: list[int] = []
    columns = 1
    for dim in reversed(long[1:]):
        columns *= extents[dim]
        if columns == 0 or threads % columns != 0:
            break
        inner.insert(0, dim)
    outer = tuple(d for d in long if d not in inner)
    return CyclicDistribution(tuple(extents), threads, outer, tuple(inner))
