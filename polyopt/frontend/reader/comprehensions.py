"""Lists and generators: unrolled where the items are known, otherwise loops that fill an array.

In: a comprehension's tree, or values to be iterated.  Out: a sequence, or values made on demand.
Refuses: generators with conditions that are not known while compiling, or with several symbolic
ranges, that no function takes at once (PO0114).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.folding import check_items
from polyopt.frontend.integers.affine_integers import ZERO, constant
from polyopt.frontend.integers.ranges import range_of
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, settled, store
from polyopt.frontend.reader.iterables import iterated
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
