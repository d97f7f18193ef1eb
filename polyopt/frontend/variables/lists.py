"""Lists that live in memory: of a length that is not known, or with items that are replaced.

In: operators, subscripts and stores of such lists.  Out: what Python makes of them.
Refuses: what an array would do otherwise, item by item (PO0124), items of a wider type (PO0144).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import numpy as np

from polyopt import frontend
from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.folding import check_items
from polyopt.frontend.integers.affine_integers import clipped, strip_casts
from polyopt.frontend.numpy.call_arguments import Arguments, number, tensor
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, settled, store, stored
from polyopt.frontend.subscripts.basic import Cut, Part, Stepped
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import array_or_number, nested
from polyopt.frontend.values.promote import Operand, common_pair, is_castable
from polyopt.frontend.values.values import (
    Known,
    Number,
    Operandish,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    view_of,
)
from polyopt.ir.types import DType, Kind

HINT = "make an array of it: np.array(items)"


def is_list(value: object) -> bool:
    """Whether a value is a list that lives in memory."""
    return isinstance(value, Tensor) and value.view is not None and value.view.buffer.is_list


def as_list(array: Tensor) -> Tensor:
    """Return the kernel's own array as a list."""
    assert array.view is not None
    array.view.buffer.is_list = True
    return array


def made(b: Builder, make: Callable[[DType | None], Tensor]) -> Tensor:
    """Return a list that `make` makes, of items as wide as those that it gets later."""
    place = ("list", b.loc)
    held = b.facts.widths.get(place)
    found = as_list(make(None if held is None else held[0]))
    assert found.view is not None
    found.view.buffer.made_at = place
    b.forget(found.view.buffer.name)  # items are replaced
    return found


_OF_PYTHON = {Kind.SIGNED: DType.INT64, Kind.UNSIGNED: DType.INT64, Kind.FLOAT: DType.FLOAT64}


def tolist(b: Builder, args: Arguments) -> Value:
    """ndarray.tolist of a vector"""
    array = forced(b, tensor(b, args.take("a")[0], args.loc))
    if array.rank != 1 or array.dtype is DType.UINT64 or array.dtype.is_complex:
        refuse("PO0152", f"`.tolist` of an array of {array.dtype} of rank {array.rank}", args.loc)
    found = of_items(b, array, _OF_PYTHON.get(array.dtype.kind))
    _mark_own(b, found)
    return found


def _mark_own(b: Builder, found: Tensor) -> None:
    """Note that the items are Python's own numbers, unless a later float of NumPy is one, too."""
    assert found.view is not None
    buffer = found.view.buffer
    held = None if buffer.made_at is None else b.facts.widths.get(buffer.made_at)
    buffer.weak = held is None or held[1] or buffer.dtype is DType.INT64


def of_items(b: Builder, array: Tensor, least: DType | None = None) -> Tensor:
    """Return `list(array)`."""

    def make(kind: DType | None) -> Tensor:
        copy = view_of(b.new_buffer("items", kind or least or array.dtype, array.shape))
        store(b, copy, array, b.loc)
        return replace(copy, shape=array.shape)

    return made(b, make)


def in_memory(b: Builder, tree: ast.AST, targets: list[ast.expr], value: Value) -> Value:
    """Return a list of numbers as one in memory, where the function replaces items of it."""
    if not isinstance(value, Sequence) or not value.is_list or not _is_regular(value):
        return value
    if any(isinstance(name, ast.Name) and _is_replaced(tree, name.id) for name in targets):
        kinds = set(_integers_in(value))
        is_narrow = any(dtype is not DType.INT64 for dtype, _ in kinds)
        if is_narrow and len(kinds) > 1:
            message = "a list with integers of several types, whose items are replaced"
            refuse("PO0161", message, b.loc, "convert all to one type, such as np.int64(x)")
        found = made(b, lambda kind: nested(b, value, kind, b.loc))
        if all(_is_of_python(item) for item in value.items):
            _mark_own(b, found)
        return found
    return value


def _integers_in(value: Value) -> Iterator[Operand]:
    """Yield the types of integers that are items of a list, or of lists in it."""
    match value:
        case Sequence(items=items):
            for item in items:
                yield from _integers_in(item)
        case Number() if value.dtype.is_integer:
            yield value.dtype, value.weak
        case Known(value=int()):
            yield DType.INT64, True
        case _:
            return


def _is_of_python(value: Value) -> bool:
    match value:
        case Known(value=known):
            return isinstance(known, int | float | complex) and not isinstance(known, np.generic)
        case Sequence(items=items):
            return all(map(_is_of_python, items))
        case _:
            return isinstance(value, Number) and value.weak


def _is_regular(value: Sequence) -> bool:
    """Whether all items are numbers, or lists of as many numbers."""
    if not value.items:
        return False
    inner = {len(item.items) for item in value.items if isinstance(item, Sequence) and item.is_list}
    if inner:
        rows = [item for item in value.items if isinstance(item, Sequence)]
        return len(rows) == len(value.items) and len(inner) == 1 and all(map(_is_regular, rows))
    return all(
        isinstance(item, Number)
        or (isinstance(item, Known) and isinstance(item.value, bool | int | float | complex))
        for item in value.items
    )


def _is_replaced(tree: ast.AST, name: str) -> bool:
    """Whether items of the list `name` are assigned somewhere in the function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            base: ast.expr = node
            while isinstance(base, ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name) and base.id == name:
                return True
    return False


def operated(b: Builder, name: str, values: tuple[Value, ...], loc: Loc | None) -> Value | None:
    """Return what an operator makes of lists; None where it is not for lists, or an array takes
    part, which makes arrays of them."""
    if any(isinstance(value, Tensor) and value.rank and not is_list(value) for value in values):
        return None
    match name, values:
        case "multiply", (Sequence(items=(item,), is_list=True), Number() as count):
            return _filled(b, item, count, loc)
        case "multiply", (Number() as count, Sequence(items=(item,), is_list=True)):
            return _filled(b, item, count, loc)
        case _:
            pass
    if not any(is_list(value) for value in values):
        return None
    args = Arguments("+", values, {}, loc)
    match name, values:
        case "add", (left, right) if _is_any_list(left) and _is_any_list(right):
            parts = [as_tensor(settled(b, array_or_number(b, value, loc))) for value in values]
            return as_list(frontend.numpy.joining.joined(b, parts, 0, args))
        case (
            "multiply",
            (Tensor() as items, Known(value=int(times)))
            | (Known(value=int(times)), Tensor() as items),
        ) if times > 0:
            check_items(times, loc)
            return as_list(frontend.numpy.joining.joined(b, [items] * times, 0, args))
        case _:
            refuse("PO0124", "this operator on a list whose items live in memory", loc, HINT)


def _is_any_list(value: Value) -> bool:
    return is_list(value) or (isinstance(value, Sequence) and value.is_list and bool(value.items))


def _filled(b: Builder, item: Value, count: Number, loc: Loc | None) -> Tensor | None:
    """Return `[item] * count`."""
    if isinstance(item, Sequence | Tensor) or not count.weak or not count.dtype.is_integer:
        return None
    value = number(b, item, "the item of a list", loc)
    extent = clipped(b.dynamic(strip_casts(count.expr), "length"))

    def make(kind: DType | None) -> Tensor:
        whole = view_of(b.new_buffer("items", kind or value.dtype, (extent,)))
        store(b, whole, as_tensor(Number(value.expr, False)), loc)
        return whole

    found = made(b, make)
    if value.weak:
        _mark_own(b, found)
    return found


def cut_out(b: Builder, found: Tensor, parts: list[Part]) -> Tensor:
    """Return a slice of a list, which is a list of its own."""
    if not any(isinstance(part, Cut | Stepped) for part in parts):
        return found
    return as_list(stored(b, Tensor(found.shape, found.dtype, found.at), "items"))


def refuse_growth(value: Value, loc: Loc | None) -> None:
    """Refuse `items += more`."""
    if is_list(value):
        refuse("PO0124", "a list that grows by `+=`", loc, "write `items = items + more`")


def refuse_slices(parts: list[Part], loc: Loc | None) -> None:
    """Refuse assignment to a slice of a list, which may change its length."""
    if any(not hasattr(part, "index") for part in parts):
        refuse("PO0124", "assignment to a slice of a list", loc, HINT)


def widen(b: Builder, target: Tensor, item: Operandish, loc: Loc | None) -> None:
    """Learn that a list gets items of a wider type, or NumPy's: the next reading makes it so."""
    if not is_list(target):
        return
    assert target.view is not None
    buffer, dtype = target.view.buffer, item.dtype
    place = buffer.made_at
    if is_castable(dtype, target.dtype, "safe"):
        if buffer.weak and buffer.dtype is not DType.INT64 and not item.weak and place is not None:
            b.facts.set_width(place, buffer.dtype, False, loc)
        return
    if place is None:
        hint = "start with items of that type: [0.0] * n"
        refuse("PO0144", f"a list of {target.dtype} gets an item of {dtype}", loc, hint)
    wide = common_pair((dtype, False), (target.dtype, False), loc)
    b.facts.set_width(place, wide, item.weak and buffer.weak, loc)
