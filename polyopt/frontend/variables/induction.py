"""Counters: integer names that a loop raises by a constant, once in every iteration.

In: a loop.  Out: their values as affine functions of the iteration, so that they may subscript.
"""

from __future__ import annotations

import ast
from collections import Counter as Counts
from collections.abc import Mapping

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import is_affine, plus, times
from polyopt.frontend.integers.exact_integers import limited
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.statement_domains import Loop
from polyopt.frontend.values.promote import number_of
from polyopt.frontend.values.values import Known, Number
from polyopt.frontend.variables.call_frames import Frame
from polyopt.frontend.variables.name_rotation import trips
from polyopt.ir.expr import Expr
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Counter:
    """`start + step * iterations so far`."""

    start: Expr
    step: int


def counters(frame: Frame, node: ast.For) -> dict[str, Counter]:
    """Return the names that `node` counts."""
    result: dict[str, Counter] = {}
    for name, step in _steps(node).items():
        value = frame.env.get(name)
        number = number_of(value.value, None) if isinstance(value, Known) else value
        if name in frame.pins or not isinstance(number, Number):
            continue
        if number.dtype is DType.INT64 and number.weak and is_affine(number.expr):
            result[name] = Counter(number.expr, step)
    return result


def _steps(node: ast.For) -> dict[str, int]:
    """Return names with one assignment in the body, `name += constant`, on its top level."""
    result: dict[str, int] = {}
    for statement in node.body:
        match statement:
            case ast.AugAssign(
                target=ast.Name(id=name),
                op=ast.Add() | ast.Sub() as op,
                value=ast.Constant(value=int(step)),
            ) if not isinstance(step, bool):
                result[name] = step if isinstance(op, ast.Add) else -step
            case _:
                continue
    if result:
        names = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))
        stores = Counts(name.id for name in names if isinstance(name.ctx, ast.Store))
        result = {name: step for name, step in result.items() if stores[name] == 1}
    return result


def enter(
    b: Builder, frame: Frame, done: Expr, found: Mapping[str, Counter], loc: Loc | None
) -> None:
    """Give the counters their values after `done` iterations."""
    for name, counter in found.items():
        reached = plus(counter.start, times(done, counter.step))
        frame.env[name] = Number(limited(b, reached, loc), True)


def leave(b: Builder, frame: Frame, loop: Loop, found: Mapping[str, Counter]) -> None:
    """Give the counters their values after the loop."""
    for name, counter in found.items():
        total = times(trips(b, loop), counter.step)
        reached = plus(counter.start, total)
        frame.env[name] = Number(limited(b, reached, loop.loc), True)
