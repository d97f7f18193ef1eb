"""Pairs of accesses that different threads of a block make to one element, one of them writing.

In: a kernel, the function, the loops around a block.  Out: pairs of places, told by what lies
between them: once through the block's code, or the next iteration of a loop that all threads run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

import islpy as isl

from polyopt.emit.gpu.touches import Place, Spot, Touch, Walk, bounds_of
from polyopt.emit.regions import nodes, written_arrays
from polyopt.ir.affine import NotAffine, coalesced, condition_set, param_space
from polyopt.ir.array import Role
from polyopt.ir.expr import (
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    VectorLoad,
    integer,
    rewrite,
    walk,
)
from polyopt.ir.loops import Body, Declare, DeclareArray, For, Kernel, LoopFunction, SetLocal, Space
from polyopt.ir.source import SizeOf
from polyopt.ir.types import DType

WARP = 32
"""Neighbouring threads that a barrier of a warp joins."""
_OUT = isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two places whose order matters.

    `home` is the body of the loop that separates them by an iteration, by more than one if
    `is_far`; None where the second follows the first.  `pairs` are the iterations and threads of
    both.
    """

    first: Spot
    second: Spot
    home: Spot | None
    is_far: bool
    within_warp: bool
    note: str
    pairs: isl.Set = field(compare=False)


def meetings_of(walked: Walk) -> tuple[Meeting, ...]:
    """Return all meetings of the accesses that a walk found."""
    found: dict[tuple[Spot, Spot, Spot | None, str], Meeting] = {}
    for first, second in _pairs(_merged(walked.found)):
        for meeting in _meetings(first, second):
            key = (meeting.first, meeting.second, meeting.home, first.array)
            known = found.get(key)
            if known is not None:
                meeting = replace(
                    meeting,
                    is_far=meeting.is_far and known.is_far,
                    within_warp=meeting.within_warp and known.within_warp,
                    note=known.note,
                    pairs=meeting.pairs.union(known.pairs),
                )
            found[key] = meeting
    return tuple(dict.fromkeys(found.values()))


def walk_block(
    kernel: Kernel, body: Body, fn: LoopFunction, around: tuple[For, ...], only: str | None = None
) -> Walk:
    """Return a walk over `body`, which each block of `kernel` runs inside of `around`.

    It looks at the array `only`, or at all that is written and not a thread's own.
    """
    again = {node.name for node in nodes(fn.body) if isinstance(node, SetLocal)}
    declared = {n.name: n for n in nodes(fn.body) if isinstance(n, Declare) and n.name not in again}
    inside = {n.name for n in nodes(body) if isinstance(n, Declare)}
    hosts = {n for n, d in declared.items() if n not in inside and d.dtype is DType.INT64}
    values = {
        name: node.value
        for name, node in declared.items()
        if name in inside and node.dtype is DType.INT64 and not _is_stored(node.value, again)
    }
    params = tuple(dict.fromkeys((*fn.params, *(f.iter for f in around), *sorted(hosts))))
    private = {
        node.array.name
        for node in nodes(body)
        if isinstance(node, DeclareArray) and node.space is not Space.SHARED
    }
    private |= {array.name for array in fn.arrays if array.role is Role.FAULT}
    arrays = written_arrays(body) - private if only is None else frozenset({only})
    context = _context(fn, params, around)
    fixed = frozenset(loop.iter for loop in around)
    walked = Walk(kernel.threads, params, fixed, context, arrays, values)
    walked.body(body, Place(()))
    return walked


def _is_stored(expr: Expr, again: set[str]) -> bool:
    return any(
        isinstance(part, Load | VectorLoad) or (isinstance(part, Symbol) and part.name in again)
        for part in walk(expr)
    )


def _context(fn: LoopFunction, params: tuple[str, ...], around: tuple[For, ...]) -> isl.Set:
    """Return what is known of sizes, and of the iterators around a block."""
    space = param_space(params)
    result = isl.Set.universe(space)
    known = [check.condition for check in fn.signature.checks]
    known += [
        Compare(CompareOp.GE, Param(size.param), integer(0))
        for size in fn.signature.sizes
        if isinstance(size, SizeOf)
    ]
    for condition in (*known, *bounds_of(around, ())):
        with suppress(NotAffine):
            result = result.intersect(condition_set(_over_params(condition), space))
    return result


def _over_params(expr: Expr) -> Expr:
    def rule(part: Expr) -> Expr | None:
        match part:
            case Iter() | Symbol(dtype=DType.INT64):
                return Param(part.name)
            case _:
                return None

    return rewrite(expr, rule)


def _merged(reached: list[Touch]) -> list[Touch]:
    """Return the accesses, those of one nest that do the same to an array as one."""
    found: dict[tuple[object, ...], Touch] = {}
    for touch in reached:
        loops = tuple(map(id, touch.loops))
        kind = (touch.array, touch.is_written, touch.is_atomic)
        key = (*kind, touch.spot, loops, touch.homes)
        if key in found:
            touch = replace(touch, reached=coalesced(found[key].reached.union(touch.reached)))
        found[key] = touch
    return list(found.values())


def _pairs(reached: list[Touch]) -> Iterator[tuple[Touch, Touch]]:
    for first in reached:
        for second in reached:
            if first.is_atomic and second.is_atomic:
                continue
            if first.array == second.array and (first.is_written or second.is_written):
                yield first, second


def _meetings(first: Touch, second: Touch) -> Iterator[Meeting]:
    """Yield how `second` may come after `first` at one element in another thread."""
    common = 0
    for one, two in zip(first.loops, second.loops, strict=False):
        if one is not two:
            break
        common += 1
    follows = first.spot < second.spot and not _excluded(first.spot, second.spot)
    if common == 0 and not follows:
        return
    pairs = first.reached.flat_range_product(second.reached).range()
    width = len(first.loops) + 1
    pairs = _differ(pairs, width - 1, width + len(second.loops))
    if pairs.is_empty():
        return
    note = _note(first, second)
    for depth in range(common):
        carried = pairs.intersect(_less(pairs, depth, width + depth, 0))
        if not carried.is_empty():
            later = _less(carried, depth, width + depth, first.loops[depth].step)
            is_far = carried.intersect(later.complement()).is_empty()
            yield Meeting(
                first.spot, second.spot, first.homes[depth], bool(is_far),
                _in_warps(carried, first, second), f"{note} in the next iteration", carried,
            )  # fmt: skip
        pairs = pairs.equate(isl.dim_type.set, depth, isl.dim_type.set, width + depth)
    if follows and not pairs.is_empty():
        yield Meeting(
            first.spot, second.spot, None, False, _in_warps(pairs, first, second), note, pairs
        )


def _excluded(first: Spot, second: Spot) -> bool:
    """Tell whether the places are in different branches of a condition."""
    for number, (one, two) in enumerate(zip(first, second, strict=False)):
        if one != two:
            return number % 2 == 1
    return False


def _note(first: Touch, second: Touch) -> str:
    words = {True: "written", False: "read"}
    return f"{first.array}: {words[first.is_written]} above, {words[second.is_written]} below"


def _differ(pairs: isl.Set, one: int, two: int) -> isl.Set:
    """Keep the pairs of different threads."""
    return pairs.intersect(_less(pairs, one, two, 0).union(_less(pairs, two, one, 0)))


def _less(pairs: isl.Set, one: int, two: int, by: int) -> isl.Set:
    """Return where dimension `one` is less than `two` by more than `by`."""
    local = isl.LocalSpace.from_space(pairs.get_space())
    left = isl.Aff.var_on_domain(local, isl.dim_type.set, one).add_constant_val(isl.Val(by))
    return left.lt_set(isl.Aff.var_on_domain(local, isl.dim_type.set, two))


def _in_warps(pairs: isl.Set, first: Touch, second: Touch) -> bool:
    """Tell whether all pairs are of threads of one warp."""
    local = isl.LocalSpace.from_space(pairs.get_space())
    places = (len(first.loops), len(first.loops) + 1 + len(second.loops))
    one, two = (
        isl.Aff.var_on_domain(local, isl.dim_type.set, n).scale_down_val(isl.Val(WARP)).floor()
        for n in places
    )
    return bool(pairs.intersect(one.ne_set(two)).is_empty())
