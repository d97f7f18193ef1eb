"""A call that is to be differentiated: what it did, copies of what it writes, places between.

In: the builder before and after a function was read.  Out: its drafts, moved apart.
Refuses: library calls without a derivative (PO0183).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

from polyopt.autodiff.activity import Assigned, active_arrays
from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Binding, Draft, Invocation, Mark, Total
from polyopt.frontend.program.snapshots import refuse_stale, settle_copies
from polyopt.frontend.program.statement_domains import Scope
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Buffer
from polyopt.ir.expr import Const, Expr, Load, integer, rewrite
from polyopt.ir.names import reads


@dataclass(frozen=True, slots=True)
class Begun:
    """Where what a call does begins: its drafts, marks, memory, snapshots and place.

    `copies` is a free place before it, for copies of arrays that it writes.  `totals` are the sums
    that were known.
    """

    drafts: int
    marks: int
    buffers: int
    snapshots: int
    copied: int
    position: int
    copies: int
    totals: tuple[Total, ...]


def begin(b: Builder, copies: int) -> Begun:
    """Note that what follows is to be differentiated."""
    drafts, marks, buffers = len(b.drafts), len(b.marks), len(b.buffers)
    totals = tuple(b.totals)
    b.totals.clear()  # the call makes its own, which are differentiated
    return Begun(
        drafts, marks, buffers, len(b.snapshots), len(b.copied), b.position, copies, totals
    )


def settle(b: Builder, begun: Begun) -> None:
    """Check what the call did with names that stand for one of several arrays, and forget it.

    What is made of the call afterwards uses its memory in other ways.
    """
    refuse_stale(b, begun.snapshots)
    settle_copies(b, begun.copied)
    del b.snapshots[begun.snapshots :], b.copied[begun.copied :]
    b.totals[:] = begun.totals
    b.rebinding = {n for n in b.rebinding if n < begun.drafts}
    b.written_back = {n for n in b.written_back if n < begun.drafts}


@dataclass(frozen=True, eq=False)
class Question:
    """What to differentiate: `results` by `inputs`, in a call at `loc`.

    Arrays that are `wanted` are used afterwards, others that the call makes are not.
    """

    inputs: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    wanted: frozenset[str]
    loc: Loc | None

    def of_copies(self, copies: Mapping[str, Buffer]) -> Question:
        """Return the same question about a call that writes copies of arrays."""
        inputs, results = (
            tuple(copies.get(buffer.name, buffer) for buffer in found)
            for found in (self.inputs, self.results)
        )
        return replace(self, inputs=inputs, results=results)


def copy_written(b: Builder, begun: Begun) -> dict[str, Buffer]:
    """Let the call write copies of what was there before it; return these."""
    there = {buffer.name: buffer for buffer in b.buffers[: begun.buffers] if not buffer.faults}
    own = range(begun.drafts, len(b.drafts))
    calls = [m.what for m in b.marks[begun.marks :] if isinstance(m.what, Invocation)]
    written = dict.fromkeys(b.drafts[n].target.array for n in own)
    written |= dict.fromkeys(name for call in calls for name in call.outputs)
    copies: dict[str, Buffer] = {}
    after = b.position
    for name in written:
        if name in there:
            old = there[name]
            copies[name] = b.new_buffer(f"{name}_copy", old.dtype, old.shape)
    if copies:
        rename = _Renaming({name: copy.name for name, copy in copies.items()})
        b.drafts[begun.drafts :] = [rename.draft(b.drafts[n]) for n in own]
        b.marks[begun.marks :] = [rename.mark(mark) for mark in b.marks[begun.marks :]]
    for number, (name, copy) in enumerate(copies.items()):
        loops, index = b.fresh_loops(copy.shape)
        target, value = (Load(array, index, copy.dtype) for array in (copy.name, name))
        b.position = begun.copies + number  # the call's own places move behind these
        b.emit(loops, target, value)
    b.position = after
    return copies


@dataclass(frozen=True, slots=True)
class _Renaming:
    """Other names for arrays."""

    names: Mapping[str, str]

    def of(self, expr: Expr) -> Expr:
        """Return an expression that reads elements of the other arrays."""

        def rule(part: Expr) -> Expr | None:
            if not isinstance(part, Load) or part.array not in self.names:
                return None
            return Load(self.names[part.array], tuple(map(self.of, part.index)), part.dtype)

        return rewrite(expr, rule)

    def draft(self, draft: Draft) -> Draft:
        """Return a draft that uses the other arrays."""
        target = self.of(draft.target)
        assert isinstance(target, Load)
        scope = replace(draft.scope, guard=self.of(draft.scope.guard))
        return replace(draft, scope=scope, target=target, value=self.of(draft.value))

    def mark(self, mark: Mark) -> Mark:
        """Return a mark that uses the other arrays."""
        what = mark.what
        match what:
            case Binding():
                what = replace(what, value=self.of(what.value))
            case Invocation():
                inputs, outputs = (
                    tuple(self.names.get(name, name) for name in found)
                    for found in (what.inputs, what.outputs)
                )
                what = replace(what, inputs=inputs, outputs=outputs)
            case _:
                pass
        return Mark(replace(mark.scope, guard=self.of(mark.scope.guard)), what)


def read_by(mark: Mark) -> frozenset[str]:
    """Return the arrays that a mark reads."""
    found = reads(mark.scope.guard)
    match mark.what:
        case Binding(value=value):
            return found | reads(value)
        case Invocation(inputs=inputs):
            return found.union(inputs)
        case _:
            return found


def active_in(
    b: Builder,
    begun: Begun,
    statements: Sequence[Assigned],
    inputs: Collection[str],
    results: Collection[str],
    loc: Loc | None,
) -> frozenset[str]:
    """Return the arrays that depend on `inputs` and that `results` depend on.

    Refuses library calls that are between these.  Integers and truth values depend on nothing.
    """
    real = {x.name for x in b.buffers if x.dtype.is_float or x.dtype.is_complex}
    marks = (mark.what for mark in b.marks[begun.marks :])
    calls = [mark for mark in marks if isinstance(mark, Invocation)]
    flows = [(frozenset(call.inputs), frozenset(call.outputs) & real) for call in calls]
    active = active_arrays(statements, flows, inputs, results)
    for call, (taken, given) in zip(calls, flows, strict=True):
        if taken & active and given & active:
            no_derivative(f"`{b.library[call.site].function}`", loc)
    return active


def no_derivative(what: str, loc: Loc | None, hint: str | None = None) -> NoReturn:
    """Refuse what has no derivative."""
    refuse("PO0183", f"{what} has no derivative here", loc, hint)


@dataclass(frozen=True, slots=True)
class _Moved:
    """Orders of a call that begins at `start`, a part `first` of its orders, with wider places."""

    first: int
    start: int
    reserved: int
    width: int

    def of(self, order: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return an order, moved where it is of the call."""
        if len(order) <= self.first:
            return order
        head = order[self.first]
        if not isinstance(head, Const) or int(head.value.real) < self.start:
            return order
        found = list(order)
        for place in range(self.first, len(order), 2):
            part = order[place]
            assert isinstance(part, Const)
            base, moved = (self.start, self.reserved) if place == self.first else (0, 0)
            found[place] = integer(base + moved + self.width * (int(part.value.real) - base) + 1)
        return tuple(found)


def spread(b: Builder, begun: Begun, own: range, reserved: int, width: int) -> None:
    """Make each place of the call `width` places, of which it gets the second.

    `own` are its drafts; `reserved` places are free before all of them.
    """
    moved = _Moved(2 * len(b.scope.loops), begun.position, reserved, width)

    def apart(scope: Scope) -> Scope:
        return replace(scope, order=moved.of(scope.order))

    for n in own:
        b.drafts[n] = replace(b.drafts[n], scope=apart(b.drafts[n].scope))
    for n in range(begun.marks, len(b.marks)):
        b.marks[n] = Mark(apart(b.marks[n].scope), b.marks[n].what)
    for buffer in b.buffers[begun.buffers :]:
        if buffer.home is not None:
            buffer.home = moved.of(buffer.home)
    b.position = begun.position + reserved + width * (b.position - begun.position) + width


def beside(scope: Scope, places: int) -> Scope:
    """Return the scope with a place so much later, in the same loops."""
    last = scope.order[-1]
    assert isinstance(last, Const)
    return replace(scope, order=(*scope.order[:-1], integer(int(last.value.real) + places)))
