"""Does a whole-array statement read an element that it has overwritten before?

In: the loops of the statement, the element it writes, the expression it computes.  Out: the
direction of each loop that avoids it, or None when only a temporary does; the reads of which a
copy, smaller than the result, is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import islpy as isl

from polyopt.frontend.integers.affine_integers import is_affine
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.statement_domains import Loop, domain_of, scope_exprs, size_context
from polyopt.ir.affine import NotAffine, index_map
from polyopt.ir.expr import Const, Expr, Load, Select, children, loads, rewrite
from polyopt.ir.names import iterators, params_of


def directions(
    b: Builder, loops: Sequence[Loop], target: Load, value: Expr
) -> tuple[int, ...] | None:
    """Return 1 (upwards) or -1 for each loop so that nothing is read after it was overwritten."""
    upwards = (1,) * len(loops)
    reads = [load for load in loads(value) if load.array == target.array and load != target]
    if not reads or b.scout:
        return upwards
    pairs = _write_read_pairs(b, loops, target, reads)
    if pairs is None:
        return None
    ways: list[int] = []
    outer = len(b.scope.loops)
    for level in range(outer, outer + len(loops)):
        level_pairs = _equal_up_to(pairs, level)
        if level_pairs.intersect(_ordered(pairs, level, 1)).is_empty():
            ways.append(1)
        elif level_pairs.intersect(_ordered(pairs, level, -1)).is_empty():
            ways.append(-1)
        else:
            return None
    return tuple(ways)


def taken_before(
    b: Builder, loops: Sequence[Loop], target: Load, value: Expr
) -> tuple[tuple[Load, ...], tuple[int, ...] | None]:
    """Return reads to copy before the loops run, and the directions that do for the others.

    Chosen are reads that not all loops move, `A[i, k]` and `A[k, j]` of an update of all of A: they
    are fewer than the elements that are written.  No reads and None where that is not enough.
    """
    names = {loop.iter for loop in loops}
    chosen = tuple(
        dict.fromkeys(
            part
            for part in _always_read(value)
            if part.array == target.array and part != target and not names <= iterators(part)
        )
    )
    if not chosen or not all(is_affine(part) for read in chosen for part in read.index):
        return (), None
    rest = substituted_loads(value, {read: Const(0, read.dtype) for read in chosen})
    ways = directions(b, loops, target, rest)
    return (chosen, ways) if ways is not None else ((), None)


def substituted_loads(value: Expr, others: Mapping[Load, Expr]) -> Expr:
    """Return `value` with other expressions in the place of reads."""
    return rewrite(value, lambda part: others.get(part) if isinstance(part, Load) else None)


def _always_read(value: Expr) -> Iterator[Load]:
    """Yield the reads that computing `value` makes whatever the data, no subscripts' own."""
    match value:
        case Load():
            yield value
        case Select():
            yield from _always_read(value.condition)
        case _:
            for part in children(value):
                yield from _always_read(part)


def overlaps(b: Builder, loops: Sequence[Loop], target: Load, value: Expr) -> bool:
    """Whether `value` reads an element that the loops write, in any order."""
    reads = [load for load in loads(value) if load.array == target.array]
    if not reads:
        return False
    if b.scout:
        return False
    pairs = _write_read_pairs(b, loops, target, reads)
    if pairs is None:
        return True
    return not _equal_up_to(pairs, len(b.scope.loops)).is_empty()


def _write_read_pairs(
    b: Builder, loops: Sequence[Loop], target: Load, reads: Sequence[Load]
) -> isl.Map | None:
    """writing instance -> instance that reads the same element; None when not affine."""
    scope = b.scope.inside(loops)
    exprs = (*scope_exprs(scope), *target.index, *(e for r in reads for e in r.index))
    params = tuple(sorted(params_of(exprs)))
    domain = domain_of(scope, params, "S").intersect_params(size_context(params, b.sizes))
    try:
        write = index_map(domain, "A", target.index)
        result = isl.Map.empty(domain.get_space().map_from_set())
        for read in reads:
            reader = index_map(domain, "A", read.index)
            result = result.union(write.apply_range(reader.reverse()))
    except NotAffine:
        return None
    return result


def _equal_up_to(pairs: isl.Map, level: int) -> isl.Map:
    """Keep the pairs whose first `level` iterators agree."""
    for d in range(level):
        pairs = pairs.equate(isl.dim_type.in_, d, isl.dim_type.out, d)
    return pairs


def _ordered(pairs: isl.Map, level: int, way: int) -> isl.Map:
    """Pairs whose writer comes before the reader at `level` when the loop runs `way`."""
    every = isl.Map.universe(pairs.get_space())
    if way > 0:
        return every.order_lt(isl.dim_type.in_, level, isl.dim_type.out, level)
    return every.order_gt(isl.dim_type.in_, level, isl.dim_type.out, level)
