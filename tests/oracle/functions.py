"""Piecewise functions of instances, evaluated in plain Python from isl's coefficients.

In: an isl union of piecewise functions.  Out: its value at an instance and sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from tests.oracle.domains import Piece, Point, holds, pieces_of

PARAM, IN, DIV = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.div


@dataclass(frozen=True, slots=True)
class Line:
    """`(constant + params + values + floors) / denominator`; a floor may use those before it."""

    constant: int
    params: tuple[tuple[str, int], ...]
    values: tuple[tuple[int, int], ...]
    floors: tuple[tuple[int, int], ...]
    denominator: int

    def numerator(self, point: Point, params: Mapping[str, int], floors: list[int]) -> int:
        total = self.constant
        for name, factor in self.params:
            total += factor * params[name]
        for position, factor in self.values:
            total += factor * point[position]
        for position, factor in self.floors:
            total += factor * floors[position]
        return total


@dataclass(frozen=True, slots=True)
class Arm:
    """One piece: where it holds, its floors in order, its value."""

    domain: tuple[Piece, ...]
    floors: tuple[Line, ...]
    line: Line


@dataclass(frozen=True, slots=True)
class Function:
    """A piecewise function of one statement's instances."""

    arms: tuple[Arm, ...]

    def at(self, point: Point, params: Mapping[str, int]) -> int:
        """Return the value at `point`; asserts that there is one, and an integer."""
        for arm in self.arms:
            if len(self.arms) == 1 or holds(arm.domain, point, params):
                floors: list[int] = []
                for line in arm.floors:
                    floors.append(line.numerator(point, params, floors) // line.denominator)
                total = arm.line.numerator(point, params, floors)
                assert total % arm.line.denominator == 0, (arm, point, params)
                return total // arm.line.denominator
        raise AssertionError(f"a loop has no value at {point}, {dict(params)}")


def functions_of(value: isl.UnionPwAff) -> dict[str, Function]:
    """Return the function of every statement."""
    found: list[isl.PwAff] = []
    value.foreach_pw_aff(found.append)
    return {_name(f): Function(_arms(f)) for f in found}


def _arms(value: isl.PwAff) -> tuple[Arm, ...]:
    found: list[tuple[isl.Set, isl.Aff]] = []
    value.foreach_piece(lambda domain, aff: found.append((domain, aff)))
    return tuple(
        Arm(
            pieces_of(domain),
            tuple(_line(aff.get_div(n), n) for n in range(aff.dim(DIV))),
            _line(aff, aff.dim(DIV)),
        )
        for domain, aff in found
    )


def _line(aff: isl.Aff, floors: int) -> Line:
    """Return the coefficients of `aff`, which uses the first `floors` floors."""
    denominator = int(aff.get_denominator_val().to_python())

    def scaled(value: isl.Val) -> int:
        return int(value.mul(isl.Val(denominator)).to_python())

    counts = {kind: min(aff.dim(kind), floors) if kind == DIV else aff.dim(kind) for kind in _KINDS}
    factors = {
        kind: [scaled(aff.get_coefficient_val(kind, n)) for n in range(count)]
        for kind, count in counts.items()
    }
    names = [str(aff.get_dim_name(PARAM, n)) for n in range(counts[PARAM])]
    return Line(
        scaled(aff.get_constant_val()),
        tuple((name, f) for name, f in zip(names, factors[PARAM], strict=True) if f),
        tuple((n, f) for n, f in enumerate(factors[IN]) if f),
        tuple((n, f) for n, f in enumerate(factors[DIV]) if f),
        denominator,
    )


_KINDS = (PARAM, IN, DIV)


def _name(value: isl.PwAff) -> str:
    return str(value.get_domain_space().get_tuple_name(isl.dim_type.set))
