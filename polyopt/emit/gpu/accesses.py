"""Collect the accesses of a block: every access with its program point and its thread.

In: a kernel, the context of its sizes.  Out: accesses as isl maps from elements to threads.
A data-dependent value counts as any value.  Iterators of the host and of blocks are parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.gpu.matrix import as_accessed
from polyopt.emit.gpu.nests import thread_nest
from polyopt.emit.gpu.pipelines import completed_copies
from polyopt.emit.regions import expressions
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
from polyopt.ir.nodes import bodies
from polyopt.ir.types import DType

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set

Point = tuple[int, ...]
"""A program point: a node's position, the number of its body, the position in that body, …"""

Around = tuple[tuple[tuple[str, Expr, Expr, int], ...], tuple[Expr, ...]]
MOST_CASES = 4
"""A condition with more disjuncts counts as true."""


@dataclass(frozen=True, eq=False)
class ThreadAccess:
    """An access by the threads of a block.

    `loops` are the enclosing loops that all threads run, `loop_bodies` the points of their bodies.
    `reached` is `{ [subscripts] -> [iterators of loops, thread] }`.
    """

    array: str
    is_written: bool
    point: Point
    loops: tuple[For, ...]
    loop_bodies: tuple[Point, ...]
    reached: isl.Map
    is_atomic: bool = False


@dataclass(frozen=True)
class Site:
    """A program point with its enclosing loops and conditions.

    All threads run the loops that have `loop_bodies`.  `combined` is the target of a reduction
    across lanes, which the first lane accesses.  `data_dependent` are the enclosing bodies under
    data-dependent control, with the number of loops around each.
    """

    point: Point
    loops: tuple[For, ...] = ()
    loop_bodies: tuple[Point, ...] = ()
    conditions: tuple[Expr, ...] = ()
    thread: Expr | None = None
    combined: tuple[str, Expr] | None = None
    data_dependent: tuple[tuple[Point, int], ...] = ()

    @property
    def around(self) -> Around:
        """The loops and conditions that determine the iteration domain."""
        loops = tuple((loop.iter, loop.lower, loop.upper, loop.step) for loop in self.loops)
        return loops, self.conditions


@dataclass(eq=False)
class AccessCollector:
    """Collects a block's accesses to `arrays`.

    `fixed` are iterators that are constant in a block, `values` the expressions of locals.
    """

    threads: int
    params: tuple[str, ...]
    fixed: frozenset[str]
    context: isl.Set
    arrays: frozenset[str]
    values: dict[str, Expr]
    found: list[ThreadAccess] = field(default_factory=list)
    domains: dict[Around, isl.Set] = field(default_factory=dict)
    bodies: dict[Point, Site] = field(default_factory=dict)
    seen: set[tuple[Point, Around, Expr, bool]] = field(default_factory=set)

    def body(self, body: Body, site: Site) -> None:
        """Visit code that all threads run."""
        self.bodies[site.point] = site
        for position, node in enumerate(body):
            self.node(node, replace(site, point=(*site.point, position)))

    def node(self, node: Node, site: Site) -> None:
        match node:
            case For(kind=LoopKind.THREAD):
                self.nest(node, site)
            case For(kind=LoopKind.SCAN):  # all threads wait for one another inside
                self.own(node, site)
                inner = self.into(node, 0, site)
                for assign in node.body:
                    assert isinstance(assign, Assign)
                    self.assign(assign, inner)
            case Assign():
                self.assign(node, replace(site, thread=integer(0)))
            case Barrier() | CommitCopies() | AwaitCopies():
                pass
            case _:
                self.own(node, site)
                for number, part in enumerate(bodies(node)):
                    point = (*site.point, number)
                    loop_bodies = (
                        (*site.loop_bodies, point) if isinstance(node, For) else site.loop_bodies
                    )
                    data_dependent = site.data_dependent
                    if any(loads(expr) for expr in expressions(node)):
                        data_dependent = (*data_dependent, (point, len(site.loop_bodies)))
                    inner = self.into(node, number, site)
                    self.body(
                        part,
                        replace(
                            inner,
                            loop_bodies=loop_bodies,
                            point=point,
                            data_dependent=data_dependent,
                        ),
                    )
                    if isinstance(node, For):
                        for position, copy in completed_copies(node):
                            here = replace(
                                inner, loop_bodies=loop_bodies, data_dependent=data_dependent
                            )
                            self.landing(copy, replace(here, point=(*point, position)))

    def landing(self, node: Node, site: Site) -> None:
        """Visit asynchronous copies that complete at `site`, where the block waits for them."""
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            self.nest(node, site)
            return
        for number, part in enumerate(bodies(node)):
            for inner in part:
                self.landing(inner, self.into(node, number, site))

    def nest(self, outermost: For, site: Site) -> None:
        """Visit a nest that is distributed over threads, or that warps run cooperatively."""
        nest = thread_nest(as_accessed(outermost, self.threads))
        number = nest.number
        if nest.size > self.threads:
            number = Binary(BinaryOp.MOD, number, integer(self.threads), DType.INT64)
        loops = (*site.loops, *nest.loops)
        conditions = (*site.conditions, *(condition for _, condition in nest.conditions))
        inner = replace(site, loops=loops, conditions=conditions, thread=number)
        if nest.combined is not None:
            inner = replace(inner, combined=(nest.combined, nest.first))
        self.inside(nest.body, inner)

    def inside(self, body: Body, site: Site) -> None:
        for node in body:
            if isinstance(node, Assign):
                self.assign(node, site)
                continue
            self.own(node, site)
            for number, part in enumerate(bodies(node)):
                self.inside(part, self.into(node, number, site))

    def into(self, node: Node, number: int, site: Site) -> Site:
        """Return the site inside body `number` of a node."""
        match node:
            case For():
                return replace(site, loops=(*site.loops, node))
            case If() if number == 0:
                return replace(site, conditions=(*site.conditions, node.condition))
            case If():
                return replace(site, conditions=(*site.conditions, _negated(node.condition)))
            case _:
                return site

    # -- accesses

    def own(self, node: Node, site: Site) -> None:
        for expr in expressions(node):
            self.reads(expr, site)

    def assign(self, node: Assign, site: Site) -> None:
        if node.is_atomic:
            assert isinstance(node.value, Binary)
            for part in (node.value.left, node.value.right, *node.target.index):
                if part != node.target:
                    self.reads(part, site)
            self.access(node.target, site, is_written=True, is_atomic=True)
            return
        self.reads(node.value, site)
        for part in node.target.index:
            self.reads(part, site)
        self.access(node.target, site, is_written=True)

    def reads(self, expr: Expr, site: Site) -> None:
        for part in walk(expr):
            if isinstance(part, Load | VectorLoad):
                self.access(part, site, is_written=False)

    def access(
        self,
        access: Load | VectorLoad,
        site: Site,
        *,
        is_written: bool,
        is_atomic: bool = False,
    ) -> None:
        if access.array not in self.arrays:
            return
        if site.combined is not None and access.array == site.combined[0]:
            site = replace(site, thread=site.combined[1])
        around = site.around
        key = (site.point, around, access, is_written)
        if key in self.seen:
            return
        self.seen.add(key)
        names = [f"${n}" for n in range(len(site.loops))]
        space = set_space(self.params, "", names)
        renamed = {loop.iter: Iter(name) for loop, name in zip(site.loops, names, strict=True)}
        if around not in self.domains:
            self.domains[around] = self.domain(site, space, renamed)
        domain = self.domains[around]
        who = self.thread(site, space, renamed)
        result = isl.Map.from_domain(domain)
        for name in names[: len(site.loop_bodies)]:
            result = result.flat_range_product(isl.Map.from_pw_aff(pw_aff(Iter(name), space)))
        result = result.flat_range_product(who)
        for part in access.index:
            result = result.flat_range_product(self.function(part, space, renamed))
        if isinstance(access, VectorLoad):
            result = _widened(result, access.span)
        result = result.project_out(_IN, 0, len(names))
        reached = result.move_dims(_IN, 0, _OUT, len(site.loop_bodies) + 1, len(access.index))
        loops = site.loops[: len(site.loop_bodies)]
        self.found.append(
            ThreadAccess(
                access.array, is_written, site.point, loops, site.loop_bodies, reached, is_atomic
            )
        )

    def domain(self, site: Site, space: isl.Space, renamed: dict[str, Iter]) -> isl.Set:
        hull = self.context.simple_hull().to_set()  # pieces would multiply with each condition
        result = isl.Set.universe(space).intersect_params(hull)
        for condition in bounds_of(site.loops, site.conditions):
            try:
                own = condition_set(self.plain(condition, renamed), space, result)
            except NotAffine:
                continue
            result = result.intersect(own)
        for loop in site.loops:
            if loop.step != 1:
                try:
                    distance = pw_aff(self.plain(sub(Iter(loop.iter), loop.lower), renamed), space)
                except NotAffine:
                    continue
                rest = distance.mod_val(isl.Val(loop.step))
                result = result.intersect(rest.eq_set(pw_aff(integer(0), space)))
        return coalesced(result.intersect_params(self.context))

    def thread(self, site: Site, space: isl.Space, renamed: dict[str, Iter]) -> isl.Map:
        """Return which threads run the code there."""
        if site.thread is not None:
            return self.function(site.thread, space, renamed)
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
    """Yield the constraints that loops and conditions impose, one comparison at a time."""
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
