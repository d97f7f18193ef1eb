"""Assignment and augmented assignment to names, tuples, elements and slices.

In: the statement's tree.  Out: bindings in the frame, statements in the builder.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence as Items

from polyopt import frontend
from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.narrowing import demand_fit, demand_stored
from polyopt.frontend.arithmetic.operators import BINARY, describe, operand, operate
from polyopt.frontend.integers.affine_integers import ONE, ZERO
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.numpy.products import matmul
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import (
    buffers_read,
    cheap_number,
    forced,
    settled,
    store,
    store_element,
)
from polyopt.frontend.reader.comprehensions import unrolled
from polyopt.frontend.reader.expressions import evaluate, lookup, parts_of
from polyopt.frontend.subscripts.basic import At, Mask, Part, select_parts
from polyopt.frontend.subscripts.compaction import compacted, write_where
from polyopt.frontend.subscripts.index_arrays import is_fancy, scatter, shared_mask, without_masks
from polyopt.frontend.subscripts.masks import chosen, is_same_mask, plain
from polyopt.frontend.subscripts.runtime_subscripts import Pending
from polyopt.frontend.values.codes import hint_of_no_dimensions, refuse, refuse_raising
from polyopt.frontend.values.constants import array_or_number, as_sequence, nested
from polyopt.frontend.values.promote import cast, is_castable
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import (
    Known,
    Masked,
    Number,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    as_value,
    remapped,
)
from polyopt.frontend.variables import lists
from polyopt.frontend.variables.alternatives import applied
from polyopt.frontend.variables.binding import bind, kept
from polyopt.frontend.variables.call_frames import Frame
from polyopt.frontend.variables.memory_variables import fixed_items, refuse_update, refuse_write
from polyopt.ir.expr import Load, integer
from polyopt.ir.types import DType


def assign(
    b: Builder, frame: Frame, targets: list[ast.expr], value: ast.expr, node: ast.stmt
) -> None:
    """`target = value`, or several targets."""
    result = lists.in_memory(b, frame.function.tree, targets, evaluate(b, frame, value))
    if len(targets) > 1:
        first = targets[0]
        result = kept(b, first.id if isinstance(first, ast.Name) else "tmp", result)
    elif isinstance(targets[0], ast.Tuple | ast.List) and _changes_memory(frame, targets[0]):
        result = kept(b, "tmp", result)
    for target in targets:
        assign_to(b, frame, target, result, node)


def _changes_memory(frame: Frame, target: ast.Tuple | ast.List) -> bool:
    """Whether storing into one of the targets may change what a later value reads."""
    return any(
        isinstance(part, ast.Subscript) or (isinstance(part, ast.Name) and part.id in frame.pins)
        for part in ast.walk(target)
    )


def assign_to(b: Builder, frame: Frame, target: ast.expr, value: Value, node: ast.stmt) -> None:
    """Assign a value to one target."""
    loc = frame.loc(target)
    match target:
        case ast.Name(id=name):
            bind(b, frame, name, value, node)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            if any(isinstance(part, ast.Starred) for part in parts):
                parts, value = _without_star(b, frame, parts, value)
            items = _items(b, value, len(parts), loc)
            names = [part.id if isinstance(part, ast.Name) else None for part in parts]
            items = fixed_items(b, frame, names, items)
            for part, item in zip(parts, items, strict=True):
                assign_to(b, frame, part, item, node)
        case ast.Subscript():
            listed = as_sequence(value)
            if isinstance(listed, Sequence):
                value = nested(b, listed, None, loc)
            view, mask, pending = _target_view(b, frame, target)
            if isinstance(pending, Scattered):
                pending.write(b, view, value, loc)
                return
            with pending.met(b):
                if mask is not None:
                    write_masked(b, view, mask, value, loc)
                    return
                write(b, view, value, loc)
        case ast.Attribute(attr="shape"):
            frontend.reader.reshaped_names.assign_shape(b, frame, target, value, node)
        case _:
            refuse("PO0163", "assignment to an attribute", loc, _hint_of_part(target))


def _hint_of_part(target: ast.expr, other: str = "write into elements or slices") -> str:
    """Return what to write instead of an assignment to an attribute, or to its elements."""
    match target:
        case ast.Attribute(value=whole, attr="real" | "imag"):
            return f"write whole numbers: `{ast.unparse(whole)}[...] = real + 1j * imag`"
        case _:
            return other


def _without_star(
    b: Builder, frame: Frame, parts: list[ast.expr], value: Value
) -> tuple[list[ast.expr], Value]:
    """Return plain targets, and the items with those for the starred name as one list."""
    place = next(n for n, part in enumerate(parts) if isinstance(part, ast.Starred))
    starred = parts[place]
    assert isinstance(starred, ast.Starred)
    items = unrolled(b, value, frame.loc(starred))
    rest = len(parts) - 1 - place
    if items is None or len(items) < len(parts) - 1:
        hint = "write the names one by one"
        refuse("PO0126", f"`*` takes items of {describe(value)}", frame.loc(starred), hint)
    middle = Sequence(items[place : len(items) - rest], True)
    plain = [*parts[:place], starred.value, *parts[place + 1 :]]
    return plain, Sequence((*items[:place], middle, *items[len(items) - rest :]))


@dataclass(frozen=True, eq=False)
class Scattered:
    """The elements of an array that a subscript with index arrays selects.

    `outer`: what must hold of the subscripts of the array itself.
    """

    parts: tuple[Part, ...]
    name: str
    outer: Pending

    def write(self, b: Builder, view: Tensor, value: Value, loc: Loc | None) -> None:
        """`view[parts] = value`."""
        with self.outer.met(b):
            _demand_picked(b, view, value, loc)
            parts, found = self._aligned(b, view, value, loc)
            new = as_tensor(operand(found, loc))
            scatter(b, view, parts, self.name, lambda _: new, loc)

    def augment(
        self, b: Builder, view: Tensor, op: ast.operator, value: Value, loc: Loc | None
    ) -> None:
        """`view[parts] op= value`: an element met twice is changed once, as in NumPy."""
        with self.outer.met(b):
            parts, found = self._aligned(b, view, value, loc)
            right = settled(b, operand(found, loc))

            def combine(old: Tensor) -> Tensor:
                found = _operated(b, op, as_value(old), right, loc)
                assert isinstance(found, Number | Tensor)
                _refuse_cast(found.dtype, view.dtype, loc)
                return as_tensor(found)

            scatter(b, view, parts, self.name, combine, loc)

    def _aligned(
        self, b: Builder, view: Tensor, value: Value, loc: Loc | None
    ) -> tuple[Items[Part], Value]:
        """Return the parts and the value, both under one mask or both without any."""
        mask = shared_mask(self.parts, view.rank)
        if mask is not None:
            if isinstance(value, Masked) and is_same_mask(value.mask, mask):
                return self.parts, value.tensor
            if not isinstance(value, Masked) and as_tensor(operand(value, loc)).rank == 0:
                return self.parts, value
        return without_masks(b, self.parts), plain(b, value)


def _items(b: Builder, value: Value, count: int, loc: Loc | None) -> tuple[Value, ...]:
    match value:
        case Sequence(items=items):
            found = items
        case Known(value=tuple(known)) | Known(value=list(known)):
            found = tuple(Known(item) for item in known)
        case Tensor() if value.rank:
            array = forced(b, value)
            equate(b, array.shape[0], integer(count), f"unpacking into {count} names", loc)
            parts = [At(integer(n), str(n)) for n in range(count)]
            rows = [select_parts(b, array, (part,), "the array", loc) for part in parts]
            found = tuple(as_value(row) for row in rows)
        case _:
            hint = "unpack tuples such as `A.shape`"
            refuse("PO0127", f"{describe(value)} cannot be unpacked", loc, hint)
    if len(found) != count:
        values = "1 value does" if len(found) == 1 else f"{len(found)} values do"
        refuse("PO0127", f"{values} not fit {count} names", loc, "name every value once")
    return found


def _target_view(
    b: Builder, frame: Frame, target: ast.Subscript
) -> tuple[Tensor, Tensor | None, Pending | Scattered]:
    """Return the view that is written, the mask of the elements that are, and what must hold.

    `Scattered` when index arrays say which elements of the view are written.
    """
    pending = Pending()
    base = plain(b, _target_base(b, frame, target.value, pending))
    if not isinstance(base, Tensor) or base.view is None:
        hint = _hint_of_part(target.value, "write into arrays")
        if describe(base) == "a dict":
            hint = f"write into arrays: `{ast.unparse(target)}[...] = value`, or make a dict of all"
        if isinstance(base, Number):
            hint = hint_of_no_dimensions(ast.unparse(target.value))
        refuse("PO0163", f"assignment into {describe(base)}", frame.loc(target), hint)
    refuse_write(b, base, frame.loc(target))
    parts = parts_of(b, frame, target)
    if lists.is_list(base):
        lists.refuse_slices(parts, frame.loc(target))
    if len(parts) == 1 and isinstance(parts[0], Mask):  # one of lower rank picks whole rows
        return base, parts[0].flags, pending
    name = ast.unparse(target.value)
    if is_fancy(parts):
        return base, None, Scattered(tuple(parts), name, pending)
    return select_parts(b, base, parts, name, frame.loc(target), pending), None, pending


def _target_base(b: Builder, frame: Frame, node: ast.expr, pending: Pending) -> Value:
    """Return what a target subscripts; the subscripts of `A[i][j] = v` are its own, too."""
    if not isinstance(node, ast.Subscript):
        return evaluate(b, frame, node)
    base = _target_base(b, frame, node.value, pending)
    if not isinstance(base, Tensor) or base.view is None:
        return evaluate(b, frame, node)
    parts = parts_of(b, frame, node)
    if is_fancy(parts):
        return evaluate(b, frame, node)
    return select_parts(b, base, parts, ast.unparse(node.value), frame.loc(node), pending)


def write_masked(b: Builder, view: Tensor, mask: Tensor, value: Value, loc: Loc | None) -> None:
    """`A[mask] = value`: all elements are written, those outside the mask with their own value.

    An array with an element for each one that the mask picks is written element by element.
    """
    flags = _widened(b, view, mask, loc)
    _demand_picked(b, view, value, loc)
    new = _under_mask(b, view, mask, value, loc)
    if new.dtype.is_complex and not view.dtype.is_complex:
        refuse("PO0144", "complex numbers do not fit a real array", loc, "take `.real`")
    inner = view.rank - mask.rank
    whole = isinstance(value, Masked) and new is value.tensor
    if whole or new.rank <= inner:
        converted = frontend.numpy.creation.astype(
            b, Arguments("", (new, Known(view.dtype.value)), {}, loc)
        )
        found = settled(b, operand(converted, loc))
        store(b, view, as_tensor(chosen(b, flags, found, view, loc)), loc)
    elif inner == 0 and new.rank == 1:
        write_where(b, view, mask, new, loc)
    else:
        scatter(b, view, [Mask(mask)], "the array", lambda _: new, loc)


def _demand_picked(b: Builder, view: Tensor, value: Value, loc: Loc | None) -> None:
    """Require that one number fits `view`, some elements of which it becomes."""
    found = value if isinstance(value, Masked) else settled(b, operand(value, loc))
    if isinstance(found, Number):
        demand_fit(b, found, view.dtype, loc)
        demand_stored(b, found, view.dtype, loc, picked=True)


def _under_mask(b: Builder, view: Tensor, mask: Tensor, value: Value, loc: Loc | None) -> Tensor:
    """Return what is put under a mask: elements under the same one as an array of full shape."""
    if isinstance(value, Masked):
        same = mask.rank == view.rank and is_same_mask(value.mask, mask)
        return value.tensor if same else compacted(b, value)
    found = as_tensor(settled(b, operand(value, loc)))
    if found.rank == 1 and found.shape[0] == ONE and mask.rank == view.rank:
        return Tensor((), found.dtype, lambda _: found.at((ZERO,)), cost=found.cost)
    return found


def _augment_masked(
    b: Builder, view: Tensor, mask: Tensor, op: ast.operator, value: Value, loc: Loc | None
) -> None:
    """`A[mask] op= value`."""
    flags = _widened(b, view, mask, loc)
    plain = _under_mask(b, view, mask, value, loc)
    same = isinstance(value, Masked) and plain is value.tensor
    if not same and plain.rank > view.rank - mask.rank:
        Scattered((Mask(mask),), "the array", Pending()).augment(b, view, op, plain, loc)
        return
    new = applied(b, UFUNCS[BINARY[type(op)]], (view, as_value(plain)), loc)
    _refuse_cast(new.dtype, view.dtype, loc)
    converted = frontend.numpy.creation.astype(
        b, Arguments("", (new, Known(view.dtype.value)), {}, loc)
    )
    found = settled(b, operand(converted, loc))
    store(b, view, as_tensor(chosen(b, flags, found, view, loc)), loc)


def _widened(b: Builder, view: Tensor, mask: Tensor, loc: Loc | None) -> Tensor:
    """Return the mask; one of lower rank holds for whole rows."""
    if mask.rank > view.rank:
        refuse("PO0135", "a mask with more dimensions than the array", loc)
    rank = mask.rank
    for ours, theirs in zip(view.shape, mask.shape, strict=False):
        equate(b, ours, theirs, "mask", loc)
    if rank == view.rank:
        return mask
    shape = (*mask.shape, *(ONE,) * (view.rank - rank))
    return remapped(mask, shape, lambda index: index[:rank])


def write(b: Builder, view: Tensor, value: Value, loc: Loc | None) -> None:
    """`view[...] = value`."""
    found = array_or_number(b, value, loc)
    lists.widen(b, view, found, loc)
    if view.rank == 0:
        is_fold = isinstance(found, Tensor) and found.fold is not None and found.rank == 0
        if is_fold and found.dtype is view.dtype:
            assert isinstance(found, Tensor)
            store(b, view, found, loc)
            return
        write_element(b, view, settled(b, found), loc)
        return
    if isinstance(found, Tensor) and found.rank == 0 and view.dtype.is_integer:
        found = settled(b, found)
    if isinstance(found, Number):
        found = _checked(b, view, found, loc)
    store(b, view, as_tensor(found), loc)


def _checked(b: Builder, view: Tensor, value: Number, loc: Loc | None) -> Number:
    """Return a number that is put into elements of `view`, which must hold it."""
    if view.dtype.is_integer and value.dtype is not view.dtype:
        value = cheap_number(b, value)
    demand_stored(b, value, view.dtype, loc)
    return value


def write_element(b: Builder, view: Tensor, value: Number | Tensor, loc: Loc | None) -> None:
    """`A[i, j] = value`."""
    if isinstance(value, Tensor):
        refuse("PO0140", f"an array of rank {value.rank} does not fit one element", loc)
    if value.dtype.is_complex and not view.dtype.is_complex:
        refuse("PO0144", "a complex number does not fit a real array", loc, "take `.real`")
    target = view.at(())
    assert isinstance(target, Load)
    value = _checked(b, view, value, loc)
    demand_fit(b, value, view.dtype, loc)
    store_element(b, target, cast(value.expr, view.dtype, loc))


def augment(b: Builder, frame: Frame, node: ast.AugAssign) -> None:
    """`target op= value`: in place for arrays, a new value for numbers."""
    loc = frame.loc(node)
    match node.target:
        case ast.Name(id=name):
            current = plain(b, lookup(b, frame, name, loc))
            value = _unchanged(b, frame, current, node)
            lists.refuse_growth(current, loc)
            if isinstance(current, Number):
                refuse_update(b, current, loc)
            if isinstance(current, Tensor) and (current.rank or current.view is not None):
                refuse_write(b, current, loc)
                _augment_array(b, current, node.op, value, loc)
            else:
                bind(b, frame, name, _operated(b, node.op, current, value, loc), node)
        case ast.Subscript():
            view, mask, pending = _target_view(b, frame, node.target)
            value = _unchanged(b, frame, view, node)
            if isinstance(pending, Scattered):
                pending.augment(b, view, node.op, value, loc)
                return
            with pending.met(b):
                if mask is not None:
                    _augment_masked(b, view, mask, node.op, value, loc)
                elif view.rank > 0 or _has_dots(node.target.slice):
                    _augment_array(b, view, node.op, value, loc)
                else:
                    write(b, view, _operated(b, node.op, as_value(view), value, loc), loc)
        case _:
            refuse("PO0163", "assignment to an attribute", loc, _hint_of_part(node.target))


def _has_dots(node: ast.expr) -> bool:
    """Whether a subscript has `...`: it selects an array, also where it names one element."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(part, ast.Constant) and part.value is Ellipsis for part in parts)


def _unchanged(b: Builder, frame: Frame, current: Value, node: ast.AugAssign) -> Value:
    """Return the right side; a call in it must not change what the left side was read from."""
    start = len(b.drafts)
    value = evaluate(b, frame, node.value)
    written = {draft.target.array for draft in b.drafts[start:]}
    if written and isinstance(current, Number | Tensor) and written & buffers_read(current):
        hint = "make the call in a statement of its own"
        refuse("PO0128", "a call here changes what is updated", frame.loc(node), hint)
    b.node = node
    return value


def _operated(b: Builder, op: ast.operator, left: Value, right: Value, loc: Loc | None) -> Value:
    if isinstance(op, ast.MatMult):
        return matmul(b, settled(b, operand(left, loc)), settled(b, operand(right, loc)), loc)
    return operate(b, BINARY[type(op)], (left, right), loc)


def _augment_array(
    b: Builder, view: Tensor, op: ast.operator, value: Value, loc: Loc | None
) -> None:
    """NumPy computes in place and casts the result by the rule "same_kind"."""
    if isinstance(op, ast.MatMult):
        result = _operated(b, op, view, value, loc)
    else:
        found = settled(b, operand(value, loc))
        if isinstance(found, Tensor) and found.rank > view.rank:
            refuse("PO0140", "the right side has more dimensions than the target", loc)
        result = applied(b, UFUNCS[BINARY[type(op)]], (view, found), loc)
    assert isinstance(result, Number | Tensor)
    _refuse_cast(result.dtype, view.dtype, loc)
    store(b, view, as_tensor(result), loc)


def _refuse_cast(source: DType, target: DType, loc: Loc | None) -> None:
    if not is_castable(source, target, "same_kind"):
        message = f"{source} cannot be put into an array of {target} in place"
        refuse_raising("PO0144", message, loc, "write `A[...] = ...`, or convert with `.astype`")
