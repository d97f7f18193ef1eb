"""Blocks dealt to the ranks in turn: block v of a cyclic distribution belongs to rank v mod P.

In: a plan for ranks of one block each, the extents of a mesh.  Out: the plan of these ranks.
What is proven of two blocks holds for each two that two ranks have: a rank runs what the owners of
its blocks would, in the order of the source, and sends what they would.  Along an axis of the mesh
with such blocks, the first two parameters of blocks stand for the places of both ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import islpy as isl

from polyopt.dataclass import replace
from polyopt.distribution.exchange import Exchange, Transfer
from polyopt.distribution.execution import Plan
from polyopt.distribution.forms import for_any
from polyopt.distribution.mesh import Sign
from polyopt.distribution.ownership import Blocks, Ownership, all_of, between
from polyopt.errors import InternalError
from polyopt.ir.affine import coalesced, condition_set, index_box, param_space
from polyopt.ir.array import Array
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Param,
    add,
    integer,
    mul,
)
from polyopt.ir.names import fresh_name
from polyopt.ir.parameters import param_names, with_free_params, without_params
from polyopt.ir.types import DType


def on_mesh(plan: Plan, shape: Sequence[int]) -> Plan:
    """Return the plan of the ranks of a mesh; raises `InternalError` PO0856."""
    dealt = _Dealt(plan.exchanges.own, shape)
    placement = plan.exchanges.phases.placement
    dealt.require_owners()
    return replace(
        plan,
        listed=tuple(_exchange(dealt, exchange) for exchange in plan.listed),
        domains={name: dealt.mine(one) for name, one in placement.domains.items()},
        context=dealt.context,
    )


def _exchange(dealt: _Dealt, exchange: Exchange) -> Exchange:
    return replace(exchange, transfers=tuple(_transfer(dealt, t) for t in exchange.transfers))


def _transfer(dealt: _Dealt, transfer: Transfer) -> Transfer:
    return replace(
        transfer, received=dealt.between(transfer.received), sent=dealt.between(transfer.sent)
    )


class _Dealt:
    """Sets of one block, and of two, as those of ranks."""

    def __init__(self, own: Ownership, shape: Sequence[int]) -> None:
        self.own, self.shape = own, shape
        taken = list(own.params)
        self.turns = {}
        for axis in range(own.mesh_axes):
            self.turns[axis] = tuple(fresh_name(f"{w}{axis}", taken) for w in ("turn", "other"))
        self.cyclic = [b for b in own.blocks if b.size is not None]

    @property
    def context(self) -> isl.Set:
        """What is known of sizes, and of this rank's places and blocks."""
        space = param_space(self.own.params)
        found = isl.Set.align_params(self.own.scop.context, space)
        for b in self.own.blocks:
            low, high = Param(b.low), Param(b.high)
            known = between(integer(0), low, integer(self.shape[b.mesh_axis]))
            if b.size is None:
                ordered = between(integer(0), low, add(high, integer(1)))
                known = all_of([ordered, _compare(high, CompareOp.LE, b.extent)])
            found = found.intersect(condition_set(known, space))
        return found

    def _blocks(self, b: Blocks, other: bool) -> Iterator[tuple[str, Expr]]:
        """Yield the two ends of a block, and what they are of a rank's place and the turn."""
        assert b.size is not None
        place = Param(b.other_low if other else b.low)
        turn = Param(self.turns[b.mesh_axis][other])
        number = add(mul(turn, integer(self.shape[b.mesh_axis])), place)
        first = mul(number, integer(b.size))
        names = (b.other_low, b.other_high) if other else (b.low, b.high)
        for name, end in zip(names, (first, add(first, integer(b.size))), strict=True):
            yield name, Binary(BinaryOp.MIN, end, b.extent, DType.INT64)

    def _of_ranks(self, value: isl.Set, others: Sequence[bool]) -> isl.Set:
        """Return a set of blocks as one of the ranks that have them."""
        kept = param_names(value)
        new = {}
        for b in self.cyclic:
            for other in others:
                for name, end in self._blocks(b, other):
                    new[name] = (f"{name} of block", end)
        for name, (old, _) in new.items():
            position = value.find_dim_by_name(isl.dim_type.param, name)
            value = value.set_dim_name(isl.dim_type.param, position, old)
        turns = [turn for pair in self.turns.values() for turn in pair]
        names = (*kept, *(old for old, _ in new.values()), *turns)
        value = isl.Set.align_params(value, param_space(names))
        known = isl.Set.universe(param_space(names)).params()
        for old, end in new.values():
            known = known.intersect(condition_set(_equal(Param(old), end), known.get_space()))
        for b in self.cyclic:
            for other in others:
                last = integer(self.shape[b.mesh_axis])
                place = Param(b.other_low if other else b.low)
                one = all_of([
                    between(integer(0), place, last),
                    _compare(integer(0), CompareOp.LE, Param(self.turns[b.mesh_axis][other])),
                ])  # fmt: skip
                known = known.intersect(condition_set(one, known.get_space()))
        value = value.intersect_params(known)
        value = without_params(value, [name for name in names if name not in kept])
        return coalesced(isl.Set.align_params(value, param_space(kept)))

    def mine(self, value: isl.Set) -> isl.Set:
        """Return what a rank has of a set of one block."""
        others = [name for b in self.own.blocks for name in (b.other_low, b.other_high)]
        return self._of_ranks(with_free_params(value, others), (False,))

    def between(self, sets: Mapping[Sign, isl.Set]) -> dict[Sign, isl.Set]:
        """Return what crosses between two ranks, by how they lie, of what crosses between blocks.

        Ranks that lie one before the other have blocks that lie in both ways.
        """
        axes = {b.mesh_axis for b in self.cyclic}
        found: dict[Sign, isl.Set] = {}
        known = {sign: self._of_ranks(one, (False, True)) for sign, one in sets.items()}
        for ranks in self.own.signs:
            for sign, one in known.items():
                pairs = zip(sign, ranks, strict=True)
                if not all(
                    a == b or (at in axes and a * b == -1) or (at in axes and b == 0)
                    for at, (a, b) in enumerate(pairs)
                ):
                    continue
                one = one.intersect_params(self._lie(ranks))
                found[ranks] = found[ranks].union(one) if ranks in found else one
        return {sign: coalesced(one) for sign, one in found.items() if not one.is_empty()}

    def _lie(self, sign: Sign) -> isl.Set:
        """Return where ranks lie so along the axes whose blocks are dealt."""
        ops = {-1: CompareOp.LT, 0: CompareOp.EQ, 1: CompareOp.GT}
        found = isl.Set.universe(param_space(self.own.params)).params()
        for b in self.cyclic:
            one = _compare(Param(b.other_low), ops[sign[b.mesh_axis]], Param(b.low))
            found = found.intersect(condition_set(one, found.get_space()))
        return found

    def require_owners(self) -> None:
        """Prove that on this mesh each element has one owner."""
        for name in self.own.cuts:
            array = self.own.scop.array(name)
            mine = self.mine(self.own.owned(array).intersect_params(self.own.context))
            cuts = self.own.cuts[name]
            ends = [end for cut in cuts for end in (cut.blocks.low, cut.blocks.high)]
            whole = index_box(name, array.shape, self.own.params)
            whole = whole.intersect_params(
                isl.Set.align_params(self.own.scop.context, mine.get_space())
            )
            if not any(cut.shift for cut in cuts) and not whole.is_subset(for_any(mine, ends)):
                raise _unproven(array, "no owner")
            twice = mine.intersect(self.own.swapped(mine)).params()
            for b in self.cyclic:
                apart = _compare(Param(b.low), CompareOp.NE, Param(b.other_low))
                apart_set = condition_set(apart, twice.get_space())
                if not twice.intersect(apart_set).is_empty():
                    raise _unproven(array, "two owners")


def _compare(left: Expr, op: CompareOp, right: Expr) -> Expr:
    return Compare(op, left, right)


def _equal(left: Expr, right: Expr) -> Expr:
    return _compare(left, CompareOp.EQ, right)


def _unproven(array: Array, what: str) -> InternalError:
    return InternalError("PO0856", f"an element of `{array.name}` has {what}: not proven")
