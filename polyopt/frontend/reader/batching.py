"""`po.vmap`: a function of one example, called for each along an axis of its arguments.

In: the function, its arguments, the axis of each to go along.  Out: its results with an axis more.
The function is read inside of one more loop, where the arguments are views of one example; what it
writes, it writes there.
Refuses: axes that arguments do not have (PO0153), calls in which nothing has one (PO0186).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Items

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import describe
from polyopt.frontend.numpy.axis_reductions import normal_axes
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced
from polyopt.frontend.program.memory import plain as unmerged
from polyopt.frontend.reader.closures import definition_of, signature_of
from polyopt.frontend.reader.comprehensions import element_of, kept_row
from polyopt.frontend.subscripts.masks import plain as picked
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.derived import Mapped
from polyopt.frontend.values.records import Record
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import (
    Known,
    Number,
    Sequence,
    Tensor,
    Value,
    as_value,
    remapped,
)
from polyopt.ir.expr import Const, Expr

Axes = int | None
_WORDS = "`po.vmap`"


def mapped(args: Arguments) -> Known:
    """`po.vmap(function, in_axes, out_axes)` inside of a kernel."""
    function, inward, outward = args.take("function", "in_axes out_axes")
    if len(args.values) < 2 and "in_axes" not in args.keywords:
        inward = Known(0)
    if len(args.values) < 3 and "out_axes" not in args.keywords:
        outward = Known(0)
    return Known(Mapped(function, inward, outward))


def called(args: Arguments) -> tuple[Mapped, Arguments]:
    """Return the function, and its arguments, of a call that stands for a mapped one as a whole."""
    function, inward, outward, *values = args.values
    wanted = Mapped(function, inward, outward, is_whole=True)
    return wanted, Arguments(args.name, tuple(values), args.keywords, args.loc)


def over_examples(
    b: Builder, wanted: Mapped, args: Arguments, inline: Callable[[Arguments], Value]
) -> Value:
    """Return the results of a function for all examples; `inline` reads it for one."""
    if wanted.is_whole:
        args = replace(args, loc=definition_of(b, wanted.function, args.loc))
    given, axes = _axes_of(wanted, args)
    split = [_Split(axis) for axis in axes]
    ready = [part.prepared(b, value, args.loc) for part, value in zip(split, given, strict=True)]
    extents = [extent for part in split for extent in part.extents]
    if not extents:
        hint = "say by `in_axes` which arguments have an axis of examples"
        refuse("PO0186", f"{_WORDS}: no argument has an axis to go along", args.loc, hint)
    count = extents[0]
    for extent in extents[1:]:
        count = equate(b, count, extent, _WORDS, args.loc)
    loops, (place,) = b.fresh_loops((count,))

    def once() -> Value:
        values = [part.at(value, place) for part, value in zip(split, ready, strict=True)]
        count_of = len(args.values)
        keywords = dict(zip(args.keywords, values[count_of:], strict=True))
        own = Arguments(args.name, tuple(values[:count_of]), keywords, args.loc)
        rows = _Rows(b, count, place, args.loc)
        return rows.of(inline(own), wanted.outward)

    if not loops:
        return once()
    with b.loop(loops[0]):
        return once()


def _axes_of(wanted: Mapped, args: Arguments) -> tuple[list[Value], list[tuple[Axes, bool]]]:
    """Return all arguments, and for each its axis and whether it was named for that one."""
    values = [*args.values, *args.keywords.values()]
    items = as_sequence(wanted.inward)
    if not isinstance(items, Sequence):
        return values, [(_axis(wanted.inward, args.loc), False)] * len(values)
    signature = signature_of(wanted.function)
    names = None if signature is None else [*signature.parameters]
    by_position = [_axis(item, args.loc) for item in items.items]
    expected = len(values) if names is None else len(names)
    if len(by_position) != expected:
        message = f"{_WORDS}: {len(by_position)} axes are given for {expected} parameters"
        refuse("PO0186", message, args.loc, "give one for each; None for what all share")
    places = [*range(len(args.values))]
    places += [names.index(name) if names else 0 for name in args.keywords]
    return values, [(by_position[place], True) for place in places]


def _axis(value: Value, loc: Loc | None) -> Axes:
    match value:
        case Known(value=None):
            return None
        case Known(value=int() as axis) | Number(expr=Const(value=int() as axis)):
            return int(axis)
        case _:
            refuse("PO0186", f"{_WORDS}: an axis is {describe(value)}", loc, "give an integer")


class _Split:
    """How one argument is divided into examples; `extents` of its axes are noted."""

    def __init__(self, axis: tuple[Axes, bool]) -> None:
        self._axis, self._is_named = axis
        self.extents: list[Expr] = []

    def prepared(self, b: Builder, value: Value, loc: Loc | None) -> Value:
        """Return the argument ready to be divided."""
        if self._axis is None:
            return value
        match value:
            case Sequence(items=items):
                parts = tuple(self.prepared(b, item, loc) for item in items)
                return replace(value, items=parts)
            case Known(value=Record(fields=fields) as owner):
                kept = {name: self.prepared(b, part, loc) for name, part in fields.items()}
                return Known(replace(owner, fields=kept))
            case _:
                value = picked(b, value)
        if not isinstance(value, Tensor) or not value.rank:
            if self._is_named and not (isinstance(value, Known) and callable(value.value)):
                message = f"{_WORDS}: axis {self._axis} of {describe(value)}"
                refuse("PO0153", message, loc, "give None in `in_axes` for what all share")
            return value
        value = unmerged(b, forced(b, value))
        (axis,) = normal_axes((self._axis,), value.rank, loc)
        self.extents.append(value.shape[axis])
        return value

    def at(self, value: Value, place: Expr) -> Value:
        """Return the argument of one example."""
        axis = self._axis
        if axis is None:
            return value
        match value:
            case Sequence(items=items):
                return replace(value, items=tuple(self.at(item, place) for item in items))
            case Known(value=Record(fields=fields) as owner):
                kept = {name: self.at(part, place) for name, part in fields.items()}
                return Known(replace(owner, fields=kept))
            case Tensor() if value.rank:
                d = axis % value.rank
                shape = (*value.shape[:d], *value.shape[d + 1 :])
                return as_value(remapped(value, shape, lambda i: (*i[:d], place, *i[d:])))
            case _:
                return value


class _Rows:
    """Results of the example at `place`, which become those of all `count`."""

    def __init__(self, b: Builder, count: Expr, place: Expr, loc: Loc | None) -> None:
        self._b, self._count, self._place, self._loc = b, count, place, loc

    def of(self, value: Value, outward: Value) -> Value:
        """Return a result of all examples; the axes of a tuple are given for all or for each."""
        match value:
            case Known(value=None):
                return value
            case Sequence(items=items):
                return replace(value, items=tuple(self._each(items, outward)))
            case Known(value=Record(fields=fields) as owner):
                parts = self._each([*fields.values()], outward)
                return Known(replace(owner, fields=dict(zip(fields, parts, strict=True))))
            case _:
                if isinstance(as_sequence(outward), Sequence):
                    message = f"{_WORDS}: several axes are given for one result"
                    refuse("PO0186", message, self._loc, "give one integer for it")
                element = element_of(self._b, picked(self._b, value), self._loc)
                axis = _axis(outward, self._loc)
                if axis is None:
                    hint = "give the place of the new axis: 0 for the first"
                    refuse("PO0186", f"{_WORDS}: a result without an axis", self._loc, hint)
                (axis,) = normal_axes((axis,), element.rank + 1, self._loc)
                return kept_row(self._b, self._count, element, self._place, self._loc, axis)

    def _each(self, items: Items[Value], outward: Value) -> list[Value]:
        axes = as_sequence(outward)
        if not isinstance(axes, Sequence):
            return [self.of(item, outward) for item in items]
        if len(axes.items) != len(items):
            message = f"{_WORDS}: {len(axes.items)} axes are given for {len(items)} results"
            refuse("PO0186", message, self._loc, "give one for each, or one for all")
        return [self.of(item, axis) for item, axis in zip(items, axes.items, strict=True)]
