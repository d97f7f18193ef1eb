"""Rfactor: give each iteration of a loop a partial result of a reduction, combined after the loop.

In: a reduction, a loop.  Out: partial results that start at the operator's identity, the reduction
into them, their combination in the loop's order.
Refuses: a statement that is not a reassociable reduction; an element that other statements access
in the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.ir.affine import coalesced, index_box, index_map, set_space
from polyopt.ir.expr import Const, Iter, Load
from polyopt.ir.extremum import Update, chosen
from polyopt.ir.identity import identity, is_exact
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Origin, Reduction, Scop, Statement
from polyopt.ir.showing import show
from polyopt.schedule.data import ValueWitness
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.tree import LoopRef, Tree
from polyopt.schedule.witness import smallest_pair
from polyopt.transforms.accesses import touching
from polyopt.transforms.local import Local, region_loop_names
from polyopt.transforms.reference import loop
from polyopt.transforms.region import (
    NewNest,
    Region,
    enter,
    loop_nest,
    place_nests,
    place_nests_around,
)
from polyopt.transforms.written import Written

_SUM = "write the reduction as `np.sum`, `@` or `+=` on an array of its own"


@dataclass(frozen=True, slots=True)
class Rfactor(DataStep, Written):
    """Split the reduction `statement` over `loop` (Suriana, Adams, Kamil, "Parallel associative
    reductions in Halide", 2017).

    Extrema that are written as choices, such as `max(top, x)`, have choices of partial results.
    The partial results are called `c_part`; after the step no iteration of the loop needs another.
    """

    statement: str
    loop: str

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program.

        Raises `ScheduleError` PO0301, PO0302, PO0332, PO0333, `IllegalSchedule` PO0333.
        """
        reduction, start = self._reduction(scop)
        ref = loop(tree, self.loop, str(self))
        region = enter(scop, tree, ref, (self.statement,))
        if not region.values:
            raise self._refused(f"{self.statement} is not inside the loop")
        (name,) = region.values
        self._check_alone(region, name)
        source = scop.array(reduction.target.array)
        local = Local.of(region, source, f"{source.name}_part", str(self))
        partial = local.redirected()
        before = _start(local, name, start, f"{source.name}_start")
        after = _combination(local, name, reduction, f"{source.name}_join")
        inner = place_nests(
            replace(region, scop=partial), (_nest(region, before, len(region.loops)),), ()
        )
        first = len(region.loops) - 1
        joined = replace(partial, statements=(*partial.statements, before))
        outer = replace(region, scop=joined, tree=inner)
        placed = place_nests_around(outer, (), (_nest(outer, after, first),))
        new = replace(partial, statements=(before, *partial.statements, after))
        copies = frozenset((before.name, after.name))
        verified = frozenset((source.name, local.array.name))
        return RewrittenProgram(new, placed, region.same, copies, verified)

    def _reduction(self, scop: Scop) -> tuple[Statement, Const]:
        """Return the statement and its operator's identity; raises `ScheduleError` PO0333."""
        known = [s for s in scop.statements if s.name == self.statement]
        if not known:
            names = ", ".join(s.name for s in scop.statements if s.reduction is not None)
            raise ScheduleError(
                "PO0333",
                f"{self}: there is no statement `{self.statement}`",
                hint=f"reductions: {names or 'none'}",
            )
        statement = known[0]
        if statement.reduction is None:
            raise self._refused("it does not update its target by an operator", statement)
        op, dtype = statement.reduction.op, statement.target.dtype
        start = identity(op, dtype)
        if start is None:
            raise self._refused(f"`{op.value}` of {dtype} cannot be split", statement)
        is_join = statement.origin is not None and not statement.origin.statement
        if not (statement.reduction.reassociable or is_exact(op, dtype) or is_join):
            raise self._refused(
                f"the source fixes the order of `{op.value}` of {dtype}, and it can be seen in the "
                "last bits",
                statement,
                'compile it with fp="reassociate", or write it as `np.sum` or `@`',
            )
        if not statement.write.exact:
            raise self._refused("its target is found while the kernel runs", statement)
        own = [a.index for a in statement.reads if a.array == statement.target.array]
        count = 2 if chosen(statement.value, statement.target) is op else 1
        if own != [statement.target.index] * count:
            raise self._refused(f"it reads {statement.target.array} elsewhere, too", statement)
        return statement, start

    def _refused(
        self, reason: str, statement: Statement | None = None, hint: str = _SUM
    ) -> ScheduleError:
        loc = None if statement is None else statement.loc
        return ScheduleError("PO0333", f"{self}: {reason}", loc=loc, hint=hint)

    def _check_alone(self, region: Region, name: str) -> None:
        """Check that no other statement in the loop accesses the reduction's elements.

        For equal loops around, the partial results are combined only after the loop.
        """
        scop = region.scop
        statement = scop.statement(name)
        array = statement.target.array
        touched = _cells(region, name, statement.write.relation)
        users = [other for other in touching(scop, array) if other != name]
        others = enter(scop, region.tree, LoopRef(region.label, region.position), users)
        for other in others.values:
            user = others.scop.statement(other)
            for access in (user.write, *user.reads):
                if access.array != array:
                    continue
                here = _cells(others, other, access.relation)
                both = touched.apply_range(here.reverse())
                if not both.is_empty():
                    raise self._conflict(statement, user, array, both, others.scop)

    def _conflict(
        self, statement: Statement, user: Statement, array: str, both: isl.Map, scop: Scop
    ) -> IllegalSchedule:
        params, first, second = smallest_pair(both, scop)
        env = ", ".join(f"{n}={v}" for n, v in params.items())
        one = _iteration(statement, first)
        two = _iteration(user, second)
        witness = ValueWitness(
            array, (user.name, second), None, (statement.name, first), None, tuple(params.items())
        )
        return IllegalSchedule(
            "PO0333",
            f"{self} is not legal: {user.name} uses {array} inside the loop",
            witness=witness,
            loc=user.loc,
            notes=(f"example: {env}: {one} updates an element that {two} uses",),
            hint="split a loop further inside, or distribute the loop first",
        )


def _iteration(statement: Statement, point: tuple[int, ...]) -> str:
    values = ", ".join(f"{n}={v}" for n, v in zip(statement.iters, point, strict=True))
    return f"iteration ({values}) of {statement.name}" if values else statement.name


def _cells(region: Region, name: str, relation: isl.Map) -> isl.Map:
    """Return { instance -> [loops around the region's loop, element's subscripts] }."""
    outer = region.map_loops(name)
    count = outer.dim(isl.dim_type.out)
    outer = outer.project_out(isl.dim_type.out, count - 1, 1)
    own = relation.intersect_params(region.scop.context)
    return outer.flat_range_product(own.reset_tuple_id(isl.dim_type.out))


def _nest(region: Region, statement: Statement, first: int) -> NewNest:
    tree = loop_nest(region.tree, statement.name, statement, first, statement.iters[first:])
    return NewNest((statement,), tree)


def _start(local: Local, name: str, start: Const, wish: str) -> Statement:
    """Return the statement that sets the partial results of an iteration to the identity."""
    made = _element(local, name, wish, "")
    return replace(made, value=start, text=f"{show(made.target)} = {show(start)}")


def _combination(local: Local, name: str, reduction: Statement, wish: str) -> Statement:
    """Return the statement that adds the partial results to the target, in the loop's order."""
    made = _element(local, name, wish, "_join")
    assert reduction.reduction is not None
    target = made.value
    assert isinstance(target, Load)
    assert isinstance(reduction.target, Load)
    is_choice = chosen(reduction.value, reduction.target) is not None
    value = Update(reduction.reduction.op, made.target, is_choice).of(target, made.target)
    text = f"{show(target)} = {show(value)}"
    rule = Reduction(reduction.reduction.op, False)
    return replace(made, target=target, value=value, text=text, reduction=rule)


def _simple(domain: isl.Set, position: int, touched: Sequence[tuple[isl.Map, isl.Set]]) -> isl.Set:
    """Return a domain with the same iterations around loop `position`, without its divisions.

    The partial result of an iteration without terms stays at the identity.  Where such iterations
    would touch elements outside of an array, the domain stays as it is; `touched` are the accesses
    with the elements that there are.
    """
    dim = isl.dim_type.set
    around = domain.project_out(dim, position, 1).insert_dims(dim, position, 1)
    around = around.set_tuple_name(domain.get_tuple_name())
    simple = coalesced(domain.remove_divs().intersect(around))
    added = simple.subtract(domain)
    return simple if all(added.apply(at).is_subset(whole) for at, whole in touched) else domain


def _element(local: Local, name: str, wish: str, last: str) -> Statement:
    """Return a statement over the loops and the box: partial result = element of the target.

    The region's own loop is called with `last` behind its name.
    """
    region, scop = local.region, local.region.scop
    *outer, inner = region_loop_names(region)
    loops = (*outer, fresh_name(f"{inner}{last}", (*outer, *scop.params)))
    elements, index = local.elements(loops)
    names = (*loops, *elements)
    here = tuple(map(Iter, loops))
    own = fresh_name(wish, (s.name for s in scop.statements))
    universe = isl.Set.universe(set_space(scop.params, own, names))
    place_of = index_map(universe, "", (*here, *index)).reset_tuple_id(isl.dim_type.out)
    whole = region.map_loops(name).flat_range_product(
        scop.statement(name)
        .write.relation.intersect_params(scop.context)
        .reset_tuple_id(isl.dim_type.out)
    )
    domain = coalesced(place_of.intersect_range(whole.range()).domain())
    target = Load(local.source.name, index, local.source.dtype)
    cell = local.cell(here, index)
    if any(part.dim(isl.dim_type.div) for part in domain.get_basic_sets()):
        params = local.region.scop.params
        touched = [
            (index_map(universe, at.array, at.index), index_box(at.array, array.shape, params))
            for at, array in ((target, local.source), (cell, local.array))
        ]
        domain = _simple(domain, len(outer), touched)
    origin = Origin("")
    return Statement(own, names, domain, (), cell, target, None, "", origin=origin)
