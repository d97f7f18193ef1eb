"""Collect the accesses and barriers of a block's threads.

In: a kernel, as it is printed.  Out: accesses and barriers with the block's time: positions in
bodies and iterators of the loops that all threads run.
Subscripts that depend on data count as any value, conditions on data as true or false.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Expr,
    Iter,
    Load,
    Symbol,
    VectorLoad,
    integer,
    rewrite,
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
    Kernel,
    LoopKind,
    Node,
    Scope,
)
from polyopt.ir.nodes import bodies, own_expressions
from polyopt.ir.types import DType
from polyopt.proof.affine import Frame, NotAffine
from polyopt.proof.paths import Path
from polyopt.proof.threads import thread_nest

_OUT = isl.dim_type.out


@dataclass(frozen=True, eq=False)
class BlockAccess:
    """An access of a block's threads.

    `place` is `{ [outside] -> [time, thread, subscripts] }`, where `outside` are the iterators of
    the host and of the grid.  `when` is the time, over iterators of the block.  `around` are the
    conditions on data that hold there.
    """

    array: str
    is_written: bool
    place: isl.Map
    when: tuple[Expr, ...]
    length: int
    around: tuple[DataCondition, ...]
    is_async: bool = False
    is_atomic: bool = False


@dataclass(frozen=True, eq=False)
class DataCondition:
    """A node under a condition on data; `depth` components of a time identify one execution."""

    node: Node
    depth: int


@dataclass(frozen=True, eq=False)
class BarrierTimes:
    """A barrier: `{ [outside] -> [time] }` of all its executions.

    The first `length` components of a time tell it from every other node's.
    """

    scope: Scope
    times: isl.Map
    around: tuple[DataCondition, ...]
    length: int


@dataclass(frozen=True, eq=False)
class CopyGroupTimes:
    """A commit of copies, or a wait for all groups but `pending`: `{ [outside] -> [time] }`."""

    pending: int | None
    times: isl.Map


@dataclass(frozen=True)
class ProgramPoint:
    """The position of a node: `time` is the block's time, `thread` the running thread's number.

    `thread` None stands for every thread.  `combined`: the array that neighbouring threads reduce
    into, which the first of them accesses.
    """

    path: Path
    time: tuple[Expr, ...]
    thread: Expr | None = None
    around: tuple[DataCondition, ...] = ()
    combined: tuple[str, Expr] | None = None


@dataclass(eq=False)
class BlockReader:
    """Collects the accesses of a kernel to the arrays `seen`.

    `strays` are the arrays of `own`, in registers, of which a thread accesses another one's part.
    """

    kernel: Kernel
    outside: int
    seen: frozenset[str]
    own: frozenset[str]
    values: dict[str, Expr]
    length: int
    accesses: list[BlockAccess] = field(default_factory=list)
    barriers: list[BarrierTimes] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    copy_groups: list[CopyGroupTimes] = field(default_factory=list)

    def body(self, body: Body, where: ProgramPoint) -> None:
        for position, node in enumerate(body):
            here = where
            if len(where.path.loops) >= self.outside and not self.in_nest(where):
                here = replace(where, time=(*where.time, integer(2 * position)))
            self.node(node, here)

    def in_nest(self, where: ProgramPoint) -> bool:
        return any(loop.kind is LoopKind.THREAD for loop in where.path.loops)

    def node(self, node: Node, where: ProgramPoint) -> None:
        match node:
            case For(kind=LoopKind.THREAD) if not self.in_nest(where):
                self.nest(node, where)
            case For(kind=LoopKind.SCAN) if not self.in_nest(where):
                self.scan(node, where)
            case Barrier():
                times = self.times(where).intersect_domain(where.path.domain)
                outer = self.outer(where, times)
                self.barriers.append(BarrierTimes(node.scope, outer, where.around, len(where.time)))
            case CommitCopies() | AwaitCopies():
                times = self.times(where).intersect_domain(where.path.domain)
                pending = node.pending if isinstance(node, AwaitCopies) else None
                if not where.around:  # what data decides on may not happen
                    self.copy_groups.append(CopyGroupTimes(pending, self.outer(where, times)))
            case Assign():
                one = where if where.thread is not None else replace(where, thread=integer(0))
                self.assign(node, one)
            case _:
                self.own_reads(node, where)
                self.inside(node, where)

    def assign(self, node: Assign, where: ProgramPoint) -> None:
        """Read an assignment; an atomic one reads and sets its element as one."""
        if not node.is_atomic:
            self.own_reads(node, where)
            self.access(node.target, where, is_written=True, is_async=node.is_async)
            return
        assert isinstance(node.value, Binary)
        for part in (node.value.left, node.value.right, *node.target.index):
            if part != node.target:
                self.reads(part, where)
        self.access(node.target, where, is_written=True, is_atomic=True)

    def own_reads(self, node: Node, where: ProgramPoint) -> None:
        for expr in own_expressions(node):
            self.reads(expr, where)

    def inside(self, node: Node, where: ProgramPoint) -> None:
        """Read the bodies of a node; outside of thread nests, iterations and branches are times."""
        for number, part in enumerate(bodies(node)):
            path = where.path.into(node, number)
            inner = replace(where, path=path, around=self.unsure(node, where, path))
            if where.time and not self.in_nest(where):
                tells = Iter(node.iter) if isinstance(node, For) else integer(number)
                inner = replace(inner, time=(*self.started(where), tells))
            self.body(part, inner)

    def nest(self, outermost: For, where: ProgramPoint) -> None:
        """Read the body of a thread nest, which each thread runs on its own."""
        nest = thread_nest(outermost)
        number = nest.number()
        if nest.size > self.kernel.threads:
            number = Binary(BinaryOp.MOD, number, integer(self.kernel.threads), DType.INT64)
        path = where.path
        body: Body = (outermost,)
        while body is not nest.inside:
            (node,) = body
            assert isinstance(node, For | If)
            path = path.into(node, 0)
            body = node.body if isinstance(node, For) else node.then
        inside = replace(where, path=path, time=self.started(where), thread=number)
        if nest.combined is not None:
            inside = replace(inside, combined=(nest.combined, nest.first()))
        self.body(nest.inside, inside)

    def scan(self, loop: For, where: ProgramPoint) -> None:
        """Read a recurrence that all threads scan together: any thread may run any iteration.

        Threads wait for one another inside the scan and at its end.
        """
        self.own_reads(loop, where)
        path = where.path.into(loop, 0)
        inside = replace(where, path=path, time=self.started(where))
        for node in loop.body:
            assert isinstance(node, Assign)
            self.own_reads(node, inside)
            self.access(node.target, inside, is_written=True)

    def started(self, where: ProgramPoint) -> tuple[Expr, ...]:
        """Return the time of the bodies of a node, after the node's own reads."""
        *outer, position = where.time
        return (*outer, Binary(BinaryOp.ADD, position, integer(1), DType.INT64))

    def unsure(self, node: Node, where: ProgramPoint, path: Path) -> tuple[DataCondition, ...]:
        if len(path.data) == len(where.path.data) or self.in_nest(where):
            return where.around
        return (*where.around, DataCondition(node, len(where.time)))

    # -- accesses

    def reads(self, expr: Expr, where: ProgramPoint) -> None:
        for part in walk(expr):
            if isinstance(part, Load | VectorLoad):
                self.access(part, where, is_written=False)

    def access(
        self,
        access: Load | VectorLoad,
        where: ProgramPoint,
        *,
        is_written: bool,
        is_async: bool = False,
        is_atomic: bool = False,
    ) -> None:
        if access.array not in self.seen and access.array not in self.own:
            return
        if where.combined is not None and access.array == where.combined[0]:
            where = replace(where, thread=where.combined[1])
        index: tuple[Expr, ...] = tuple(self.plain(part) for part in access.index)
        if access.array in self.own:
            self.check_own(access, index, where)
            return
        frame = where.path.frame
        place = self.times(where).flat_range_product(self.thread(where))
        for position, part in enumerate(index):
            one = _function(frame, part)
            if isinstance(access, VectorLoad) and position == len(index) - 1:
                one = _widened(one, access.span)
            place = place.flat_range_product(one)
        place = place.intersect_domain(where.path.domain)
        outer = self.outer(where, place)
        self.accesses.append(
            BlockAccess(
                access.array,
                is_written,
                outer,
                where.time,
                self.length,
                where.around,
                is_async,
                is_atomic,
            )
        )

    def check_own(
        self, access: Load | VectorLoad, index: tuple[Expr, ...], where: ProgramPoint
    ) -> None:
        """Check that a thread accesses only its own part of an array in registers."""
        first = _function(where.path.frame, index[0]).intersect_domain(where.path.domain)
        if where.thread is None or not first.is_subset(self.thread(where)):
            self.strays.append(access.array)

    def plain(self, expr: Expr) -> Expr:
        """Return `expr` with locals that are set once replaced by their values."""
        return rewrite(
            expr,
            lambda e: (
                self.plain(self.values[e.name])
                if isinstance(e, Symbol) and e.name in self.values
                else None
            ),
        )

    def times(self, where: ProgramPoint) -> isl.Map:
        """Return `{ [iterators] -> [time] }`, times padded to one length."""
        padded = (*where.time, *[integer(0)] * (self.length - len(where.time)))
        return where.path.frame.map_to("", padded).reset_tuple_id(_OUT)

    def thread(self, where: ProgramPoint) -> isl.Map:
        """Return `{ [iterators] -> [thread] }`."""
        frame = where.path.frame
        if where.thread is not None:
            return _function(frame, self.plain(where.thread))
        number = _function(Frame(frame.params, ("$t",)), Iter("$t")).range()
        inside = number.lower_bound_val(isl.dim_type.set, 0, isl.Val(0))
        inside = inside.upper_bound_val(isl.dim_type.set, 0, isl.Val(self.kernel.threads - 1))
        return isl.Map.from_domain_and_range(frame.universe, inside)

    def outer(self, where: ProgramPoint, place: isl.Map) -> isl.Map:
        """Return `place` as a function of the iterators of host and grid alone."""
        count = place.dim(isl.dim_type.in_)
        return place.project_out(isl.dim_type.in_, self.outside, count - self.outside)


def _function(frame: Frame, expr: Expr) -> isl.Map:
    """Return `{ [iterators] -> [value] }`; any value where `expr` is not affine."""
    try:
        return isl.Map.from_pw_aff(frame.pw(expr))
    except NotAffine:
        anything = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, 1))
        anything = anything.align_params(frame.space)
        return isl.Map.from_domain_and_range(frame.universe, anything)


def _widened(one: isl.Map, lanes: int) -> isl.Map:
    """Return the map to the index of every lane of a vector access, given that of the first."""
    space = one.get_space().range().map_from_set()
    local = isl.LocalSpace.from_space(space.wrap())
    first = isl.Aff.var_on_domain(local, isl.dim_type.set, 0)
    second = isl.Aff.var_on_domain(local, isl.dim_type.set, 1)
    last = first.add(isl.Aff.zero_on_domain(local).set_constant_val(isl.Val(lanes - 1)))
    return one.apply_range(first.le_set(second).intersect(second.le_set(last)).unwrap())


def depth(body: Body) -> int:
    """Return how many components besides positions a time in `body` has."""
    found = [0]
    for node in body:
        if not (isinstance(node, For) and node.kind is LoopKind.THREAD):
            found += [1 + depth(part) for part in bodies(node)]
    return max(found)
