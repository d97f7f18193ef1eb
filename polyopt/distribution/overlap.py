"""Phases in two parts: what runs while messages are on their way, and what waits for them.

In: a phase, what it receives.  Out: the instances of both parts; none where a dependence connects
them the wrong way.
"""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.distribution.exchange import Exchange
from polyopt.distribution.forms import Form
from polyopt.distribution.phases import Phases
from polyopt.distribution.placement import Rule
from polyopt.ir.affine import coalesced
from polyopt.schedule.dependences import dependences_of

Domains = Mapping[str, isl.Set]


@dataclass(frozen=True, eq=False)
class Split:
    """The instances that read nothing that arrives, and the others, by statement."""

    inner: Domains
    outer: Domains


def split(phases: Phases, exchange: Exchange) -> Split | None:
    """Return the parts of a phase between halo exchanges, None where it runs as a whole.

    Phases that run once are not worth a second kernel.  The inner part runs first: no instance of
    it may depend on one of the outer part.
    """
    phase, placement = exchange.phase, phases.placement
    early = [t for t in exchange.transfers if not t.late]
    own = all(placement.rules[name] is Rule.OWNER for name in phase.statements)
    if not (early and own and phase.depth and not phase.after and not exchange.combinations):
        return None
    if any(transfer.form is not Form.HALO for transfer in early):
        return None
    outer = {name: _reading(phases, name) for name in phase.statements}
    inner = {
        name: coalesced(placement.domains[name].subtract(outer[name])) for name in phase.statements
    }
    found = Split(inner, outer)
    return found if is_legal(phases, exchange, found) else None


def _reading(phases: Phases, name: str) -> isl.Set:
    """Return the instances that read elements that this rank does not own."""
    placement, own = phases.placement, phases.placement.own
    statement, domain = phases.scop.statement(name), phases.placement.domains[name]
    found = domain.subtract(domain)
    for access in statement.reads:
        if access.array in own.cuts:
            owned = own.owned(phases.scop.array(access.array))
            relation = placement.relation(access).intersect_domain(domain)
            found = found.union(relation.subtract_range(owned).domain())
    return coalesced(found)


def is_legal(phases: Phases, exchange: Exchange, parts: Split) -> bool:
    """Tell whether the parts are the phase, and the first needs neither messages nor the other."""
    phase, space = exchange.phase, phases.placement.own.context.get_space()
    for name in phase.statements:
        whole = parts.inner[name].union(parts.outer[name])
        if not whole.is_equal(phases.placement.domains[name]):
            return False
        if not parts.inner[name].is_disjoint(parts.outer[name]):
            return False
        if not parts.inner[name].is_disjoint(_reading(phases, name)):
            return False
    for one in dependences_of(phases.scop).among(phase.statements):
        pairs = isl.Map.align_params(one.relation, space)
        pairs = pairs.intersect_domain(parts.outer[one.source])
        pairs = pairs.intersect_range(parts.inner[one.target])
        around = [
            phases.around(phases.scop.statement(n), phase.depth) for n in (one.source, one.target)
        ]
        if not pairs.intersect(around[0].apply_range(around[1].reverse())).is_empty():
            return False
    return True
