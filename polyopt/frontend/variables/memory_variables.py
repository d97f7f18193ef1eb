"""Names that live in memory because iterations or branches meet; every store goes there.

In: names bound before a loop or branch and assigned inside.  Out: variables and arrays.
An array is copied in, so that other names for the old array keep it; refused where the program
could tell the copy from the original (PO0160).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from collections.abc import Sequence as Items

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import describe, operand
from polyopt.frontend.integers.affine_integers import FALSE, TRUE, clipped
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Draft
from polyopt.frontend.program.facts import Occurrence
from polyopt.frontend.program.memory import FIXED, is_whole, settled, store, stored
from polyopt.frontend.program.snapshots import (
    Copied,
    WriteBack,
    bound_again,
    learn_write,
    stand_for,
    stand_for_name,
)
from polyopt.frontend.program.statement_domains import Scope
from polyopt.frontend.subscripts.compaction import compacted
from polyopt.frontend.syntax.structure import is_result
from polyopt.frontend.values.codes import refuse, refuse_raising
from polyopt.frontend.values.promote import (
    Operand,
    as_number,
    cast,
    common_pair,
    is_same,
    joined,
    number_of,
)
from polyopt.frontend.values.records import Record
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import (
    Buffer,
    Gone,
    Iterated,
    Known,
    Masked,
    Number,
    Perhaps,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    is_same_view,
    view_of,
)
from polyopt.frontend.variables.call_frames import Frame, Pin, Watch
from polyopt.frontend.variables.detaching import HINT, detach, sees
from polyopt.frontend.variables.dynamic_types import assume_kinds, describe_kinds, number_in
from polyopt.frontend.variables.memory_cells import (
    as_long_as_now,
    differs,
    of_any_length,
    resized,
    store_number,
)
from polyopt.ir.expr import Load, integer
from polyopt.ir.names import iterators
from polyopt.ir.types import DType


def pin_names(
    b: Builder, frame: Frame, names: Iterable[str], node: ast.stmt, *, unset: bool = False
) -> list[str]:
    """Give memory to `names` for the duration of `node`; return those newly pinned.

    Arrays are pinned only when an earlier reading saw them bound again.  `unset`: names without a
    value too.
    """
    added: list[str] = []
    for name in sorted(names):
        value = frame.env.get(name)
        if name in frame.pins or name in frame.watched:
            continue  # an outer loop or branch already takes care of it
        pin: Pin | None = None
        if isinstance(value, Perhaps):
            pin = Pin(value.buffer, value.weak, value.place, (), flag=value.flag)
        elif value is not None and not isinstance(value, Gone):
            pin = _pin(b, frame, name, value, node)
            if pin is None:
                frame.watched[name] = Watch(value, frame.place(node, name))
        elif unset:
            pin = _unset(b, frame, name, frame.place(node, name))
        if pin is not None:
            frame.pins[name] = pin
            frame.env[name] = pinned_value(b, pin)
            added.append(name)
    return added


def pin_results(b: Builder, frame: Frame, names: Iterable[str], node: ast.stmt) -> list[str]:
    """Give memory to what the function may return from inside the loop `node`.

    What it is like is known once an earlier reading saw it; until then it is awaited.
    """
    added: list[str] = []
    for name in sorted(names):
        if not is_result(name) or name in frame.pins or name in frame.awaited:
            continue
        place = frame.place(node, name)
        if place in b.facts.widths:
            frame.pins[name] = _unset(b, frame, name, place)
            frame.env[name] = pinned_value(b, frame.pins[name])
            added.append(name)
        else:
            frame.awaited[name] = place
    return added


def learn_result(b: Builder, place: Occurrence, value: Value, loc: Loc | None) -> None:
    """What a loop returns is like `value`: the next reading has memory for it."""
    match value:
        case Number(dtype=dtype, weak=weak):
            b.facts.set_width(place, dtype, weak, loc)
        case Known(value=known) if (number := number_of(known, loc)) is not None:
            b.facts.set_width(place, number.dtype, number.weak, loc)
        case Tensor(shape=shape, dtype=dtype):
            if any(iterators(extent) for extent in shape):
                message = "an array whose size changes with the loop is returned from inside it"
                refuse("PO0122", message, loc, "return it after the loop")
            b.facts.set_width(place, dtype, False, loc)
            if shape:
                b.facts.set_shape(place, shape)
        case _:
            hint = "assign its parts to variables, and make it of them after the loop"
            refuse("PO0122", f"{describe(value)} returned from inside a loop", loc, hint)


def pinned_value(b: Builder, pin: Pin) -> Value:
    """Return what the name stands for while it is pinned."""
    if pin.length is not None:
        return as_long_as_now(b, pin)
    if pin.flag is not None:
        return Perhaps(pin.buffer, pin.weak, pin.flag, pin.place)
    if not pin.shape:
        return number_in(pin.buffer, pin.weak)
    return replace(view_of(pin.buffer), shape=pin.shape)


def _unset(b: Builder, frame: Frame, name: str, place: Occurrence) -> Pin:
    dtype, weak = b.facts.width(place) or b.facts.widths[place]
    shape = b.facts.shapes.get(place, ())
    if shape and place in b.facts.partial:
        subject = "the function returns" if is_result(name) else f"`{name}` is"
        message = f"{subject} an array of rank {len(shape)} and a number, depending on a condition"
        refuse("PO0164", message, b.loc, "use the same kind of value on every path")
    buffer = b.new_buffer(name.strip("()"), dtype, shape)
    _note(b, buffer, weak, place)
    if not shape:
        describe_kinds(b, buffer, place)
    flag = _flag_of(b, buffer) if place in b.facts.partial else None
    return Pin(buffer, weak, place, shape, flag=flag)


def _flag_of(b: Builder, buffer: Buffer) -> Load:
    """Return a flag for a variable, lowered before everything else."""
    flag = Load(b.new_buffer(f"{buffer.name}_is_set", DType.BOOL, ()).name, (), DType.BOOL)
    zero = cast(FALSE, buffer.dtype)
    for target, value in ((flag, FALSE), (Load(buffer.name, (), buffer.dtype), zero)):
        order = (integer(-1), integer(len(b.drafts)))
        b.drafts.append(Draft(Scope(order=order), target, value, None, b.loc, b.text))
    return flag


def _pin(b: Builder, frame: Frame, name: str, value: Value, node: ast.stmt) -> Pin | None:
    place, loc = frame.place(node, name), frame.loc(node)
    is_bare = isinstance(value, Tensor) and not value.rank
    number = as_number(value, loc)
    if is_bare and b.facts.width(place) is not None:
        number = as_number(settled(b, operand(value, loc)), loc)
    if number is not None and place not in b.facts.shapes:
        dtype, weak = _wide(b, place, (number.dtype, number.weak), loc)
        buffer = b.new_buffer(name, dtype, ())
        _note(b, buffer, weak, place)
        describe_kinds(b, buffer, place)
        assume_kinds(buffer, number)
        pin = Pin(buffer, weak, place, ())
        if is_bare:
            b.copies[buffer.name] = _of_no_dimensions(name)
        store_number(b, pin, number, loc)
        return pin
    if isinstance(value, Tensor) and place in b.facts.shapes:
        pin = _pin_array(b, frame, name, value, place, loc)
        return of_any_length(b, name, pin, value.shape) if place in b.facts.lengths else pin
    return None


def _wide(b: Builder, place: Occurrence, now: Operand, loc: Loc | None) -> Operand:
    """Return what holds the value that the name has now and all that an earlier reading saw.

    The first readings may have seen a narrower value than the one that comes in now.
    """
    held = b.facts.width(place)
    return now if held is None else joined(held, now, loc)


def _note(b: Builder, buffer: Buffer, weak: bool, place: Occurrence) -> None:
    """Note a variable that holds integers of Python's: its range is learned."""
    if weak and buffer.dtype is DType.INT64 and not buffer.shape:
        b.variables[buffer.name] = place


def _pin_array(
    b: Builder, frame: Frame, name: str, value: Tensor, place: Occurrence, loc: Loc | None
) -> Pin:
    """An array nobody else knows is taken over; others are copied."""
    dtype, _ = _wide(b, place, (value.dtype, False), loc)
    _refuse_mixed(name, value.dtype, dtype, loc)
    sized = replace(value, shape=tuple(clipped(extent) for extent in value.shape))
    own = is_whole(sized)
    is_ours = own is not None and own.argument is None
    is_ours = is_ours and all(pin.source is not own for pin in frame.pins.values())
    is_ours = is_ours and all(made.copy != own.name for made in b.copied if own is not None)
    if is_ours and own is not None and not _has_other_names(frame, name, own):
        return Pin(own, False, place, value.shape)
    source = value.view.buffer if value.view is not None else None
    copy = stored(b, Tensor(value.shape, value.dtype, value.at), name)
    assert copy.view is not None
    copy.view.buffer.is_list = source is not None and source.is_list
    shared = source is not None and (
        own is None or not is_ours or _has_other_names(frame, name, own)
    )
    if not shared or source is None:
        return Pin(copy.view.buffer, False, place, value.shape)
    return _standing_in(b, frame, name, value, copy.view.buffer, place, loc)


def _standing_in(
    b: Builder,
    frame: Frame,
    name: str,
    value: Tensor,
    copy: Buffer,
    place: Occurrence,
    loc: Loc | None,
) -> Pin:
    """Return the pin of a copy that stands for an array with other names."""
    assert value.view is not None
    source = value.view.buffer
    copy.home = None  # it is no new array
    reason = f"`{name}` is bound again in this loop or branch"
    others = (other for key, other in frame.env.items() if key != name)
    reaches = (
        frame.home is not None
        and b.scope.loops == frame.home.loops
        and value.merged is None
        and not source.is_list
        and not any(sees(other, source) for other in others)
    )
    back = None
    gives_back = reaches and place in b.facts.written_back and place not in b.facts.lengths
    if not gives_back:
        stand_for(b, copy, (value,), reason, loc)
    else:
        same = b.unconditional(f"{name}_is_given", TRUE, FALSE)
    ends = len(b.drafts), len(b.marks)
    made = Copied(
        copy.name, source.name, reason, loc, place if reaches else None, *ends, gives_back
    )
    b.copied.append(made)
    if gives_back:
        whole = replace(view_of(copy), shape=value.shape)
        back = WriteBack(value, whole, same, made)
        frame.backs.append(back)
    return Pin(copy, False, place, value.shape, source=source, start=ends[0], back=back, made=made)


def _refuse_mixed(name: str, one: DType, other: DType, loc: Loc | None) -> None:
    """Refuse an array of type `one` where others of the same name make it one of `other`."""
    if one is not other:
        message = f"`{name}` is an array of {one} on one path and one of {other} on another"
        refuse("PO0161", message, loc, f"convert it with `.astype({other.spelled})`")


def _has_other_names(frame: Frame, name: str, buffer: Buffer) -> bool:
    """Whether the array may be known by another name, here or in a caller."""
    if len(frame.callers) > 1:
        return True
    others = (value for other, value in frame.env.items() if other != name)
    return any(sees(value, buffer) for value in others)


# -- assignment -------------------------------------------------------------------------------


def _whole(b: Builder, name: str, value: Value) -> Value:
    """Return elements under a mask, and the items of a list, as an array."""
    if isinstance(value, Masked):
        return compacted(b, value, name)
    if isinstance(value, Iterated) and value.as_array is not None:
        return value.as_array()
    return value


def store_pinned(
    b: Builder,
    frame: Frame,
    name: str,
    value: Value,
    loc: Loc | None,
    live: frozenset[str] | None = None,
) -> None:
    """`name = value` for a pinned name; `live`: what may be read later, None for anything."""
    pin = frame.pins[name]
    value = _whole(b, name, value)
    if isinstance(value, Known) and number_of(value.value, loc) is None:
        refuse("PO0161", f"`{name}` was {_kind(pin)} before and becomes {describe(value)}", loc)
    if not isinstance(value, Number | Tensor | Known):
        refuse("PO0161", f"`{name}` was {_kind(pin)} before and becomes {describe(value)}", loc)
    found = operand(value, loc)
    if as_tensor(found).rank != len(pin.shape):
        refuse("PO0161", f"`{name}` was {_kind(pin)} before and becomes {describe(found)}", loc)
    held = (pin.buffer.dtype, pin.weak)
    dtype, weak = joined(held, (found.dtype, found.weak), loc)
    if (dtype, weak) != held:
        b.facts.set_width(pin.place, dtype, weak, loc)
    if not pin.shape:
        if isinstance(found, Tensor) and found.view is not None:
            b.copies[pin.buffer.name] = _of_no_dimensions(name)
        number = settled(b, found)
        assert isinstance(number, Number)
        now = store_number(b, pin, number, loc)
        if pin.flag is None:
            frame.env[name] = now
        return
    if dtype is not pin.buffer.dtype:
        return  # the next reading has the wider variable
    _store_array(b, frame, name, as_tensor(found), loc, live)


def meet(b: Builder, frame: Frame, names: Iterable[str]) -> None:
    """Let names in memory stand for all that was stored: paths through the program meet here."""
    for name in names:
        pin = frame.pins.get(name)
        if pin is None or pin.flag is not None or (pin.shape and pin.length is None):
            continue
        frame.env[name] = pinned_value(b, pin)


def _store_array(
    b: Builder,
    frame: Frame,
    name: str,
    array: Tensor,
    loc: Loc | None,
    live: frozenset[str] | None,
) -> None:
    """Store the array that a pinned name becomes."""
    pin = frame.pins[name]
    _refuse_mixed(name, array.dtype, pin.buffer.dtype, loc)
    if pin.length is not None and pin.back is None:
        whole = frame.env[name] = resized(b, name, pin, array, loc)
    else:
        if differs(pin.shape, array.shape):
            b.facts.add(b.facts.lengths, pin.place)
        for mine, other in zip(pin.shape, array.shape, strict=True):
            equate(b, mine, other, f"`{name}` changes its shape", loc)
        whole = replace(view_of(pin.buffer), shape=pin.shape)
    source = _named(frame, array)
    if pin.back is not None:
        if is_same_view(array, whole):
            return  # the name goes on to stand for the same array
        if source is not None:
            message = f"`{name}` becomes another name of an array, and is written"
            refuse("PO0160", message, loc, HINT)
        bound_again(b, pin.back)
    detach(b, frame, name, pin.buffer, live)
    first = len(b.drafts)
    store(b, whole, array, loc)
    stored_here = range(first, len(b.drafts))
    b.rebinding.update(stored_here)
    if pin.made is not None:
        pin.made.own.update(stored_here)
    if source is not None and source is not pin.buffer:
        if is_result(name):
            frame.results.append((pin.buffer, array, loc))
        else:
            stand_for_name(b, pin.buffer, array, f"`{name}`", loc)


def _named(frame: Frame, array: Tensor) -> Buffer | None:
    """Return the array that `array` is elements of, where other names may stand for it."""
    if array.view is None:
        return None
    buffer = array.view.buffer
    return buffer if buffer.argument is not None or _is_named(frame, buffer) else None


def _is_named(frame: Frame | None, buffer: Buffer) -> bool:
    """Whether a name here, or of a caller, stands for elements of the array."""
    if frame is None:
        return False
    return any(sees(value, buffer) for value in frame.env.values()) or _is_named(
        frame.caller, buffer
    )


def _kind(pin: Pin) -> str:
    return f"an array of rank {len(pin.shape)}" if pin.shape else "a number"


def _instead_of(before: Value) -> str:
    """Return the hint for a name that stands for something of another kind in later iterations."""
    match before:
        case Known(value=None):
            return "begin with a number, such as 0.0, and note in a flag whether there is one"
        case Sequence() | Known(value=Record()):
            return "give each of its parts a name, and put them together after the loop"
        case _:
            return "use another name"


def learn_array(b: Builder, name: str, watch: Watch, value: Value, loc: Loc | None) -> None:
    """An array name is bound again: the next reading gives it memory of its own."""
    before = watch.value
    if isinstance(value, Masked):
        value = compacted(b, value, name)
    if (
        isinstance(before, Known)
        and isinstance(value, Known)
        and is_same(before.value, value.value)
    ):
        return
    if isinstance(before, Tensor) and not before.rank:
        number = as_number(settled(b, value) if isinstance(value, Tensor) else value, loc)
        if number is not None:  # the next reading has a variable for the number
            kinds = (before.dtype, False), (number.dtype, number.weak)
            b.facts.set_width(watch.place, *joined(*kinds, loc), loc)
            return
    if not isinstance(before, Tensor) or not isinstance(value, Tensor):
        was, now = describe(before), describe(value)
        change = "becomes another one" if was == now else f"becomes {now}"
        refuse("PO0161", f"`{name}` was {was} before and {change}", loc, _instead_of(before))
    if before.rank != value.rank or any(iterators(extent) for extent in before.shape):
        message = f"`{name}` changes its shape from one iteration to the next"
        refuse("PO0161", message, loc, "use another name")
    if differs(before.shape, value.shape):
        b.facts.add(b.facts.lengths, watch.place)
    dtype = common_pair((before.dtype, False), (value.dtype, False), loc)
    b.facts.set_width(watch.place, dtype, False, loc)
    b.facts.set_shape(watch.place, before.shape)


def fixed_items(
    b: Builder, frame: Frame, names: Items[str | None], items: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Values of a tuple assignment: those that an earlier target overwrites are copied first."""
    changed: list[Buffer] = []
    result: list[Value] = []
    for name, item in zip(names, items, strict=True):
        if isinstance(item, Tensor) and any(sees(item, buffer) for buffer in changed):
            item = stored(b, Tensor(item.shape, item.dtype, item.at))
        result.append(item)
        pin = frame.pins.get(name) if name is not None else None
        if pin is not None and pin.shape:
            changed.append(pin.buffer)
    return tuple(result)


def refuse_write(b: Builder, view: Tensor, loc: Loc | None) -> None:
    """Refuse writing into a copy that stands for an array with other names, or a fixed view."""
    if view.view is not None and view.view.is_fixed:
        refuse_raising("PO0163", "a view that NumPy does not write through", loc, FIXED)
    if view.view is not None and view.view.buffer.name in b.copies:
        copy = view.view.buffer.name
        for made in b.copied:
            if made.copy == copy and made.place is not None and made.end is None:
                learn_write(b, made)
                return
        reason = b.copies[copy]
        message = f"in Python this writes another array: {reason}"
        refuse("PO0160", message, loc, HINT)


def refuse_update(b: Builder, number: Number, loc: Loc | None) -> None:
    """Refuse `x += 1` of a variable that may stand for an array without dimensions."""
    if isinstance(number.expr, Load) and number.expr.array in b.copies:
        message = f"in Python this may write an array: {b.copies[number.expr.array]}"
        refuse("PO0160", message, loc, "write `x = x + 1` where a new number is meant")


def _of_no_dimensions(name: str) -> str:
    return f"`{name}` is an array without dimensions, and is bound again in a loop or branch"
