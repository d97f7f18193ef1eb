"""What the threads of a block touch: every access of a kernel, with its place and its thread.

In: a kernel, what is known of sizes.  Out: accesses as isl maps from elements to who reaches them.
What only data tells counts as any value.  Iterators of the host and of blocks are parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.gpu.matrix import as_touched
from polyopt.emit.gpu.nests import thread_nest
from polyopt.emit.gpu.pipelines import landed
from polyopt.emit.nodes import expressions, nested
from polyopt.ir.affine import NotAffine, coalesced, condition_set, pw_aff, set_space
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    integer,
    loads,
    operands,
    rewrite,
    sub,
    walk,
)
from polyopt.ir.loops import (
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    CommitCopies,
    For,
    If,
    LoopKind,
    Node,
)
from polyopt.ir.types import DType

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set

Spot = tuple[int, ...]
"""Where a node of a block stands: its position, the number of its body, a position there, …"""

Around = tuple[tuple[tuple[str, Expr, Expr, int], ...], tuple[Expr, ...]]
MOST_CASES = 4
"""Alternatives of a condition that are looked at; with more it counts as true."""


@dataclass(frozen=True, eq=False)
class Touch:
    """An access by threads of a block.

    `spot` is where the block's code has it, `loops` are the loops around that all threads run,
    `homes` the spots of their bodies.
    `reached` is `{ [subscripts] -> [iterators of loops, thread] }`.
    """

    array: str
    is_written: bool
    spot: Spot
    loops: tuple[For, ...]
    homes: tuple[Spot, ...]
    reached: isl.Map
    is_atomic: bool = False


@dataclass(frozen=True)
class Place:
    """Where a walk stands: loops and conditions around; those with `homes` run by all threads.

    `combined`: what neighbouring threads combine into is reached by the first of them.  `unsure`
    are the bodies around that run as data tells, with the number of loops around each.
    """

    spot: Spot
    loops: tuple[For, ...] = ()
    homes: tuple[Spot, ...] = ()
    conditions: tuple[Expr, ...] = ()
    thread: Expr | None = None
    combined: tuple[str, Expr] | None = None
    unsure: tuple[tuple[Spot, int], ...] = ()

    @property
    def around(self) -> Around:
        """What decides which iterations come here."""
        loops = tuple((loop.iter, loop.lower, loop.upper, loop.step) for loop in self.loops)
        return loops, self.conditions


@dataclass(eq=False)
class Walk:
    """Collects the accesses of a block; `fixed` are iterators that a block does not change.

    `arrays` are those to look at.  `values` are locals that stand for an expression.
    """

    threads: int
    params: tuple[str, ...]
    fixed: frozenset[str]
    context: isl.Set
    arrays: frozenset[str]
    values: dict[str, Expr]
    found: list[Touch] = field(default_factory=list)
    domains: dict[Around, isl.Set] = field(default_factory=dict)
    bodies: dict[Spot, Place] = field(default_factory=dict)
    seen: set[tuple[Spot, Around, Expr, bool]] = field(default_factory=set)

    def body(self, body: Body, place: Place) -> None:
        """Walk over code that all threads run."""
        self.bodies[place.spot] = place
        for position, node in enumerate(body):
            self.node(node, replace(place, spot=(*place.spot, position)))

    def node(self, node: Node, place: Place) -> None:
        match node:
            case For(kind=LoopKind.THREAD):
                self.nest(node, place)
            case For(kind=LoopKind.SCAN):  # all threads wait for one another inside
                self.own(node, place)
                inner = self.into(node, 0, place)
                for assign in node.body:
                    assert isinstance(assign, Assign)
                    self.assign(assign, inner)
            case Assign():
                self.assign(node, replace(place, thread=integer(0)))
            case Barrier() | CommitCopies() | AwaitCopies():
                pass
            case _:
                self.own(node, place)
                for number, part in enumerate(nested(node)):
                    spot = (*place.spot, number)
                    homes = (*place.homes, spot) if isinstance(node, For) else place.homes
                    unsure = place.unsure
                    if any(loads(expr) for expr in expressions(node)):
                        unsure = (*unsure, (spot, len(place.homes)))
                    inner = self.into(node, number, place)
                    self.body(part, replace(inner, homes=homes, spot=spot, unsure=unsure))
                    if isinstance(node, For):
                        for position, copy in landed(node):
                            here = replace(inner, homes=homes, unsure=unsure)
                            self.landing(copy, replace(here, spot=(*spot, position)))

    def landing(self, node: Node, place: Place) -> None:
        """Walk over copies that land where a block has waited for them, at `place`."""
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            self.nest(node, place)
            return
        for number, part in enumerate(nested(node)):
            for inner in part:
                self.landing(inner, self.into(node, number, place))

    def nest(self, outermost: For, place: Place) -> None:
        """Walk over code that the threads run on their own, or warps together."""
        nest = thread_nest(as_touched(outermost, self.threads))
        number = nest.number
        if nest.size > self.threads:
            number = Binary(BinaryOp.MOD, number, integer(self.threads), DType.INT64)
        loops = (*place.loops, *nest.loops)
        conditions = (*place.conditions, *(condition for _, condition in nest.conditions))
        inner = replace(place, loops=loops, conditions=conditions, thread=number)
        if nest.combined is not None:
            inner = replace(inner, combined=(nest.combined, nest.first))
        self.inside(nest.body, inner)

    def inside(self, body: Body, place: Place) -> None:
        for node in body:
            if isinstance(node, Assign):
                self.assign(node, place)
                continue
            self.own(node, place)
            for number, part in enumerate(nested(node)):
                self.inside(part, self.into(node, number, place))

    def into(self, node: Node, number: int, place: Place) -> Place:
        """Return the place inside body `number` of a node."""
        match node:
            case For():
                return replace(place, loops=(*place.loops, node))
            case If() if number == 0:
                return replace(place, conditions=(*place.conditions, node.condition))
            case If():
                return replace(place, conditions=(*place.conditions, _negated(node.condition)))
            case _:
                return place

    # -- accesses

    def own(self, node: Node, place: Place) -> None:
        for expr in expressions(node):
            self.reads(expr, place)

    def assign(self, node: Assign, place: Place) -> None:
        if node.is_atomic:
            assert isinstance(node.value, Binary)
            for part in (node.value.left, node.value.right, *node.target.index):
                if part != node.target:
                    self.reads(part, place)
            self.access(node.target, place, is_written=True, is_atomic=True)
            return
        self.reads(node.value, place)
        for part in node.target.index:
            self.reads(part, place)
        self.access(node.target, place, is_written=True)

    def reads(self, expr: Expr, place: Place) -> None:
        for part in walk(expr):
            if isinstance(part, Load | VectorLoad):
                self.access(part, place, is_written=False)

    def access(
        self,
        access: Load | VectorLoad,
        place: Place,
        *,
        is_written: bool,
        is_atomic: bool = False,
    ) -> None:
        if access.array not in self.arrays:
            return
        if place.combined is not None and access.array == place.combined[0]:
            place = replace(place, thread=place.combined[1])
        around = place.around
        key = (place.spot, around, access, is_written)
        if key in self.seen:
            return
        self.seen.add(key)
        names = [f"${n}" for n in range(len(place.loops))]
        space = set_space(self.params, "", names)
        renamed = {loop.iter: Iter(name) for loop, name in zip(place.loops, names, strict=True)}
        if around not in self.domains:
            self.domains[around] = self.domain(place, space, renamed)
        domain = self.domains[around]
        who = self.thread(place, space, renamed)
        result = isl.Map.from_domain(domain)
        for name in names[: len(place.homes)]:
            result = result.flat_range_product(isl.Map.from_pw_aff(pw_aff(Iter(name), space)))
        result = result.flat_range_product(who)
        for part in access.index:
            result = result.flat_range_product(self.function(part, space, renamed))
        if isinstance(access, VectorLoad):
            result = _widened(result, access.span)
        result = result.project_out(_IN, 0, len(names))
        reached = result.move_dims(_IN, 0, _OUT, len(place.homes) + 1, len(access.index))
        loops = place.loops[: len(place.homes)]
        self.found.append(
            Touch(access.array, is_written, place.spot, loops, place.homes, reached, is_atomic)
        )

    def domain(self, place: Place, space: isl.Space, renamed: dict[str, Iter]) -> isl.Set:
        hull = self.context.simple_hull().to_set()  # pieces would multiply with each condition
        result = isl.Set.universe(space).intersect_params(hull)
        for condition in bounds_of(place.loops, place.conditions):
            try:
                own = condition_set(self.plain(condition, renamed), space, result)
            except NotAffine:
                continue
            result = result.intersect(own)
        for loop in place.loops:
            if loop.step != 1:
                try:
                    distance = pw_aff(self.plain(sub(Iter(loop.iter), loop.lower), renamed), space)
                except NotAffine:
                    continue
                rest = distance.mod_val(isl.Val(loop.step))
                result = result.intersect(rest.eq_set(pw_aff(integer(0), space)))
        return coalesced(result.intersect_params(self.context))

    def thread(self, place: Place, space: isl.Space, renamed: dict[str, Iter]) -> isl.Map:
        """Return which threads run the code there."""
        if place.thread is not None:
            return self.function(place.thread, space, renamed)
        every = self.anything(space)
        every = every.lower_bound_val(_OUT, 0, isl.Val(0))
        return every.upper_bound_val(_OUT, 0, isl.Val(self.threads - 1))

    def function(self, expr: Expr, space: isl.Space, renamed: dict[str, Iter]) -> isl.Map:
        try:
            return isl.Map.from_pw_aff(pw_aff(self.plain(expr, renamed), space))
        except NotAffine:
            return self.anything(space)

    def anything(self, space: isl.Space) -> isl.Map:
        return isl.Map.from_domain(isl.Set.universe(space)).add_dims(_OUT, 1)

    def plain(self, expr: Expr, renamed: dict[str, Iter]) -> Expr:
        """Return `expr` over the names of the isl space."""

        def rule(part: Expr) -> Expr | None:
            match part:
                case Iter() if part.name in renamed:
                    return renamed[part.name]
                case Iter():
                    return Param(part.name)
                case Symbol() if part.name in self.values:
                    return self.plain(self.values[part.name], renamed)
                case Symbol() if part.name in self.params:
                    return Param(part.name)
                case _:
                    return None

        return rewrite(expr, rule)


def bounds_of(loops: Sequence[For], conditions: Sequence[Expr]) -> Iterator[Expr]:
    """Yield what holds inside loops and conditions, one comparison at a time."""
    for loop in loops:
        for lower in operands(loop.lower, BinaryOp.MAX):
            yield Compare(CompareOp.GE, Iter(loop.iter), lower)
        for upper in operands(loop.upper, BinaryOp.MIN):
            yield Compare(CompareOp.LT, Iter(loop.iter), upper)
    for condition in conditions:
        for part in operands(condition, BinaryOp.AND):
            if sum(isinstance(p, Compare) for p in walk(part)) <= MOST_CASES:
                yield part


def _negated(condition: Expr) -> Expr:
    return Unary(UnaryOp.INVERT, condition, DType.BOOL)


def _widened(result: isl.Map, lanes: int) -> isl.Map:
    """Return the map whose last dimension takes the next `lanes` values."""
    last = result.dim(_OUT) - 1
    pieces = [result]
    for lane in range(1, lanes):
        space = result.get_space().range()
        local = isl.LocalSpace.from_space(space)
        affs = isl.MultiAff.identity(space.map_from_set())
        moved = isl.Aff.var_on_domain(local, _SET, last).add_constant_val(isl.Val(lane))
        pieces.append(result.apply_range(isl.Map.from_multi_aff(affs.set_aff(last, moved))))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole.union(piece)
    return whole
