"""Vectorize recurrences along contiguous rows across the rows, with in-register transposes.

In: a sequential loop along rows around VECTOR loops of a fixed length down the rows of a matrix.
Out: a `RowRecurrence`: what is read and written row by row and transposed in registers, and the
statements of the lanes.  Expressions of such reads alone are computed before the transpose.
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
    loads,
    rewrite,
    sub,
    substitute,
    walk,
    with_children,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Body, Declare, For, LoopKind, Node, SetLocal
from polyopt.ir.types import DType

LANE = ".lane"
"""The iterator over the rows of a strip, from 0 on; no program's name has a dot."""
ALONG = ".along"
"""The iterator over the elements of a row in a read, in the order of memory."""
MOST_PAST = 4  # steps of a recurrence that are kept in registers
MOST_GROUPS = 4  # registers of lanes in a strip of rows


@dataclass(frozen=True, slots=True)
class TransposedRead:
    """A value for each row and step, computed along the rows; `symbol` holds it in the lanes.

    `descends`: the loop traverses memory downwards.
    """

    symbol: Symbol
    value: Expr
    descends: bool


@dataclass(frozen=True, slots=True)
class TransposedWrite:
    """A store along rows: `target` in row `LANE`, `now` in the lanes.

    `past` are the values of the preceding steps, the latest first.
    """

    target: Load
    now: Symbol
    descends: bool
    past: tuple[Symbol, ...] = ()


@dataclass(frozen=True, slots=True)
class RowRecurrence:
    """A loop in tiles of `lanes` rows and as many steps.

    `rows` are those of a strip, `body` the statements of a step: on whole vectors, and those of
    one lane, which set a `Symbol` or memory, as VECTOR loops over `LANE`.  `contiguous` are arrays
    whose last dimension is.
    """

    lanes: int
    rows: int
    dtype: DType
    reads: tuple[TransposedRead, ...]
    writes: tuple[TransposedWrite, ...]
    body: Body
    contiguous: frozenset[str]

    @property
    def groups(self) -> range:
        """The registers that hold one value of all rows."""
        return range(self.rows // self.lanes)


def row_recurrence(loop: For, lanes: int, rows: frozenset[str]) -> RowRecurrence | None:
    """Return `loop` as a recurrence with `lanes` rows in a register, or None if it is not one."""
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
        return _Analysis(loop, lanes, count, rows).recurrence()
    except NotVector:
        return None


def in_lanes(node: Assign | SetLocal, recurrence: RowRecurrence, group: int) -> Node:
    """Return a statement of `LANE` for one register of rows.  Raises `NotVector`."""
    own = {s.symbol.name for s in recurrence.reads} | {w.now.name for w in recurrence.writes}
    own |= {past.name for w in recurrence.writes for past in w.past}
    return _vector(node, LANE, group * recurrence.lanes, recurrence, frozenset(own))


def row_vector(read: TransposedRead, loop: For, recurrence: RowRecurrence) -> Expr:
    """Return a read's value in row `LANE`, for all steps, in the order of memory."""
    value = substitute(read.value, {loop.iter: _step(loop, recurrence, descends=read.descends)})
    node = Declare(read.symbol.name, recurrence.dtype, 1, value)
    made = _vector(node, ALONG, 0, recurrence, frozenset())
    assert isinstance(made, Declare)
    return made.value


def row_target(written: TransposedWrite, loop: For, recurrence: RowRecurrence) -> VectorLoad:
    """Return the elements of row `LANE` that the steps of a tile write, in the order of memory."""
    step = substitute(_step(loop, recurrence, descends=written.descends), {ALONG: integer(0)})
    target = written.target
    index = tuple(normalize(substitute(i, {loop.iter: step})) for i in target.index)
    return VectorLoad(target.array, index, target.dtype, recurrence.lanes)


def _step(loop: For, recurrence: RowRecurrence, *, descends: bool) -> Expr:
    """Return the iteration of the loop that is element `ALONG` of a tile's row."""
    here = Iter(loop.iter)
    if descends:
        return sub(add(here, integer(recurrence.lanes - 1)), Iter(ALONG))
    return add(here, Iter(ALONG))


def _vector(
    node: Node, name: str, first: int, recurrence: RowRecurrence, own: frozenset[str]
) -> Node:
    """Return a statement for as many values of iterator `name`, from `first` on, as lanes."""
    count = integer(recurrence.lanes)
    loop = For(name, integer(0), count, 1, LoopKind.VECTOR, (node,))
    body = vectorized(loop, recurrence.lanes, recurrence.contiguous, own, choices=True)
    return substituted(body, {name: integer(first)})[0]


def _is_of_lanes(node: Node) -> bool:
    return isinstance(node, Assign) and isinstance(node.target, VectorLoad)


def _rows_of(strip: For) -> int:
    """Return the number of rows of a VECTOR loop, 0 if it is not a plain loop over rows."""
    is_plain = strip.kind is LoopKind.VECTOR and strip.lanes == 1 and strip.step == 1
    statements = all(isinstance(n, Assign) and isinstance(n.target, Load) for n in strip.body)
    if not is_plain or strip.reductions or not statements:
        return 0
    return trip_count(strip) or 0


@dataclass
class _Analysis:
    """Finds the transposed reads and writes of one loop."""

    loop: For
    lanes: int
    count: int
    rows: frozenset[str]
    reads: dict[Expr, TransposedRead] = field(default_factory=dict)
    writes: dict[str, TransposedWrite] = field(default_factory=dict)
    plain: frozenset[str] = frozenset()
    set_now: set[str] = field(default_factory=set)

    def recurrence(self) -> RowRecurrence | None:
        """Return the recurrence, or None; raises `NotVector` as well."""
        loop = self.loop
        body = tuple(self.from_zero(n) if isinstance(n, For) else n for n in loop.body)
        dtypes = {n.target.dtype for part in body for n in _statements(part)}
        if len(dtypes) != 1 or not dtypes <= DTYPES:
            return None
        for node in body:
            if isinstance(node, For):
                for statement in _statements(node):
                    self.note(statement.target)
        if not self.are_independent(body):
            return None
        self.keep_past(body)
        steps = tuple(self.step(node) for node in body)
        if not self.reads and not self.writes:
            return None
        found = RowRecurrence(
            self.lanes, self.count, dtypes.pop(), tuple(self.reads.values()),
            tuple(self.writes.values()), steps, self.rows,
        )  # fmt: skip
        for step in steps:  # raises where there is no vector form
            for each in step.body if isinstance(step, For) else ():
                assert isinstance(each, Assign | SetLocal)
                in_lanes(each, found, 0)
        for read in found.reads:
            row_vector(read, loop, found)
        return found

    def from_zero(self, strip: For) -> For:
        """Return a VECTOR loop over `LANE`."""
        row = add(strip.lower, Iter(LANE))
        body = substituted(strip.body, {strip.iter: row})
        return replace(strip, iter=LANE, lower=integer(0), upper=integer(self.count), body=body)

    def note(self, target: Load | VectorLoad) -> None:
        """Record a write across rows; each array once."""
        assert isinstance(target, Load)
        direction = self.direction(target)
        if direction == 0:
            return
        if target.array in self.writes:
            raise NotVector
        now = Symbol(f"{target.array}.made", target.dtype, self.lanes)
        self.writes[target.array] = TransposedWrite(target, now, direction < 0)

    def are_independent(self, body: Body) -> bool:
        """Tell whether transposed arrays are written by nothing else."""
        self.plain = frozenset(
            n.target.array
            for part in body
            for n in _statements(part)
            if isinstance(n.target, VectorLoad) or self.direction(n.target) == 0
        )
        reads = [read for part in body for n in _statements(part) for read in _accesses(n.value)]
        for read in reads:
            direction = self.direction(read) if isinstance(read, Load) else 0
            if read.array in (self.plain if direction else self.writes):
                return False
        return not self.plain & self.writes.keys()

    def keep_past(self, body: Body) -> None:
        """Find the distance of each read of a written array."""
        for part in body:
            for statement in _statements(part):
                for read in _accesses(statement.value):
                    if read.array in self.writes:
                        self.keep(read.array, self.distance(read))

    def keep(self, array: str, distance: int) -> None:
        if distance > MOST_PAST:
            raise NotVector
        written = self.writes[array]
        more = range(len(written.past) + 1, distance + 1)
        past = (Symbol(f"{array}.past{n}", written.now.dtype, self.lanes) for n in more)
        self.writes[array] = replace(written, past=(*written.past, *past))

    def distance(self, read: Load | VectorLoad) -> int:
        """Return the distance in steps from an element's write to its read.  Raises `NotVector`."""
        target = self.writes[read.array].target
        away = [normalize(sub(w, r)) for w, r in zip(target.index, read.index, strict=True)]
        if any(part != integer(0) for part in away[:-1]) or linear(away[-1]).terms:
            raise NotVector
        steps = linear(away[-1]).constant
        return -steps if self.writes[read.array].descends else steps

    def direction(self, access: Load) -> int:
        """Return 1 or -1 for an access across rows, as the loop traverses them, 0 for others.

        Raises `NotVector` for accesses that lanes cannot make.
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
            value = self.transposed(statement.value)
            written = self.writes.get(statement.target.array)
            if written is None:
                found.append(replace(statement, value=value))
                continue
            self.set_now.add(statement.target.array)
            name, dtype = written.now.name, written.now.dtype
            found.append(SetLocal(name, dtype, 1, value))
        return replace(node, body=tuple(found))

    def transposed(self, value: Expr) -> Expr:
        """Return `value` with its largest parts computed along rows as transposed reads."""
        directions = {self.direction(read) for read in loads(value)} - {0}
        if len(directions) == 1 and value.dtype is not DType.BOOL and self.is_of_rows(value):
            return self.transposed_read(value, descends=-1 in directions)
        if isinstance(value, Load) and value.array in self.writes:
            distance = self.distance(value)
            written = self.writes[value.array]
            return replace(written.now if distance == 0 else written.past[distance - 1], lanes=1)
        if not children(value) or isinstance(value, Load):
            return value
        return with_children(value, tuple(map(self.transposed, children(value))))

    def is_of_rows(self, value: Expr) -> bool:
        """Tell whether `value` consists of reads across rows and of invariants."""
        match value:
            case Load() if self.direction(value):
                return value.array not in self.writes or self.is_ahead(value)
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

    def transposed_read(self, value: Expr, *, descends: bool) -> Symbol:
        value = normalize_loads(value)
        known = self.reads.get(value)
        if known is None:
            array = next(read.array for read in loads(value) if self.direction(read))
            wish = f"{array}.turned"
            number = sum(s.symbol.name.startswith(wish) for s in self.reads.values())
            name = f"{wish}{number or ''}"
            known = TransposedRead(Symbol(name, value.dtype, self.lanes), value, descends)
            self.reads[value] = known
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
