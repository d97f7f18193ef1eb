"""Vectorize copies of contiguous elements.

In: a loop of constant length that copies element by element.  Out: vector copies, and the
condition under which they are aligned; None for other loops.
Subscripts of shared arrays are aligned by proof, those of the device's memory by a test there.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.async_copies import SIZES, copy_text
from polyopt.emit.gpu.declarations import WIDE
from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.gpu.expressions import KernelPrinter
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.ir.expr import Compare, Const, Expr, Iter, Load, add, integer, substitute
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, For, Space
from polyopt.ir.names import has_iterator
from polyopt.ir.types import DType

_PARTS = "xyzw"


@dataclass(frozen=True, slots=True)
class VectorCopy:
    """Vector copies `lines` that replace a loop where `condition`, if there is one, holds."""

    condition: str | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of `trips` neighbours, `lanes` at a time; `count` is the loop's own iterator."""

    loop: For
    trips: int
    lanes: int
    count: str
    printer: KernelPrinter
    dialect: DeviceDialect

    def vector(self, dtype: DType) -> str:
        return self.dialect.vectors[dtype].format(self.lanes)

    def at(self, load: Load, number: int) -> tuple[Expr, ...]:
        """Return the subscripts of the element in iteration `number`."""
        value = {self.loop.iter: _value(self.loop, number)}
        return tuple(normalize(substitute(i, value)) for i in load.index)

    def element(self, load: Load, number: int) -> str:
        return self.printer.element(load.array, self.at(load, number))

    def is_contiguous(self, load: Load) -> bool:
        """Tell whether iterations access neighbours; in shared memory they must be aligned."""
        place = self.printer.places[load.array]
        if not load.index or (place.strides and place.strides[-1] != integer(1)):
            return False
        *outer, last = (self.printer.counted(i) for i in load.index)
        if any(has_iterator(i, (self.count,)) for i in outer):
            return False
        total = linear(last)
        declarations = [factor for atom, factor in total.terms if atom == Iter(self.count)]
        rest = [(atom, factor) for atom, factor in total.terms if atom != Iter(self.count)]
        if declarations != [1] or any(has_iterator(atom, (self.count,)) for atom, _ in rest):
            return False
        if place.space is not Space.SHARED:
            return True
        turn = place.array.turn
        if turn is not None and turn.group % self.lanes != 0:
            return False
        row = place.array.shape[-1]
        is_wide = isinstance(row, Const) and int(row.value.real) * load.dtype.size % WIDE == 0
        factors = [total.constant, *(factor for _, factor in rest)]
        return is_wide and all(factor % self.lanes == 0 for factor in factors)

    def load(self, source: Load, number: int) -> str:
        if self.printer.places[source.array].space in (Space.REGISTER, Space.LOCAL):
            parts = ", ".join(self.element(source, number + k) for k in range(self.lanes))
            return self.dialect.make_vector.format(type=self.vector(source.dtype), parts=parts)
        return self.dialect.load_vector.format(
            type=self.vector(source.dtype), lanes=self.lanes, place=self.element(source, number)
        )

    def store(self, target: Load, number: int, value: str, name: str) -> list[str]:
        kind = self.vector(target.dtype)
        is_apart = self.printer.places[target.array].space in (Space.REGISTER, Space.LOCAL)
        if is_apart or not self.is_contiguous(target):
            parts = [
                f"{self.element(target, number + k)} = {name}.{_PARTS[k]};"
                for k in range(self.lanes)
            ]
            return [f"const {kind} {name} = {value};", *parts]
        return [
            self.dialect.store_vector.format(
                type=kind, lanes=self.lanes, place=self.element(target, number), value=value
            )
        ]

    def begin(self, target: Load, source: Load, number: int) -> str:
        """Return the statement that begins an asynchronous copy."""
        to, place = (replace(side, index=self.at(side, number)) for side in (target, source))
        begun = copy_text(self.printer, self.dialect, to, place, self.lanes)
        assert begun is not None
        return begun

    def is_aligned(self, load: Load) -> list[str]:
        """Return the test that an element of the device's memory is aligned."""
        place = self.printer.places[load.array]
        if place.space is not None or not self.dialect.aligns:
            return []
        name = self.printer.helper(Helper(HelperKind.ALIGNED))
        return [f"{name}(&{self.element(load, 0)}, {self.lanes * load.dtype.size})"]


def vector_copy(
    loop: For,
    trips: int,
    count: str,
    tests: Sequence[Expr],
    printer: KernelPrinter,
    dialect: DeviceDialect,
    name: str,
) -> VectorCopy | None:
    """Return the vector copy for `loop`, `trips` long under `tests`; `name` is free for a local."""
    match loop.body:
        case (Assign(target=Load() as target, value=Load() as source) as assign,):
            is_async = assign.is_async and dialect.asynchronous
        case _:
            return None
    lanes = WIDE // source.dtype.size
    lanes = lanes if trips % lanes == 0 else trips
    if trips > 2 * lanes or not _is_vector(source.dtype, lanes, dialect, is_async=is_async):
        return None
    copy = _Copy(loop, trips, lanes, count, printer, dialect)
    if target.array == source.array or not copy.is_contiguous(source):
        return None
    is_turned = printer.places[target.array].space is Space.SHARED and not is_async
    if not (is_turned or copy.is_contiguous(target)):
        return None
    if all(printer.places[side.array].space is not None for side in (target, source)):
        return None  # compilers see by themselves how shared arrays lie
    last = _value(loop, trips - 1)
    conditions = []
    for test in tests:
        if not isinstance(test, Compare):
            return None
        left, right = (normalize(substitute(e, {loop.iter: last})) for e in (test.left, test.right))
        conditions.append(printer.text(Compare(test.op, left, right)))
    conditions += [*copy.is_aligned(target), *copy.is_aligned(source)]
    lines = []
    for number in range(0, trips, lanes):
        declarations = name if number == 0 else f"{name}{number}"
        if is_async:
            lines.append(copy.begin(target, source, number))
        else:
            lines += copy.store(target, number, copy.load(source, number), declarations)
    return VectorCopy(" && ".join(conditions) or None, tuple(lines))


def _is_vector(dtype: DType, lanes: int, dialect: DeviceDialect, *, is_async: bool) -> bool:
    """Tell whether a device copies so many neighbours at once."""
    if is_async:
        return lanes > 1 and lanes * dtype.size in SIZES
    return lanes in (2, 4) and dtype in dialect.vectors


def _value(loop: For, number: int) -> Expr:
    """Return the iterator in iteration `number`."""
    return add(loop.lower, integer(loop.step * number))
