"""The way back of the statements of a call: their derivative as statements behind them.

In: the builder before and after a function was read.  Out: gradients in new memory.
Refuses: operations without a derivative, loops that data end, sizes that data decide (PO0183).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import islpy as isl

from polyopt.autodiff.activity import active_arrays
from polyopt.autodiff.order import Adjoint, Step
from polyopt.autodiff.reverse import Memory, Refused, Sweep, reverse
from polyopt.autodiff.unread import unread
from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import TRUE, floordiv, minus, plus, times
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.control_flow import place_of
from polyopt.frontend.program.drafts import Draft, largest
from polyopt.frontend.program.marks import Invocation, Mark, dynamic_params
from polyopt.frontend.program.statement_domains import (
    Loop,
    Scope,
    domain_of,
    scope_exprs,
    size_context,
)
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Buffer, iterators
from polyopt.ir.expr import BinaryOp, Const, Expr, Iter, Load, integer, loads, rewrite, substitute
from polyopt.ir.names import params_of
from polyopt.ir.scop import Reduction, Statement
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Begun:
    """Where what a call does begins: its drafts, marks, memory, snapshots and place.

    `copies` is a free place before it, for copies of arrays that it writes.
    """

    drafts: int
    marks: int
    buffers: int
    snapshots: int
    position: int
    copies: int


def begin(b: Builder, copies: int) -> Begun:
    """Note that what follows is to be differentiated."""
    drafts, marks = len(b.drafts), len(b.marks)
    return Begun(drafts, marks, len(b.buffers), len(b.snapshots), b.position, copies)


@dataclass(frozen=True, eq=False)
class Question:
    """What to differentiate: `results` by `inputs`, in a call at `loc`.

    Arrays that are `wanted` are used afterwards, others that the call makes are not.
    """

    inputs: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    wanted: frozenset[str]
    loc: Loc | None


def gradients(
    b: Builder, begun: Begun, asked: Question, seed: Callable[[Sequence[Buffer]], None]
) -> list[Buffer]:
    """Emit the way back of a call; return the derivative by each input.

    `seed` fills memory for the derivative by each result.
    """
    own = range(begun.drafts, len(b.drafts))
    copies = _copy_written(b, begun)
    inputs, results = (
        tuple(copies.get(buffer.name, buffer) for buffer in found)
        for found in (asked.inputs, asked.results)
    )
    asked = replace(asked, inputs=inputs, results=results)
    return _WayBack(b, begun, own, tuple(copies.values()), asked).emitted(seed)


def _copy_written(b: Builder, begun: Begun) -> dict[str, Buffer]:
    """Let the call write copies of what was there before it; return these."""
    there = {buffer.name: buffer for buffer in b.buffers[: begun.buffers] if not buffer.faults}
    own = range(begun.drafts, len(b.drafts))
    written = dict.fromkeys(b.drafts[n].target.array for n in own)
    copies: dict[str, Buffer] = {}
    after = b.position
    for name in written:
        if name in there:
            old = there[name]
            copies[name] = b.new_buffer(f"{name}_copy", old.dtype, old.shape)
    for n in own:
        b.drafts[n] = _renamed(b.drafts[n], copies)
    for number, (name, copy) in enumerate(copies.items()):
        loops, index = b.fresh_loops(copy.shape)
        target, value = (Load(array, index, copy.dtype) for array in (copy.name, name))
        b.position = begun.copies + number  # the call's own places move behind these
        b.emit(loops, target, value)
    b.position = after
    return copies


def _renamed(draft: Draft, copies: Mapping[str, Buffer]) -> Draft:
    """Return a draft that uses copies in place of arrays."""

    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or part.array not in copies:
            return None
        index = tuple(rewrite(e, rule) for e in part.index)
        return Load(copies[part.array].name, index, part.dtype)

    if not copies:
        return draft
    target = rewrite(draft.target, rule)
    assert isinstance(target, Load)
    scope = replace(draft.scope, guard=rewrite(draft.scope.guard, rule))
    return replace(draft, scope=scope, target=target, value=rewrite(draft.value, rule))


class _WayBack:
    """The way back of one call while it is made."""

    def __init__(
        self,
        b: Builder,
        begun: Begun,
        own: range,
        copies: tuple[Buffer, ...],
        asked: Question,
    ) -> None:
        self._b = b
        self._begun = begun
        self._own = own
        self._copies = copies
        self._asked = asked
        faults = {buffer.name for buffer in b.buffers if buffer.faults}
        found = [n for n in own if b.drafts[n].target.array not in faults]
        self._numbers = sorted(found, key=lambda n: place_of(b.drafts[n].scope.order))
        self._drafts = [b.drafts[n] for n in self._numbers]
        self._depth = len(b.scope.loops)
        self._adjoints: dict[str, Buffer] = {}

    def emitted(self, seed: Callable[[Sequence[Buffer]], None]) -> list[Buffer]:
        """Emit everything; return the memory of the gradients."""
        b = self._b
        self._spread()
        statements = self._statements(self._drafts)
        inputs = frozenset(buffer.name for buffer in self._asked.inputs)
        results = frozenset(buffer.name for buffer in self._asked.results)
        marks = (mark.what for mark in b.marks[self._begun.marks :])
        calls = [mark for mark in marks if isinstance(mark, Invocation)]
        flows = [(frozenset(call.inputs), frozenset(call.outputs)) for call in calls]
        active = active_arrays(statements, flows, inputs, results)
        for call, (taken, given) in zip(calls, flows, strict=True):
            if taken & active and given & active:
                self._refuse(f"`{b.library[call.site].function}`", self._asked.loc)
        self._refuse_loops()
        kinds = {buffer.name: buffer for buffer in b.buffers}
        for name in dict.fromkeys((*active, *inputs, *results)):
            whole = kinds[name]
            made = b.new_buffer(f"{name}_bar", whole.dtype, whole.shape)
            self._adjoints[name] = made
        sweep = None if b.scout else self._sweep(statements, inputs, results, active)
        defined = frozenset[str]() if sweep is None else sweep.defined
        for name, made in self._adjoints.items():
            if name not in defined | results:
                loops, index = b.fresh_loops(made.shape)
                b.emit(loops, Load(made.name, index, made.dtype), Const(0.0, made.dtype))
        seed([self._adjoints[buffer.name] for buffer in self._asked.results])
        if sweep is not None:
            self._emit(sweep)
            self._leave_out_unread()
        return [self._adjoints[buffer.name] for buffer in self._asked.inputs]

    def _sweep(
        self,
        statements: Sequence[Statement],
        inputs: frozenset[str],
        results: frozenset[str],
        active: frozenset[str],
    ) -> Sweep:
        adjoints = self._adjoints
        memory = Memory(
            lambda array: adjoints[array].name,
            self._kept,
            self._elements,
            self._bounds,
            lambda n: not self._drafts[n].scope.conditions,
        )
        try:
            return reverse(statements, self._depth, inputs, results, active, memory)
        except Refused as error:
            loc = self._drafts[error.number].loc
            refuse("PO0183", f"{error.reason} has no derivative here", loc)

    def _refuse_loops(self) -> None:
        """Refuse what data decide around statements: the end of loops, sizes inside of loops."""
        for mark in self._b.marks[self._begun.marks :]:
            if len(mark.scope.loops) > self._depth and not isinstance(mark.what, Invocation):
                self._refuse(
                    "a size or subscript that depends on data, inside of a loop,", self._asked.loc
                )
        for draft in self._drafts:
            if any(loop.going is not None for loop in draft.scope.loops[self._depth :]):
                hint = "let it run a known number of times, and choose by `np.where` inside"
                self._refuse("a loop whose end depends on data", draft.loc, hint)

    def _refuse(self, what: str, loc: Loc | None, hint: str | None = None) -> NoReturn:
        refuse("PO0183", f"{what} has no derivative here", loc, hint)

    def _leave_out_unread(self) -> None:
        """Drop what the call computes only for results that nobody wants."""
        b = self._b
        there = {buffer.name for buffer in b.buffers[: self._begun.buffers]}
        there |= {buffer.name for buffer in b.buffers if buffer.faults}
        kept = there - {copy.name for copy in self._copies}
        kept |= self._asked.wanted
        kept |= {self._adjoints[buffer.name].name for buffer in self._asked.inputs}
        drafts = sorted(
            b.drafts[self._begun.drafts :], key=lambda draft: place_of(draft.scope.order)
        )
        own = {id(b.drafts[n]) for n in self._own}
        candidates = [n for n, draft in enumerate(drafts) if id(draft) in own]
        dropped = unread(self._statements(drafts), kept, candidates)
        gone = {id(drafts[n]) for n in dropped}
        b.drafts[self._begun.drafts :] = [
            draft for draft in b.drafts[self._begun.drafts :] if id(draft) not in gone
        ]

    # -- statements as `autodiff` knows them ------------------------------------------------------

    def _statements(self, drafts: Sequence[Draft]) -> list[Statement]:
        exprs: list[Expr] = []
        used: set[str] = set()
        for draft in drafts:
            found = (draft.target, *loads(draft.value), *loads(draft.scope.guard))
            used |= {load.array for load in found}
            exprs += [*scope_exprs(draft.scope), *(part for load in found for part in load.index)]
        exprs += [e for buffer in self._b.buffers if buffer.name in used for e in buffer.shape]
        params = self._params = tuple(sorted(params_of(exprs)))
        self._sizes = size_context(params, (*self._b.sizes, *self._b.required))
        return [self._statement(f"S{n}", draft) for n, draft in enumerate(drafts)]

    def _statement(self, name: str, draft: Draft) -> Statement:
        return Statement(
            name=name,
            iters=draft.scope.iters,
            domain=domain_of(draft.scope, self._params, name).intersect_params(self._sizes),
            order=draft.scope.order,
            target=draft.target,
            value=draft.value,
            loc=draft.loc,
            text=draft.text,
            reduction=draft.reduction,
            guard=None if draft.scope.guard == TRUE else draft.scope.guard,
        )

    def _elements(self, array: str) -> isl.Set | None:
        """Return all elements of an array, for sizes that are known before the call's loops."""
        shape = next(buffer.shape for buffer in self._b.buffers if buffer.name == array)
        names = {name for extent in shape for name in iterators(extent)}
        if names or not params_of(shape) <= {*self._params}:
            return None
        loops = tuple(Loop(f"?{d}", integer(0), extent) for d, extent in enumerate(shape))
        return domain_of(Scope(loops), self._params, array).intersect_params(self._sizes)

    def _bounds(self, number: int, depth: int) -> frozenset[str]:
        loop = self._drafts[number].scope.loops[depth]
        return iterators(loop.lower) | iterators(loop.upper)

    def _kept(self, number: int, name: str, dtype: DType, without: frozenset[str]) -> Load:
        """Return an element of new memory with one for each instance of a statement."""
        draft = self._drafts[number]
        around = [*self._b.scope.loops]
        shape: list[Expr] = []
        index: list[Expr] = []
        for loop in draft.scope.loops[self._depth :]:
            if loop.iter in without:
                continue
            step = abs(loop.step)
            here, count = (
                minus(end, start) if loop.step > 0 else minus(start, end)
                for start, end in ((loop.lower, Iter(loop.iter)), (loop.lower, loop.upper))
            )
            if step > 1:
                here, count = floordiv(here, integer(step)), plus(count, step - 1)
                count = floordiv(count, integer(step))
            for outer in reversed(around):
                count = largest(count, outer, draft.loc)
            around.append(loop)
            shape.append(count)
            index.append(here)
        if dynamic_params(*shape):
            self._refuse("a value that a size of data says how often to keep", draft.loc)
        buffer = self._b.new_buffer(name, dtype, tuple(shape))
        return Load(buffer.name, tuple(index), dtype)

    # -- places -----------------------------------------------------------------------------------

    def _spread(self) -> None:
        """Leave a free place before each place of the call."""
        b, begun = self._b, self._begun
        for n in self._own:
            b.drafts[n] = replace(b.drafts[n], scope=self._apart(b.drafts[n].scope))
        for n in range(begun.marks, len(b.marks)):
            b.marks[n] = Mark(self._apart(b.marks[n].scope), b.marks[n].what)
        for n in range(begun.snapshots, len(b.snapshots)):
            b.snapshots[n] = replace(b.snapshots[n], scope=self._apart(b.snapshots[n].scope))
        for buffer in b.buffers[begun.buffers :]:
            if buffer.home is not None:
                buffer.home = self._order(buffer.home)
        self._drafts = [b.drafts[n] for n in self._numbers]
        b.position = begun.position + len(self._copies) + 2 * (b.position - begun.position) + 2

    def _apart(self, scope: Scope) -> Scope:
        return replace(scope, order=self._order(scope.order))

    def _order(self, order: tuple[Expr, ...]) -> tuple[Expr, ...]:
        first, start = 2 * self._depth, self._begun.position
        if len(order) <= first:
            return order
        head = order[first]
        if not isinstance(head, Const) or int(head.value.real) < start:
            return order
        renewed = list(order)
        for place in range(first, len(order), 2):
            part = order[place]
            assert isinstance(part, Const)
            base, moved = (start, len(self._copies)) if place == first else (0, 0)
            renewed[place] = integer(base + moved + 2 * (int(part.value.real) - base) + 1)
        return tuple(renewed)

    def _emit(self, sweep: Sweep) -> None:
        b = self._b
        for number, kept in sweep.saved.items():
            draft = self._drafts[number]
            order = draft.scope.order
            last = order[-1]
            assert isinstance(last, Const)
            scope = replace(draft.scope, order=(*order[:-1], integer(int(last.value.real) - 1)))
            b.drafts.append(Draft(scope, kept, draft.target, None, draft.loc, draft.text))
        b.drafts += [self._back(adjoint, b.position) for adjoint in sweep.adjoints]
        b.position += sweep.length

    def _back(self, adjoint: Adjoint, position: int) -> Draft:
        first = 2 * self._depth
        place = adjoint.order[first]
        assert isinstance(place, Const)
        moved = integer(int(place.value.real) + position)
        order = (*adjoint.order[:first], moved, *adjoint.order[first + 1 :])
        draft, step = self._drafts[adjoint.source], adjoint.step
        around = draft.scope.loops
        loops = tuple(
            turned(around[depth]) if depth in adjoint.turned else around[depth]
            for depth in adjoint.loops
        )
        scope = _shifted(replace(draft.scope, loops=loops, order=order), dict(step.shifts))
        reduction = None
        if step.is_sum and _is_repeated(step, scope):
            reduction = Reduction(BinaryOp.ADD, True)
        return Draft(
            scope, step.target, step.value, reduction, draft.loc, f"gradient: {draft.text}"
        )


def _shifted(scope: Scope, shifts: Mapping[str, Expr]) -> Scope:
    """Return a scope whose iterators run over values that are larger by `shifts`."""
    if not shifts:
        return scope
    before = {name: minus(Iter(name), shift) for name, shift in shifts.items()}
    loops: list[Loop] = []
    for loop in scope.loops:
        lower, upper = (substitute(end, before) for end in (loop.lower, loop.upper))
        if loop.iter in shifts:
            lower, upper = (plus(end, shifts[loop.iter]) for end in (lower, upper))
        loops.append(replace(loop, lower=lower, upper=upper))
    conditions = tuple(substitute(part, before) for part in scope.conditions)
    guard = substitute(scope.guard, before)
    return replace(scope, loops=tuple(loops), conditions=conditions, guard=guard)


def _is_repeated(step: Step, scope: Scope) -> bool:
    """Tell whether a sum adds several terms to one element, and reads its array nowhere else."""
    used = {name for part in step.target.index for name in iterators(part)}
    reads = [load for load in loads(step.value) if load.array == step.target.array]
    return len(reads) == 1 and any(name not in used for name in scope.iters)


def turned(loop: Loop) -> Loop:
    """Return a loop over the same iterations, from the last to the first."""
    step = loop.step
    if step > 0:
        count = floordiv(minus(plus(loop.upper, -1), loop.lower), integer(step))
        last = plus(loop.upper, -1) if step == 1 else plus(loop.lower, times(count, step))
        return replace(loop, lower=last, upper=plus(loop.lower, -1), step=-step)
    count = floordiv(minus(loop.lower, plus(loop.upper, 1)), integer(-step))
    last = plus(loop.upper, 1) if step == -1 else minus(loop.lower, times(count, -step))
    return replace(loop, lower=last, upper=plus(loop.lower, 1), step=-step)
