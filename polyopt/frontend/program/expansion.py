"""Temporaries with elements of their own for each iteration of a loop.

In: drafts of a call, its buffers.  Out: drafts in which temporaries have more dimensions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import floordiv, minus, plus
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.differentiated_calls import Begun
from polyopt.frontend.program.drafts import arrays_of, largest
from polyopt.frontend.program.marks import Binding, Invocation, Storage, dynamic_params
from polyopt.frontend.program.statement_domains import Loop
from polyopt.frontend.values.values import Buffer
from polyopt.ir.expr import Expr, Iter, Load, integer, rewrite


def counted(
    around: Sequence[Loop], loops: Sequence[Loop], loc: Loc | None
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Return the shape of an array with an element for each iteration of `loops`, and its index.

    Extents do not depend on the loops `around`, which these are in.
    """
    known = [*around]
    shape: list[Expr] = []
    index: list[Expr] = []
    for loop in loops:
        step = abs(loop.step)
        here, count = (
            minus(end, start) if loop.step > 0 else minus(start, end)
            for start, end in ((loop.lower, Iter(loop.iter)), (loop.lower, loop.upper))
        )
        if step > 1:
            here, count = floordiv(here, integer(step)), plus(count, step - 1)
            count = floordiv(count, integer(step))
        for outer in reversed(known):
            count = largest(count, outer, loc)
        known.append(loop)
        shape.append(count)
        index.append(here)
    return tuple(shape), tuple(index)


def expandable(
    b: Builder, begun: Begun, own: Sequence[Buffer], numbers: Collection[int]
) -> frozenset[str]:
    """Return the temporaries of a call that only its statements `numbers` know."""
    found = {
        buffer.name
        for buffer in own
        if buffer.argument is None
        and not (buffer.faults or buffer.kinds or buffer.length or dynamic_params(*buffer.shape))
    }
    for number in range(begun.drafts, len(b.drafts)):
        if number not in numbers:
            draft = b.drafts[number]
            parts = (draft.value, draft.target, draft.scope.guard)
            found -= {name for part in parts for name in arrays_of(part)}
    for mark in b.marks[begun.marks :]:
        found -= arrays_of(mark.scope.guard)
        match mark.what:
            case Binding(value=value):
                found -= arrays_of(value)
            case Storage(buffer=buffer):
                found -= {buffer.name}
            case Invocation(inputs=inputs, outputs=outputs):
                found -= {*inputs, *outputs}
    for demand in b.demands:
        found -= arrays_of(demand.condition) | arrays_of(demand.scope.guard)
    return frozenset(found)


def expand(
    b: Builder,
    own: range,
    buffers: Mapping[str, Buffer],
    found: Mapping[str, frozenset[int]],
) -> None:
    """Give each array a dimension more for each of the loops at these depths, in all drafts."""
    indices: dict[str, tuple[Expr, ...]] = {}
    for name, depths in found.items():
        draft = next(b.drafts[n] for n in own if b.drafts[n].target.array == name)
        first = min(depths)
        loops = [draft.scope.loops[depth] for depth in sorted(depths)]
        shape, index = counted(draft.scope.loops[:first], loops, draft.loc)
        if not dynamic_params(*shape):
            buffers[name].shape = (*shape, *buffers[name].shape)
            indices[name] = index

    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or part.array not in indices:
            return None
        inner = tuple(rewrite(e, rule) for e in part.index)
        return Load(part.array, (*indices[part.array], *inner), part.dtype)

    for n in own:
        draft = b.drafts[n]
        target = rewrite(draft.target, rule)
        assert isinstance(target, Load)
        scope = replace(draft.scope, guard=rewrite(draft.scope.guard, rule))
        b.drafts[n] = replace(draft, scope=scope, target=target, value=rewrite(draft.value, rule))
