"""The way back of the statements of a call: their derivative as statements behind them.

In: the builder before and after a function was read.  Out: gradients in new memory.
Refuses: operations without a derivative, loops that data end, sizes that data decide (PO0183).
Temporaries with elements of their own for each iteration of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import islpy as isl

from polyopt.autodiff.activity import unread
from polyopt.autodiff.order import Adjoint, Step
from polyopt.autodiff.private import expansions
from polyopt.autodiff.reverse import Memory, Refused, Sweep, reverse
from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import TRUE, floordiv, is_affine, minus, plus, times
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.checks import demanded
from polyopt.frontend.program.control_flow import place_of
from polyopt.frontend.program.differentiated_calls import (
    Begun,
    Question,
    active_in,
    beside,
    copy_written,
    no_derivative,
    read_by,
    spread,
)
from polyopt.frontend.program.drafts import (
    Draft,
    Invocation,
    Storage,
    dynamic_params,
    largest,
)
from polyopt.frontend.program.statement_domains import (
    Loop,
    Scope,
    domain_of,
    scope_exprs,
    size_context,
)
from polyopt.frontend.program.transposed_operands import with_transposed
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Buffer
from polyopt.ir.expr import BinaryOp, Const, Expr, Iter, Load, integer, loads, rewrite, substitute
from polyopt.ir.names import iterators, params_of, reads
from polyopt.ir.scop import Reduction, Statement
from polyopt.ir.types import DType


def gradients(
    b: Builder, begun: Begun, asked: Question, seed: Callable[[Sequence[Buffer]], None]
) -> list[Buffer]:
    """Emit the way back of a call; return the derivative by each input.

    `seed` fills memory for the derivative by each result.
    """
    own = range(begun.drafts, len(b.drafts))
    copies = copy_written(b, begun)
    asked = asked.of_copies(copies)
    return _WayBack(b, begun, own, tuple(copies.values()), asked).emitted(seed)


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
        spread(b, self._begun, self._own, len(self._copies), 2)
        self._drafts = [b.drafts[n] for n in self._numbers]
        self._expand()
        statements = self._statements(self._drafts)
        inputs = frozenset(buffer.name for buffer in self._asked.inputs)
        results = frozenset(buffer.name for buffer in self._asked.results)
        active = active_in(b, self._begun, statements, inputs, results, self._asked.loc)
        self._refuse_loops(active)
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
            self._leave_out_unread(sweep.redefined)
        return [self._adjoints[buffer.name] for buffer in self._asked.inputs]

    def _expand(self) -> None:
        """Give temporaries elements of their own in loops that nothing else orders.

        They do not become larger than arrays that were there before the call: in dimensions.
        """
        b = self._b
        if b.scout:
            return
        own = b.buffers[self._begun.buffers :]
        kept = {buffer.name for buffer in (*self._asked.inputs, *self._asked.results)}
        kept |= self._asked.wanted | {copy.name for copy in self._copies}
        names = expandable(b, self._begun, own, self._numbers) - kept
        rank = max((len(buffer.shape) for buffer in b.buffers[: self._begun.buffers]), default=0)
        more = {x.name: rank - len(x.shape) for x in own if x.name in names}
        if names:
            found = expansions(self._statements(self._drafts), self._depth, more)
            expand(b, self._own, {buffer.name: buffer for buffer in own}, found)
            self._drafts = [b.drafts[n] for n in self._numbers]

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

    def _refuse_loops(self, active: frozenset[str]) -> None:
        """Refuse what data decide around statements: the end of loops, sizes inside of loops.

        And results of library calls that each iteration makes anew, which nothing would restore.
        """
        for mark in self._b.marks[self._begun.marks :]:
            if len(mark.scope.loops) <= self._depth:
                continue
            if not isinstance(mark.what, Invocation):
                no_derivative(
                    "a size or subscript that depends on data, inside of a loop,", self._asked.loc
                )
            for draft in self._drafts:
                used = reads(draft.value, draft.target, draft.scope.guard)
                if draft.target.array in active and not used.isdisjoint(mark.what.outputs):
                    name = self._b.library[mark.what.site].function
                    hint = "copy it and use the copy: `found = f(a).copy()`"
                    what = f"a use of what `{name}` returns in each iteration of a loop"
                    no_derivative(what, draft.loc, hint)
        for draft in self._drafts:
            if any(loop.going is not None for loop in draft.scope.loops[self._depth :]):
                hint = "let it run a known number of times, and choose by `np.where` inside"
                no_derivative("a loop whose end depends on data", draft.loc, hint)

    def _leave_out_unread(self, redefined: frozenset[str]) -> None:
        """Drop what the call computes only for results that nobody wants.

        And zeros in the adjoints `redefined` that nobody reads.
        """
        b = self._b
        there = {buffer.name for buffer in b.buffers[: self._begun.buffers]}
        there |= {buffer.name for buffer in b.buffers if buffer.faults}
        kept = there - {copy.name for copy in self._copies}
        kept |= self._asked.wanted
        kept = kept.union(*map(read_by, b.marks[self._begun.marks :]))
        kept |= {self._adjoints[buffer.name].name for buffer in self._asked.inputs}
        drafts = sorted(
            b.drafts[self._begun.drafts :], key=lambda draft: place_of(draft.scope.order)
        )
        own = {id(b.drafts[n]) for n in self._own}
        candidates = [
            n
            for n, draft in enumerate(drafts)
            if id(draft) in own
            or (draft.target.array in redefined and isinstance(draft.value, Const))
        ]
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
        sizes = size_context(params, (*self._b.sizes, *self._b.required))
        self._sizes = demanded(self._b.demands, params, sizes)
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
        loops = [loop for loop in draft.scope.loops[self._depth :] if loop.iter not in without]
        shape, index = counted(self._b.scope.loops, loops, draft.loc)
        if dynamic_params(*shape):
            no_derivative("a value that a size of data says how often to keep", draft.loc)
        buffer = self._b.new_buffer(name, dtype, shape)
        return Load(buffer.name, index, dtype)

    def _emit(self, sweep: Sweep) -> None:
        b = self._b
        for number, kept in sweep.saved.items():
            draft = self._drafts[number]
            scope = beside(draft.scope, -1)
            b.drafts.append(Draft(scope, kept, draft.target, None, draft.loc, draft.text))
        written = {draft.target.array for draft in b.drafts[self._begun.drafts :]}
        written |= {adjoint.step.target.array for adjoint in sweep.adjoints}
        constant = {buffer.name for buffer in b.buffers[: self._begun.buffers]} - written
        adjoints = with_transposed(b, sweep.adjoints, constant)
        b.drafts += [self._back(adjoint, b.position) for adjoint in adjoints]
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
        affine = (condition for condition in step.when if is_affine(condition))
        scope = replace(draft.scope, loops=loops, order=order).under(*affine)
        scope = _shifted(scope, dict(step.shifts))
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


def counted(
    around: Sequence[Loop], loops: Sequence[Loop], loc: Loc | None
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Return the shape of an array with an element for each iteration of `loops`, and its index.

    Extents do not depend on the loops `around`, which these are in.
    """
    known = [*around]
    shape: list[Expr] = []
    index: list[Expr] = []
    for loop in loops:
        step = abs(loop.step)
        here, count = (
            minus(end, start) if loop.step > 0 else minus(start, end)
            for start, end in ((loop.lower, Iter(loop.iter)), (loop.lower, loop.upper))
        )
        if step > 1:
            here, count = floordiv(here, integer(step)), plus(count, step - 1)
            count = floordiv(count, integer(step))
        for outer in reversed(known):
            count = largest(count, outer, loc)
        known.append(loop)
        shape.append(count)
        index.append(here)
    return tuple(shape), tuple(index)


def expandable(
    b: Builder, begun: Begun, own: Sequence[Buffer], numbers: Collection[int]
) -> frozenset[str]:
    """Return the temporaries of a call that only its statements `numbers` know."""
    found = {
        buffer.name
        for buffer in own
        if buffer.argument is None
        and not (buffer.faults or buffer.kinds or buffer.length or dynamic_params(*buffer.shape))
    }
    for number in range(begun.drafts, len(b.drafts)):
        if number not in numbers:
            draft = b.drafts[number]
            parts = (draft.value, draft.target, draft.scope.guard)
            found -= reads(*parts)
    for mark in b.marks[begun.marks :]:
        found -= read_by(mark)
        match mark.what:
            case Storage(buffer=buffer):
                found -= {buffer.name}
            case Invocation(outputs=outputs):
                found -= {*outputs}
            case _:
                pass
    for demand in b.demands:
        found -= reads(demand.condition, demand.scope.guard)
    return frozenset(found)


def expand(
    b: Builder,
    own: range,
    buffers: Mapping[str, Buffer],
    found: Mapping[str, frozenset[int]],
) -> None:
    """Give each array a dimension more for each of the loops at these depths, in all drafts."""
    indices: dict[str, tuple[Expr, ...]] = {}
    for name, depths in found.items():
        draft = next(b.drafts[n] for n in own if b.drafts[n].target.array == name)
        first = min(depths)
        loops = [draft.scope.loops[depth] for depth in sorted(depths)]
        shape, index = counted(draft.scope.loops[:first], loops, draft.loc)
        if not dynamic_params(*shape):
            buffers[name].shape = (*shape, *buffers[name].shape)
            indices[name] = index

    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or part.array not in indices:
            return None
        inner = tuple(rewrite(e, rule) for e in part.index)
        return Load(part.array, (*indices[part.array], *inner), part.dtype)

    for n in own:
        draft = b.drafts[n]
        target = rewrite(draft.target, rule)
        assert isinstance(target, Load)
        scope = replace(draft.scope, guard=rewrite(draft.scope.guard, rule))
        b.drafts[n] = replace(draft, scope=scope, target=target, value=rewrite(draft.value, rule))
