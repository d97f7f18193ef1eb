"""Array arguments: memory of their own, or parts of another argument's memory.

In: the types of all arguments.  Out: arrays as values; the records of the signature.
Conditions under which the parts lie where their types say are demanded of the call.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt import frontend
from polyopt.frontend.integers.affine_integers import (
    ZERO,
    at_least,
    less,
    maximum,
    minus,
    plus,
    times,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.renaming import Renaming
from polyopt.frontend.syntax.annotations import (
    ArgType,
    ArrayType,
    ConstType,
    PartType,
    ScalarType,
    SizeCondition,
)
from polyopt.frontend.values.identifiers import size_name
from polyopt.frontend.values.values import Buffer, Index, Tensor, view_of, viewed
from polyopt.ir.expr import Expr, Param, integer
from polyopt.ir.source import NO_AXIS, ArrayArg, Layout, Start, StartOf
from polyopt.never import assert_never

Types = Mapping[str, ArgType]


def start_name(argument: str, dim: int) -> str:
    """Return the working name of where a part begins in its owner's dimension."""
    return f"{argument}.start[{dim}]"


def known_dims(kind: ArgType) -> tuple[bool, ...]:
    """Tell of each dimension whether the type says how long it is; nothing for numbers."""
    match kind:
        case ArrayType():
            return tuple(kind.extent(dim) is not None for dim in range(kind.rank))
        case PartType(ones=ones, whole=whole):
            return tuple(one or same for one, same in zip(ones, whole, strict=True))
        case ScalarType() | ConstType() | SizeCondition():
            return ()
        case _:
            assert_never(kind)


def array_arguments(b: Builder, types: Types) -> None:
    """Make the values of all array arguments: `b.given`."""
    names = list(types)
    for name, kind in types.items():
        if isinstance(kind, ArrayType | PartType):
            for dim in range(len(kind.ones)):
                b.size_order[size_name(name, dim)] = len(b.size_order)
    parts: dict[int, dict[str, PartType]] = {}
    for name, kind in types.items():
        if isinstance(kind, PartType):
            parts.setdefault(kind.part.owner, {})[name] = kind
    for position, (name, kind) in enumerate(types.items()):
        if isinstance(kind, ArrayType):
            _owner(b, name, kind, parts.get(position, {}))
    for name, kind in types.items():
        if isinstance(kind, PartType):
            owner = names[kind.part.owner]
            shape = types[owner]
            assert isinstance(shape, ArrayType)
            _part(b, name, kind, b.given[owner][1], shape.before)


def _owner(b: Builder, name: str, kind: ArrayType, parts: Mapping[str, PartType]) -> None:
    known = [kind.extent(dim) for dim in range(kind.rank)]
    shape = tuple(
        b.facts.resolve(Param(size_name(name, dim))) if extent is None else integer(extent)
        for dim, extent in enumerate(known)
    )
    b.sizes += [extent for extent in shape if extent not in b.sizes]
    around = shape
    if kind.before:
        around = tuple(
            plus(_reach(b, dim, extent, parts, shape), before)
            for dim, (extent, before) in enumerate(zip(shape, kind.before, strict=True))
        )
    rows = None
    if name in b.facts.strides and kind.layout is Layout.C and not (kind.before or parts):
        rows = frontend.subscripts.flat_arrays.extents_of(b.facts, name, shape[0])
    buffer = Buffer(b.names.unique(name), kind.dtype, rows or around, name, kind.layout)
    b.buffers.append(buffer)
    value = view_of(buffer)
    if rows is not None:
        flat = frontend.subscripts.flat_arrays
        value = viewed(buffer, shape, lambda i: flat.folded(b, name, rows, i[0]))
    if kind.before:
        value = viewed(
            buffer, shape, lambda i: tuple(plus(x, n) for x, n in zip(i, kind.before, strict=True))
        )
    b.given[name] = (buffer.name, value)


def _reach(b: Builder, dim: int, extent: Expr, parts: Mapping[str, PartType], owner: Index) -> Expr:
    """Return the first subscript of the owner's dimension behind the owner and its parts."""
    for name, kind in parts.items():
        start = _start(b, name, dim, kind.part.starts[dim], owner[dim])
        extent = maximum(extent, plus(start, _shape(b, name, kind, owner)[dim]))
    return extent


def _shape(b: Builder, name: str, kind: PartType, owner: Index) -> Index:
    return tuple(
        integer(1)
        if one
        else owner[axis]
        if whole
        else b.facts.resolve(Param(size_name(name, dim)))
        for dim, (one, whole, axis) in enumerate(
            zip(kind.ones, kind.whole, kind.part.axes, strict=True)
        )
    )


def _start(b: Builder, name: str, dim: int, start: Start, extent: Expr) -> Expr:
    if start.value is None:
        return b.facts.resolve(Param(start_name(name, dim)))
    if start.from_end:
        return minus(extent, 1 + start.value)
    return integer(start.value)


def _part(b: Builder, name: str, kind: PartType, owner: Tensor, before: tuple[int, ...]) -> None:
    assert owner.view is not None
    part, of = kind.part, owner.view.index
    shape = _shape(b, name, kind, owner.shape)
    b.sizes += [extent for extent in shape if extent not in b.sizes]
    starts = tuple(
        _start(b, name, dim, start, extent)
        for dim, (start, extent) in enumerate(zip(part.starts, owner.shape, strict=True))
    )

    def index(i: Index) -> Index:
        place = list(starts)
        for dim, (axis, step) in enumerate(zip(part.axes, part.steps, strict=True)):
            if axis != NO_AXIS:
                place[axis] = plus(place[axis], times(i[dim], step))
        return of(tuple(place))

    b.given[name] = (b.names.unique(name), viewed(owner.view.buffer, shape, index))
    message = f"`{name}` lies in memory in another way than this code was made for"
    conditions = [
        at_least(start, ZERO)
        for start, spec in zip(starts, part.starts, strict=True)
        if spec.value is None or not before
    ]
    for axis, start in enumerate(starts if not before else ()):
        ends = [start]
        if axis in part.axes:
            dim = part.axes.index(axis)
            if kind.whole[dim]:
                continue
            ends.append(plus(start, times(minus(shape[dim], 1), part.steps[dim])))
        conditions += [at_least(end, ZERO) for end in ends]
        conditions += [less(end, owner.shape[axis]) for end in ends]
    for condition in conditions:
        b.demand(condition, "PO0209", message, b.loc)


# -- the signature ----------------------------------------------------------------------------


def array_record(
    b: Builder, name: str, kind: ArrayType | PartType, rename: Renaming, is_written: bool
) -> ArrayArg:
    """Return how an array argument is passed; `is_written`: the kernel writes its memory."""
    array, value = b.given[name]
    shape = tuple(rename.expr(extent) for extent in value.shape)
    dims = [b.facts.asked.get(size_name(name, dim)) for dim in range(len(shape))]
    asked = tuple(dims) if any(dims) else ()
    if isinstance(kind, PartType):
        return ArrayArg(
            name, array, value.dtype, shape, Layout.STRIDED, kind.written, None, kind.part,
            asked=asked,
        )  # fmt: skip
    assert value.view is not None
    around = tuple(rename.expr(extent) for extent in value.view.buffer.shape)
    return ArrayArg(
        name, array, kind.dtype, shape, kind.layout, is_written, None, None, kind.before,
        around if kind.before else (), asked,
    )  # fmt: skip


def start_records(
    b: Builder, types: Types, used: frozenset[str]
) -> tuple[tuple[StartOf, ...], dict[str, str]]:
    """Return the starts that the call finds, and their names."""
    records: list[StartOf] = []
    names: dict[str, str] = {}
    for position, (name, kind) in enumerate(types.items()):
        if not isinstance(kind, PartType):
            continue
        for dim in range(len(kind.part.starts)):
            working = start_name(name, dim)
            if working in used:
                names[working] = b.names.unique(f"{name}_start")
                records.append(StartOf(names[working], position, dim))
    return tuple(records), names
