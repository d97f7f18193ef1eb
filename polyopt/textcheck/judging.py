"""Verdicts on C text: accesses inside their arrays, parallel loops without races, no overflow.

In: text.  Out: a `Finding` for each claim of each function; refuted ones come with an example.
Claims: arrays do not overlap; every extent that is declared is positive, as C has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import TYPE_CHECKING

import islpy as isl

from polyopt.cregion.syntax import Unit, parse_unit
from polyopt.cregion.syntax import walk as parts_of
from polyopt.dataclass import dataclass, field
from polyopt.errors import BudgetError, Loc, PolyoptError, UsageError
from polyopt.ir.affine import (
    NotAffine,
    condition_set,
    index_map,
    pw_aff,
    quota,
    sample_point,
    set_space,
)
from polyopt.ir.expr import Compare, CompareOp, Expr, Iter, Param, integer, walk
from polyopt.report.findings import Finding, RelatedLocation, Verdict
from polyopt.textcheck.clauses import wrong_copies
from polyopt.textcheck.directives import hidden_in, unknown_in, without_cpp
from polyopt.textcheck.reading import definitions, functions_of
from polyopt.textcheck.scope import Access, Arithmetic, Function, Loop, LoopContext
from polyopt.textcheck.tokens import unsure, without_hints

if TYPE_CHECKING:
    from tree_sitter import Node

BUDGET = 20_000_000
"""isl operations of one claim."""
LARGE = (65_536, 2**31 - 1)
"""Sizes at which products are tried that are not affine."""
_DIM = isl.dim_type.set


def judge_text(text: str, file: str) -> tuple[Finding, ...]:
    """Return what holds of the functions of a C text; raises PO0628 where it is none, PO0523."""
    place = unsure(text)
    if place is not None:
        line = text.count("\n", 0, place) + 1
        what = f"`{file}`: a trigraph, a carriage return alone or blanks behind a backslash"
        raise _error("PO0628", what, Loc(file, line, 1, line, 1), hint=_BLANKS)
    unit = parse_unit(without_cpp(without_hints(text)).encode(), file)
    if unit.root.has_error:
        bad = next((n for n in parts_of(unit.root) if n.type == "ERROR" or n.is_missing), unit.root)
        raise _error("PO0628", f"`{file}` is not C that can be read", unit.loc(bad))
    names, unknown = definitions(unit.root), frozenset(unknown_in(unit.root))
    found = [
        one
        for function in functions_of(unit.root)
        for one in Judge(unit, function, names, unknown).findings()
    ]
    if not found:
        start = Loc(file, 1, 1, 1, 1)
        raise _error("PO0628", f"`{file}` has no function with a loop to judge", start)
    return tuple(found)


_HINTS = {
    "PO0625": "shorten the loop, or declare the array as long as it is used",
    "PO0626": "make the variable private, a reduction, or leave the loop to one thread",
    "PO0628": "what is judged: loops that count, subscripts that are sums of counters and sizes",
    "PO0629": "compute subscripts and counters in int64_t",
}


_COPIES = (
    "set a private variable first in each iteration, and a reduction's by its operator alone; "
    "lastprivate keeps the last value"
)
_BLANKS = "end lines by a line feed, write no `??` and nothing behind a backslash that ends a line"
_MACROS = "write out what macros stand for, or check what the preprocessor makes of the file"


def _error(code: str, message: str, loc: Loc, *notes: str, hint: str | None = None) -> UsageError:
    return UsageError(code, message, loc=loc, notes=notes, hint=hint or _HINTS[code])


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges one function."""

    unit: Unit
    function: Function
    functions: Mapping[str, Node]
    unknown: Set[str]
    domains: dict[int, isl.Set] = field(default_factory=dict)

    def findings(self) -> Iterator[Finding]:
        """Yield the verdicts: bounds, races, widths, and what was not read."""
        function = self.function
        hidden = hidden_in(function.node, self.functions, self.unknown)
        gaps = [self._gap(node, why) for node, why in function.unread]
        gaps += [self._gap(node, why, _MACROS) for node, why in hidden]
        loops = {id(loop): loop for access in function.accesses for loop in access.place.loops}
        gaps += [gap for loop in loops.values() for gap in self._copies(loop)]
        yield from gaps
        yield from self._claim("its accesses stay in their arrays", self._outside, not gaps)
        if any(loop.shared_out or loop.lanes for loop in loops.values()):
            yield from self._claim("its parallel loops have no race", self._races, not gaps)
        yield from self._claim("its index arithmetic fits its types", self._wide, not gaps)

    def _claim(
        self, claim: str, search: Callable[[], Iterator[Finding]], whole: bool
    ) -> Iterator[Finding]:
        found = list(search())
        yield from found
        if not found and whole:
            loc = self.unit.loc(self.function.node)
            short = Loc(loc.file, loc.line, loc.col, loc.line, loc.col)
            yield Finding(self.function.name, claim, Verdict.PROVEN, short)

    def _gap(self, node: Node, why: str, hint: str | None = None) -> Finding:
        error = _error("PO0628", f"{self.function.name}: {why}", self._loc(node), hint=hint)
        what = "all of it can be judged"
        return Finding(self.function.name, what, Verdict.OPEN, error.loc, error)

    def _loc(self, node: Node) -> Loc:
        return self.unit.loc(node)

    # -- sets -------------------------------------------------------------------------------

    def domain(self, place: LoopContext) -> isl.Set:
        """Return the iterations at a place, over the sizes that parameters can have."""
        known = self.domains.get(id(place))
        if known is None:
            known = self.domains[id(place)] = self._domain(place)
        return known

    def _domain(self, place: LoopContext) -> isl.Set:
        iters = [loop.iter for loop in place.loops]
        space = set_space(sorted(self.function.params), "", iters)
        conditions = [c for loop in place.loops for c in loop.conditions] + list(place.conditions)
        found = isl.Set.universe(space)
        for name, width in sorted(self.function.params.items()):
            conditions.append(Compare(CompareOp.GE, Param(name), integer(width.least)))
            conditions.append(Compare(CompareOp.LE, Param(name), integer(width.most)))
        for condition in conditions:
            found = found.intersect(condition_set(condition, space))
        for extent in self._positive():
            with suppress(NotAffine):  # `double a[n * m]`: proofs do without it
                found = found.intersect(condition_set(extent, space))
        return found

    def _positive(self) -> Iterator[Expr]:
        """Yield that the declared extents are at least 1."""
        for extents in self.function.extents.values():
            for extent in extents:
                own = (
                    ()
                    if extent is None
                    else [p.name for p in walk(extent) if isinstance(p, Param | Iter)]
                )
                if own and set(own) <= set(self.function.params):
                    assert extent is not None
                    yield Compare(CompareOp.GE, extent, integer(1))

    def _example(self, found: isl.Set, iters: Sequence[str]) -> str:
        """Return small sizes and an iteration of a set that is not empty, in words."""
        return ": ".join(part for part in self._point(found, iters) if part)

    def _point(self, found: isl.Set, *parts: Sequence[str]) -> list[str]:
        """Return small sizes, and for the loops of each part of the dimensions an iteration."""
        for least, most in ((1, 4), (-1, 4), (-1, 9), (-1, 40)):
            small = found
            for position in range(found.dim(isl.dim_type.param)):
                small = small.upper_bound_val(isl.dim_type.param, position, isl.Val(most))
                small = small.lower_bound_val(isl.dim_type.param, position, isl.Val(least))
            if not small.is_empty():
                found = small
                break
        point = sample_point(found)
        assert point is not None
        shown = [", ".join(f"{n}={point[0].get(n, 0)}" for n in sorted(self.function.params))]
        values = iter(point[1])
        for names in parts:
            one = ", ".join(f"{name}={next(values)}" for name in names)
            shown.append(f"iteration ({one})" if one else "")
        return shown

    # -- bounds -----------------------------------------------------------------------------

    def _outside(self) -> Iterator[Finding]:
        told: set[tuple[str, int]] = set()
        for access in self.function.accesses:
            extents = self.function.extents.get(access.array, ())
            for axis, extent in enumerate(extents):
                key = (access.array, axis)
                finding = self._outside_of(access, axis, extent)
                if finding is not None and (finding.verdict is Verdict.REFUTED or key not in told):
                    told.add(key)
                    yield finding

    def _outside_of(self, access: Access, axis: int, extent: Expr | None) -> Finding | None:
        claim = "its accesses stay in their arrays"
        if access.index is None:
            return self._open(claim, access.node, f"a subscript of `{access.array}` is not affine")
        if extent is None:
            return self._open(claim, access.node, f"no extent of `{access.array}` is declared")
        try:
            with quota(BUDGET):
                inside = self.domain(access.place)
                space = inside.get_space()
                at, end = pw_aff(access.index[axis], space), pw_aff(extent, space)
                below = at.lt_set(isl.PwAff.zero_on_domain(isl.LocalSpace.from_space(space)))
                bad = inside.intersect(below.union(at.ge_set(end)))
                if bad.is_empty():
                    return None
        except (NotAffine, BudgetError) as error:
            return self._open(claim, access.node, f"{error}"[:120])
        if not access.place.exact:
            return self._open(claim, access.node, "whether it runs depends on values in memory")
        example = self._example(bad, [loop.iter for loop in access.place.loops])
        verb = "written" if access.is_write else "read"
        written = self.unit.source(access.node)
        what = f"{self.function.name}: `{written}` is {verb} outside of its array"
        return self._refuted(claim, "PO0625", what, access.node, f"example: {example}")

    # -- races ------------------------------------------------------------------------------

    def _races(self) -> Iterator[Finding]:
        accesses = self.function.accesses
        told: set[tuple[int, str]] = set()
        for one in accesses:
            for level, loop in enumerate(one.place.loops):
                if not (loop.shared_out or loop.lanes) or not one.is_write:
                    continue
                if (id(loop), one.array) in told:
                    continue
                for two in accesses:
                    finding = self._race(loop, level, one, two)
                    if finding is not None:
                        told.add((id(loop), one.array))
                        yield finding
                        break

    def _copies(self, loop: Loop) -> Iterator[Finding]:
        """Yield where a thread's copy of a variable may not stand for the variable."""
        try:
            with quota(BUDGET):
                for node, why in wrong_copies(self.function, loop, self.domain):
                    yield self._open("its parallel loops have no race", node, why, _COPIES)
        except (NotAffine, BudgetError) as error:
            yield self._open("its parallel loops have no race", loop.node, f"{error}"[:120])

    def _race(self, loop: Loop, level: int, one: Access, two: Access) -> Finding | None:
        claim = "its parallel loops have no race"
        shared = (
            two.array == one.array and loop in two.place.loops and one.depth <= level
            and one.array not in loop.private and not (one.guard and one.guard == two.guard)
        )  # fmt: skip
        if not shared:
            return None
        if one.index is None or two.index is None:
            return self._open(claim, one.node, f"a subscript of `{one.array}` is not affine")
        try:
            with quota(BUDGET):
                pairs = self._pairs(level, one, two)
                is_flat = one.place.loops[-1] is loop is two.place.loops[-1]
                if not loop.shared_out:
                    pairs = self._out_of_step(pairs, level, one, two, is_flat)
                if pairs.is_empty():
                    return None
        except (NotAffine, BudgetError) as error:
            return self._open(claim, one.node, f"{error}"[:120])
        if not (one.place.exact and two.place.exact):
            return self._open(claim, one.node, "whether it runs depends on values in memory")
        if not (loop.shared_out or is_flat):
            return self._open(claim, one.node, "lanes meet in loops inside of theirs")
        first, second = ([loop.iter for loop in side.place.loops] for side in (one, two))
        sizes, *both = self._point(pairs.wrap().flatten(), first, second)
        what = f"{self.function.name}: iterations of `{first[level]}` share `{one.array}`"
        does = "writes" if two.is_write else "reads"
        note = f"example: {sizes}: {both[0]} writes what {both[1]} {does}"
        places = (
            RelatedLocation(
                f"the other access, `{self.unit.source(two.node)}`", self._loc(two.node)
            ),
        )
        return self._refuted(claim, "PO0626", what, one.node, note, places=places)

    def _pairs(self, level: int, one: Access, two: Access) -> isl.Map:
        """Return pairs of iterations of one loop that meet in an element; it is at `level`."""
        sides = []
        for access in (one, two):
            assert access.index is not None
            inside = self.domain(access.place)
            sides.append(index_map(inside, "", access.index).intersect_domain(inside))
        pairs = sides[0].apply_range(sides[1].reverse())
        for position in range(level):
            pairs = pairs.equate(isl.dim_type.in_, position, isl.dim_type.out, position)
        space = pairs.get_space()
        apart = isl.Map.universe(space)
        first = apart.order_lt(isl.dim_type.in_, level, isl.dim_type.out, level)
        other = apart.order_gt(isl.dim_type.in_, level, isl.dim_type.out, level)
        return pairs.intersect(first.union(other))

    def _out_of_step(
        self, pairs: isl.Map, level: int, one: Access, two: Access, is_flat: bool
    ) -> isl.Map:
        """Return the pairs that lanes reverse which run the text one access after the other.

        Iterations `safelen` apart are never in lanes at once (OpenMP 5.2, section 10.4).  Where
        an access is in a loop inside of the lanes' own, every pair is returned.
        """
        loop, order = one.place.loops[level], self.function.accesses
        sign = 1 if loop.step > 0 else -1
        if order.index(two) > order.index(one):
            sign = -sign
        local = isl.LocalSpace.from_space(pairs.get_space())

        def at_least(factor: int, least: int) -> isl.Constraint:
            found = isl.Constraint.alloc_inequality(local).set_constant_val(isl.Val(-least))
            found = found.set_coefficient_val(isl.dim_type.in_, level, isl.Val(-factor))
            return found.set_coefficient_val(isl.dim_type.out, level, isl.Val(factor))

        if is_flat:
            pairs = pairs.add_constraint(at_least(sign, 1))
        if loop.together is not None:
            reach = (loop.together - 1) * abs(loop.step)
            pairs = pairs.add_constraint(at_least(1, -reach)).add_constraint(at_least(-1, -reach))
        return pairs

    # -- widths -----------------------------------------------------------------------------

    def _wide(self) -> Iterator[Finding]:
        told: set[int] = set()
        for one in self.function.arithmetic:
            line = self._loc(one.node).line
            finding = None if line in told else self._too_wide(one)
            if finding is not None:
                told.add(line)
                yield finding

    def _too_wide(self, one: Arithmetic) -> Finding | None:
        claim = "its index arithmetic fits its types"
        try:
            with quota(BUDGET):
                inside = self.domain(one.place)
                value = pw_aff(one.value, inside.get_space())
                if one.width.bits >= 64 and one.width.signed:
                    return None  # no memory is so large that a counter in it comes near
                local = isl.LocalSpace.from_space(inside.get_space())
                least, most = (
                    isl.PwAff.from_aff(isl.Aff.val_on_domain(local, isl.Val(str(limit))))
                    for limit in (one.width.least, one.width.most)
                )
                bad = inside.intersect(value.lt_set(least).union(value.gt_set(most)))
                if bad.is_empty():
                    return None
        except NotAffine:
            return self._product(one)
        except BudgetError as error:
            return self._open(claim, one.node, f"{error}"[:120])
        if not one.place.exact:
            return self._open(claim, one.node, "whether it runs depends on values in memory")
        return self._overflow(one, self._example(bad, [loop.iter for loop in one.place.loops]))

    def _overflow(self, one: Arithmetic, example: str) -> Finding:
        kind = f"{'' if one.width.signed else 'unsigned '}{one.width.bits}-bit"
        what = f"{self.function.name}: `{self.unit.source(one.node)}` leaves its {kind} type"
        claim = "its index arithmetic fits its types"
        return self._refuted(claim, "PO0629", what, one.node, f"example: {example}")

    def _product(self, one: Arithmetic) -> Finding | None:
        """Try large sizes where the value is no affine function."""
        from polyopt.ir.integers import evaluate

        claim = "its index arithmetic fits its types"
        if one.width.bits >= 64:
            return self._open(claim, one.node, "a product of sizes or counters is not affine")
        try:
            inside = self.domain(one.place)
        except NotAffine as error:
            return self._open(claim, one.node, f"{error}"[:120])
        for size in LARGE:
            fixed = inside
            for position in range(inside.dim(isl.dim_type.param)):
                fixed = fixed.fix_val(isl.dim_type.param, position, isl.Val(size))
            if fixed.is_empty():
                continue
            point = sample_point(fixed.lexmax())
            assert point is not None
            values: Mapping[str, int] = dict.fromkeys(self.function.params, size) | dict(
                zip((loop.iter for loop in one.place.loops), point[1], strict=True)
            )
            if (
                one.place.exact
                and not one.width.least <= evaluate(one.value, values) <= one.width.most
            ):
                return self._overflow(one, ", ".join(f"{k}={v}" for k, v in values.items()))
        return self._open(claim, one.node, "a product of sizes or counters is not affine")

    # -- verdicts ---------------------------------------------------------------------------

    def _open(self, claim: str, node: Node, why: str, hint: str | None = None) -> Finding:
        error = _error("PO0628", f"{self.function.name}: {why}", self._loc(node), hint=hint)
        return Finding(self.function.name, claim, Verdict.OPEN, error.loc, error)

    def _refuted(
        self,
        claim: str,
        code: str,
        what: str,
        node: Node,
        note: str,
        places: tuple[RelatedLocation, ...] = (),
    ) -> Finding:
        error: PolyoptError = _error(code, what, self._loc(node), note)
        return Finding(self.function.name, claim, Verdict.REFUTED, error.loc, error, places)
