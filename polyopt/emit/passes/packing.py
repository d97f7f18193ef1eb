"""Pack operands of register tiles into contiguous buffers (panels).

In: `for it: for k: for i (UNROLL): for j (VECTOR): …` where an operand depends on k and j alone, or
`for it: for jt: for k: …` where it depends on jt as well.
Out: the same loops reading the operand from a local `panel[k][j]`, of at most an L1, or
`panel[jt][k][j]`, of at most an L2, filled before loop `it`; later nests read the latter, too.
Where `it` has few iterations, nothing is packed: all nests read the operand itself.  An
operand whose elements are not side by side along j is packed for them in any case, with the columns
that full panels leave over, since without a panel they would have no vectors.
An operand is an element or an expression of elements and scalars, as `alpha * B[k, j]`.
Leaves: operands that the nest writes, panels that are not of constant size or too large.
As in Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod

from polyopt import emit
from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.lanes import row_arrays
from polyopt.emit.passes.disjoint import Element, LoopBox
from polyopt.emit.passes.factors import factors
from polyopt.emit.passes.rewriting import trip_count
from polyopt.emit.passes.tiles import RegisterTile, is_contiguous, operands_of, register_nest
from polyopt.emit.ranges import extent_of
from polyopt.emit.regions import declared_names
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    add,
    integer,
    loads,
    mul,
    operands,
    sub,
    substitute,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import (
    Assign,
    Barrier,
    Body,
    CallLibrary,
    Declare,
    DeclareArray,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    updated,
)
from polyopt.ir.names import fresh_name, has_iterator, iterators, reads, symbols
from polyopt.ir.nodes import all_nodes, bodies, changed, changed_body, map_bodies, map_inner
from polyopt.ir.scop import Array, Role
from polyopt.ir.types import DType
from polyopt.machine import Machine

MANY = 9
"""Tiles for which panels pay whose elements are in the second cache in any case."""


def pack_operands(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return `fn` with shared operands of register tiles packed into panels."""
    arrays = {array.name: array for array in fn.arrays}
    taken = {*arrays, *fn.params, *declared_names(fn.body)}
    taken |= {getattr(argument, "symbol", "") for argument in fn.signature.arguments}
    scope = _Scope(taken, arrays, row_arrays(fn), machine)
    return replace(fn, body=_inside(fn.body, (), scope))


@dataclass(frozen=True, slots=True)
class _Scope:
    """The names that are taken, the function's arrays, those in rows, the machine, the panels."""

    taken: set[str]
    arrays: Mapping[str, Array]
    rows: frozenset[str]
    machine: Machine
    panels: set[str] = field(default_factory=set)


def _inside(body: Body, around: tuple[For, ...], scope: _Scope) -> Body:
    """Return `body`, which the loops `around` are around, with operands packed.

    The first nest with panels and what comes behind it are there twice: few rows read each element
    too few times to pay for the panels.  The two differ in what they read alone.
    """
    found: list[Node] = []
    kept: list[_Packed] = []
    alone: dict[str, tuple[int, RegisterTile]] = {}  # panels for one nest -> where they are filled
    starts: list[_Start] = []
    for number, node in enumerate(body, start=1):
        for packed in kept:
            before, node = node, packed.read_in(node)
            if node is not before:
                alone.pop(packed.array.name, None)
        kept = [packed for packed in kept if packed.stays(node)]
        nest = register_nest(node)
        packs = _packs(nest, around, scope) if nest is not None else []
        packs = [packed.with_last(body[number:]) for packed in packs]
        if nest is not None and (packs or nest.block is None):
            start = len(found)
            for packed in packs:
                found += packed.filled()
                if packed.condition is None:
                    alone[packed.array.name] = len(found) - 1, nest
            starts.append(_Start(start, len(found), nest, packs))
            for packed in packs:
                node = changed(node, partial(_exchanged, packed.load, packed.cell))
            found.append(_with_factors(node, scope))
            kept += (p for p in packs if nest.block is not None and p.condition is None)
            continue
        inner = (*around, node) if isinstance(node, For) else around
        found.append(map_bodies(node, _inside, inner, scope))
    for place, nest in alone.values():
        found[place] = If(_runs(nest.tiles), (found[place],))
    first = next((s for s in starts if s.is_shared(alone)), None)
    if first is None or trip_count(first.nest.tiles):
        return tuple(found)
    filling, rest = tuple(found[first.start : first.end]), tuple(found[first.end :])
    return (*found[: first.start], *first.where_it_pays(filling, rest, scope))


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a nest's panels are filled, from `start` to `end`, the nest, what it reads in them."""

    start: int
    end: int
    nest: RegisterTile
    packs: list[_Packed]

    def where_it_pays(self, filling: Body, rest: Body, scope: _Scope) -> Body:
        """Return nodes that read panels if these pay, otherwise the operands themselves."""
        panels = tuple(emit.Panel(p.array, p.cell, p.load, p.nest.panel) for p in self.packs)
        pays = self.pays(scope)
        once = emit.through_views(filling, rest, panels, pays, scope.rows, scope.taken)
        if once is not None:
            return once
        plain = rest
        for packed in self.packs:
            plain = changed_body(plain, partial(_exchanged, packed.cell, packed.load))
        return (If(pays, (*filling, *rest), plain),)

    def pays(self, scope: _Scope) -> Expr:
        """Return whether there are so many tiles that panels pay.

        Rows of the operand that are so long that its block does not fit the second cache as it lies
        pay for any tiles, short ones for `MANY`.  A linear inequality is quick to prove.
        """
        rows = {packed.row_of(scope.arrays) for packed in self.packs}
        row, depth = rows.pop(), extent_of(self.nest.depth)
        if rows or row is None or depth is None:
            return _runs(self.nest.tiles)
        fits = scope.machine.l2 // (depth.size * max(p.load.dtype.size for p in self.packs))
        tiles = mul(integer(fits // MANY), sub(self.nest.tiles.upper, self.nest.tiles.lower))
        return Compare(CompareOp.GT, add(tiles, row), integer(fits))

    def is_shared(self, alone: Mapping[str, object]) -> bool:
        """Tell whether other nests read panels, too: those that are not in `alone`."""
        kept = [p for p in self.packs if p.condition is None and p.array.name not in alone]
        return bool(kept) and all(p.last is None for p in kept)


def _with_factors(node: Node, scope: _Scope) -> Node:
    """Return a nest with what its rows are multiplied by computed once for all columns."""
    nest = register_nest(node)
    if nest is None:
        return node
    names = tuple(fresh_name(wish, scope.taken) for wish in ("factor", "factors"))
    found = factors(nest, names, scope.machine)
    inside = nest.tiles.body
    for factor in found:
        scope.taken.add(factor.cell.array)
        inside = tuple(changed(n, partial(_exchanged, factor.value, factor.cell)) for n in inside)
    inside = (*(n for f in found for n in f.filled), *inside)
    if found and nest.block is not None:  # no full tile of columns reads none of the factors
        inside = (If(_runs(nest.block), inside),)
    return replace(nest.tiles, body=inside)


@dataclass(frozen=True, slots=True)
class _Packed:
    """An operand of a nest, and the element of a panel that holds it.

    `condition`: what must hold for any tile to read the operand; None where it always may be read.
    `last`: the panels behind the full ones, where later nests read them, and where their lanes end.
    """

    nest: RegisterTile
    load: Expr
    cell: Load
    array: Array
    condition: Expr | None
    vector: int
    last: tuple[For, Expr] | None = None

    @property
    def arrays(self) -> frozenset[str]:
        """Return the arrays that the operand is made of."""
        return reads(self.load)

    def row_of(self, arrays: Mapping[str, Array]) -> Expr | None:
        """Return how many elements the terms of a column are apart, where that is known."""
        found = [
            arrays[load.array].shape[-1]
            for load in loads(self.load)
            if load.array in arrays and len(load.index) > 1
        ]
        return found[0] if len(found) == 1 else None

    def filled(self) -> Body:
        """Return the array and the loops that fill it: rows of the operand one after another, or
        panels where its lanes are rows.

        Nothing is read for tiles of which there are none.
        """
        nest = self.nest
        copy = (Assign(self.cell, self.load),)
        lanes = replace(nest.lanes, kind=LoopKind.SEQUENTIAL, body=copy)
        if nest.block is None:
            loops = replace(nest.depth, body=(lanes,))
        elif is_contiguous(self.load, nest.lanes):
            loops = replace(nest.depth, body=(replace(nest.block, body=(lanes,)),))
        else:
            lanes = replace(lanes, kind=LoopKind.VECTOR)
            loops = replace(nest.block, body=(replace(nest.depth, body=(lanes,)),))
        guarded = loops if self.condition is None else If(self.condition, (loops,))
        if self.last is None:
            return (DeclareArray(self.array), guarded)
        block, end = self.last
        parts = self._in_vectors(Binary(BinaryOp.MIN, lanes.upper, end, DType.INT64), copy)
        return (DeclareArray(self.array), guarded, replace(block, body=parts))

    def _in_vectors(self, end: Expr, copy: Body) -> Body:
        """Return the loops that fill a panel up to `end`: vectors of lanes, then what is left."""
        depth, lanes, count = self.nest.depth, self.nest.lanes, integer(self.vector)
        group = replace(depth, iter=f"{lanes.iter}_group", lower=_over(lanes.lower, count))
        begin = mul(count, Iter(group.iter))
        vector = replace(lanes, lower=begin, upper=add(begin, count), kind=LoopKind.VECTOR)
        rest = replace(lanes, lower=mul(count, _over(end, count)), upper=end)
        inner, left = replace(vector, body=copy), replace(rest, kind=depth.kind, body=copy)
        return (
            replace(group, upper=_over(end, count), body=(replace(depth, body=(inner,)),)),
            replace(depth, body=(left,)),
        )

    def with_last(self, behind: Body) -> _Packed:
        """Return the operand with panels for what full ones leave over, if nodes read them that
        otherwise have no vectors.
        """
        own, lanes = self.nest.block, self.nest.lanes
        if own is None or self.condition is not None or is_contiguous(self.load, lanes):
            return self
        start = linear(lanes.lower)
        if any(factor % self.vector for factor in (start.constant, *dict(start.terms).values())):
            return self
        for block in (node for node in all_nodes(behind) if isinstance(node, For)):
            if (block.iter, block.lower, block.step) != (own.iter, own.lower, own.step):
                continue
            inner = [node for node in all_nodes(block.body) if isinstance(node, For)]
            names = {block.iter, *(loop.iter for loop in inner)}
            ends = {
                end
                for loop in inner
                if loop.iter == lanes.iter
                for end in operands(loop.upper, BinaryOp.MIN)
                if not has_iterator(end, names)
            }
            if len(ends) == 1:
                first = Binary(BinaryOp.MAX, own.lower, own.upper, DType.INT64)
                return replace(self, last=(replace(block, lower=first), ends.pop()))
        return self

    def stays(self, node: Node) -> bool:
        """Tell whether the panels hold the operand still when `node` has run."""
        if isinstance(node, CallLibrary | Kernel | Barrier):
            return False
        if isinstance(node, Assign) and node.target.array in self.arrays:
            return False
        if isinstance(node, SetLocal | Declare):
            names = symbols(self.load)
            if node.name in names:
                return False
        return all(self.stays(inner) for part in bodies(node) for inner in part)

    def read_in(
        self, node: Node, inside: tuple[For, ...] = (), known: tuple[Expr, ...] = ()
    ) -> Node:
        """Return a node behind the nest with the panels read where they hold the operand.

        `inside` are the loops around it, `known` the conditions.
        """
        if isinstance(node, For):
            inside = (*inside, node)
        elif isinstance(node, If):
            more = (*known, *operands(node.condition, BinaryOp.AND))
            then = tuple(self.read_in(n, inside, more) for n in node.then)
            otherwise = tuple(self.read_in(n, inside, known) for n in node.otherwise)
            return updated(node, then=then, otherwise=otherwise)
        elif isinstance(node, Assign):
            if node.target.array not in self.arrays and self._covers(inside, known):
                return changed(node, partial(_exchanged, self.load, self.cell))
            return node
        return map_inner(node, self.read_in, inside, known)

    def _covers(self, inside: tuple[For, ...], known: tuple[Expr, ...]) -> bool:
        """Tell whether loops stay within those that filled the panels, where `known` holds."""
        loops = {loop.iter: loop for loop in inside}
        lanes = loops.get(self.nest.lanes.iter)
        outside = [
            own
            for own in self.nest.panel[:-1]
            if (found := loops.get(own.iter)) is None or not _is_within(found, own, known)
        ]
        if lanes is None or (outside and not self._is_last(outside, loops, known)):
            return False
        first = {loop.iter: loop.lower for loop in inside if loop is not lanes}
        last = {loop.iter: sub(loop.upper, integer(loop.step)) for loop in inside}
        for kept in self.nest.panel[:-1]:
            first.pop(kept.iter, None)
            last.pop(kept.iter, None)
        own = self.nest.lanes
        before = linear(sub(substitute(lanes.lower, first), own.lower))
        behind = [
            linear(sub(own.upper, substitute(upper, last)))
            for upper in operands(lanes.upper, BinaryOp.MIN)
        ]
        is_inside = bool(outside) or any(not b.terms and b.constant >= 0 for b in behind)
        return not before.terms and before.constant >= 0 and is_inside

    def _is_last(
        self, outside: list[For], loops: Mapping[str, For], known: tuple[Expr, ...]
    ) -> bool:
        """Tell whether loops that leave the full panels stay within the last ones."""
        if self.last is None or outside != [self.nest.block]:
            return False
        block, end = self.last
        found, lanes = loops.get(block.iter), loops[self.nest.lanes.iter]
        return (
            found is not None
            and _is_within(found, replace(block, lower=outside[0].lower), known)
            and end in operands(lanes.upper, BinaryOp.MIN)
            and any(_is_at_most(end, self.nest.lanes.upper, one) for one in known)
        )


def _packs(nest: RegisterTile, around: tuple[For, ...], scope: _Scope) -> list[_Packed]:
    """Return the operands of a nest that are packed."""
    machine = scope.machine
    inner = {nest.tiles.iter, nest.rows.iter}
    bounds = [bound for loop in nest.panel for bound in (loop.lower, loop.upper)]
    if any(has_iterator(bound, inner) or loads(bound) for bound in bounds):
        return []
    sides = [extent_of(loop) for loop in nest.panel[:-1]]
    known = [side for side in sides if side is not None]
    width = trip_count(nest.lanes)
    if len(known) < len(sides) or width is None:
        return []
    shape = (*(integer(side.size) for side in known), integer(width))
    index = (
        *(
            normalize(sub(Iter(loop.iter), side.origin))
            for loop, side in zip(nest.panel, known, strict=False)
        ),
        normalize(sub(Iter(nest.lanes.iter), nest.lanes.lower)),
    )
    elements = prod(side.size for side in known) * width
    most = machine.l1 if nest.block is None else max(machine.l1, machine.l2)
    found: list[_Packed] = []
    for load in _shared(nest, around, inner):
        if elements * load.dtype.size > most:
            continue
        varying = next(x for x in loads(load) if has_iterator(x, {nest.lanes.iter}))
        if varying.array in scope.panels:
            continue
        name = fresh_name(f"{varying.array}_panel", scope.taken)
        scope.taken.add(name)
        scope.panels.add(name)
        cell = Load(name, index, load.dtype)
        array = Array(name, load.dtype, shape, Role.TEMP)
        lanes = max(1, machine.vector_bytes // load.dtype.size)
        found.append(_Packed(nest, load, cell, array, _condition(nest, around), lanes))
    return found


def _condition(nest: RegisterTile, around: tuple[For, ...]) -> Expr | None:
    """Return whether there are tiles, where their number depends on what the panels hold.

    Elements that no tile reads may lie outside of the operand, as in products of triangles.
    """
    shown = _iterators(*nest.panel)
    for loop in reversed(around):
        if loop.iter in shown:
            shown |= _iterators(loop)
    return _runs(nest.tiles) if shown & _iterators(nest.tiles) else None


def _runs(loop: For) -> Expr:
    return Compare(CompareOp.LT, loop.lower, loop.upper)


def _is_within(loop: For, other: For, known: tuple[Expr, ...]) -> bool:
    """Tell whether a loop has no iterations that another one has not, where `known` holds."""
    ends = operands(loop.upper, BinaryOp.MIN)
    return (loop.lower, loop.step) == (other.lower, other.step) and all(
        end in ends or any(_is_below(Iter(loop.iter), end, one) for one in known)
        for end in operands(other.upper, BinaryOp.MIN)
    )


def _is_below(value: Iter, end: Expr, condition: Expr) -> bool:
    """Tell whether `condition` says that `value` is less than a quotient `end`, in its terms:
    `n >= 8 * i + 8` is `i < n // 8`.
    """
    match end, condition:
        case (
            Binary(op=BinaryOp.FLOORDIV, left=whole, right=Const(value=int(by))),
            Compare(op=CompareOp.GE, left=larger, right=smaller),
        ) if by > 0:
            left = linear(
                sub(sub(larger, smaller), sub(whole, mul(integer(by), add(value, integer(1)))))
            )
            return not left.terms and left.constant <= 0
        case _:
            return False


def _is_at_most(value: Expr, end: Expr, condition: Expr) -> bool:
    """Tell whether `condition` says that `value` is at most `end`."""
    match condition:
        case Compare(op=CompareOp.GE, left=larger, right=smaller):
            more = linear(sub(sub(end, value), sub(larger, smaller)))
            return not more.terms and more.constant >= 0
        case _:
            return False


def _iterators(*loops: For) -> frozenset[str]:
    """Return the names of the iterators in the bounds of loops."""
    return iterators(*(bound for loop in loops for bound in (loop.lower, loop.upper)))


def _over(value: Expr, by: Expr) -> Expr:
    return normalize(Binary(BinaryOp.FLOORDIV, value, by, DType.INT64))


def _exchanged(old: Expr, new: Expr, part: Expr) -> Expr | None:
    return new if part == old else None


def _shared(nest: RegisterTile, around: tuple[For, ...], inner: set[str]) -> list[Expr]:
    """Return the operands that depend on depth and lane but not on the row or the tile."""
    target = nest.assign.target

    def stays(load: Load) -> bool:
        own = target.array in reads(load)
        in_place = own and has_iterator(load, {nest.lanes.iter}) and is_contiguous(load, nest.lanes)
        return not own or not (in_place or _is_overwritten(load, nest, around))

    def is_operand(expr: Expr) -> bool:
        depends = all(has_iterator(expr, {loop.iter}) for loop in (nest.depth, nest.lanes))
        if not depends or has_iterator(expr, inner) or expr.dtype is DType.BOOL:
            return False
        return all(map(stays, loads(expr)))

    return list(dict.fromkeys(operands_of(nest.assign.value, is_operand)))


def _is_overwritten(load: Load, nest: RegisterTile, around: tuple[For, ...]) -> bool:
    """Tell whether some iteration of the nest may write what another one reads."""
    assign = nest.assign
    if any(read.array == assign.target.array for i in load.index for read in loads(i)):
        return True
    other = {loop.iter: Iter(f"{loop.iter}'") for loop in nest.panel}
    again = tuple(
        replace(
            loop,
            iter=other[loop.iter].name,
            lower=substitute(loop.lower, other),
            upper=substitute(loop.upper, other),
        )
        for loop in nest.panel
    )
    block = () if nest.block is None else (nest.block,)
    box = LoopBox((*around, nest.tiles, *block, nest.depth, nest.rows, nest.lanes, *again))
    read = Element(tuple(substitute(i, other) for i in load.index))
    return not box.are_disjoint(Element(assign.target.index), read)
