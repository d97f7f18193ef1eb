"""Collects what a function does while it is read: statements, arrays, conditions on sizes.

In: calls from the rules of the front end, in source order.  Out: drafts of statements with their
place in the order, the buffers, the demands that must hold at call time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass, field, replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    FALSE,
    TRUE,
    at_least,
    both,
    clipped,
    is_affine,
    is_nonnegative,
    less,
    lower_bound,
    negated,
    plus,
    strip_casts,
)
from polyopt.frontend.integers.intervals import Interval
from polyopt.frontend.integers.ranges import CONVERTED, INDEX, WORD, Name, Span, range_of
from polyopt.frontend.program.drafts import (
    Binding,
    Mark,
    Marked,
    Storage,
    dynamic_name,
    dynamic_params,
)
from polyopt.frontend.program.facts import Facts, Kinds, Occurrence
from polyopt.frontend.program.statement_domains import Loop, Scope, holds_nowhere
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.identifiers import Names
from polyopt.frontend.values.values import Buffer, Index, Tensor, Value
from polyopt.ir.expr import Cast, Const, Expr, Iter, Load, Param, integer, loads
from polyopt.ir.scop import Reduction
from polyopt.ir.showing import show
from polyopt.ir.source import Fault, LibraryCall, Subscripts
from polyopt.ir.types import DType

if TYPE_CHECKING:
    from polyopt.frontend.program.endpoint_checks import Check
    from polyopt.frontend.program.snapshots import Copied, Snapshot
from polyopt.frontend.program.drafts import (
    Demand,
    Draft,
    Limit,
    Total,
    iterator_names,
    largest,
)
from polyopt.ir.names import iterators, reads

MAX_STATEMENTS = 2000


@dataclass
class Builder:
    """The growing program.  `scout`: the sizes are still being learned, so isl is not asked."""

    facts: Facts
    scout: bool
    user_names: frozenset[str]
    names: Names = field(default_factory=Names)
    buffers: list[Buffer] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    intervals: dict[str, Interval] = field(default_factory=dict)
    limits: list[Limit] = field(default_factory=list)
    ranges: dict[str, Span] = field(default_factory=dict)  # of variables that are set once
    variables: dict[str, Occurrence] = field(default_factory=dict)  # Python's integers, set again
    guarded: set[str] = field(default_factory=set)  # variables with ranges, set under a guard
    nonzero: set[Expr] = field(default_factory=set)  # divisors that were tested before all loops
    converted: set[Expr] = field(default_factory=set)  # floats whose size was checked
    raising: set[ast.stmt] = field(default_factory=set)  # where Python always raises
    wrapping: set[ast.expr] = field(default_factory=set)  # only their lowest bits count
    evaluated: dict[ast.expr, Value] = field(default_factory=dict)  # read ahead
    unproven: bool = False  # an operation on Python's integers may leave 64 bits
    node: ast.AST | None = None  # the operation that is read
    bounds: dict[Expr, Expr] = field(default_factory=dict)  # dynamic size -> what it never exceeds
    unbounded: dict[Expr, tuple[object, ...]] = field(default_factory=dict)  # -> the call it is of
    library: list[LibraryCall] = field(default_factory=list)
    given: dict[str, tuple[str, Tensor]] = field(default_factory=dict)  # argument -> array, value
    sizes: list[Expr] = field(default_factory=list)
    required: list[Expr] = field(default_factory=list)  # demanded of every call: at least zero
    size_order: dict[str, int] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    constants: dict[int, Buffer] = field(default_factory=dict)
    assumed: list[Expr] = field(default_factory=list)  # of the sizes, in every call
    copies: dict[str, str] = field(default_factory=dict)
    snapshots: list[Snapshot] = field(default_factory=list)
    kinds: dict[Occurrence, Kinds] = field(default_factory=dict)  # of variables, in this reading
    tags: dict[str, Occurrence] = field(default_factory=dict)  # variables that tell kinds apart
    copied: list[Copied] = field(default_factory=list)
    unsure: list[tuple[Buffer, Occurrence]] = field(default_factory=list)  # views or copies
    written_back: set[int] = field(default_factory=set)  # drafts that write copies back
    rebinding: set[int] = field(default_factory=set)  # drafts that bind names again
    totals: list[Total] = field(default_factory=list)
    symbols: dict[str, str] = field(default_factory=dict)
    even_checks: dict[int, Check] = field(default_factory=dict)  # draft -> what it checks
    definitions: dict[str, tuple[tuple[Loop, ...], Expr]] = field(default_factory=dict)
    iterators: set[str] = field(default_factory=set)
    scope: Scope = field(default_factory=Scope)
    position: int = 0
    loc: Loc | None = None
    text: str = ""
    asks_written: bool = False  # the reading depends on which arguments are written

    # -- places ---------------------------------------------------------------------------------

    @contextmanager
    def loop(self, loop: Loop) -> Iterator[None]:
        """Everything inside happens once for every iteration of `loop`."""
        scope, position = self.scope, self.position
        order = (*scope.order, integer(position), loop.time)
        self.scope = replace(scope.inside((loop,)), order=order)
        self.position = 0
        try:
            yield
        finally:
            self.scope, self.position = scope, position + 1

    @contextmanager
    def within(self, loops: Sequence[Loop]) -> Iterator[None]:
        """Ask and demand inside of loops in which nothing is emitted."""
        scope = self.scope
        self.scope = scope.inside(loops)
        try:
            yield
        finally:
            self.scope = scope

    @contextmanager
    def under(self, conditions: Sequence[Expr], guard: Expr = TRUE) -> Iterator[None]:
        """Everything inside happens only where the conditions and the guard hold."""
        scope = self.scope
        self.scope = replace(scope.under(*conditions), guard=both(scope.guard, guard))
        try:
            yield
        finally:
            self.scope = scope

    @contextmanager
    def operand(self, condition: Expr) -> Iterator[None]:
        """Everything inside is an operand that is evaluated only where the condition holds."""
        scope = self.scope
        self.scope = replace(scope, operand=True)
        affine = is_affine(condition)
        try:
            with self.under((condition,) if affine else (), TRUE if affine else condition):
                yield
        finally:
            self.scope = scope

    @contextmanager
    def repeat(self, loop: Loop) -> Iterator[None]:
        """Like `loop`, for one with `going`, which must be false where the guard is."""
        guard = self.scope.guard
        self.scope = replace(self.scope, guard=TRUE)
        try:
            with self.loop(loop):
                yield
        finally:
            self.scope = replace(self.scope, guard=guard)

    @contextmanager
    def anywhere(self) -> Iterator[None]:
        """Everything inside happens whether the guard and the conditions hold or not."""
        scope = self.scope
        self.scope = replace(scope, guard=TRUE, conditions=())
        try:
            yield
        finally:
            self.scope = scope

    def mark(self, what: Marked) -> None:
        """Put a mark at the current place and go on to the next."""
        self.marks.append(Mark(self.here, what))
        self.position += 1

    def dynamic(self, value: Expr, name: str) -> Expr:
        """Return an INT64 number as an affine expression: one that is not affine is bound here.

        Where the guard or a condition does not hold the bound name is 0.
        """
        value = strip_casts(value)
        if is_affine(value):
            return value
        return self.bound_here(value, name)

    def bound_here(self, value: Expr, name: str) -> Param:
        """Return a parameter with the value that an INT64 number has here."""
        value = value if value.dtype is DType.INT64 else Cast(value, DType.INT64)
        held = self.unconditional(name, value, integer(0))
        param = Param(dynamic_name(name, len(self.marks)))
        self.mark(Binding(param.name, held))
        if not range_of(value, self.span_of).within(INDEX):
            low, high = (integer(bound) for bound in (INDEX.low, INDEX.high))
            message = "a size, bound or subscript found by the kernel exceeds 2**48"
            inside = both(at_least(param, low), at_least(high, param))
            self.demand(inside, "PO0234", message, self.loc, "pass smaller integers")
        return param

    def unconditional(self, name: str, value: Expr, otherwise: Expr) -> Load:
        """Return a new variable: `value` where the guard and the conditions hold, `otherwise`."""
        target = Load(self.new_buffer(name, value.dtype, ()).name, (), value.dtype)
        if self.scope.guard != TRUE or self.scope.conditions:
            inner = self.scope
            self.scope = replace(inner, guard=TRUE, conditions=())
            self.emit((), target, otherwise)
            self.scope = inner
        self.emit((), target, value)
        return target

    @contextmanager
    def unguarded(self, really: bool) -> Iterator[None]:
        """Everything inside happens whether or not the guard holds, if that is `really` wanted."""
        scope = self.scope
        self.scope = replace(scope, guard=TRUE) if really else scope
        try:
            yield
        finally:
            self.scope = scope

    # -- storage --------------------------------------------------------------------------------

    def new_buffer(self, name: str, dtype: DType, shape: Index, *, around: bool = False) -> Buffer:
        """Return a new array of the kernel; its extents are made sizes (no less than zero).

        `around`: it is filled by the innermost loop, and has its memory before that.
        """
        if around:
            self._refuse_ragged(name, shape)
        shape = tuple(clipped(self.bounded(extent)) for extent in shape)
        buffer = Buffer(self.names.unique(name), dtype, shape)
        if self.scope.guard == TRUE and not self.scope.conditions:
            buffer.home = self.here.order
        self.buffers.append(buffer)
        if not dynamic_params(*shape):
            return buffer
        if around:
            before = replace(self.scope, loops=self.scope.loops[:-1], order=self.scope.order[:-1])
            self.marks.append(Mark(before, Storage(buffer)))
        else:
            self.mark(Storage(buffer))
        return buffer

    def _refuse_ragged(self, name: str, shape: Index) -> None:
        """Refuse extents that every iteration of the innermost loop may have others of."""
        loop = self.scope.loops[-1]
        marks = (mark for mark in self.marks if loop in mark.scope.loops)
        found = {mark.what.param for mark in marks if isinstance(mark.what, Binding)}
        own = any(loop.iter in iterators(extent) for extent in shape)
        if own or found & dynamic_params(*shape):
            hint = "fill an array by subscripts: out = np.zeros(n), out[i] = value"
            refuse("PO0152", f"the items of `{name}` have different shapes", self.loc, hint)

    def bounded(self, extent: Expr) -> Expr:
        """Return an extent over parameters that is never less than `extent` in this scope."""
        from_outside = extent
        for loop in reversed(self.scope.loops):
            from_outside = largest(from_outside, loop, self.loc)
        return from_outside

    # -- statements -----------------------------------------------------------------------------

    def fresh_loops(
        self, extents: Sequence[Expr], first: int = 0
    ) -> tuple[tuple[Loop, ...], Index]:
        """Return loops from `first` over the extents, and their subscripts; extent 1 needs none."""
        taken = set(self.scope.iters) | self.user_names
        names = (name for name in iterator_names() if name not in taken)
        free = (name for name in names if self.claim_iterator(name))
        loops: list[Loop] = []
        index: list[Expr] = []
        for extent in extents:
            if extent == integer(1) and first == 0:
                index.append(integer(0))
                continue
            loop = Loop(next(free), integer(first), extent)
            loops.append(loop)
            index.append(Iter(loop.iter))
        return tuple(loops), tuple(index)

    def claim_iterator(self, name: str) -> bool:
        """Take `name` for iterators, which share names; False when something else has it."""
        if name not in self.iterators:
            if not self.names.is_free(name):
                return False
            self.names.take(name)
            self.iterators.add(name)
        return True

    def emit(
        self,
        loops: Sequence[Loop],
        target: Load,
        value: Expr,
        reduction: Reduction | None = None,
        slot: int | None = None,
    ) -> None:
        """Add `target = value` for every iteration of `loops` at the current place.

        Statements emitted with a `slot` share their loops: call `advance` after the last one.
        """
        if len(self.drafts) >= MAX_STATEMENTS:
            refuse("PO0180", f"the function makes more than {MAX_STATEMENTS} statements", self.loc)
        if self.converted:  # what is read again may have changed
            self.converted = {e for e in self.converted if target.array not in reads(e)}
        order: list[Expr] = [*self.here.order]
        for number, loop in enumerate(loops):
            last = number == len(loops) - 1
            order += [loop.time, integer((slot or 0) if last else 0)]
        scope = replace(self.scope.inside(loops), order=tuple(order))
        self.drafts.append(Draft(scope, target, value, reduction, self.loc, self.text))
        if slot is None:
            self.position += 1

    @property
    def here(self) -> Scope:
        """The scope and the order of what is emitted next."""
        return replace(self.scope, order=(*self.scope.order, integer(self.position)))

    def advance(self) -> None:
        """Go on to the next place of the order."""
        self.position += 1

    # -- faults -----------------------------------------------------------------------------------

    def fault(
        self,
        code: str,
        message: str,
        loc: Loc | None,
        hint: str | None = None,
        subscripts: Subscripts | None = None,
    ) -> int:
        """Return the number of a fault that the kernel may run into."""
        found = Fault(code, message, loc, hint, subscripts)
        if found not in self.faults:
            self.faults.append(found)
        return self.faults.index(found)

    def fail_where(
        self, condition: Expr, number: int, loops: Sequence[Loop] = (), *, guarded: bool = False
    ) -> None:
        """Note fault `number` in the iterations of `loops` where the BOOL `condition` holds.

        `guarded`: it is tested while the kernel runs, so that nothing in it becomes a size.
        What the guard makes safe to read, an element at a subscript that data say, is read first.
        """
        if self.scope.guard != TRUE and any(
            not is_affine(part) for load in loads(condition) for part in load.index
        ):
            with ExitStack() as around:
                for loop in loops:
                    around.enter_context(self.loop(loop))
                held = self.unconditional("fails", condition, FALSE)
                with self.anywhere():
                    self.fail_where(held, number)
            return
        buffer = next((found for found in self.buffers if found.faults), None)
        if buffer is None:
            buffer = Buffer(self.names.unique("faults"), DType.UINT8, (), faults=True)
            self.buffers.append(buffer)
        target = Load(buffer.name, (integer(number),), buffer.dtype)
        affine = is_affine(condition) and not guarded
        with self.under((condition,) if affine else (), TRUE if affine else condition):
            self.emit(loops, target, Const(1, buffer.dtype))

    @property
    def words(self) -> str:
        """What the source says of the operation that is read."""
        return self.text if self.node is None else ast.unparse(self.node)

    def forget(self, variable: str) -> None:
        """Forget what is known of a variable: it is set again."""
        self.ranges.pop(variable, None)
        self.intervals.pop(variable, None)

    def limit(self, value: Expr, loc: Loc | None, most: int = WORD.high) -> None:
        """Require of every call that `value`, over sizes and iterators, fits 64 bits here.

        Of C's integers the program has seen to that.
        """
        if not self.facts.counts_from_end:
            return
        whole = self.facts.expanded(value)
        self.limits.append(Limit(self.scope.loops, whole, self.words, loc, most))

    def span_of(self, name: Name) -> Span | None:
        """Return what values a name of an integer expression may have here."""
        match name:
            case Load():
                place = self.variables.get(name.array)
                return (
                    self.ranges.get(name.array) if place is None else self.facts.ranges.get(place)
                )
            case Param():
                return self.facts.span_of(name.name)
            case Cast():
                return CONVERTED if name in self.converted else None
            case Iter():
                return self._iterator_span(name.name)
            case _:
                return None

    def _iterator_span(self, iterator: str) -> Span:
        """Return the values of an iterator; bounds are made of sizes, which calls limit."""
        loop = next((loop for loop in self.scope.loops if loop.iter == iterator), None)
        if loop is None:
            return INDEX  # a dimension of an array that is made
        lower, upper = (range_of(e, self._size_span) for e in (loop.lower, loop.upper))
        if loop.step > 0:
            return Span(lower.low, max(lower.low, upper.high - 1))
        return Span(min(lower.high, upper.low + 1), lower.high)

    def _size_span(self, name: Name) -> Span | None:
        match name:
            case Param():
                return (self.facts.span_of(name.name) or INDEX).clipped(INDEX)
            case Load():
                return INDEX
            case _:
                return self.span_of(name)

    # -- facts about integers -------------------------------------------------------------------

    def never(
        self, condition: Expr, assumed: Sequence[Expr] = (), *, scouting: bool = False
    ) -> bool:
        """Whether `condition` is known to hold nowhere in the current scope, given `assumed`.

        While sizes are being learned nothing is known, unless `scouting` says to ask all the same.
        """
        if isinstance(condition, Const):
            return not condition.value
        if (self.scout and not scouting) or not is_affine(condition):
            return False
        scope = self.scope.under(*self.assumed, *assumed)
        sizes = (*self.sizes, *self.required)
        key = (scope.loops, scope.conditions, condition, sizes)
        known = self.facts.answers.get(key)
        if known is None:
            known = self.facts.answers[key] = holds_nowhere(scope, condition, sizes)
        return known

    def always(self, condition: Expr) -> bool:
        """Whether `condition` is known to hold everywhere in the current scope."""
        return self.never(negated(condition))

    def nonnegative(self, expr: Expr) -> bool:
        """Whether `expr` is known to be at least zero in the current scope."""
        firsts = {
            loop.iter: loop.lower if loop.step > 0 else plus(loop.upper, 1)
            for loop in self.scope.loops
        }
        low = lower_bound(expr, firsts)
        return (low is not None and low >= 0) or self.never(less(expr, integer(0)))

    def extent(self, extent: Expr) -> Expr:
        """Return an extent as a number for arithmetic: at least zero."""
        return extent if is_nonnegative(extent) or self.nonnegative(extent) else clipped(extent)

    def demand(
        self, condition: Expr, code: str, message: str, loc: Loc | None, hint: str | None = None
    ) -> None:
        """Require `condition` at every instance of the current scope, at call time."""
        if condition == TRUE:
            return
        if condition == FALSE and not self.scope.loops and not self.scope.conditions:
            refuse(code, message, loc, hint)
        self.demands.append(Demand(self.scope, condition, code, message, loc, hint))

    def require_size(self, extent: Expr) -> None:
        """Take note that a demand makes `extent` at least zero, if it does so in every call."""
        if not self.scope.loops and not self.scope.conditions:
            self.required.append(extent)

    def demand_index(
        self, index: Expr, extent: Expr, name: str, text: str, loc: Loc | None
    ) -> None:
        """Require `0 <= index < extent`."""
        message = f"`{text}` would leave `{name}`, whose extent there is {show(extent)}"
        inside = both(at_least(index, integer(0)), less(index, extent))
        self.demand(inside, "PO0170", message, loc, "pass larger arrays or shrink the loop's range")
