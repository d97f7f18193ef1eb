"""Arguments that share memory: where they lie in their owners, and overlaps that are refused."""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.errors import ArgumentError, Loc
from polyopt.ir.integers import evaluate
from polyopt.ir.source import ArrayArg, Signature
from polyopt.runtime.sharing import (
    address,
    array_around,
    is_placed,
    overlaps_itself,
    share,
    starts_of,
)
from polyopt.runtime.values import AnyArray


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
