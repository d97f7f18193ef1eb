"""SIMD lanes across rows of memory: a recurrence along rows that are contiguous, several at a time.

In: a loop in order around VECTOR loops of a fixed length, whose iterations go down the rows of a
matrix while the loop goes along them.  Out: a `Crossing`: what is read and written row by row, to
be turned in squares of registers, and what the lanes then compute.
What is computed of such reads alone is computed along the rows, before it is turned.
Refuses: other accesses, statements under conditions, elements that other rows write.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.lanes import DTYPES, NotVector, is_unit_stride, vectorized
from polyopt.emit.passes.rewriting import substituted, trip_count
from polyopt.ir.expr import (
    Expr,
    Iter,
    Load,
    Symbol,
    VectorLoad,
    add,
    children,
    integer,
    linear,
    loads,
    normalize,
    rewrite,
    sub,
    substitute,
    walk,
    with_children,
)
from polyopt.ir.loops import Assign, Body, Declare, For, LoopKind, Node, SetLocal
from polyopt.ir.types import DType

LANE = ".lane"
"""The iterator over the rows of a strip, from 0 on; no program's name has a dot."""
ALONG = ".along"
"""The iterator over the elements of a row in a square, in the order of memory."""
MOST_PAST = 4  # steps of a recurrence that are kept in registers
MOST_GROUPS = 4  # registers of lanes in a strip of rows


@dataclass(frozen=True, slots=True)
class Square:
    """A value for each row and step, computed along the rows; `symbol` is it in the lanes.

    `falls`: the loop goes along memory from its end.
    """

    symbol: Symbol
    value: Expr
    falls: bool


@dataclass(frozen=True, slots=True)
class Written:
    """What is stored row by row: `target` in row `LANE`, `now` in the lanes.

    `past` are the values of so many steps before, the last one first.
    """

    target: Load
    now: Symbol
    falls: bool
    past: tuple[Symbol, ...] = ()


@dataclass(frozen=True, slots=True)
class Crossing:
    """How to run a loop's steps in squares of `lanes` rows and as many steps.

    `rows` are those of a strip, `body` what a step does: statements on whole vectors, and those of
    one lane, which set a `Symbol` or memory, as VECTOR loops over `LANE`.  `contiguous` are arrays
    whose last dimension is.
    """

    lanes: int
    rows: int
    dtype: DType
    squares: tuple[Square, ...]
    written: tuple[Written, ...]
    body: Body
    contiguous: frozenset[str]

    @property
    def groups(self) -> range:
        """The registers that hold one value of all rows."""
        return range(self.rows // self.lanes)


def crossing(loop: For, lanes: int, rows: frozenset[str]) -> Crossing | None:
    """Return how `loop` runs with `lanes` rows in a register, or None where it has no such form."""
    strips = [node for node in loop.body if isinstance(node, For)]
    is_plain = loop.kind is LoopKind.SEQUENTIAL and loop.step == 1 and not loop.reductions
    if not strips or not is_plain or lanes < 2:
        return None
    counts = {_rows_of(strip) for strip in strips}
    count = counts.pop()
    if counts or not count or count % lanes or count // lanes > MOST_GROUPS:
        return None
    if not all(isinstance(n, For) or _is_of_lanes(n) for n in loop.body):
        return None
    try:
        return _Finder(loop, lanes, count, rows).crossing()
    except NotVector:
        return None


def in_lanes(node: Assign | SetLocal, crossing: Crossing, group: int) -> Node:
    """Return a statement of `LANE` for one register of rows.  Raises `NotVector`."""
    own = {s.symbol.name for s in crossing.squares} | {w.now.name for w in crossing.written}
    own |= {past.name for w in crossing.written for past in w.past}
    return _vector(node, LANE, group * crossing.lanes, crossing, frozenset(own))


def along(square: Square, loop: For, crossing: Crossing) -> Expr:
    """Return a square's value in row `LANE`, for all steps, in the order of memory."""
    value = substitute(square.value, {loop.iter: _step(loop, crossing, falls=square.falls)})
    node = Declare(square.symbol.name, crossing.dtype, 1, value)
    made = _vector(node, ALONG, 0, crossing, frozenset())
    assert isinstance(made, Declare)
    return made.value


def target_along(written: Written, loop: For, crossing: Crossing) -> VectorLoad:
    """Return the elements of row `LANE` that a square's steps write, in the order of memory."""
    step = substitute(_step(loop, crossing, falls=written.falls), {ALONG: integer(0)})
    target = written.target
    index = tuple(normalize(substitute(i, {loop.iter: step})) for i in target.index)
    return VectorLoad(target.array, index, target.dtype, crossing.lanes)


def _step(loop: For, crossing: Crossing, *, falls: bool) -> Expr:
    """Return the iteration of the loop that is element `ALONG` of a square's row."""
    here = Iter(loop.iter)
    if falls:
        return sub(add(here, integer(crossing.lanes - 1)), Iter(ALONG))
    return add(here, Iter(ALONG))


def _vector(node: Node, name: str, first: int, crossing: Crossing, own: frozenset[str]) -> Node:
    """Return a statement for as many values of iterator `name`, from `first` on, as lanes."""
    count = integer(crossing.lanes)
    loop = For(name, integer(0), count, 1, LoopKind.VECTOR, (node,))
    body = vectorized(loop, crossing.lanes, crossing.contiguous, own, choices=True)
    return substituted(body, {name: integer(first)})[0]


def _is_of_lanes(node: Node) -> bool:
    return isinstance(node, Assign) and isinstance(node.target, VectorLoad)


def _rows_of(strip: For) -> int:
    """Return how many rows a VECTOR loop takes, 0 where it is no plain loop over rows."""
    is_plain = strip.kind is LoopKind.VECTOR and strip.lanes == 1 and strip.step == 1
    statements = all(isinstance(n, Assign) and isinstance(n.target, Load) for n in strip.body)
    if not is_plain or strip.reductions or not statements:
        return 0
    return trip_count(strip) or 0


@dataclass
class _Finder:
    """Looks for the squares of one loop."""

    loop: For
    lanes: int
    count: int
    rows: frozenset[str]
    squares: dict[Expr, Square] = field(default_factory=dict)
    written: dict[str, Written] = field(default_factory=dict)
    plain: frozenset[str] = frozenset()
    set_now: set[str] = field(default_factory=set)

    def crossing(self) -> Crossing | None:
        """Return the crossing, or None; raises `NotVector` as well."""
        loop = self.loop
        body = tuple(self.from_zero(n) if isinstance(n, For) else n for n in loop.body)
        dtypes = {n.target.dtype for part in body for n in _statements(part)}
        if len(dtypes) != 1 or not dtypes <= DTYPES:
            return None
        for node in body:
            if isinstance(node, For):
                for statement in _statements(node):
                    self.note(statement.target)
        if not self.are_apart(body):
            return None
        self.keep_past(body)
        steps = tuple(self.step(node) for node in body)
        if not self.squares and not self.written:
            return None
        found = Crossing(
            self.lanes, self.count, dtypes.pop(), tuple(self.squares.values()),
            tuple(self.written.values()), steps, self.rows,
        )  # fmt: skip
        for step in steps:  # raises where there is no vector form
            for each in step.body if isinstance(step, For) else ():
                assert isinstance(each, Assign | SetLocal)
                in_lanes(each, found, 0)
        for square in found.squares:
            along(square, loop, found)
        return found

    def from_zero(self, strip: For) -> For:
        """Return a VECTOR loop over `LANE`."""
        row = add(strip.lower, Iter(LANE))
        body = substituted(strip.body, {strip.iter: row})
        return replace(strip, iter=LANE, lower=integer(0), upper=integer(self.count), body=body)

    def note(self, target: Load | VectorLoad) -> None:
        """Remember what is written across rows; each array once."""
        assert isinstance(target, Load)
        way = self.way(target)
        if way == 0:
            return
        if target.array in self.written:
            raise NotVector
        now = Symbol(f"{target.array}.made", target.dtype, self.lanes)
        self.written[target.array] = Written(target, now, way < 0)

    def are_apart(self, body: Body) -> bool:
        """Tell whether what is turned is written by nothing else."""
        self.plain = frozenset(
            n.target.array
            for part in body
            for n in _statements(part)
            if isinstance(n.target, VectorLoad) or self.way(n.target) == 0
        )
        reads = [read for part in body for n in _statements(part) for read in _accesses(n.value)]
        for read in reads:
            way = self.way(read) if isinstance(read, Load) else 0
            if read.array in (self.plain if way else self.written):
                return False
        return not self.plain & self.written.keys()

    def keep_past(self, body: Body) -> None:
        """Find how many steps back what is written is read."""
        for part in body:
            for statement in _statements(part):
                for read in _accesses(statement.value):
                    if read.array in self.written:
                        self.keep(read.array, self.distance(read))

    def keep(self, array: str, distance: int) -> None:
        if distance > MOST_PAST:
            raise NotVector
        written = self.written[array]
        more = range(len(written.past) + 1, distance + 1)
        past = (Symbol(f"{array}.past{n}", written.now.dtype, self.lanes) for n in more)
        self.written[array] = replace(written, past=(*written.past, *past))

    def distance(self, read: Load | VectorLoad) -> int:
        """Return how many steps before its element of this row was written.  Raises `NotVector`."""
        target = self.written[read.array].target
        away = [normalize(sub(w, r)) for w, r in zip(target.index, read.index, strict=True)]
        if any(part != integer(0) for part in away[:-1]) or linear(away[-1]).terms:
            raise NotVector
        steps = linear(away[-1]).constant
        return -steps if self.written[read.array].falls else steps

    def way(self, access: Load) -> int:
        """Return 1 or -1 for an access across rows, as the loop goes along them, 0 for others.

        Raises `NotVector` for what lanes do not reach.
        """
        if is_unit_stride(access, LANE, self.rows):
            return 0
        strides = [self.strides(index) for index in access.index]
        rows, steps = [s[0] for s in strides], [s[1] for s in strides]
        if access.array not in self.rows or rows[-1] or any(steps[:-1]) or abs(steps[-1]) != 1:
            raise NotVector
        return steps[-1]

    def strides(self, index: Expr) -> tuple[int, int]:
        """Return the factors of lane and step in a subscript."""
        lane, step = Iter(LANE), Iter(self.loop.iter)
        factors: dict[Expr, int] = {lane: 0, step: 0}
        for atom, factor in linear(index).terms:
            if atom in factors:
                factors[atom] = factor
            elif any(isinstance(p, Load) or p in factors for p in walk(atom)):
                raise NotVector
        return factors[lane], factors[step]

    def step(self, node: Node) -> Node:
        """Return a node of the loop as a step: reads across rows are `Symbol`s."""
        if not isinstance(node, For):
            return node
        found: list[Node] = []
        for statement in _statements(node):
            value = self.turned(statement.value)
            written = self.written.get(statement.target.array)
            if written is None:
                found.append(replace(statement, value=value))
                continue
            self.set_now.add(statement.target.array)
            name, dtype = written.now.name, written.now.dtype
            found.append(SetLocal(name, dtype, 1, value))
        return replace(node, body=tuple(found))

    def turned(self, value: Expr) -> Expr:
        """Return `value` with the largest parts that are computed along rows as squares."""
        ways = {self.way(read) for read in loads(value)} - {0}
        if len(ways) == 1 and value.dtype is not DType.BOOL and self.is_of_rows(value):
            return self.square(value, falls=-1 in ways)
        if isinstance(value, Load) and value.array in self.written:
            distance = self.distance(value)
            written = self.written[value.array]
            return replace(written.now if distance == 0 else written.past[distance - 1], lanes=1)
        if not children(value) or isinstance(value, Load):
            return value
        return with_children(value, tuple(map(self.turned, children(value))))

    def is_of_rows(self, value: Expr) -> bool:
        """Tell whether `value` is made of reads across rows, and of what never changes."""
        match value:
            case Load() if self.way(value):
                return value.array not in self.written or self.is_ahead(value)
            case Load():
                own = any(p in (Iter(LANE), Iter(self.loop.iter)) for p in walk(value))
                return not own and value.array not in self.plain
            case Iter():
                return False
            case _:
                return all(map(self.is_of_rows, children(value)))

    def is_ahead(self, read: Load) -> bool:
        """Tell whether what is read is not yet written."""
        distance = self.distance(read)
        return distance < 0 or (distance == 0 and read.array not in self.set_now)

    def square(self, value: Expr, *, falls: bool) -> Symbol:
        value = normalize_loads(value)
        known = self.squares.get(value)
        if known is None:
            array = next(read.array for read in loads(value) if self.way(read))
            wish = f"{array}.turned"
            number = sum(s.symbol.name.startswith(wish) for s in self.squares.values())
            name = f"{wish}{number or ''}"
            known = Square(Symbol(name, value.dtype, self.lanes), value, falls)
            self.squares[value] = known
        return replace(known.symbol, lanes=1)


def normalize_loads(value: Expr) -> Expr:
    """Return `value` with its subscripts collected."""

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load):
            return replace(part, index=tuple(map(normalize, part.index)))
        return None

    return rewrite(value, rule)


def _statements(node: Node) -> tuple[Assign, ...]:
    body = node.body if isinstance(node, For) else (node,)
    return tuple(n for n in body if isinstance(n, Assign))


def _accesses(value: Expr) -> Iterator[Load | VectorLoad]:
    return (part for part in walk(value) if isinstance(part, Load | VectorLoad))
