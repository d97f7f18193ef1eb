"""Small loop programs as data: built into Scops, printed as Python, shrunk by deletion.

In: nested `Loop` and `Put` records.  Out: a Scop over uint64 or int64 arrays, or source text.
Iterators lie in [0, max(N, M)), a dimension has 2 * (N + M) + 20 elements: subscripts fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import islpy as isl

from polyopt.ir.affine import condition_set, param_space, pw_aff, set_space
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Unary,
    UnaryOp,
    add,
    integer,
    mul,
    substitute,
)
from polyopt.ir.scop import Array, Reduction, Role, Scop, Statement
from polyopt.ir.showing import show
from polyopt.ir.types import DType
from polyopt.never import assert_never

PARAMS = ("N", "M")
I64 = DType.INT64
EXTENT = add(mul(integer(2), add(Param("N"), Param("M"))), integer(20))


@dataclass(frozen=True, slots=True)
class Put:
    """`array[index] = f(reads)`; a reduction joins the element and `f(reads)` by `op`."""

    array: str
    index: tuple[Expr, ...]
    reads: tuple[tuple[str, tuple[Expr, ...]], ...]
    reduction: bool = False
    guarded: bool = False
    condition: Expr | None = None  # affine, restricts the domain
    op: BinaryOp = BinaryOp.ADD


@dataclass(frozen=True, slots=True)
class Loop:
    """`for iter in range(lower, upper, step)`, Python's meaning, steps of either sign."""

    iter: str
    lower: Expr
    upper: Expr
    step: int
    body: tuple[Item, ...]


Item: TypeAlias = Loop | Put


@dataclass(frozen=True, slots=True)
class Spec:
    """A program: `ranks` give each array's number of dimensions, `temps` are local to it."""

    ranks: tuple[tuple[str, int], ...]
    body: tuple[Item, ...]
    least: int = 0  # lower bound on the sizes, known to the compiler
    temps: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Inside:
    iters: tuple[str, ...]
    domain: isl.Set
    order: tuple[Expr, ...]


def build_scop(spec: Spec) -> Scop:
    """Return the program as a Scop over int64 arrays."""
    context = isl.Set.universe(param_space(PARAMS))
    for position in range(len(PARAMS)):
        context = context.lower_bound_val(isl.dim_type.param, position, isl.Val(spec.least))
    found: list[Statement] = []
    start = isl.Set.universe(set_space(PARAMS, "S", ()))
    _collect(spec.body, _Inside((), start, ()), found)
    arrays = tuple(
        Array(n, I64, (EXTENT,) * rank, Role.TEMP if n in spec.temps else Role.INOUT)
        for n, rank in spec.ranks
    )
    return Scop(PARAMS, context, arrays, tuple(found))


def _collect(body: tuple[Item, ...], inside: _Inside, found: list[Statement]) -> None:
    for position, item in enumerate(body):
        order = (*inside.order, integer(position))
        match item:
            case Put():
                found.append(_statement(item, inside, order, f"S{len(found)}"))
            case Loop():
                _collect(item.body, _enter(item, inside, order), found)
            case _:
                assert_never(item)


def _enter(loop: Loop, inside: _Inside, order: tuple[Expr, ...]) -> _Inside:
    iters = (*inside.iters, loop.iter)
    domain = inside.domain.add_dims(isl.dim_type.set, 1)
    for position, name in enumerate(iters):
        domain = domain.set_dim_name(isl.dim_type.set, position, name)
    domain = domain.set_tuple_name("S")
    space = domain.get_space()
    here, low, high = Iter(loop.iter), loop.lower, loop.upper
    first = (CompareOp.GE, CompareOp.LT) if loop.step > 0 else (CompareOp.LE, CompareOp.GT)
    for op, bound in zip(first, (low, high), strict=True):
        domain = domain.intersect(condition_set(Compare(op, here, bound), space))
    distance = pw_aff(here, space).sub(pw_aff(low, space))
    multiple = distance.mod_val(isl.Val(abs(loop.step)))
    domain = domain.intersect(multiple.eq_set(multiple.sub(multiple)))
    time = here if loop.step > 0 else Unary(UnaryOp.NEG, here, I64)
    return _Inside(iters, domain, (*order, time))


def _statement(put: Put, inside: _Inside, order: tuple[Expr, ...], name: str) -> Statement:
    domain = inside.domain.set_tuple_name(name)
    if put.condition is not None:
        domain = domain.intersect(condition_set(put.condition, domain.get_space()))
    target = Load(put.array, put.index, I64)
    value = _value(put)
    guard = None
    if put.guarded:
        guard = Compare(CompareOp.GT, Load(*put.reads[0], I64), Const(0, I64))
    reduction = Reduction(put.op, True) if put.reduction else None
    text = f"{show(target)} = {show(value)}"
    return Statement(name, inside.iters, domain, order, target, value, None, text, reduction, guard)


def _value(put: Put) -> Expr:
    value: Expr = integer(1)
    for number, (array, index) in enumerate(put.reads):
        op = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL)[number % 3]
        value = Binary(op, value, Load(array, index, I64), I64)
    if put.reduction:
        return Binary(put.op, Load(put.array, put.index, I64), value, I64)
    return value


def show_spec(spec: Spec, name: str = "f") -> str:
    """Return the program as a Python function of its arrays and sizes."""
    arguments = ", ".join([*(a for a, _ in spec.ranks if a not in spec.temps), *PARAMS])
    temps = [
        f"    {array} = np.empty(({f'{show(EXTENT)}, ' * rank}), dtype=np.int64)"
        for array, rank in spec.ranks
        if array in spec.temps
    ]
    lines = [f"def {name}({arguments}):", *temps, *_show_body(spec.body, 1)]
    return "\n".join(lines) + "\n"


def _show_body(body: tuple[Item, ...], depth: int) -> list[str]:
    pad = "    " * depth
    lines = [] if body else [f"{pad}pass"]
    for item in body:
        match item:
            case Loop():
                step = "" if item.step == 1 else f", {item.step}"
                bounds = f"{show(item.lower)}, {show(item.upper)}{step}"
                lines.append(f"{pad}for {item.iter} in range({bounds}):")
                lines += _show_body(item.body, depth + 1)
            case Put():
                lines += _show_put(item, depth)
            case _:
                assert_never(item)
    return lines


def _show_put(put: Put, depth: int) -> list[str]:
    target = _element(put.array, put.index)
    value = "1"
    for number, (array, index) in enumerate(put.reads):
        value = f"({value} {'+-*'[number % 3]} {_element(array, index)})"
    lines, pad = [], "    " * depth
    for condition in (
        None if put.condition is None else show(put.condition),
        f"{_element(*put.reads[0])} > 0" if put.guarded else None,
    ):
        if condition is not None:
            lines.append(f"{pad}if {condition}:")
            pad += "    "
    match put.op:
        case _ if not put.reduction:
            lines.append(f"{pad}{target} = {value}")
        case BinaryOp.MIN | BinaryOp.MAX:
            lines.append(f"{pad}{target} = {put.op.value}({target}, {value})")
        case _:
            lines.append(f"{pad}{target} {put.op.value}= {value}")
    return lines


def _element(array: str, index: tuple[Expr, ...]) -> str:
    return f"{array}[{', '.join(show(i) for i in index) or '()'}]"


def shrunk(spec: Spec) -> Iterator[Spec]:
    """Yield programs that are a little smaller."""
    for body in _shrunk_body(spec.body):
        if body:
            used = _names(body)
            yield replace(
                spec, body=body, ranks=tuple(r for r in spec.ranks if r[0] in used) or spec.ranks
            )


def _names(body: tuple[Item, ...]) -> set[str]:
    found: set[str] = set()
    for item in body:
        if isinstance(item, Loop):
            found |= _names(item.body)
        else:
            found |= {item.array, *(array for array, _ in item.reads)}
    return found


def _shrunk_body(body: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    for position, item in enumerate(body):
        before, after = body[:position], body[position + 1 :]
        yield (*before, *after)
        for smaller in _shrunk_item(item):
            yield (*before, *smaller, *after)


def _shrunk_item(item: Item) -> Iterator[tuple[Item, ...]]:
    if isinstance(item, Put):
        yield from _shrunk_put(item)
        return
    yield tuple(_without(inner, item.iter) for inner in item.body)
    if abs(item.step) != 1:
        yield (replace(item, step=1 if item.step > 0 else -1),)
    for body in _shrunk_body(item.body):
        if body:
            yield (replace(item, body=body),)


def _shrunk_put(item: Put) -> Iterator[tuple[Item, ...]]:
    for number in range(len(item.reads)):
        if not item.guarded or number:
            yield (replace(item, reads=item.reads[:number] + item.reads[number + 1 :]),)
    if item.guarded:
        yield (replace(item, guarded=False),)
    if item.condition is not None:
        yield (replace(item, condition=None),)
    if item.reduction:
        yield (replace(item, reduction=False),)
    for number, index in enumerate(item.index):
        if index != integer(0):
            parts = (*item.index[:number], integer(0), *item.index[number + 1 :])
            yield (replace(item, index=parts),)


def _without(item: Item, name: str) -> Item:
    """Return `item` with iterator `name` fixed at 0."""

    def fixed(expr: Expr) -> Expr:
        return substitute(expr, {name: integer(0)})

    if isinstance(item, Loop):
        body = tuple(_without(inner, name) for inner in item.body)
        return replace(item, lower=fixed(item.lower), upper=fixed(item.upper), body=body)
    return replace(
        item,
        index=tuple(map(fixed, item.index)),
        reads=tuple((array, tuple(map(fixed, index))) for array, index in item.reads),
        condition=None if item.condition is None else fixed(item.condition),
    )
