"""Where arrays lie in one another's memory.

In: arrays of a call.  Out: whether two share an element; where one begins in another, how it runs.
Overlaps of arguments that kernels refuse are found here, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import ArgumentError, Loc
from polyopt.ir.integers import evaluate
from polyopt.ir.source import NO_AXIS, ArrayArg, Part, Signature, Start
from polyopt.runtime.values import AnyArray, array_at

_WORK = 1 << 16  # candidates to try before two arrays count as sharing elements


@dataclass(frozen=True, slots=True)
class Placement:
    """Element 0 of an array is element `starts` of another; see `Part` for the rest."""

    starts: tuple[int, ...]
    axes: tuple[int, ...]
    steps: tuple[int, ...]


def share(first: AnyArray, second: AnyArray) -> bool:
    """Tell whether an element of one array is part of an element of the other."""
    spans = span(first), span(second)
    if spans[0][0] >= spans[1][1] or spans[1][0] >= spans[0][1]:
        return False
    try:
        return bool(np.shares_memory(first, second, max_work=_WORK))  # type: ignore[arg-type]  # stub
    except np.exceptions.TooHardError:
        return True


def span(array: AnyArray) -> tuple[int, int]:
    """Return the first byte of `array` and the one after its last; nothing for an empty array."""
    if array.size == 0:
        return 0, 0
    low = high = address(array)
    for stride, extent in zip(array.strides, array.shape, strict=True):
        reach = stride * (extent - 1)
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + array.itemsize


def address(array: AnyArray) -> int:
    """Return the address of element 0."""
    return int(array.__array_interface__["data"][0])


def array_around(array: AnyArray, before: Sequence[int], shape: Sequence[int]) -> AnyArray:
    """Return the array of `shape` that begins `before` elements before `array`, by its strides."""
    shift = sum(count * step for count, step in zip(before, array.strides, strict=True))
    return array_at(
        address(array) - shift,
        array.dtype,
        shape,
        array.strides,
        writable=array.flags.writeable,
        owner=array,
    )


def overlaps_itself(strides: Sequence[int], shape: Sequence[int], itemsize: int) -> bool:
    """Tell whether dimensions in order of stride fail to nest, so that elements may coincide."""
    reach = itemsize
    steps = sorted((abs(s), n) for s, n in zip(strides, shape, strict=True) if n > 1)
    for step, extent in steps:
        if step < reach:
            return True
        reach += step * (extent - 1)
    return False


# -- finding a placement ----------------------------------------------------------------------


def placement_inside(owner: AnyArray, part: AnyArray) -> Placement | None:
    """Return where `part`, all of it, lies among the elements of `owner`, or None."""
    if owner.dtype != part.dtype or not part.size:
        return None
    shape = owner.shape
    runs = _runs(owner, part)
    if runs is None:
        return None
    axes, steps = runs
    for starts in _splits(owner, address(part) - address(owner)):
        last = list(starts)
        for axis, step, extent in zip(axes, steps, part.shape, strict=True):
            if axis != NO_AXIS:
                last[axis] += step * (extent - 1)
        ends = zip(starts, last, shape, strict=True)
        if all(min(i, j) >= 0 and max(i, j) < n for i, j, n in ends):
            return Placement(starts, axes, steps)
    return None


def placement_beside(owner: AnyArray, part: AnyArray) -> Placement | None:
    """Return where `part` lies in memory that goes on around `owner` in the same rows, or None."""
    if owner.dtype != part.dtype or owner.ndim != part.ndim or not part.size:
        return None
    for s, t, n, m in zip(owner.strides, part.strides, owner.shape, part.shape, strict=True):
        if (s != t and n > 1 and m > 1) or (m > 1 and n == 1):
            return None
    numbers = tuple(range(owner.ndim))
    for starts in _splits(owner, address(part) - address(owner)):
        shape = [
            max(n, start + m) - min(0, start)
            for n, m, start in zip(owner.shape, part.shape, starts, strict=True)
        ]
        if not overlaps_itself(owner.strides, shape, owner.itemsize):
            return Placement(starts, numbers, (1,) * owner.ndim)
    return None


def is_placed(first: AnyArray, second: AnyArray) -> bool:
    """Tell whether two arrays can be seen as parts of one."""
    pairs = ((first, second), (second, first))
    return any(placement_inside(*p) or placement_beside(*p) for p in pairs)


def _runs(owner: AnyArray, part: AnyArray) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return for each dimension of `part` the dimension of `owner` it runs along, and its step."""
    axes, steps = [NO_AXIS] * part.ndim, [1] * part.ndim
    free = set(range(owner.ndim))
    order = sorted(range(part.ndim), key=lambda d: -abs(part.strides[d]) * (part.shape[d] > 1))
    for d in order:
        stride, extent = part.strides[d], part.shape[d]
        if extent == 1:
            found = [axis for axis in free if axis == d or owner.shape[axis] == 1]
        else:
            found = [
                axis
                for axis in free
                if owner.strides[axis]
                and stride % owner.strides[axis] == 0
                and stride
                and abs(stride // owner.strides[axis]) * (extent - 1) < owner.shape[axis]
            ]
        if extent > 1 and not found:
            return None
        if found:
            axes[d] = max(found, key=lambda axis: (abs(owner.strides[axis]), axis == d))
            axes[d] = d if extent == 1 and d in found else axes[d]
            steps[d] = 1 if extent == 1 else stride // owner.strides[axes[d]]
            free.discard(axes[d])
    return tuple(axes), tuple(steps)


def _splits(owner: AnyArray, distance: int) -> list[tuple[int, ...]]:
    """Return the subscripts, possibly outside of `owner`, whose element is `distance` away."""
    wide = [d for d in range(owner.ndim) if owner.shape[d] > 1 and owner.strides[d]]
    wide.sort(key=lambda d: -abs(owner.strides[d]))
    found = []
    for ways in product((0, 1), repeat=len(wide)):
        starts, rest = [0] * owner.ndim, distance
        for axis, way in zip(wide, ways, strict=True):
            starts[axis] = rest // owner.strides[axis] + way
            rest -= starts[axis] * owner.strides[axis]
        if rest == 0:
            found.append(tuple(starts))
    return sorted(found, key=lambda starts: sum(map(abs, starts)))


# -- judging a call -----------------------------------------------------------------------------


def starts_of(owner: AnyArray, part: AnyArray, spec: Part) -> tuple[int, ...] | None:
    """Return where `part` begins in `owner` if it runs as `spec` says, or None."""
    starts, strides = [0] * owner.ndim, _strides(owner)
    if part.size == 0:
        return tuple(starts)
    for axis, step, stride, extent in zip(
        spec.axes, spec.steps, part.strides, part.shape, strict=True
    ):
        if extent > 1 and (axis == NO_AXIS or stride != step * strides[axis]):
            return None
    rest = address(part) - address(owner)
    open_axes = []
    for axis, start in enumerate(spec.starts):
        if start.value is None:
            open_axes.append(axis)
            continue
        starts[axis] = known_start(start, start.value, owner.shape[axis])
        if starts[axis] and not strides[axis]:
            return None
        rest -= starts[axis] * strides[axis]
    for axis in sorted(open_axes, key=lambda d: -abs(strides[d])):
        if strides[axis]:
            starts[axis] = rest // strides[axis]
            rest -= starts[axis] * strides[axis]
    return tuple(starts) if rest == 0 else None


def _strides(array: AnyArray) -> tuple[int, ...]:
    """Return the strides, zero where the length is 1: no two things agree on these."""
    return tuple(s if n > 1 else 0 for s, n in zip(array.strides, array.shape, strict=True))


def known_start(start: Start, value: int, extent: int) -> int:
    """Return the subscript that a start of known `value` stands for."""
    return extent - 1 - value if start.from_end else value


def find_starts(
    signature: Signature, arrays: Mapping[str, AnyArray], sizes: dict[str, int]
) -> None:
    """Find out where arguments that share memory lie in their owners."""
    bound = {(s.argument, s.dim): s.param for s in signature.starts}
    for number, argument in enumerate(signature.arguments):
        if not isinstance(argument, ArrayArg) or argument.part is None:
            continue
        owner = signature.arguments[argument.part.owner]
        assert isinstance(owner, ArrayArg)
        found = starts_of(arrays[owner.array], arrays[argument.array], argument.part)
        if found is None:
            raise ArgumentError(
                "PO0209",
                f"this kernel was compiled for a call where `{argument.name}` lies in the memory "
                f"of `{owner.name}`",
                loc=argument.loc,
                hint="call the kernel itself: it compiles for the arrays it meets",
            )
        for dim, start in enumerate(found):
            if (number, dim) in bound:
                sizes[bound[number, dim]] = start


def arrays_around(
    signature: Signature, arrays: Mapping[str, AnyArray], sizes: Mapping[str, int]
) -> dict[str, AnyArray]:
    """Return the arrays that begin before their argument or end after it."""
    found: dict[str, AnyArray] = {}
    for argument in signature.arguments:
        if not isinstance(argument, ArrayArg) or not argument.before:
            continue
        array = arrays[argument.array]
        around = [evaluate(extent, sizes) for extent in argument.around]
        if overlaps_itself(array.strides, around, array.itemsize):
            raise ArgumentError(
                "PO0209",
                f"this kernel was compiled for other arrays around `{argument.name}`",
                loc=argument.loc,
                hint="call the kernel itself: it compiles for the arrays it meets",
            )
        found[argument.array] = array_around(array, argument.before, around)
    return found


class OverlapError(ArgumentError):
    """Arguments share elements that the kernel writes; `pairs` are their positions."""

    def __init__(
        self,
        message: str,
        *,
        pairs: tuple[tuple[int, int], ...],
        loc: Loc | None,
        notes: tuple[str, ...],
        hint: str | None,
    ) -> None:
        super().__init__("PO0205", message, loc=loc, notes=notes, hint=hint)
        self.pairs = pairs


def check_overlap(signature: Signature, arrays: Mapping[str, AnyArray]) -> None:
    listed = {n: a for n, a in enumerate(signature.arguments) if isinstance(a, ArrayArg)}
    pairs = tuple(
        (i, j)
        for i, j in signature.separate
        if share(arrays[listed[i].array], arrays[listed[j].array])
    )
    if not pairs:
        return
    first, second = (listed[number] for number in pairs[0])
    written, other = (first, second) if first.written else (second, first)
    one, two = arrays[written.array], arrays[other.array]
    hint = f"pass a copy of one of them: `{other.name}.copy()`"
    if is_placed(one, two):
        hint = f"call the kernel itself: it compiles for arrays that share memory; or {hint}"
    raise OverlapError(
        f"`{written.name}` is written and its memory overlaps that of `{other.name}`",
        pairs=pairs,
        loc=written.loc,
        notes=_overlap(written.name, one, other.name, two),
        hint=hint,
    )


def _overlap(first: str, one: AnyArray, second: str, two: AnyArray) -> tuple[str, ...]:
    """Return how two arrays lie in memory, in words."""
    gap = address(two) - address(one)
    place = f"{abs(gap)} bytes {'behind' if gap > 0 else 'before'} it" if gap else "there too"
    return (
        f"`{first}` is {one.dtype} of shape {one.shape} with strides {one.strides}",
        f"`{second}` begins {place}: {two.dtype} of shape {two.shape} with strides {two.strides}",
    )
