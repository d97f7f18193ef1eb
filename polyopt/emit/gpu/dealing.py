"""The iterators of THREAD loops in the text: from the number of a thread.

In: a nest, a number of threads.  Out: each iterator's value, the loop over what a thread has,
conditions for threads that have less.
"""

from __future__ import annotations

from math import prod

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.deal import Deal, deal
from polyopt.emit.gpu.expressions import KernelPrinter
from polyopt.emit.gpu.limits import tests_below
from polyopt.emit.gpu.nests import ThreadNest
from polyopt.emit.gpu.own import Own
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
    normalize,
    operands,
    sub,
)
from polyopt.ir.loops import For
from polyopt.ir.types import DType

MOST_UNROLLED = 16
"""Iterations of a thread that are worth printing as a loop to be unrolled."""


@dataclass(frozen=True, slots=True)
class Value:
    """An iterator and its value."""

    name: str
    value: Expr
    is_int: bool


@dataclass(frozen=True, slots=True)
class Dealt:
    """How a nest is printed; `head` is the loop over what one thread has.

    `printer` prints what is inside; `values` are declared there if used, under `guards`.  `names`
    are in scope there.
    """

    printer: KernelPrinter
    head: str | None
    unrolls: bool
    values: tuple[Value, ...]
    guards: tuple[Expr, ...]
    names: frozenset[str]


def dealt_nest(
    nest: ThreadNest, threads: int, own: Own, printer: KernelPrinter, scope: frozenset[str]
) -> Dealt:
    """Return how the iterations of `nest` are dealt to threads; `scope` are names around it."""
    parts, found = _coordinates(deal(nest.extents, threads), own, printer, scope)
    for number, loop in enumerate(nest.loops):
        values, tests, inner = iterator_value(loop, parts[number], found.printer)
        tests += [test for after, test in nest.conditions if after == number + 1]
        found = replace(
            found, printer=inner, values=(*found.values, *values), guards=(*found.guards, *tests)
        )
    return found


def _coordinates(
    dealt: Deal, own: Own, printer: KernelPrinter, scope: frozenset[str]
) -> tuple[list[Expr], Dealt]:
    """Return each loop's count of iterations, in terms of named numbers of the thread."""
    own.group()
    row = own.coordinate(dealt.row(own.thread), len(dealt.inner), dealt.columns)
    printer = printer.with_int(row, 0, dealt.passes - 1)
    parts: list[Expr] = [integer(0)] * len(dealt.extents)
    for place, dim in enumerate(reversed(dealt.inner)):
        name = own.coordinate(dealt.column(dim, own.thread), place, dealt.columns)
        printer = printer.with_int(name, 0, dealt.extents[dim] - 1)
        parts[dim] = Iter(name)
    found = Dealt(printer, None, unrolls=False, values=(), guards=(), names=frozenset())
    number: Expr = Iter(row)
    if dealt.is_strided:
        number, found = _strided(dealt, row, found, own, scope)
    elif dealt.has_idle:
        guards = (Compare(CompareOp.LT, number, integer(dealt.rows)),)
        found = replace(found, guards=guards, printer=printer.knowing(guards))
    if len(dealt.outer) == 1:
        parts[dealt.outer[0]] = number
        return parts, found
    for place, dim in enumerate(reversed(dealt.outer)):
        assert isinstance(number, Iter)
        if dealt.is_strided:
            name = own.local(f"{number.name}{'xyzw'[min(place, 3)]}", scope | found.names)
            value = Value(name, _row_part(dealt, dim, number), is_int=True)
            found = replace(found, values=(value, *found.values), names=found.names | {name})
        else:
            name = own.coordinate(dealt.row_part(dim, number.name), place, dealt.extents[dim])
        found = replace(found, printer=found.printer.with_int(name, 0, dealt.extents[dim] - 1))
        parts[dim] = Iter(name)
    return parts, found


def _strided(
    dealt: Deal, row: str, found: Dealt, own: Own, scope: frozenset[str]
) -> tuple[Expr, Dealt]:
    """Return the number of a row, and the loop over those a thread has."""
    name = own.local("r" if dealt.inner else "e", scope)
    is_even = dealt.rows % dealt.passes == 0 and len(dealt.outer) == 1
    first = "0" if is_even else row
    head = f"for (int {name} = {first}; {name} < {dealt.rows}; {name} += {dealt.passes})"
    last = dealt.rows - (dealt.passes if is_even else 1)
    found = Dealt(
        found.printer.with_int(name, 0, last),
        head,
        unrolls=is_even and dealt.rows // dealt.passes <= MOST_UNROLLED,
        values=(),
        guards=(),
        names=frozenset({name}),
    )
    return add(Iter(row), Iter(name)) if is_even else Iter(name), found


def _row_part(dealt: Deal, dim: int, row: Expr) -> Expr:
    below = prod(dealt.extents[d] for d in dealt.outer if d > dim)
    part = row if below == 1 else Binary(BinaryOp.FLOORDIV, row, integer(below), DType.INT64)
    if dim == dealt.outer[0]:
        return part
    return Binary(BinaryOp.MOD, part, integer(dealt.extents[dim]), DType.INT64)


def iterator_value(
    loop: For, part: Expr, printer: KernelPrinter
) -> tuple[list[Value], list[Expr], KernelPrinter]:
    """Return the value of an iterator after `part` iterations, bounds left to test, the printer.

    Nothing needs to be declared for an iterator that is another one.
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
    return [Value(loop.iter, counted if is_int else value, is_int)], tests, inner
