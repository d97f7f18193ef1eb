"""Lists and generators: unrolled where the items are known, otherwise loops that fill an array.

In: a comprehension's tree, or values to be iterated.  Out: a sequence, or values made on demand.
Refuses: generators with conditions that are not known while compiling, or with several symbolic
ranges, that no function takes at once (PO0114).
What `for` runs over: ranges, arrays, enumerate, zip, reversed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.folding import check_items
from polyopt.frontend.arithmetic.operators import describe
from polyopt.frontend.integers.affine_integers import (
    ZERO,
    constant,
    floordiv,
    minimum,
    minus,
    plus,
    times,
)
from polyopt.frontend.integers.ranges import range_of
from polyopt.frontend.numpy.call_arguments import Arguments, is_none, size
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, settled, store, stored
from polyopt.frontend.subscripts.basic import At, select_parts
from polyopt.frontend.subscripts.masks import plain
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import array_or_number, as_sequence
from polyopt.frontend.values.values import (
    Iterated,
    Known,
    Number,
    Range,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    as_value,
    item_of,
    remapped,
    view_of,
)
from polyopt.frontend.variables.call_frames import Frame
from polyopt.ir.expr import Expr, integer
from polyopt.ir.types import DType

LONGEST = 64
Evaluate = Callable[[Builder, Frame, ast.expr], Value]
Comprehension = ast.ListComp | ast.GeneratorExp
Grown = Callable[[Frame, Comprehension, Value], Value]


@dataclass(frozen=True, eq=False)
class Generated(Iterated):
    """The items of a comprehension over a range of unknown length.

    A list has its items when it is made, a generator when they are asked for.
    """

    is_list: bool = False


def comprehension(
    b: Builder, frame: Frame, node: Comprehension, evaluate: Evaluate, grown: Grown
) -> Value:
    """Return the items: a list when their number is known and small.

    `grown` makes the list of a comprehension of which only the run knows how many items it has.
    """
    inner = replace(frame, env=dict(frame.env), pins={}, watched={})
    first, *rest = node.generators
    source = evaluate(b, inner, first.iter)
    place = frame.place(node, "(grown)")
    if place in b.facts.filtered:
        return grown(inner, node, source)
    items = unrolled(b, source, inner.loc(first.iter))
    if items is not None:
        found = tuple(_items(b, inner, node, evaluate, items))
        return Sequence(found, isinstance(node, ast.ListComp))
    if rest or first.ifs:
        _note_grown(b, frame, node)
        return grown(inner, node, source)
    args = Arguments("for", (), {}, inner.loc(first.iter))
    each = iterated(b, source, args)

    def item(index: Expr) -> Value:
        bind_target(inner, first.target, each.item(index))
        return evaluate(b, inner, node.elt)

    if not isinstance(node, ast.ListComp):
        return Generated(each.count, item)
    items_alone = Generated(each.count, item, is_list=True)

    def as_array() -> Tensor:
        return collected(b, items_alone, None, args.loc)

    return Generated(each.count, item, as_array, is_list=True)


def _items(
    b: Builder, frame: Frame, node: Comprehension, evaluate: Evaluate, first: tuple[Value, ...]
) -> Iterator[Value]:
    """Yield the items in Python's order."""

    def level(depth: int) -> Iterator[Value]:
        if depth == len(node.generators):
            yield evaluate(b, frame, node.elt)
            return
        part = node.generators[depth]
        items: tuple[Value, ...] | None = first
        if depth:
            items = unrolled(b, evaluate(b, frame, part.iter), frame.loc(part.iter))
        if items is None:
            _note_grown(b, frame, node)
            items = ()
        for value in items:
            bind_target(frame, part.target, value)
            if all(_holds(b, frame, node, test, evaluate) for test in part.ifs):
                yield from level(depth + 1)

    yield from level(0)


def _holds(
    b: Builder, frame: Frame, node: Comprehension, test: ast.expr, evaluate: Evaluate
) -> bool:
    found = evaluate(b, frame, test)
    if isinstance(found, Known):
        return bool(found.value)
    if isinstance(found, Number) and constant(found.expr) is not None:
        return bool(constant(found.expr))
    known = getattr(getattr(found, "expr", None), "value", None)
    if isinstance(known, bool):
        return known
    _note_grown(b, frame, node)
    return True


def _note_grown(b: Builder, frame: Frame, node: Comprehension) -> None:
    """Learn that only the run knows how many items there are: the next reading makes them so."""
    if isinstance(node, ast.GeneratorExp):
        hint = "make it a list: `[... for ...]`"
        refuse("PO0114", "a generator of unknown length", frame.loc(node), hint)
    b.facts.add(b.facts.filtered, frame.place(node, "(grown)"))


def bind_target(frame: Frame, target: ast.expr, value: Value) -> None:
    """Bind the names of a comprehension's target."""
    match target, as_sequence(value):
        case ast.Name(id=name), _:
            frame.env[name] = value
        case ((ast.Tuple(elts=parts) | ast.List(elts=parts)), Sequence(items=items)) if len(
            parts
        ) == len(items):
            for part, item in zip(parts, items, strict=True):
                bind_target(frame, part, item)
        case _:
            refuse("PO0114", "a target of a comprehension that does not fit", frame.loc(target))


def unrolled(b: Builder, value: Value, loc: Loc | None) -> tuple[Value, ...] | None:
    """Return the items of a sequence or of a short range; None where their number is unknown."""
    found = as_sequence(value)
    if isinstance(found, Sequence):
        return found.items
    if isinstance(found, Known) and isinstance(found.value, range):
        check_items(len(found.value), loc)
        return tuple(Known(number) for number in found.value)
    if isinstance(found, Generated) or not isinstance(found, Range | Iterated):
        return None
    each = iterated(b, found, Arguments("for", (), {}, loc))
    count = constant(each.count)
    if count is None or count > LONGEST:
        return None
    return tuple(_known(each.item(integer(number))) for number in range(count))


def _known(value: Value) -> Value:
    """Return a constant integer as Python's own, so that it can be a subscript of a tuple."""
    if isinstance(value, Number) and value.weak and constant(value.expr) is not None:
        return Known(constant(value.expr))
    if isinstance(value, Sequence):
        return Sequence(tuple(_known(item) for item in value.items), value.is_list)
    return value


def collected(b: Builder, value: Iterated, kind: DType | None, loc: Loc | None) -> Tensor:
    """Return the items as an array, filled by a loop."""
    loops, index = b.fresh_loops((value.count,))
    if not loops:
        element = element_of(b, value.item(ZERO), loc)
        return kept_row(b, value.count, element, ZERO, loc, kind=kind)
    with b.loop(loops[0]):
        element = element_of(b, value.item(index[0]), loc)
        return kept_row(b, value.count, element, index[0], loc, kind=kind)


def element_of(b: Builder, value: Value, loc: Loc | None) -> Tensor:
    """Return an item of an array as an array itself."""
    if isinstance(value, Iterated):
        return collected(b, value, None, loc)
    return forced(b, as_tensor(settled(b, array_or_number(b, value, loc))))


def kept_row(
    b: Builder,
    count: Expr,
    element: Tensor,
    place: Expr,
    loc: Loc | None,
    axis: int = 0,
    kind: DType | None = None,
) -> Tensor:
    """Store the element that belongs to `place` of `count` along an axis; return the whole array.

    Unless `place` is 0, the innermost loop runs over all places.
    """
    shape = (*element.shape[:axis], count, *element.shape[axis:])
    is_filled = place != ZERO
    whole = view_of(b.new_buffer("items", kind or element.dtype, shape, around=is_filled))
    assert whole.view is not None
    if element.rank == 0:
        whole.view.buffer.weak = element.weak
        if element.dtype.is_integer and (kind is None or kind.is_integer):
            b.ranges[whole.view.buffer.name] = range_of(element.at(()), b.span_of)
    row = remapped(whole, element.shape, lambda i: (*i[:axis], place, *i[axis:]))
    store(b, row, element, loc)
    return replace(whole, shape=shape)


def iterated(b: Builder, value: Value, args: Arguments) -> Iterated:
    """Return what `for` runs over: a range or the first dimension of an array."""
    match plain(b, value):
        case Range() as value:
            distance = (
                minus(value.stop, value.start) if value.step > 0 else minus(value.start, value.stop)
            )
            count = floordiv(plus(distance, abs(value.step) - 1), integer(abs(value.step)))
            start, step = value.start, value.step
            return Iterated(count, lambda i: Number(plus(start, times(i, step)), True))
        case Iterated() as value:
            return value
        case Tensor() as value if value.rank:
            array = forced(b, value)
            if array.view is None:  # the items are what they are before the body writes
                array = stored(b, array, "items")
            return Iterated(array.shape[0], lambda i: _item(b, array, i, args))
        case _:
            hint = "loop over a range: `for i in range(n)`"
            refuse("PO0130", f"a loop over {describe(value)}", args.loc, hint)


def _item(b: Builder, value: Tensor, index: Expr, args: Arguments) -> Value:
    found = as_value(select_parts(b, value, (At(index, "item"),), "the array", args.loc))
    return item_of(value, found)


def enumerate_(b: Builder, args: Arguments) -> Value:
    """enumerate"""
    value, start = args.take("iterable", "start")
    first = integer(0) if is_none(start) else size(b, start, "the start of enumerate", args.loc)
    items = as_sequence(value)
    if isinstance(items, Sequence):
        known = constant(first)
        if known is None:
            refuse("PO0151", "the start of enumerate of a tuple is not known", args.loc)
        pairs = (Sequence((Known(known + n), item)) for n, item in enumerate(items.items))
        return Sequence(tuple(pairs))
    inner = iterated(b, value, args)
    return Iterated(inner.count, lambda i: Sequence((Number(plus(first, i), True), inner.item(i))))


def zip_(b: Builder, args: Arguments) -> Value:
    """zip: as long as the shortest"""
    if not args.values or set(args.keywords) - {"strict"}:
        refuse("PO0151", "zip with these arguments", args.loc)
    known = [as_sequence(value) for value in args.values]
    if any(isinstance(part, Sequence) for part in known):
        return _zipped(b, known, args)
    parts = [iterated(b, value, args) for value in args.values]
    count = parts[0].count
    for part in parts[1:]:
        count = minimum(count, part.count)
    return Iterated(count, lambda i: Sequence(tuple(part.item(i) for part in parts)))


def _zipped(b: Builder, parts: list[Value], args: Arguments) -> Value:
    """A tuple among the arguments makes all items known by their number."""
    count = min(len(part.items) for part in parts if isinstance(part, Sequence))
    columns: list[tuple[Value, ...]] = []
    for part in parts:
        if isinstance(part, Sequence):
            columns.append(part.items[:count])
            continue
        each = iterated(b, part, args)
        length = constant(each.count)
        if length is None:
            hint = "loop over a range and use subscripts"
            refuse("PO0130", "zip of a tuple and of something of unknown length", args.loc, hint)
        count = min(count, length)
        columns.append(tuple(each.item(integer(number)) for number in range(count)))
    return Sequence(tuple(Sequence(row) for row in zip(*(c[:count] for c in columns), strict=True)))


def reversed_(b: Builder, args: Arguments) -> Value:
    """reversed of a tuple, a list, a range or an array"""
    (value,) = args.take("sequence")
    items = as_sequence(value)
    if isinstance(items, Sequence):
        return Sequence(items.items[::-1])
    is_sequence = isinstance(value, Range | Tensor) or (
        isinstance(value, Iterated) and value.as_array is not None
    )
    if not is_sequence:
        refuse("PO0130", f"reversed of {describe(value)}", args.loc, "loop over a range")
    inner = iterated(b, value, args)
    if isinstance(value, Range) and value.step in (1, -1):
        return Range(plus(value.stop, -value.step), plus(value.start, -value.step), -value.step)
    length = constant(inner.count)
    if isinstance(value, Range) and length is not None:
        last = plus(value.start, (length - 1) * value.step)
        return Range(last, plus(value.start, -value.step), -value.step)
    return Iterated(inner.count, lambda i: inner.item(minus(plus(inner.count, -1), i)))


BUILTINS: dict[str, Rule] = {"enumerate": enumerate_, "zip": zip_, "reversed": reversed_}
