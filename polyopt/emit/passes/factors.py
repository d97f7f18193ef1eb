"""Pack row factors of a register tile, which are computed once for all its columns.

In: `for it: for jt: for k: for i (UNROLL): for j (VECTOR): …` with an operand, as `s * A[i, k]`,
that is no single element and the same for all j and jt.
Out: the same loops reading it from a local `factor[i][k]`, filled at the start of each `it`.
Leaves: expressions of the array that the nest writes, tiles of fewer than four rows, factors whose
elements are not contiguous, and a single panel of columns, where packing takes as long as it saves.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.emit.passes.rewriting import trip_count
from polyopt.emit.passes.tiles import RegisterTile, is_contiguous, operands_of
from polyopt.emit.ranges import extent_of
from polyopt.ir.expr import Expr, Iter, Load, integer, loads, sub
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Body, DeclareArray, LoopKind
from polyopt.ir.names import has_iterator
from polyopt.ir.scop import Array, Role
from polyopt.machine import Machine

LEAST = 4


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand of a tile's rows, the element that holds it, and the loops that compute it."""

    value: Expr
    cell: Load
    filled: Body


def factors(nest: RegisterTile, names: tuple[str, ...], machine: Machine) -> list[Factor]:
    """Return the factors of a nest; one array for each of `names` at most."""
    rows, extent = trip_count(nest.rows), extent_of(nest.depth)
    if rows is None or rows < LEAST or extent is None or nest.block is None:
        return []
    columns = {nest.lanes.iter, nest.block.iter}
    bounds = [bound for loop in (nest.rows, nest.depth) for bound in (loop.lower, loop.upper)]
    if any(has_iterator(bound, columns) or loads(bound) for bound in bounds):
        return []
    if any(
        has_iterator(bound, {nest.tiles.iter}) for bound in (nest.block.lower, nest.block.upper)
    ):
        return []  # where there are no columns, its elements may lie outside of the arrays
    target = nest.assign.target.array

    def is_factor(expr: Expr) -> bool:
        parts = loads(expr)
        return (
            not isinstance(expr, Load)
            and all(has_iterator(expr, {loop.iter}) for loop in (nest.depth, nest.rows))
            and not has_iterator(expr, columns)
            and all(load.array != target for load in parts)
            and not any(loads(index) for load in parts for index in load.index)
            and any(is_contiguous(expr, loop) for loop in (nest.depth, nest.rows))
        )

    found = dict.fromkeys(operands_of(nest.assign.value, is_factor))
    made = []
    for name, value in zip(names, found, strict=False):
        if rows * extent.size * value.dtype.size <= machine.l1:
            made.append(_factor(nest, name, value, (rows, extent.size), extent.origin))
    return made


def _factor(
    nest: RegisterTile, name: str, value: Expr, sides: tuple[int, int], origin: Expr
) -> Factor:
    row = normalize(sub(Iter(nest.rows.iter), nest.rows.lower))
    term = normalize(sub(Iter(nest.depth.iter), origin))
    along = is_contiguous(value, nest.depth)
    index = (row, term) if along else (term, row)
    sizes = sides if along else sides[::-1]
    cell = Load(name, index, value.dtype)
    outer, inner = (nest.rows, nest.depth) if along else (nest.depth, nest.rows)
    copy = replace(inner, kind=LoopKind.VECTOR, body=(Assign(cell, value),))
    loop = replace(outer, kind=LoopKind.SEQUENTIAL, body=(copy,))
    array = Array(name, value.dtype, tuple(map(integer, sizes)), Role.TEMP)
    return Factor(value, cell, (DeclareArray(array), loop))
