"""Operands of sums in another layout: weights of windows, turned for the way back.

In: the steps of a sweep, the arrays that do not change meanwhile.  Out: steps that read copies.
The way forward of a convolution reads its weights along their last dimension, the way back along
another one.  Products of matrices need no copy: their panels are packed.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt.autodiff.order import Adjoint, Step
from polyopt.dataclass import replace
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.values.values import Buffer
from polyopt.ir.expr import Expr, Iter, Load, loads, rewrite
from polyopt.ir.names import iterators


def with_transposed(
    b: Builder, adjoints: tuple[Adjoint, ...], constant: Collection[str]
) -> tuple[Adjoint, ...]:
    """Return the steps, reading transposed copies of `constant` arrays that are made here."""
    made: dict[tuple[str, int], Buffer] = {}
    found: list[Adjoint] = []
    for adjoint in adjoints:
        step = adjoint.step
        for load in dict.fromkeys(loads(step.value)):
            place = _vectorized(step, load) if load.array in constant else None
            if place is not None:
                if (load.array, place) not in made:
                    made[load.array, place] = _copied(b, load.array, place)
                step = _reading(step, load, place, made[load.array, place])
        found.append(replace(adjoint, step=step))
    return tuple(found)


def _vectorized(step: Step, load: Load) -> int | None:
    """Return the dimension of a window's weights that the last one of a sum's target goes along."""
    if not step.is_sum or not step.target.index or len(load.index) < 3:
        return None
    last, summed = step.target.index[-1], load.index[-1]
    used = {name for part in step.target.index for name in iterators(part)}
    parts = [part for read in loads(step.value) for part in read.index]
    is_window = any(len(iterators(part)) > 1 for part in parts)
    if not isinstance(last, Iter) or not isinstance(summed, Iter) or not is_window:
        return None
    if summed.name in used or last not in load.index[:-1]:
        return None
    return load.index.index(last)


def _copied(b: Builder, array: str, place: int) -> Buffer:
    """Return a copy of an array whose dimension `place` is the last."""
    whole = next(buffer for buffer in b.buffers if buffer.name == array)
    shape = _moved(whole.shape, place)
    copy = b.new_buffer(f"{array}_turned", whole.dtype, shape)
    loops, index = b.fresh_loops(whole.shape)
    b.emit(loops, Load(copy.name, _moved(index, place), copy.dtype), Load(array, index, copy.dtype))
    return copy


def _moved(parts: tuple[Expr, ...], place: int) -> tuple[Expr, ...]:
    return (*parts[:place], *parts[place + 1 :], parts[place])


def _reading(step: Step, load: Load, place: int, copy: Buffer) -> Step:
    """Return a step that reads the copy."""
    turned = Load(copy.name, _moved(load.index, place), load.dtype)
    value = rewrite(step.value, lambda part: turned if part == load else None)
    return replace(step, value=value)
