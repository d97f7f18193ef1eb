"""Decompose loops into sums of floors, to derive facts about them from the floors' arguments.

In: a loop's function, `floor(t/16) + floor((2t + i)/32)`.  Out: its terms with `t` and `2t + i`:
if none of these decreases, the loop does not; where the loop is equal then, so is each floor.
Refuses (None): floors with negative coefficients, piecewise functions, statements that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import pieces_of

_DIV = isl.dim_type.div


@dataclass(frozen=True, eq=False)
class FloorTerm:
    """`floor(inside / size)`, or `inside` itself if `size` is 0, for each statement by name."""

    inside: Mapping[str, isl.Aff]
    size: int

    @cached_property
    def function(self) -> isl.MultiUnionPwAff:
        """The argument as a function of the instances."""
        pieces = [isl.UnionPwAff.from_pw_aff(isl.PwAff.from_aff(a)) for a in self.inside.values()]
        result = pieces[0]
        for piece in pieces[1:]:
            result = result.union_add(piece)
        return isl.MultiUnionPwAff.from_union_pw_aff(result)

    def holds(self, other: FloorTerm) -> bool:
        """Tell whether `other` has the same argument for all of its statements."""
        return all(
            name in self.inside and self.inside[name].sub(aff).plain_is_zero()
            for name, aff in other.inside.items()
        )


def floor_terms(pieces: Iterable[isl.PwAff]) -> tuple[FloorTerm, ...] | None:
    """Return the terms of a loop, or None; a loop without floors is one term.

    `pieces` are its functions, one for each statement.
    """
    split: dict[str, list[tuple[isl.Aff, int, int]]] = {}
    for piece in pieces:
        found = _split(piece)
        if found is None:
            return None
        split[piece.get_domain_space().get_tuple_name(isl.dim_type.set)] = found
    shapes = {tuple((size, factor) for _, size, factor in parts) for parts in split.values()}
    if len(shapes) != 1:
        return None
    return tuple(
        FloorTerm({name: parts[number][0] for name, parts in split.items()}, size)
        for number, (size, _) in enumerate(shapes.pop())
    )


def _split(piece: isl.PwAff) -> list[tuple[isl.Aff, int, int]] | None:
    """Return (argument, size, coefficient) of the terms of one statement's function."""
    if piece.n_piece() != 1:
        return None
    (whole,) = pieces_of(piece)
    rest = whole
    if not rest.get_denominator_val().is_one():
        return None
    parts = []
    for number in range(rest.dim(_DIV)):
        factor = whole.get_coefficient_val(_DIV, number)
        rest = rest.set_coefficient_val(_DIV, number, isl.Val(0))
        if factor.is_zero():
            continue
        if not factor.is_nonneg():
            return None
        inside = whole.get_div(number)
        size = inside.get_denominator_val()
        parts.append((inside.scale_val(size), int(size.to_python()), int(factor.to_python())))
    if parts and rest.plain_is_zero():
        return parts
    return [(rest, 0, 1), *parts]
