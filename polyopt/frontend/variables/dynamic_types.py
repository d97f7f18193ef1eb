"""Variables that hold numbers of several types: which of them it is now.

In: numbers as they are stored, variables.  Out: what a variable's number is one of; statements that
say which, in a variable of its own (a tag), where that changes what the program computes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from polyopt.frontend.integers.affine_integers import TRUE, both, compare, either, negated, select
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.facts import Kinds, Occurrence
from polyopt.frontend.values.promote import Operand, cast, is_constant, is_rounded
from polyopt.frontend.values.values import Buffer, Number, Sides
from polyopt.ir.expr import Cast, CompareOp, Const, Expr, Load, Unary, UnaryOp, integer
from polyopt.ir.types import DType

FEW = 5  # types of one variable that are told apart


def leaves(number: Number) -> Iterator[Number]:
    """Yield what a number is one of."""
    if number.sides is None:
        yield number
        return
    yield from leaves(number.sides.then)
    if number.sides.condition != TRUE:
        yield from leaves(number.sides.otherwise)


def kind_of(number: Number) -> Operand:
    """Return the type of a number and whether it is one of Python's own."""
    return number.dtype, number.weak


def note_kinds(b: Builder, place: Occurrence, buffer: Buffer, number: Number) -> None:
    """Note that the variable at `place`, in `buffer`, gets `number`; what it has is known."""
    known = b.kinds.setdefault(place, {})
    for leaf in leaves(number):
        value = leaf.expr.operand if isinstance(leaf.expr, Cast) else leaf.expr
        if isinstance(value, Load) and value.array == buffer.name:
            continue
        kind = kind_of(leaf)
        only = leaf.expr if isinstance(leaf.expr, Const) else None
        known[kind] = only if known.get(kind, only) == only else None


def describe_kinds(b: Builder, buffer: Buffer, place: Occurrence) -> None:
    """Let `buffer` hold numbers of the types that an earlier reading saw at `place`."""
    kinds: Kinds = {}
    seen = b.facts.kinds.get(place, {})
    for (dtype, weak), only in seen.items():
        value = Number(Load(buffer.name, (), dtype) if only is None else only, weak)
        value = as_kind(value, shared_kind(value, seen))
        only = value.expr if isinstance(value.expr, Const) else None
        kind = kind_of(value)
        kinds[kind] = only if kinds.get(kind, only) == only else None
    if len(kinds) > FEW:
        return
    buffer.kinds = tuple((kind, kinds[kind]) for kind in sorted(kinds, key=str))
    if len(kinds) > 1:
        tag = b.new_buffer(f"{buffer.name}_type", DType.INT64, ())
        buffer.tag = Load(tag.name, (), tag.dtype)
        b.tags[tag.name] = place


def assume_kinds(buffer: Buffer, number: Number) -> None:
    """Let a variable of which nothing is known hold the constant that it starts with.

    The next reading knows better.
    """
    found = list(leaves(number))
    if not buffer.kinds and len(found) == 1 and isinstance(found[0].expr, Const):
        buffer.kinds = ((kind_of(found[0]), found[0].expr),)


def number_in(buffer: Buffer, weak: bool) -> Number:
    """Return what the variable `buffer` holds."""
    load = Load(buffer.name, (), buffer.dtype)
    sides = [
        Number(cast(load, kind[0]) if only is None else only, kind[1])
        for kind, only in buffer.kinds
    ]
    if not sides:
        return Number(load, weak)
    is_known = isinstance(sides[0].expr, Const) and buffer.dtype.is_float
    if len(sides) == 1 and kind_of(sides[0]) == (buffer.dtype, weak) and not is_known:
        return Number(load, weak)
    whole = sides[-1]
    for number, side in reversed(list(enumerate(sides[:-1]))):
        assert buffer.tag is not None
        is_this = compare(CompareOp.EQ, buffer.tag, integer(number))
        whole = Number(load, weak, Sides(is_this, side, whole))
    return whole if len(sides) > 1 else Number(load, weak, Sides(TRUE, whole, whole))


def number_after(buffer: Buffer, weak: bool, number: Number) -> Number:
    """Return what the variable holds once `number` was stored in it."""
    if number.sides is not None and number.sides.condition != TRUE:
        return number_in(buffer, weak)
    (leaf,) = leaves(number)
    load = Load(buffer.name, (), buffer.dtype)
    whole = buffer.dtype, weak
    if shared_kind(leaf, [whole]) == whole:
        return Number(load, weak)
    side = leaf if isinstance(leaf.expr, Const) else Number(cast(load, leaf.dtype), leaf.weak)
    return Number(load, weak, Sides(TRUE, side, side))


def tag_of(buffer: Buffer, number: Number) -> Expr:
    """Return what says which of the variable's types `number` has."""
    if number.sides is None or number.sides.condition == TRUE:
        (leaf,) = leaves(number)
        known = [kind for kind, _ in buffer.kinds]
        kind = shared_kind(leaf, known)
        return integer(known.index(kind) if kind in known else 0)
    then, otherwise = (tag_of(buffer, n) for n in (number.sides.then, number.sides.otherwise))
    return select(number.sides.condition, then, otherwise)


def grouped(sides: Sides) -> Sides | None:
    """Return the sides with one number for each type, however often they were chosen from."""
    paths = list(_paths(sides))
    kinds = {kind_of(leaf) for _, leaf in paths}
    found: dict[Operand, tuple[Expr, Number]] = {}
    for condition, leaf in paths:
        if not _is_negative(leaf.expr):  # a power of it is complex, or none
            leaf = as_kind(leaf, shared_kind(leaf, kinds))
        before = found.get(kind_of(leaf))
        if before is not None:
            taken, other = before
            leaf = Number(select(taken, other.expr, leaf.expr), leaf.weak)
            condition = either(taken, condition)
        found[kind_of(leaf)] = condition, leaf
    *others, (_, whole) = found.values()
    for condition, leaf in reversed(others):
        whole = Number(whole.expr, whole.weak, Sides(condition, leaf, whole))
    return whole.sides


def _is_negative(expr: Expr) -> bool:
    if isinstance(expr, Unary):
        return expr.op is UnaryOp.NEG and isinstance(expr.operand, Const)
    return isinstance(expr, Const) and not isinstance(expr.value, complex) and expr.value < 0


def shared_kind(number: Number, kinds: Collection[Operand]) -> Operand:
    """Return the type that `number` has where there are numbers of `kinds` too.

    Constant floats of Python have that of NumPy's floats beside them if it holds their values.
    """
    floats = [dtype for dtype, weak in kinds if dtype.is_float and not weak]
    if not floats or not number.weak or not number.dtype.is_float:
        return kind_of(number)
    widest = max(floats, key=lambda dtype: dtype.size)
    is_apart = is_rounded(number, widest) or not is_constant(number.expr)
    return kind_of(number) if is_apart else (widest, False)


def as_kind(number: Number, kind: Operand) -> Number:
    """Return a number of one type as one of another type."""
    return number if kind == kind_of(number) else Number(cast(number.expr, kind[0]), kind[1])


def _paths(sides: Sides) -> Iterator[tuple[Expr, Number]]:
    """Yield what a number is one of, and where it is that."""
    for number, here in (
        (sides.then, sides.condition),
        (sides.otherwise, negated(sides.condition)),
    ):
        if number.sides is None:
            yield here, number
        else:
            yield from ((both(here, inner), leaf) for inner, leaf in _paths(number.sides))


def learn_tags(b: Builder, read: frozenset[str]) -> None:
    """Learn which tags the next reading has to set; `read`: what live statements read."""
    for tag, place in b.tags.items():
        if tag in read:
            b.facts.add(b.facts.tagged, place)
