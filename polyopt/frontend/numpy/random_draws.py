"""Random numbers in kernels: `po.random`, and NumPy's Philox generators made in the kernel.

In: arguments of the call.  Out: lazy arrays whose elements are functions of key and place.
Refuses: keys that are no integers (PO0155), bounds without an integer in between (PO0156), draws
whose place in the stream is unknown (PO0157), NumPy's draws by rejection (PO0150).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.folding import integer_text
from polyopt.frontend.arithmetic.operators import describe
from polyopt.frontend.integers.affine_integers import (
    ZERO,
    at_least,
    constant,
    is_nonnegative,
    minus,
    plus,
)
from polyopt.frontend.numpy.call_arguments import (
    Arguments,
    dtype,
    extents,
    is_none,
    known_int,
    number,
    size,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import is_stable, stored_number
from polyopt.frontend.program.statement_domains import Scope, is_same_place
from polyopt.frontend.values.codes import refuse, refuse_raising
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.records import Modelled, Ruled
from polyopt.frontend.values.values import Index, Known, Sequence, Tensor, Value, cost_of
from polyopt.ir.expr import Binary, BinaryOp, Call, Cast, Const, Expr, MathFunc, integer
from polyopt.ir.showing import show
from polyopt.ir.types import DType, Kind

_U64, _U32, _F64, _F32 = DType.UINT64, DType.UINT32, DType.FLOAT64, DType.FLOAT32
_OPTIONS = "stream offset dtype"
_LIMIT = 2**64


def word(value: int) -> Const:
    """Return a constant modulo 2**64."""
    return Const(value % _LIMIT, _U64)


def _combined(op: BinaryOp, left: Expr, right: Expr) -> Expr:
    """Return a sum, product or shift of words, constants folded."""
    if isinstance(left, Const) and isinstance(right, Const):
        one, two = int(left.value.real), int(right.value.real)
        return word({BinaryOp.ADD: one + two, BinaryOp.MUL: one * two}[op])
    neutral = word(0) if op is BinaryOp.ADD else word(1)
    if op is BinaryOp.MUL and word(0) in (left, right):
        return word(0)
    if left == neutral:
        return right
    return left if right == neutral else Binary(op, left, right, _U64)


def _sum(left: Expr, right: Expr) -> Expr:
    return _combined(BinaryOp.ADD, left, right)


def _product(left: Expr, right: Expr) -> Expr:
    return _combined(BinaryOp.MUL, left, right)


def _as_word(expr: Expr) -> Expr:
    """Return an integer modulo 2**64."""
    if isinstance(expr, Const):
        return word(int(expr.value.real))
    return expr if expr.dtype is _U64 else Cast(expr, _U64)


def integer_word(b: Builder, value: Value, what: str, loc: Loc | None) -> Expr:
    """Return a key, stream or offset, an integer of any type, modulo 2**64."""
    if is_none(value):
        return word(0)
    if isinstance(value, Known) and type(value.value) is int:
        return word(value.value)
    found = number(b, value, f"the {what}", loc)
    if not found.dtype.is_integer:
        hint = "use an integer, such as `np.uint64(7)`"
        message = f"the {what} of random numbers is {describe(found)}, not an integer"
        refuse_raising("PO0155", message, loc, hint)
    if not is_stable(found):
        found = stored_number(b, found, what)
    return _as_word(found.expr)


# -- streams -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stream:
    """The words for a key of two words, from word `offset` of `stream` on."""

    key: Expr
    upper: Expr
    stream: Expr
    offset: Expr

    def drawn(self, shape: Index, kind: DType) -> Tensor:
        """Return random words of 64 or 32 bits, the first ones in C order."""

        def at(index: Index) -> Expr:
            place: Expr = word(0)
            for subscript, extent in zip(index, shape, strict=True):
                place = _sum(_product(place, _as_word(extent)), _as_word(subscript))
            words = (self.key, self.upper, _sum(self.offset, place), self.stream)
            return Call(MathFunc.PHILOX, words, kind)

        return Tensor(shape, kind, at, cost=cost_of(at(tuple(integer(0) for _ in shape))))


def _mapped(tensor: Tensor, kind: DType, of: Callable[[Expr], Expr]) -> Tensor:
    zero = tuple(integer(0) for _ in tensor.shape)
    return Tensor(tensor.shape, kind, lambda i: of(tensor.at(i)), cost=cost_of(of(tensor.at(zero))))


def _units(stream: Stream, shape: Index, kind: DType) -> Tensor:
    """Return NumPy's random numbers of [0, 1): the upper 53 bits of words, or 24 of halves."""
    bits, shift, step = (_U64, 11, 53) if kind is _F64 else (_U32, 8, 24)

    def unit(drawn: Expr) -> Expr:
        whole = Cast(Binary(BinaryOp.SHR, drawn, Const(shift, bits), bits), kind)
        return Binary(BinaryOp.MUL, whole, Const(2.0**-step, kind), kind)

    return _mapped(stream.drawn(shape, bits), kind, unit)


def _quantiles(stream: Stream, shape: Index, kind: DType) -> Tensor:
    if kind is _F64:
        words = stream.drawn(shape, _U64)
        return _mapped(words, kind, lambda drawn: Call(MathFunc.NORMAL, (drawn,), _F64))

    def quantile(half: Expr) -> Expr:
        upper = Binary(BinaryOp.SHL, Cast(half, _U64), word(32), _U64)
        middle = Binary(BinaryOp.OR, upper, word(2**31), _U64)
        return Cast(Call(MathFunc.NORMAL, (middle,), _F64), _F32)

    return _mapped(stream.drawn(shape, _U32), kind, quantile)


def _scaled(
    b: Builder, units: Tensor, first: Value, factor: Value, args: Arguments, *, ends: bool
) -> Tensor:
    """Return `first + factor * unit`, or with `ends` `first + (factor - first) * unit`."""
    if _is(first, 0) and _is(factor, 1):
        return units
    kind = units.dtype
    start, scale = (
        cast(_stable(b, value, name, args.loc), kind, args.loc)
        for value, name in ((first, "low"), (factor, "high"))
    )
    if ends:
        scale = Binary(BinaryOp.SUB, scale, start, kind)

    def moved(unit: Expr) -> Expr:
        return Binary(BinaryOp.ADD, start, Binary(BinaryOp.MUL, scale, unit, kind), kind)

    return _mapped(units, kind, moved)


def _is(value: Value, wanted: int) -> bool:
    """Tell whether a value is a Python number, written out."""
    known = value.value if isinstance(value, Known) else None
    return type(known) in (int, float) and known == wanted


def _stable(b: Builder, value: Value, name: str, loc: Loc | None) -> Expr:
    found = number(b, value, f"`{name}`", loc)
    if found.dtype.is_complex:
        refuse_raising("PO0144", f"`{name}` is a complex number", loc, "take `.real`")
    return (found if is_stable(found) else stored_number(b, found, name)).expr


def _kind(value: Value, kinds: tuple[DType, DType], loc: Loc | None) -> DType:
    found = dtype(value, loc) or kinds[0]
    if found not in kinds:
        hint = f"use {kinds[0].spelled} or {kinds[1].spelled}"
        refuse_raising("PO0143", f"random numbers of type {found}", loc, hint)
    return found


def _or(value: Value, default: object) -> Value:
    return Known(default) if is_none(value) else value


# -- po.random -----------------------------------------------------------------------------------


def _started(b: Builder, key: Value, stream: Value, offset: Value, loc: Loc | None) -> Stream:
    first = integer_word(b, key, "key", loc)
    chosen = integer_word(b, stream, "stream", loc)
    return Stream(first, word(0), chosen, integer_word(b, offset, "offset", loc))


def _shape(b: Builder, shape: Value, loc: Loc | None) -> Index:
    return () if is_none(shape) else extents(b, shape, loc)


def bits(b: Builder, args: Arguments) -> Value:
    """po.random.bits"""
    key, shape, stream, offset, kind = args.take("key", f"shape {_OPTIONS}")
    found = _kind(kind, (_U64, _U32), args.loc)
    own = _started(b, key, stream, offset, args.loc)
    return own.drawn(_shape(b, shape, args.loc), found)


def uniform(b: Builder, args: Arguments) -> Value:
    """po.random.uniform"""
    key, shape, low, high, stream, offset, kind = args.take("key", f"shape low high {_OPTIONS}")
    own = _started(b, key, stream, offset, args.loc)
    units = _units(own, _shape(b, shape, args.loc), _kind(kind, (_F64, _F32), args.loc))
    return _scaled(b, units, _or(low, 0.0), _or(high, 1.0), args, ends=True)


def normal(b: Builder, args: Arguments) -> Value:
    """po.random.normal"""
    optional = f"shape mean deviation {_OPTIONS}"
    key, shape, mean, deviation, stream, offset, kind = args.take("key", optional)
    own = _started(b, key, stream, offset, args.loc)
    found = _quantiles(own, _shape(b, shape, args.loc), _kind(kind, (_F64, _F32), args.loc))
    return _scaled(b, found, _or(mean, 0.0), _or(deviation, 1.0), args, ends=False)


def integers(b: Builder, args: Arguments) -> Value:
    """po.random.integers"""
    key, low, high, shape, stream, offset = args.take("key low high", "shape stream offset")
    own = _started(b, key, stream, offset, args.loc)
    first, end = (
        _bound(b, value, name, args.loc) for value, name in ((low, "low"), (high, "high"))
    )
    known = constant(minus(end, first))
    if known is None or known <= 0:
        message = "there are no integers from `low` up to `high`"
        b.demand(at_least(minus(end, first), integer(1)), "PO0156", message, args.loc)
    count = _as_word(minus(end, first))

    def moved(drawn: Expr) -> Expr:
        chosen = Cast(Call(MathFunc.HIGH_PRODUCT, (drawn, count), _U64), DType.INT64)
        return plus(first, chosen)

    return _mapped(own.drawn(_shape(b, shape, args.loc), _U64), DType.INT64, moved)


def _bound(b: Builder, value: Value, name: str, loc: Loc | None) -> Expr:
    found = number(b, value, f"`{name}`", loc)
    if not found.dtype.is_integer:
        refuse_raising("PO0156", f"the bound `{name}` is {describe(found)}, not an integer", loc)
    return size(b, value, f"`{name}`", loc)


# -- NumPy's generators --------------------------------------------------------------------------


@dataclass(eq=False)
class Generator:
    """A generator that the kernel made in `scope`, and where its stream is.

    `halves` is the next half, if 32 bits were drawn since a whole word was.  `is_split`: the upper
    half of an earlier word may be left, which NumPy takes before other halves.
    """

    stream: Stream
    scope: Scope
    halves: Expr | None = None
    is_split: bool = False


@dataclass(eq=False)
class _Words:
    """`np.random.Philox(key=...)` made in the kernel; a generator made of it moves it."""

    stream: Stream
    is_taken: bool = False

    def fresh(self, loc: Loc | None) -> Stream:
        """Return the stream from its beginning; refused once a generator draws from it."""
        if self.is_taken:
            hint = "make another one: `np.random.Philox(key=...)`"
            refuse("PO0157", "a bit generator is used again after a generator of it", loc, hint)
        return self.stream


def philox(b: Builder, args: Arguments) -> Value:
    """np.random.Philox"""
    seed, counter, key = args.take("", "seed counter key")
    if not is_none(seed) or is_none(key):
        hint = "write `np.random.Philox(key=...)`: seeds are mixed in a way of NumPy's own"
        refuse("PO0150", "`np.random.Philox` of a seed is not supported", args.loc, hint)
    one, two = _key(b, key, args.loc)
    first = 0 if is_none(counter) else known_int(b, counter, "the counter", args.loc)
    if first < 0:
        refuse_raising("PO0155", "NumPy's counters are not negative", args.loc)
    return _bit_generator(_Words(Stream(one, two, word(0), word(4 * first))))


def _key(b: Builder, key: Value, loc: Loc | None) -> tuple[Expr, Expr]:
    """Return the two words of NumPy's key: an unsigned number, a constant or a pair."""
    if isinstance(key, Sequence) and len(key.items) == 2:
        one, two = (_unsigned(b, item, loc, 2**63) for item in key.items)
        return one, two
    if isinstance(key, Known) and type(key.value) is int and 0 <= key.value < _LIMIT**2:
        return word(key.value), word(key.value >> 64)
    return _unsigned(b, key, loc), word(0)


def _unsigned(b: Builder, value: Value, loc: Loc | None, most: int = _LIMIT) -> Expr:
    """Return a word of a key as NumPy takes it; Python's own numbers are less than `most`."""
    found = integer_word(b, value, "key", loc)
    known = value.value if isinstance(value, Known) else None
    if type(known) is int:
        if not 0 <= known < most:
            message = f"{integer_text(known)} is not a key of NumPy's"
            hint = "use np.uint64, or `po.random`, whose keys are taken modulo 2**64"
            refuse("PO0155", message, loc, hint)
        return found
    if number(b, value, "the key", loc).dtype.kind is not Kind.UNSIGNED:
        hint = "pass np.uint64, or use `po.random`, whose keys are taken modulo 2**64"
        refuse("PO0155", "NumPy's keys are not negative, and this integer may be", loc, hint)
    return found


def _bit_generator(words: _Words) -> Value:
    def attribute(name: str, loc: Loc | None) -> Value:
        if name == "jumped":
            return Known(Ruled(lambda b, args: _jumped(b, words, args)))
        hint = "make a generator of it: `np.random.Generator(np.random.Philox(key=...))`"
        refuse("PO0152", f"`.{name}` of a bit generator is not supported", loc, hint)

    return Known(Modelled(words, "a bit generator", attribute))


def _jumped(b: Builder, words: _Words, args: Arguments) -> Value:
    """Philox.jumped: the third word of the counter grows."""
    (jumps,) = args.take("", "jumps")
    own, by = words.fresh(args.loc), _jumps(b, _or(jumps, 1), args.loc)
    return _bit_generator(_Words(Stream(own.key, own.upper, _sum(own.stream, by), own.offset)))


def _jumps(b: Builder, value: Value, loc: Loc | None) -> Expr:
    """Return a number of jumps, which are not negative: NumPy's would change another word, too."""
    found = integer_word(b, value, "number of jumps", loc)
    if number(b, value, "the number of jumps", loc).dtype.kind is not Kind.UNSIGNED:
        jumps = size(b, value, "the number of jumps", loc)
        if not is_nonnegative(jumps) and not b.nonnegative(jumps):
            message = f"the number of jumps `{show(jumps)}` must not be negative"
            b.demand(at_least(jumps, ZERO), "PO0155", message, loc)
    return found


def generator(b: Builder, args: Arguments) -> Value:
    """np.random.Generator"""
    (bit_generator,) = args.take("bit_generator")
    known = bit_generator.value if isinstance(bit_generator, Known) else None
    words = known.what if isinstance(known, Modelled) else None
    if not isinstance(words, _Words):
        hint = "make it here: `np.random.Generator(np.random.Philox(key=...))`"
        refuse("PO0150", "a generator of other words than Philox's", args.loc, hint)
    made = Generator(words.fresh(args.loc), b.scope)
    words.is_taken = True

    def attribute(name: str, loc: Loc | None) -> Value:
        rule = _DRAWS.get(name)
        if rule is None:
            refuse_draw(name, loc)
        return Known(Ruled(lambda b, args: rule(b, made, args)))

    return Known(Modelled(made, "a random generator", attribute))


_OWN = {
    **dict.fromkeys(("normal", "standard_normal"), "normal"),
    **dict.fromkeys(("integers", "choice", "permutation", "permuted", "shuffle"), "integers"),
}


def refuse_draw(name: str, loc: Loc | None) -> NoReturn:
    """Refuse what takes an unknown number of words for each element."""
    own = _OWN.get(name)
    hint = "draw them before the call, and pass the array"
    if own is not None:
        hint = f"use `po.random.{own}(key, ...)`, which takes one word for each element"
    message = f"NumPy's `{name}` takes an unknown number of random words for each element"
    refuse("PO0150", message, loc, hint)


def _next(b: Builder, own: Generator, shape: Index, kind: DType, loc: Loc | None) -> Stream:
    """Return where a draw begins, and move the generator behind it."""
    if not is_same_place(b.scope, own.scope):
        hint = "make it where it is used, with `.jumped(step)`, or use `po.random` with `stream=`"
        message = "a generator made outside of a loop or branch is drawn from inside"
        refuse("PO0157", message, loc, hint)
    count: Expr = word(1)
    for extent in shape:
        count = _product(count, _as_word(extent))
    stream = own.stream
    if kind is _F64:
        if own.halves is not None and not _is_even(own.halves):
            own.is_split = True
        own.halves = None
        own.stream = Stream(stream.key, stream.upper, stream.stream, _sum(stream.offset, count))
        return stream
    if own.is_split:
        hint = "draw numbers of one type after those of the other from generators of their own"
        message = "a half word may be left of the float32 numbers drawn before the float64 ones"
        refuse("PO0157", message, loc, hint)
    start = own.halves if own.halves is not None else _product(stream.offset, word(2))
    own.halves = _sum(start, count)
    rounded = _sum(own.halves, word(1))
    end = _halved(rounded)
    own.stream = Stream(stream.key, stream.upper, stream.stream, end)
    return Stream(stream.key, stream.upper, stream.stream, start)


def _halved(expr: Expr) -> Expr:
    if isinstance(expr, Const):
        return word(int(expr.value.real) >> 1)
    return Binary(BinaryOp.SHR, expr, word(1), _U64)


def _is_even(expr: Expr) -> bool:
    """Tell whether a number of halves is known to be even."""
    match expr:
        case Const(value=value):
            return int(value.real) % 2 == 0
        case Binary(op=BinaryOp.MUL):
            return _is_even(expr.left) or _is_even(expr.right)
        case Binary(op=BinaryOp.ADD):
            return _is_even(expr.left) and _is_even(expr.right)
        case _:
            return False


def _random(b: Builder, own: Generator, args: Arguments) -> Value:
    """Generator.random"""
    shape, kind, out = args.take("", "size dtype out")
    if not is_none(out):
        refuse("PO0151", "`random` with `out=`", args.loc, "write `a[:] = rng.random(a.shape)`")
    found = _kind(kind, (_F64, _F32), args.loc)
    extent = _shape(b, shape, args.loc)
    return _units(_next(b, own, extent, found, args.loc), extent, found)


def _uniform(b: Builder, own: Generator, args: Arguments) -> Value:
    """Generator.uniform"""
    low, high, shape = args.take("", "low high size")
    extent = _shape(b, shape, args.loc)
    units = _units(_next(b, own, extent, _F64, args.loc), extent, _F64)
    return _scaled(b, units, _or(low, 0.0), _or(high, 1.0), args, ends=True)


_DRAWS = {"random": _random, "uniform": _uniform}
"""Methods of generators that take one word for each element."""
