"""Replay: run a kernel's loops as the compiled code runs them, to the last bit.

In: the loop AST that was printed, a call's arguments, the bytes of a vector register.  Out: the
results of the code that gcc makes of it for one thread.
SIMD reductions follow gcc: an accumulator for each lane of a register, the iterations that fill no
register in the first lane, the lanes joined in turn; loops over columns stay in order.
Where other compilers differ, or emitted `exp`, `tanh` and cubes do, so do the bits.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from polyopt.ir.expr import Expr, Load, VectorLoad, children, walk
from polyopt.ir.interp import run_loops, run_program
from polyopt.ir.linear import slope_of
from polyopt.ir.loops import Assign, Body, Declare, For, LoopFunction, SetLocal
from polyopt.ir.nodes import all_nodes
from polyopt.ir.program import Program
from polyopt.numerics.results import named_results

_COMPUTES = (Assign, Declare, SetLocal)


def replay(
    program: Program, loops: LoopFunction, args: Sequence[Any], vector_bytes: int
) -> dict[str, Any]:
    """Return the named results of a call with `args`, which stay untouched."""
    own = copy.deepcopy(tuple(args))

    def lanes(loop: For) -> int:
        if not all(_is_along(load, loop.iter) for load in _loads(loop.body)):
            return 1
        return max(1, vector_bytes // max(1, _smallest(loop.body)))

    def execute(arrays: Any, params: Any, symbols: Any) -> None:  # noqa: ANN401
        run_loops(loops, arrays, params, symbols, lanes=lanes)

    with np.errstate(all="ignore"):
        returned = run_program(program, own, execute)
    return named_results(program, own, returned)


def _loads(body: Body) -> list[Load | VectorLoad]:
    """Return the elements that the values of a loop's body read."""
    values = (node.value for node in all_nodes(body) if isinstance(node, _COMPUTES))
    return [p for value in values for p in walk(value) if isinstance(p, Load | VectorLoad)]


def _is_along(load: Load | VectorLoad, name: str) -> bool:
    """Tell whether iterator `name` moves an access to the next element, or not at all."""
    strides = [slope_of(index, name) for index in load.index]
    return not any(strides) or (strides[-1] == 1 and not any(strides[:-1]))


def _smallest(body: Body) -> int:
    """Return the bytes of the smallest element that a loop computes with."""
    sizes = [64]
    for node in all_nodes(body):
        if isinstance(node, _COMPUTES):
            target = node.target if isinstance(node, Assign) else node
            sizes += [target.dtype.size, *_sizes(node.value)]
    return min(sizes)


def _sizes(value: Expr) -> list[int]:
    """Return the sizes of a value's parts, subscripts aside."""
    found = [value.dtype.size]
    if not isinstance(value, Load | VectorLoad):
        for part in children(value):
            found += _sizes(part)
    return found
