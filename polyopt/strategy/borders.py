"""Find the iterations of a loop over results whose sums have all terms.

In: a loop and its statement.  Out: the bounds of these iterations, as sums of sizes.
Finds none where a bound relates no terms to the loop, or is not such a sum.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.scop import Scop, Statement
from polyopt.schedule.isl_bridge import coefficients
from polyopt.schedule.schedule import Transform
from polyopt.schedule.tree import BandMember, statement_function
from polyopt.transforms import parse_steps

Sum = dict[str, int]
"""Factors of sizes; the constant is that of the empty name."""


@dataclass(frozen=True, slots=True)
class Borders:
    """The first iteration with all terms, and the first one after them; None for no such border."""

    begin: str | None = None
    end: str | None = None

    def __bool__(self) -> bool:
        return self.begin is not None or self.end is not None

    def split(self, band: str) -> tuple[list[Transform], str, list[str]]:
        """Return steps that split a band's first loop, the band with all terms, the others."""
        steps: list[Transform] = []
        edges: list[str] = []
        if self.begin is not None:
            steps += parse_steps(f"split({band}[0], {self.begin})")
            edges.append(f"{band}.low")
            band = f"{band}.high"
        if self.end is not None:
            steps += parse_steps(f"split({band}[0], {self.end})")
            edges.append(f"{band}.high")
            band = f"{band}.low"
        return steps, band, edges


def borders_of(member: BandMember, scop: Scop, statement: Statement) -> Borders:
    """Return the borders of a loop over one of the statement's iterators."""
    place = _iterator(member, scop, statement)
    pieces = statement.domain.get_basic_sets()
    if place is None or len(pieces) != 1:
        return Borders()
    bounds = [c for c in pieces[0].get_constraints() if not c.is_equality()]
    begin: str | None = None
    end: str | None = None
    for bound in bounds:
        factors = _factors(bound)
        factor = factors.pop(place, 0)
        if not factor or not factors or _involves_division(bound):
            continue
        rest = _least(factors, _sizes(bound), bounds)
        if rest is None:
            continue
        if factor > 0:
            rest[""] = rest.get("", 0) - factor + 1
            begin = begin or _text(rest, -1, factor)
        else:
            end = end or f"{_text(rest, 1, -factor)} + 1"
    return Borders(begin, end)


def _iterator(member: BandMember, scop: Scop, statement: Statement) -> int | None:
    """Return the statement's iterator that the loop runs over."""
    rule = coefficients(member, scop, statement.name)
    moved = [place for place, name in enumerate(statement.iters) if rule[name]]
    if len(moved) != 1 or rule[statement.iters[moved[0]]] != 1:
        return None
    function = statement_function(member, scop, statement.name)
    space = isl.LocalSpace.from_space(function.get_domain_space())
    same = isl.Aff.var_on_domain(space, isl.dim_type.set, moved[0])
    differ = function.ne_set(isl.PwAff.from_aff(same)).intersect(statement.domain)
    return moved[0] if differ.is_empty() else None


def _least(factors: dict[int, int], rest: Sum, bounds: list[isl.Constraint]) -> Sum | None:
    """Return the least value of a bound's other part, from the bounds of each loop."""
    total = dict(rest)
    for place, factor in factors.items():
        for bound in bounds:
            alone = _factors(bound)
            step = alone.pop(place, 0)
            if alone or step != (1 if factor > 0 else -1) or _involves_division(bound):
                continue
            for name, amount in _sizes(bound).items():
                total[name] = total.get(name, 0) - abs(factor) * amount
            break
        else:
            return None
    return total


def _factors(bound: isl.Constraint) -> dict[int, int]:
    count = bound.get_space().dim(isl.dim_type.set)
    found = {
        p: int(bound.get_coefficient_val(isl.dim_type.set, p).to_python()) for p in range(count)
    }
    return {place: factor for place, factor in found.items() if factor}


def _sizes(bound: isl.Constraint) -> Sum:
    space = bound.get_space()
    found = {"": int(bound.get_constant_val().to_python())}
    for place in range(space.dim(isl.dim_type.param)):
        factor = int(bound.get_coefficient_val(isl.dim_type.param, place).to_python())
        name = space.get_dim_name(isl.dim_type.param, place)
        if factor and name is not None:
            found[name] = factor
    return found


def _involves_division(bound: isl.Constraint) -> bool:
    return bool(bound.get_local_space().dim(isl.dim_type.div))


def _text(amount: Sum, sign: int, parts: int) -> str:
    terms = [f"{sign * factor}*{name}" for name, factor in amount.items() if name]
    constant = sign * amount.get("", 0)
    if not terms:
        return str(constant // parts)
    total = " + ".join([*terms, str(constant)])
    return total if parts == 1 else f"({total})//{parts}"
