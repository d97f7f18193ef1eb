"""`po.grad` and its kin: the statements of a function, and after them those of its derivative.

In: the function, its arguments, which of them to differentiate by.  Out: values and gradients.
The function is read as any that is called; what it does is then differentiated (`autodiff`).
Arguments that it writes are copied before: a derivative changes nothing.
Refuses: results that are no floating-point number (PO0184), arguments that are none (PO0185).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Items
from typing import Any

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import describe
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.differentiated_calls import Question, begin, settle
from polyopt.frontend.program.forward import tangents
from polyopt.frontend.program.memory import buffers_read, is_whole, plain, settled, store, stored
from polyopt.frontend.program.reversal import gradients
from polyopt.frontend.reader.closures import bind_arguments, definition_of, signature_of
from polyopt.frontend.subscripts.masks import plain as picked
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.derived import Derived
from polyopt.frontend.values.records import Record
from polyopt.frontend.values.values import (
    Buffer,
    Known,
    Number,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    as_value,
    view_of,
)
from polyopt.ir.expr import Const, Load
from polyopt.ir.types import DType


def derived(mode: str, args: Arguments) -> Known:
    """`po.grad(function, wrt)` inside of a kernel."""
    function, by, of = args.take("function", "wrt of")
    return Known(Derived(function, mode, _names(by) or (0,), _texts(of), _is_tuple(by)))


def _names(value: Value) -> tuple[int | str, ...]:
    match value:
        case Known(value=None):
            return ()
        case Known(value=tuple() as found):
            return found
        case Known(value=int() | str() as found):
            return (found,)
        case Number(expr=Const(value=int() as position)):
            return (position,)
        case Sequence(items=items):
            return tuple(name for item in items for name in _names(item))
        case _:
            return ()


def _is_tuple(value: Value) -> bool:
    return isinstance(value, Sequence) or (isinstance(value, Known) and type(value.value) is tuple)


def _texts(value: Value) -> tuple[str, ...]:
    return tuple(str(name) for name in _names(value))


def of_kernel(function: Any, derives: tuple[str, Any, tuple[str, ...]]) -> Derived:  # noqa: ANN401
    """Return the derivative that a kernel's function stands for, for a call by another kernel."""
    mode, by, of = derives
    names = by if isinstance(by, tuple) else (by,)
    return Derived(Known(function.stands_for), mode, names, of, isinstance(by, tuple))


def called(args: Arguments) -> tuple[Derived, Arguments]:
    """Return the derivative, and its arguments, of a call that stands for one as a whole."""
    function, mode, by, of, *values = args.values
    assert isinstance(mode, Known)
    wanted = Derived(function, str(mode.value), _names(by), _texts(of), _is_tuple(by), True)
    return wanted, Arguments(args.name, tuple(values), args.keywords, args.loc)


def differentiated(
    b: Builder, wanted: Derived, args: Arguments, inline: Callable[[Arguments], Value]
) -> Value:
    """Return what a derived function gives for these arguments; `inline` reads the function."""
    if wanted.is_flat:
        args = replace(args, loc=definition_of(b, wanted.function, args.loc))
    given, bars = _given(wanted, args)
    names = _parameters(wanted, tuple(given), args.loc)
    inputs: dict[str, list[Buffer]] = {}
    for name in names:
        others = [value for other, value in given.items() if other != name]
        inputs[name] = []
        if not _is_structure(given[name]):
            _require_float(given[name], name, args.loc)
        given[name] = _variables(b, given[name], name, inputs[name], others, args.loc)
    buffers = [buffer for name in names for buffer in inputs[name]]
    dots: list[Buffer] = []
    if wanted.mode == "jvp":
        dots = _tangents_given(b, [given[name] for name in names], buffers, bars, args.loc)
    copies = b.position
    b.advance()
    begun = begin(b, copies)
    value = inline(Arguments(args.name, (), given, args.loc))
    settle(b, begun)
    results: list[Buffer] = []
    if wanted.of:
        results = [_written(given, name, args.loc) for name in wanted.of]
    else:
        value = _result(b, value, wanted, results, args.loc)
    if wanted.mode == "jvp":
        asked = Question(tuple(buffers), tuple(results), frozenset(), args.loc)
        return _forward(b, wanted, value, tangents(b, begun, asked, dots))
    seeds = [None] * len(results) if wanted.mode != "vjp" else _seeds(bars, len(results), args.loc)
    used = _arrays_of(value) if wanted.mode == "value_and_grad" else frozenset[str]()
    asked = Question(tuple(buffers), tuple(results), used, args.loc)
    found = gradients(b, begun, asked, lambda at: _seed(b, at, seeds, args.loc))
    views = [as_value(view_of(buffer)) for buffer in found]
    if wanted.is_flat:
        flat = (value, *views) if wanted.mode == "value_and_grad" else tuple(views)
        return flat[0] if len(flat) == 1 else Sequence(flat)
    gained = iter(views)
    shaped = tuple(_like(given[name], gained) for name in names)
    gradient: Value = Sequence(shaped) if wanted.is_many else shaped[0]
    return gradient if wanted.mode != "value_and_grad" else Sequence((value, gradient))


def _given(wanted: Derived, args: Arguments) -> tuple[dict[str, Value], tuple[Value, ...]]:
    """Return the arguments of the function by their names, and those that follow: adjoints."""
    signature = signature_of(wanted.function)
    assert signature is not None
    values, keywords = list(args.values), dict(args.keywords)
    bars: list[Value] = []
    if wanted.mode in ("vjp", "jvp"):
        count = len(signature.parameters)
        bars = values[count:]
        del values[count:]
        bars += [keywords.pop(name) for name in [*keywords] if name not in signature.parameters]
    own = Arguments(args.name, tuple(values), keywords, args.loc)
    return bind_arguments(signature, own), tuple(bars)


def _parameters(wanted: Derived, names: tuple[str, ...], loc: Loc | None) -> list[str]:
    """Return the names of the parameters to differentiate by."""
    found: list[str] = []
    for which in wanted.by:
        if isinstance(which, int) and -len(names) <= which < len(names):
            found.append(names[which])
        elif which in names:
            found.append(str(which))
        else:
            hint = f"the parameters are {', '.join(names)}"
            refuse("PO0185", f"there is no parameter {which!r} to differentiate by", loc, hint)
    return found


def _variables(
    b: Builder,
    value: Value,
    name: str,
    found: list[Buffer],
    others: Items[Value],
    loc: Loc | None,
) -> Value:
    """Return the argument with its floats in memory of their own, added to `found`."""
    match value:
        case Sequence(items=items):
            kept = tuple(_variables(b, x, name, found, others, loc) for x in items)
            return replace(value, items=kept)
        case Known(value=Record() as owner):
            fields = {
                part: _variables(b, x, part, found, others, loc) for part, x in owner.fields.items()
            }
            return Known(replace(owner, fields=fields))
        case Known(value=float() as known):
            return _variables(
                b, Number(Const(known, DType.FLOAT64), True), name, found, others, loc
            )
        case Number() if value.dtype.is_float:
            buffer = b.new_buffer(name, value.dtype, ())
            target = Load(buffer.name, (), value.dtype)
            b.emit((), target, value.expr)
            found.append(buffer)
            return Number(target, value.weak)
        case Tensor() if value.dtype.is_float:
            whole = is_whole(value) if value.fold is None and value.merged is None else None
            if whole is None or whole in found or _is_used(whole, others):
                value = plain(b, value, name) if value.merged is not None else value
                whole = is_whole(value)
                if whole is None or whole in found or _is_used(whole, others):
                    value = stored(b, value, name)
                    whole = is_whole(value) or _buffer_of(value)
            found.append(whole)
            return value
        case _:
            return value  # a part that is no variable


def _is_structure(value: Value) -> bool:
    is_record = isinstance(value, Known) and isinstance(value.value, Record)
    return is_record or isinstance(value, Sequence)


def _is_float(value: Value) -> bool:
    match value:
        case Known(value=known):
            return isinstance(known, float)
        case Number() | Tensor():
            return value.dtype.is_float
        case _:
            return False


def _require_float(value: Value, name: str, loc: Loc | None) -> None:
    if not _is_float(value):
        hint = "differentiate by numbers and arrays of floats; convert with `.astype(float)`"
        kind = f" of {value.dtype}" if isinstance(value, Tensor) else ""
        refuse("PO0185", f"cannot differentiate by `{name}`, {describe(value)}{kind}", loc, hint)


def _is_used(buffer: Buffer, values: Items[Value]) -> bool:
    for value in values:
        match value:
            case Sequence(items=items):
                if _is_used(buffer, items):
                    return True
            case Known(value=Record(fields=fields)):
                if _is_used(buffer, tuple(fields.values())):
                    return True
            case Tensor() | Number():
                if buffer.name in buffers_read(value):
                    return True
            case _:
                pass
    return False


def _arrays_of(value: Value) -> frozenset[str]:
    return buffers_read(value) if isinstance(value, Tensor | Number) else frozenset()


def _buffer_of(value: Tensor) -> Buffer:
    assert value.view is not None
    return value.view.buffer


def _written(given: dict[str, Value], name: str, loc: Loc | None) -> Buffer:
    """Return the array of a written parameter."""
    value = given.get(name)
    whole = is_whole(value) if isinstance(value, Tensor) else None
    if whole is None:
        refuse("PO0184", f"`{name}` is no array that the function writes", loc)
    return whole


def _result(
    b: Builder, value: Value, wanted: Derived, found: list[Buffer], loc: Loc | None
) -> Value:
    """Return what the function returns in memory of its own, added to `found`."""
    is_any = wanted.mode in ("vjp", "jvp")
    if is_any and isinstance(value, Sequence):
        kept = tuple(_result(b, item, wanted, found, loc) for item in value.items)
        return replace(value, items=kept)
    value = picked(b, value)
    if isinstance(value, Tensor | Number):
        value = settled(b, value)
    is_float = isinstance(value, Tensor | Number) and value.dtype.is_float
    if not is_float or not (is_any or isinstance(value, Number)):
        hint = "return one number, such as a loss; `po.vjp` takes arrays and what is written"
        refuse("PO0184", f"cannot differentiate the result, {describe(value)}", loc, hint)
    assert isinstance(value, Tensor | Number)
    held = stored(b, as_tensor(value), "value" if isinstance(value, Number) else "result")
    found.append(_buffer_of(held))
    return as_value(held)


def _tangents_given(
    b: Builder,
    variables: Items[Value],
    inputs: Items[Buffer],
    given: Items[Value],
    loc: Loc | None,
) -> list[Buffer]:
    """Return memory with the tangent of each input; `given` are those of the arguments."""
    if len(given) != len(variables):
        refuse("PO0184", f"{len(given)} tangents are given for {len(variables)} arguments", loc)
    listed: list[Value] = []
    for variable, value in zip(variables, given, strict=True):
        listed += _matched(variable, value, loc)
    found: list[Buffer] = []
    for whole, value in zip(inputs, listed, strict=True):
        dot = b.new_buffer(f"{whole.name}_dot", whole.dtype, whole.shape)
        _fill(b, dot, value, "a tangent", loc)
        found.append(dot)
    return found


def _matched(variable: Value, value: Value, loc: Loc | None) -> list[Value]:
    """Return the parts of a tangent that belong to floats of an argument, in order."""
    match variable, value:
        case Sequence(items=own), Sequence(items=items) if len(own) == len(items):
            pairs = list(zip(own, items, strict=True))
        case Known(value=Record(fields=own)), Known(value=Record(fields=fields)) if (
            own.keys() == fields.keys()
        ):
            pairs = [(part, fields[name]) for name, part in own.items()]
        case _ if _is_structure(variable):
            refuse("PO0184", "a tangent has another structure than its argument", loc)
        case _:
            return [value] if _is_float(variable) else []
    return [part for one, other in pairs for part in _matched(one, other, loc)]


def _forward(
    b: Builder, wanted: Derived, value: Value, found: tuple[list[Buffer], list[Buffer]]
) -> Value:
    """Return values and tangents of results, in the structure of these."""
    values, dots = ([as_value(view_of(buffer)) for buffer in part] for part in found)
    if wanted.is_flat:
        return Sequence((*values, *dots))
    if wanted.of:
        value, dotted = (Sequence(tuple(part)) for part in (values, dots))
        return Sequence((value, dotted) if len(values) > 1 else (values[0], dots[0]))
    return Sequence((_like(value, iter(values)), _like(value, iter(dots))))


def _seeds(bars: tuple[Value, ...], count: int, loc: Loc | None) -> list[Value | None]:
    """Return the derivative by each result."""
    listed: list[Value | None] = []
    for bar in bars:
        listed += bar.items if isinstance(bar, Sequence) else [bar]
    if len(listed) != count:
        refuse("PO0184", f"{len(listed)} adjoints are given for {count} results", loc)
    return listed


def _seed(
    b: Builder,
    adjoints: Items[Buffer],
    seeds: Items[Value | None],
    loc: Loc | None,
) -> None:
    """Emit what the way back starts from: the derivative by each result."""
    for adjoint, seed in zip(adjoints, seeds, strict=True):
        value: Value = Number(Const(1.0, adjoint.dtype), False) if seed is None else seed
        _fill(b, adjoint, value, "an adjoint", loc)


def _fill(b: Builder, buffer: Buffer, value: Value, what: str, loc: Loc | None) -> None:
    """Store an adjoint or a tangent."""
    match value:
        case Known(value=bool() | int() | float() as known):
            value = Number(Const(float(known), buffer.dtype), True)
        case _:
            pass
    if not isinstance(value, Tensor | Number):
        refuse("PO0184", f"{what} is {describe(value)}", loc)
    store(b, view_of(buffer), as_tensor(value), loc)


def _like(value: Value, gained: Any) -> Value:  # noqa: ANN401
    """Return gradients in the structure of an argument."""
    match value:
        case Sequence(items=items):
            return replace(value, items=tuple(_like(item, gained) for item in items))
        case Known(value=Record() as owner):
            fields = {name: _like(part, gained) for name, part in owner.fields.items()}
            return Known(replace(owner, fields=fields))
        case _:
            return next(gained) if _is_float(value) else Known(None)
