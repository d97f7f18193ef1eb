"""Online: compute a maximum and the sums of exponentials below it in one loop over blocks.

In: a maximum over a row, exponentials of the row's elements less the maximum, stored or not, sums
of products with these.  Out: one nest over tiles of rows and blocks of columns, which carries the
maximum so far and multiplies the sums by `exp(old - new)` where a block raises it (Milakov and
Gimelshein, "Online normalizer calculation for softmax", 2018).  What makes the elements runs in the
blocks, too, so that no row of them is kept (Dao et al., "FlashAttention", 2022).
Refuses: a maximum, exponentials or sums of other forms (PO0348 to PO0351).

The law.  For `run[r]`, a maximum so far, and a sum of terms `exp(x[r, j] - run[r]) * y`, a larger
`run` multiplies every term by one factor: `exp(x - new) = exp(x - old) * exp(old - new)`.  The step
makes these statements, for a row `r` and a block `b` of columns:

    run[r] = lowest finite number                 before the blocks
    m[r] = max(m[r], x[r, j])                     as in the source, j in the block
    old[r] = run[r];  run[r] = max(m[r], run[r])
    scale[r] = exp(old[r] - run[r])               at most 1: nothing overflows
    p[r, j] = exp(x[r, j] - run[r])               j in the block; at most 1
    sum[r] = sum[r] * scale[r]                    each sum, before the block's terms
    sum[r] = sum[r] + p[r, j] * y                 j in the block
    scale[r] = exp(run[r] - m[r])                 after the blocks: 1, or NaN where the source
    sum[r] = sum[r] * scale[r]                    has NaN, since m[r] is not finite

The new Scop is a program of its own: the certificate proves the loops against it, and proves by the
law that it computes what the source does (`proof/rescaling.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import islpy as isl
import numpy as np

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced, set_space
from polyopt.ir.expr import Binary, BinaryOp, Call, Const, Expr, Iter, Load, integer, rewrite
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Array, Origin, Role, Scop, Statement
from polyopt.ir.showing import show
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.running_sums import (
    NotRunning,
    RowPosition,
    RunningSums,
    Summed,
    find_running_sums,
)
from polyopt.schedule.sizes import Size
from polyopt.schedule.source import union_domain, union_function
from polyopt.schedule.tree import Band, BandMember, Filter, Leaf, Sequence, Tree, fresh_label
from polyopt.transforms.distribute import taken_apart
from polyopt.transforms.overlap_copies import subscripts_of
from polyopt.transforms.tile import checked_sizes
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Online(DataStep, Written):
    """Run the maximum `statement` and the sums below it over tiles of `rows` x `columns`.

    The nest is called `online`: its loops are those over rows, the last one in tiles, then over
    blocks of columns; inside are the nests `online_S1` of the statements that make the elements,
    `online_rows`, and `online_S9` of the sums with loops of their own.
    """

    uses_law: ClassVar[bool] = True

    statement: str
    rows: Size
    columns: Size

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program; raises `ScheduleError` PO0303, PO0348 to PO0351."""
        rows, columns = checked_sizes((self.rows, self.columns), str(self))
        try:
            group = find_running_sums(scop, self.statement)
        except NotRunning as error:
            loc = None if error.statement is None else error.statement.loc
            raise ScheduleError(error.code, f"{self}: {error}", loc=loc, hint=error.hint) from None
        strict = [one.statement for one in group.sums if not _may_be_carried(one.statement)]
        if strict:
            raise ScheduleError(
                "PO0350",
                f"{self}: the factors of {strict[0].name} would round once more for each block",
                loc=strict[0].loc,
                hint='compile it with fp="reassociate"',
            )
        names = {s.name for s in group.statements}
        moved = names | {s.name for s in group.carriers}
        tree = taken_apart(tree, scop, lambda own: not (own.isdisjoint(moved) or own <= names))
        alone = [p for p in tree.parts if p.pieces.keys() <= names]
        after = [p for p in tree.parts if p.pieces.keys() <= moved]
        left = moved - {name for p in after for name in p.pieces}
        if left:
            other = scop.statement(min(left))
            raise ScheduleError(
                "PO0351",
                f"{self}: {other.name} shares a nest with statements that stay as they are",
                loc=other.loc,
                hint="take this step before others: it distributes nests as they are written",
            )
        return _Nest(self, scop, group, (rows, columns)).program(tree, alone)


def _may_be_carried(statement: Statement) -> bool:
    return statement.reduction is not None and statement.reduction.carried


class _Nest:
    """Makes the statements of one step and the tree that runs them."""

    def __init__(
        self, step: Online, scop: Scop, group: RunningSums, sizes: tuple[int, int]
    ) -> None:
        self.step, self.scop, self.group = step, scop, group
        self.rows, self.columns = sizes
        self.taken = {s.name for s in scop.statements}
        top = group.top.target
        self.dtype = top.dtype
        shape = scop.array(top.array).shape
        known = {a.name for a in scop.arrays}
        self.arrays: list[Array] = []
        for wish in ("run", "old", "scale"):
            name = fresh_name(f"{top.array}_{wish}", known)
            known.add(name)
            self.arrays.append(Array(name, self.dtype, shape, Role.TEMP))
        self.weights: tuple[Array, ...] = ()
        if group.exponential is not None:
            source = scop.array(group.exponential.target.array)
            name = fresh_name(f"{source.name}_run", known)
            self.weights = (Array(name, source.dtype, source.shape, Role.TEMP),)
        self.row_names = tuple(group.rows)
        self.block = fresh_name("b", (*self.row_names, *scop.params))
        self.blocks: dict[str, Expr] = {}  # the number of the block of each statement
        self.origins: dict[str, str] = {}  # the source's statement of one that is new

    # -- statements ---------------------------------------------------------------------------

    def program(self, tree: Sequence, alone: list[Filter]) -> RewrittenProgram:
        """Return the program with the parts `alone` of the tree's sequence in one nest."""
        group, scop = self.group, self.scop
        rows = tuple(map(Iter, self.row_names))
        run, old, scale = (Load(a.name, rows, self.dtype) for a in self.arrays)
        top = Load(group.top.target.array, rows, self.dtype)
        lowest = Const(float(np.finfo(self.dtype.value).min), self.dtype)
        every, blocks = self._row_domain(), self._block_domain()
        begin = self._statement("run_begin", run, lowest, every)
        keep = self._statement("run_keep", old, run, blocks)
        raised = Binary(BinaryOp.MAX, top, run, self.dtype)
        advance = self._statement("run_raise", run, raised, blocks)
        factor = self._statement("run_scale", scale, self._exp(old, run), blocks)
        last = self._statement("run_end", scale, self._exp(run, top), every)
        weights = self._weights()
        sums = [self._sum(one) for one in group.sums]
        scaled = [self._scaled(one, scale, blocks, "run_times") for one in group.sums]
        final = [self._scaled(one, scale, every, "run_last") for one in group.sums]
        new = [begin, keep, advance, factor, *weights, *scaled, last, *final]
        changed = {s.name: s for s in sums}
        stored = group.exponential
        gone = stored if group.is_consumed else None
        statements = [changed.get(s.name, s) for s in scop.statements if s is not gone]
        arrays = [*scop.arrays, *self.arrays, *self.weights]
        if gone is not None:
            arrays = [a for a in arrays if a.name != gone.target.array]
        made = replace(scop, arrays=tuple(arrays), statements=(*statements, *new))
        before = [begin, *(one.start for one in group.sums)]
        inner = self._inner(tree, [keep, advance, factor], weights, scaled, sums)
        after = [last, *final, *group.finals]
        placed = self._placed(tree, alone, before, inner, after)
        same = {} if stored is None else {
            s.name: Origin(stored.name, tuple(map(Iter, s.iters))) for s in weights
        }  # fmt: skip
        added = frozenset(s.name for s in new if s not in weights)
        verified = {a.name for a in (*self.arrays, *self.weights)} | {top.array}
        verified |= set() if stored is None else {stored.target.array}
        verified |= {one.statement.target.array for one in group.sums}
        again = () if group.is_consumed else (s.name for s in weights)
        return RewrittenProgram(made, placed, same, added, frozenset(verified), frozenset(again))

    def _exp(self, old: Expr, new: Expr) -> Expr:
        return Call(self.group.func, (Binary(BinaryOp.SUB, old, new, self.dtype),), self.dtype)

    def _statement(self, wish: str, target: Load, value: Expr, domain: isl.Set) -> Statement:
        name = fresh_name(wish, self.taken)
        self.taken.add(name)
        count = domain.dim(isl.dim_type.set)
        iters = tuple(str(domain.get_dim_name(isl.dim_type.set, n)) for n in range(count))
        text = f"{show(target)} = {show(value)}"
        loc = self.group.top.loc
        named = domain.set_tuple_name(name)
        if self.block in iters:
            self.blocks[name] = Iter(self.block)
        return Statement(name, iters, named, (), target, value, loc, text)

    def _weights(self) -> tuple[Statement, ...]:
        """Return the statement that stores exponentials below the maximum so far, if any."""
        statement = self.group.exponential
        if statement is None:
            return ()
        names = {self.group.top.target.array: self.arrays[0].name}
        value = rewrite(statement.value, lambda e: _renamed(e, names))
        target = replace(statement.target, array=self.weights[0].name)
        name = fresh_name("run_exp", self.taken)
        self.taken.add(name)
        self.origins[name] = statement.name
        domain = statement.domain.set_tuple_name(name)
        text = f"{show(target)} = {show(value)}"
        return (
            replace(
                statement, name=name, domain=domain, target=target, value=value, text=text, order=()
            ),
        )

    def _sum(self, one: Summed) -> Statement:
        names = {self.group.top.target.array: self.arrays[0].name} if one.is_inline else {}
        if not one.is_inline and self.group.exponential is not None:
            names = {self.group.exponential.target.array: self.weights[0].name}
        value = rewrite(one.statement.value, lambda e: _renamed(e, names))
        return replace(one.statement, value=value)

    def _scaled(self, one: Summed, scale: Load, domain: isl.Set, wish: str) -> Statement:
        """Return `sum = sum * scale` for all elements of the sum of a row, in `domain`."""
        rows = [*map(Iter, one.rows)]
        target = one.statement.target
        count = domain.dim(isl.dim_type.set)
        extra = [str(domain.get_dim_name(isl.dim_type.set, n)) for n in range(len(rows), count)]
        names = {row: Iter(own) for row, own in zip(one.rows, self.row_names, strict=True)}
        free = [name for name in one.free if name not in names]
        taken = {*self.row_names, *extra, *self.scop.params}
        for name in free:
            names[name] = Iter(fresh_name(name, taken))
            taken.add(names[name].name)
        iters = (*self.row_names, *extra, *(names[name].name for name in free))
        space = set_space(self.scop.params, "", iters)
        # [rows, block] -> those of the domain; [rows, free] -> an element with a start
        started = one.start.write.relation.intersect_params(self.scop.context).range()
        index = tuple(
            rewrite(e, lambda p: names.get(p.name) if isinstance(p, Iter) else None)
            for e in target.index
        )
        universe = isl.Set.universe(space)
        whole = subscripts_of(universe, index).set_tuple_name(isl.dim_type.out, target.array)
        own = subscripts_of(universe, tuple(map(Iter, (*self.row_names, *extra))))
        inside = whole.intersect_range(started).domain()
        inside = inside.intersect(own.intersect_range(domain.reset_tuple_id()).domain())
        element = replace(target, index=index)
        value = Binary(BinaryOp.MUL, element, scale, element.dtype)
        return self._statement(wish, element, value, coalesced(inside))

    def _row_domain(self) -> isl.Set:
        """Return { [rows] } with an exponential."""
        return self._projected(with_block=False)

    def _block_domain(self) -> isl.Set:
        """Return { [rows, block] } with an exponential."""
        return self._projected(with_block=True)

    def _projected(self, *, with_block: bool) -> isl.Set:
        wanted = (*self.row_names, *((self.block,) if with_block else ()))
        found: isl.Set | None = None
        for statement in self.group.carriers:
            place = self.group.places[statement.name]
            values: list[Expr] = [Iter(name) for name in place.rows]
            if with_block:
                values.append(_floor(place.column, self.columns))
            domain = statement.domain.intersect_params(self.scop.context)
            part = subscripts_of(domain, tuple(values)).range()
            found = part if found is None else found.union(part)
        assert found is not None
        for position, name in enumerate(wanted):
            found = found.set_dim_name(isl.dim_type.set, position, name)
        return coalesced(found.gist_params(self.scop.context))

    # -- the tree -----------------------------------------------------------------------------

    def _inner(
        self,
        tree: Tree,
        carried: list[Statement],
        weights: tuple[Statement, ...],
        scaled: list[Statement],
        sums: list[Statement],
    ) -> list[tuple[tuple[Statement, ...], Tree]]:
        """Return what a block runs, in order: statements and their nest."""
        group = self.group
        outer = len(self.row_names) - 1
        found: list[tuple[tuple[Statement, ...], Tree]] = []
        for producer in group.producers:
            fixed = set(group.places[producer.name].rows[:outer])
            loops = [name for name in producer.iters if name not in fixed]
            nest = self._loops(tree, f"online_{producer.name}", producer, loops)
            found.append(((producer,), nest))
        numbers = [n for n, one in enumerate(group.sums) if not one.free]
        parts: list[tuple[tuple[Statement, ...], Tree]] = []
        if group.start is not None:
            parts.append(((group.start,), Leaf()))
        parts.append(((group.top,), self._loops(tree, "online_max", group.top, [group.top_column])))
        parts += [((one,), Leaf()) for one in carried]
        parts += [((scaled[n],), Leaf()) for n in numbers]
        below = (*weights, *(sums[n] for n in numbers))
        columns = {s.name: self._place_of(s).column for s in below}
        if below:
            body = _sequence([((s,), Leaf()) for s in below])
            parts.append((below, self._band(tree, "online_terms", below, [columns], body)))
        within = tuple(s for some, _ in parts for s in some)
        rows = {s.name: self._row_of(s) for s in within}
        found.append((within, self._band(tree, "online_rows", within, [rows], _sequence(parts))))
        for number, one in enumerate(group.sums):
            if number in numbers:
                continue
            times, total = scaled[number], sums[number]
            own = [n for n in times.iters if n not in {*self.row_names[:outer], self.block}]
            found.append(((times,), self._loops(tree, f"online_{times.name}", times, own)))
            own = [n for n in total.iters if n not in set(one.rows[:outer])]
            found.append(((total,), self._loops(tree, f"online_{total.name}", total, own)))
        return found

    def _placed(
        self,
        tree: Sequence,
        alone: list[Filter],
        before: list[Statement],
        inner: list[tuple[tuple[Statement, ...], Tree]],
        after: list[Statement],
    ) -> Tree:
        outer = len(self.row_names) - 1

        def simple(statement: Statement) -> tuple[tuple[Statement, ...], Tree]:
            fixed = set(self._rows_of(statement)[:outer])
            loops = [name for name in statement.iters if name not in fixed]
            return (statement,), self._loops(tree, f"online_{statement.name}", statement, loops)

        blocks = tuple(s for some, _ in inner for s in some)
        numbers = {s.name: self._block_of(s) for s in blocks}
        loop = self._band(tree, "online_blocks", blocks, [numbers], _sequence(inner))
        parts = [*map(simple, before), (blocks, loop), *map(simple, after)]
        every = tuple(s for some, _ in parts for s in some)
        members: list[Mapping[str, str | Expr]] = []
        for position in range(outer):
            members.append({s.name: self._rows_of(s)[position] for s in every})
        members.append({s.name: _floor(Iter(self._rows_of(s)[outer]), self.rows) for s in every})
        names = (*self.row_names[:outer], f"{self.row_names[outer]}_tile")
        nest = self._band(tree, "online", every, members, _sequence(parts), names)
        place = max(n for n, part in enumerate(tree.parts) if part in alone)
        kept: list[Filter] = []
        again: list[Filter] = []  # exponentials that others read are computed after the sums, too
        for position, part in enumerate(tree.parts):
            if part not in alone:
                found = set(part.pieces)
                is_again = found == {s.name for s in (self.group.exponential,) if s is not None}
                if not is_again and position < place:
                    self._check_reader(found)
                (again if is_again and position < place else kept).append(part)
            if position == place:
                kept += [Filter(union_domain(every), nest), *again]
        return Sequence(tuple(kept)) if len(kept) > 1 else nest

    def _check_reader(self, names: Iterable[str]) -> None:
        """Check that statements before the nest read nothing that it computes."""
        group = self.group
        made = {group.top.target.array, *(s.target.array for s in group.carriers)}
        made |= {one.statement.target.array for one in group.sums}
        for name in sorted(names):
            statement = self.scop.statement(name)
            if made & {a.array for a in statement.reads}:
                raise ScheduleError(
                    "PO0351",
                    f"{self.step}: {name} reads what the nest computes, before all of it is there",
                    loc=statement.loc,
                    hint="move the statement behind the sums",
                )

    def _place_of(self, statement: Statement) -> RowPosition:
        """Return the row and column of a statement: those of the step have its rows first."""
        place = self.group.places.get(self.origins.get(statement.name, statement.name))
        if place is not None:
            return place
        return RowPosition(self.row_names, Const(0, statement.target.index[0].dtype))

    def _rows_of(self, statement: Statement) -> tuple[str, ...]:
        return self._place_of(statement).rows

    def _row_of(self, statement: Statement) -> str:
        return self._rows_of(statement)[-1]

    def _block_of(self, statement: Statement) -> Expr:
        own = self.blocks.get(statement.name)
        return own if own is not None else _floor(self._place_of(statement).column, self.columns)

    def _loops(self, tree: Tree, label: str, statement: Statement, loops: Iterable[str]) -> Tree:
        members = [{statement.name: name} for name in loops]
        return self._band(tree, label, (statement,), members, Leaf()) if members else Leaf()

    def _band(
        self,
        tree: Tree,
        label: str,
        statements: tuple[Statement, ...],
        members: Iterable[Mapping[str, str | Expr]],
        child: Tree,
        names: tuple[str, ...] = (),
    ) -> Tree:
        """Return loops whose values are iterators or expressions of each statement."""
        found = []
        for position, values in enumerate(members):
            named = (values[statement.name] for statement in statements)
            own = [Iter(value) if isinstance(value, str) else value for value in named]
            function = union_function(statements, own).intersect_domain(union_domain(statements))
            first = values[statements[0].name]
            given = first.name if isinstance(first, Iter) else first
            name = names[position] if names else given if isinstance(given, str) else self.block
            found.append(BandMember(function, name))
        return Band(fresh_label(tree, label), tuple(found), child)


def _sequence(parts: list[tuple[tuple[Statement, ...], Tree]]) -> Tree:
    if len(parts) == 1:
        return parts[0][1]
    return Sequence(tuple(Filter(union_domain(some), nest) for some, nest in parts))


def _floor(expr: Expr, size: int) -> Expr:
    return Binary(BinaryOp.FLOORDIV, expr, integer(size), expr.dtype)


def _renamed(expr: Expr, names: Mapping[str, str]) -> Expr | None:
    if isinstance(expr, Load) and expr.array in names:
        return replace(expr, array=names[expr.array])
    return None
