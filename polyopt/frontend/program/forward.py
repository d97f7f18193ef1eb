"""Tangents of the statements of a call: dual statements beside them.

In: the builder before and after a function was read, the tangents of inputs.  Out: tangents of
results, in new memory.
Refuses: operations without a derivative, library calls between inputs and results (PO0183).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyopt.autodiff.partials import NoDerivative
from polyopt.autodiff.tangents import tangent
from polyopt.dataclass import replace
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.differentiated_calls import (
    Begun,
    Question,
    active_in,
    beside,
    copy_written,
    no_derivative,
    spread,
)
from polyopt.frontend.program.drafts import Draft, Mark, Storage, dynamic_params
from polyopt.frontend.values.values import Buffer
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Load,
    is_function,
    loads,
    rewrite,
    walk,
)
from polyopt.ir.scop import Reduction


def tangents(
    b: Builder, begun: Begun, asked: Question, given: Sequence[Buffer]
) -> tuple[list[Buffer], list[Buffer]]:
    """Emit the tangents of a call; return the memory of its results, and of their tangents.

    `given`: the tangent of each input.
    """
    own = range(begun.drafts, len(b.drafts))
    there = {buffer.name for buffer in b.buffers[: begun.buffers]}
    copies = copy_written(b, begun)
    named = {buffer.name: dot for buffer, dot in zip(asked.inputs, given, strict=True)}
    asked = asked.of_copies(copies)
    drafts = [b.drafts[n] for n in own]
    inputs = frozenset(copies[name].name if name in copies else name for name in named)
    results = frozenset(buffer.name for buffer in asked.results)
    active = active_in(b, begun, drafts, inputs, results, asked.loc)
    spread(b, begun, own, 2 * len(copies), 3)
    found = {name: dot for name, dot in named.items() if name not in copies}
    for buffer in [*b.buffers]:
        if buffer.name in active | results and buffer.name not in found:
            found[buffer.name] = _like(b, begun, buffer)
    for number, (name, copy) in enumerate(copies.items()):
        if copy.name in found:
            _begin(b, begun.copies + len(copies) + number, found[copy.name], named.get(name))
    for n in own:
        draft = b.drafts[n]
        if draft.target.array in found:
            b.drafts += _dual(draft, {name: dot.name for name, dot in found.items()})
    for buffer in asked.results:
        if buffer.name in there - copies.keys() - named.keys():
            _begin(b, b.position, found[buffer.name], None)
            b.advance()
    return [*asked.results], [found[buffer.name] for buffer in asked.results]


def _like(b: Builder, begun: Begun, whole: Buffer) -> Buffer:
    """Return memory for the tangents of an array, from where that has its own."""
    after, marks = b.position, len(b.marks)
    made = b.new_buffer(f"{whole.name}_dot", whole.dtype, whole.shape)
    made.home, made.length, made.counted = whole.home, whole.length, whole.counted
    b.position = after
    if not dynamic_params(*whole.shape):
        return made
    del b.marks[marks:]
    for mark in b.marks[begun.marks :]:
        if isinstance(mark.what, Storage) and mark.what.buffer is whole:
            b.marks.append(Mark(beside(mark.scope, 1), Storage(made)))
    return made


def _begin(b: Builder, place: int, dot: Buffer, given: Buffer | None) -> None:
    """Let the tangent of a copy begin as that of the original, or as zero."""
    loops, index = b.fresh_loops(dot.shape)
    value: Expr = Const(0.0, dot.dtype)
    if given is not None:
        value = Load(given.name, index, dot.dtype)
    after, b.position = b.position, place
    b.emit(loops, Load(dot.name, index, dot.dtype), value)
    b.position = after


def _dual(draft: Draft, names: Mapping[str, str]) -> list[Draft]:
    """Return the tangent of a statement: before it, or after it where its value helps."""
    target = draft.target
    own = Load(names[target.array], target.index, target.dtype)
    try:
        value = tangent(draft.value, names.get)
    except NoDerivative as error:
        no_derivative(str(error), draft.loc)
    if value == own:
        return []
    place = -1
    if _is_helpful(draft, value):
        value = rewrite(value, lambda part: target if part == draft.value else None)
        place = 1
    return [
        replace(
            draft,
            scope=beside(draft.scope, place),
            target=own,
            value=value,
            reduction=_reduction(draft, own, value),
            text=f"tangent: {draft.text}",
        )
    ]


def _is_helpful(draft: Draft, value: Expr) -> bool:
    """Tell whether a tangent has the value of its statement in it, which is costly and stays."""
    whole, target = draft.value, draft.target
    is_costly = is_function(whole) or (isinstance(whole, Binary) and whole.op is BinaryOp.DIV)
    if not is_costly or whole.dtype is not target.dtype:
        return False
    used = (whole, *target.index, draft.scope.guard)
    if target.array in {load.array for part in used for load in loads(part)}:
        return False
    return any(part == whole for part in walk(value))


def _reduction(draft: Draft, own: Load, value: Expr) -> Reduction | None:
    """Return how the tangent of a sum is a sum, too."""
    if draft.reduction is None or draft.reduction.op is not BinaryOp.ADD:
        return None
    match value:
        case Binary(op=BinaryOp.ADD, left=left, right=rest) if left == own:
            is_sum = own not in loads(rest)
            return Reduction(BinaryOp.ADD, draft.reduction.reassociable) if is_sum else None
        case _:
            return None
