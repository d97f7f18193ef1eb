"""How much crosses ranks: formulas in the sizes and the number of ranks.

In: a plan.  Out: for each transfer the messages and bytes of one call, all ranks together.
A formula is for blocks that are twice as long as halos are wide: it counts the pieces of a set of
affine extents, and the pairs of ranks that they are for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import islpy as isl
import sympy

from polyopt.dataclass import dataclass
from polyopt.distribution.exchange import Exchange, Transfer
from polyopt.distribution.execution import Plan
from polyopt.distribution.forms import Form
from polyopt.distribution.mesh import Sign, block
from polyopt.distribution.ownership import Blocks
from polyopt.distribution.phases import Phase
from polyopt.distribution.placement import Scanned
from polyopt.ir.affine import coalesced, pw_aff
from polyopt.ir.expr import Expr
from polyopt.ir.parameters import param_aff, with_free_params, without_params

RANKS = sympy.Symbol("P", integer=True, positive=True)
"""The number of ranks."""


@dataclass(frozen=True, slots=True)
class Volume:
    """What one call moves for an array before (or after) a phase; None: no formula was found."""

    array: str
    form: str
    phase: Phase
    messages: sympy.Expr | None
    bytes: sympy.Expr | None


def volumes(plan: Plan) -> tuple[Volume, ...]:
    """Return the volume of each exchange and each combination of partial results, in order."""
    return tuple(v for exchange in plan.listed for v in _of_exchange(plan, exchange))


def total(plan: Plan) -> sympy.Expr | None:
    """Return the bytes of one call, all ranks together; None if a part has no formula."""
    whole = sympy.Integer(0)
    for volume in volumes(plan):
        if volume.bytes is None:
            return None
        whole += volume.bytes
    return sympy.factor(sympy.expand(whole))


def _of_exchange(plan: Plan, exchange: Exchange) -> Iterator[Volume]:
    scop = plan.exchanges.own.scop
    for transfer in exchange.transfers:
        size = scop.array(transfer.array).dtype.size
        counts = [
            None
            if plan.exchanges.own.is_cyclic
            else _crossing(plan, _of_long_blocks(plan, transfer, one, sign), sign)
            for sign, one in transfer.received.items()
        ]
        form = "pipeline" if transfer.late else transfer.form.value
        messages = elements = None
        if all(count is not None for count in counts):
            messages = _sum(count[0] for count in counts if count is not None)
            elements = _sum(count[1] for count in counts if count is not None) * size
        if transfer.form is Form.BROADCAST:
            messages, elements = _of_broadcast(plan, transfer, size)
        if transfer.form is Form.ALL_TO_ALL:
            messages, elements = _of_all_to_all(plan, transfer, size)
        yield Volume(transfer.array, form, exchange.phase, messages, elements)
    for one in exchange.combinations:
        array = scop.array(one.array)
        places = _places(plan, exchange.phase)
        count = places
        if one.scan is not None:
            count = _of_slabs(plan, one.scan)
        elif count is not None:
            for extent in array.shape:
                count *= _number(plan, extent)
        if count is not None:
            count *= (RANKS if one.form is Form.ALL_REDUCE else RANKS - 1) * array.dtype.size
        yield Volume(one.array, one.form.value, exchange.phase, places, count)


class kept(sympy.Function):  # type: ignore[misc]  # noqa: N801 - as it is printed
    """`kept(n, m, P)`: pairs of indices of two axes that lie on one of P ranks.

    They are n*m/P if P divides n and m.
    """

    @classmethod
    def eval(cls, n: sympy.Expr, m: sympy.Expr, ranks: sympy.Expr) -> sympy.Expr | None:
        """Return the number for numbers."""
        if not (n.is_Integer and m.is_Integer and ranks.is_Integer):
            return None
        parts = range(int(ranks))
        lengths = ((block(int(e), len(parts), part) for e in (n, m)) for part in parts)
        return sympy.Integer(sum((b - a) * (d - c) for (a, b), (c, d) in lengths))


def _of_all_to_all(
    plan: Plan, transfer: Transfer, size: int
) -> tuple[sympy.Expr | None, sympy.Expr | None]:
    """Return messages and bytes of an all-to-all, each rank having all blocks of any other one."""
    found = set()
    for one in transfer.received.values():
        whole = _with_places(plan, one)
        pieces = whole.make_disjoint().get_basic_sets()
        extents = _extents(isl.Set.from_basic_set(pieces[0])) if len(pieces) == 1 else None
        loops = whole.dim(isl.dim_type.set) - one.dim(isl.dim_type.set)
        pairs = None if extents is None else _all_pairs(plan, sympy.prod(extents))
        if extents is None or pairs is None:
            return None, None
        found.add((sympy.prod(extents[:loops]) * RANKS * (RANKS - 1), pairs))
    if len(found) != 1:
        return None, None
    ((messages, elements),) = found
    return messages, _sum(iter([elements * size]))


def _all_pairs(plan: Plan, count: sympy.Expr) -> sympy.Expr | None:
    """Return the sum over all pairs of ranks of a number of elements, by their blocks' lengths."""
    names = {name for b in plan.exchanges.own.blocks for name in b.names}
    extents = []
    for low, high in (("low", "high"), ("other_low", "other_high")):
        for b in plan.exchanges.own.blocks:
            ends = [sympy.Symbol(getattr(b, word), integer=True) for word in (high, low)]
            rest = sympy.cancel(count / (ends[0] - ends[1]))
            if not rest.free_symbols & set(ends) and count.free_symbols & set(ends):
                count = rest
                extents.append(_number(plan, b.extent))
                break
    if {s.name for s in count.free_symbols} & names:
        return None
    match extents:
        case [n, m]:
            return count * (n * m - kept(n, m, RANKS))
        case [n]:
            return count * n * (RANKS - 1)
        case _:
            return count * RANKS * (RANKS - 1)


def _of_slabs(plan: Plan, scan: Scanned) -> sympy.Expr | None:
    """Return the elements that a rank has last along the axis of a scan, for all places."""
    whole = scan.written.project_out(isl.dim_type.set, scan.axis, 1)
    pieces = _with_places(plan, whole).make_disjoint().get_basic_sets()
    extents = _extents(isl.Set.from_basic_set(pieces[0])) if len(pieces) == 1 else None
    return None if extents is None else sympy.prod(extents)


def _of_long_blocks(plan: Plan, transfer: Transfer, one: isl.Set, sign: Sign) -> isl.Set:
    """Return the elements of a halo where blocks are twice as long as it is wide.

    Then they are those of the next rank: a rank further away lies behind a whole block.
    """
    value = partial(param_aff, space=one.get_space())
    for cut, widths in zip(plan.exchanges.own.cuts[transfer.array], transfer.halo, strict=False):
        b = cut.blocks
        for low, high in ((b.low, b.high), (b.other_low, b.other_high)):
            length = value(high).sub(value(low)).add_constant_val(isl.Val(-2 * max(widths)))
            one = one.add_constraint(isl.Constraint.inequality_from_aff(length))
        ends = {-1: (b.other_high, b.low), 1: (b.high, b.other_low)}
        if sign[b.mesh_axis] in ends:
            first, second = map(value, ends[sign[b.mesh_axis]])
            one = one.add_constraint(isl.Constraint.equality_from_aff(first.sub(second)))
    return coalesced(one)


def _sum(parts: Iterator[sympy.Expr]) -> sympy.Expr:
    return sympy.factor(sympy.expand(sum(parts, sympy.Integer(0))))


def _number(plan: Plan, expr: Expr) -> sympy.Expr:
    space = plan.exchanges.own.context.get_space()
    found = _affine(pw_aff(expr, space))
    assert found is not None
    return found


def _affine(value: isl.PwAff) -> sympy.Expr | None:
    """Return a function of parameters without pieces and floors."""
    pieces = value.get_pieces()
    if len(pieces) != 1:
        return None
    aff = pieces[0][1]
    if aff.dim(isl.dim_type.div) or aff.get_denominator_val().to_python() != 1:
        return None
    found = sympy.Integer(int(aff.get_constant_val().to_python()))
    for position in range(aff.dim(isl.dim_type.param)):
        factor = int(aff.get_coefficient_val(isl.dim_type.param, position).to_python())
        name = aff.get_dim_name(isl.dim_type.param, position)
        found += factor * sympy.Symbol(name, integer=True)
    return found


def _with_places(plan: Plan, elements: isl.Set) -> isl.Set:
    """Return the elements with the places of loops as first dimensions."""
    for name in reversed(plan.exchanges.phases.params):
        position = elements.find_dim_by_name(isl.dim_type.param, name)
        if position < 0:
            continue
        elements = elements.insert_dims(isl.dim_type.set, 0, 1).reset_tuple_id()
        elements = elements.equate(isl.dim_type.param, position, isl.dim_type.set, 0)
        elements = elements.project_out(isl.dim_type.param, position, 1)
    return elements


def _extents(piece: isl.Set) -> list[sympy.Expr] | None:
    """Return the extents of a box, whatever the parameters are; None for other sets."""
    found = []
    box = isl.Set.universe(piece.get_space()).intersect_params(piece.params())
    for dim in range(piece.dim(isl.dim_type.set)):
        low, high = piece.dim_min(dim), piece.dim_max(dim)
        least, most = _affine(low), _affine(high)
        if least is None or most is None:
            return None
        found.append(most - least + 1)
        rest = piece.dim(isl.dim_type.set) - dim - 1
        side = piece.project_out(isl.dim_type.set, dim + 1, rest)
        side = side.project_out(isl.dim_type.set, 0, dim).reset_tuple_id()
        side = side.insert_dims(isl.dim_type.set, 1, rest).insert_dims(isl.dim_type.set, 0, dim)
        if piece.has_tuple_id():
            side = side.set_tuple_id(piece.get_tuple_id())
        box = box.intersect(side)
    return found if box.is_subset(piece) else None


def _crossing(plan: Plan, received: isl.Set, sign: Sign) -> tuple[sympy.Expr, sympy.Expr] | None:
    """Return messages and elements of all pairs of ranks that lie so."""
    if len(sign) > 1:
        return None
    messages = elements = sympy.Integer(0)
    whole = _with_places(plan, received)
    loops = whole.dim(isl.dim_type.set) - received.dim(isl.dim_type.set)
    for piece in map(isl.Set.from_basic_set, whole.make_disjoint().get_basic_sets()):
        if _is_corner(plan, piece):
            continue
        extents = _extents(piece)
        if extents is None:
            return None
        count = sympy.prod(extents)
        pairs = _pairs(plan, piece, count)
        if pairs is None:
            return None
        adjacent, summed = pairs
        messages += sympy.prod(extents[:loops]) * adjacent
        elements += summed
    return messages, elements


def _is_corner(plan: Plan, piece: isl.Set) -> bool:
    """Tell whether a piece is for blocks of one certain length or place."""
    params = piece.params()
    for b in plan.exchanges.own.blocks:
        for name in b.names:
            position = params.find_dim_by_name(isl.dim_type.param, name)
            others = with_free_params(params, [other for other in b.names if other != name])
            line = isl.Map.from_range(
                others.insert_dims(isl.dim_type.set, 0, 1)
                .equate(isl.dim_type.param, position, isl.dim_type.set, 0)
                .project_out(isl.dim_type.param, position, 1)
            )  # fmt: skip
            if line.is_single_valued() and not _is_first(params, name):
                return True
    return False


def _is_first(params: isl.Set, name: str) -> bool:
    """Tell whether a block begins at index 0: that of the first rank, however long."""
    position = params.find_dim_by_name(isl.dim_type.param, name)
    zero = isl.Set.universe(params.get_space()).fix_val(isl.dim_type.param, position, isl.Val(0))
    return name.startswith(("low", "other_low")) and bool(params.is_subset(zero))


def _pairs(plan: Plan, piece: isl.Set, count: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr] | None:
    """Return the number of pairs of ranks that a piece is for, and its elements of all of them."""
    params = piece.params()
    if any(_is_first(params, name) for b in plan.exchanges.own.blocks for name in b.names):
        return None
    adjacent = any(_are_adjacent(params, b) for b in plan.exchanges.own.blocks)
    pairs = RANKS - 1 if adjacent else RANKS * (RANKS - 1) / 2
    names = {name for b in plan.exchanges.own.blocks for name in b.names}
    mentioned = {s.name for s in count.free_symbols} & names
    if not mentioned:
        return pairs, sympy.expand(count * pairs)
    for b in plan.exchanges.own.blocks:
        length = sympy.Symbol(b.other_high, integer=True) - sympy.Symbol(b.other_low, integer=True)
        rest = sympy.cancel(count / length)
        if mentioned <= set(b.names) and not {s.name for s in rest.free_symbols} & names:
            mean = _number(plan, b.extent) / RANKS
            return pairs, sympy.expand(rest * mean * pairs)
    return None


def _are_adjacent(params: isl.Set, b: Blocks) -> bool:
    """Tell whether the other block ends where this one begins, or begins where it ends."""
    for one, two in ((b.low, b.other_high), (b.high, b.other_low)):
        space = params.get_space()
        if params.is_subset(param_aff(one, space).eq_set(param_aff(two, space))):
            return True
    return False


def _places(plan: Plan, phase: Phase) -> sympy.Expr | None:
    """Return how often a phase runs."""
    phases = plan.exchanges.phases
    statement = phases.scop.statement(phase.statements[0])
    places = phases.around(statement, phase.depth).range()
    extents: list[sympy.Expr] | None = []
    if phase.depth:
        pieces = places.make_disjoint().get_basic_sets()
        extents = _extents(isl.Set.from_basic_set(pieces[0])) if len(pieces) == 1 else None
    return None if extents is None else sympy.prod(extents)


def _of_broadcast(
    plan: Plan, transfer: Transfer, size: int
) -> tuple[sympy.Expr | None, sympy.Expr | None]:
    """Return messages and bytes of a broadcast: what one rank has goes to all others."""
    names = [name for b in plan.exchanges.own.blocks for name in b.names]
    one = next(iter(transfer.received.values()))
    one = without_params(one, names)
    whole = _with_places(plan, one)
    pieces = whole.make_disjoint().get_basic_sets()
    extents = _extents(isl.Set.from_basic_set(pieces[0])) if len(pieces) == 1 else None
    if extents is None:
        return None, None
    loops = whole.dim(isl.dim_type.set) - one.dim(isl.dim_type.set)
    count = sympy.prod(extents) * (RANKS - 1) * size
    return sympy.prod(extents[:loops]) * (RANKS - 1), count
