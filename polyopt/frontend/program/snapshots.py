"""Copies that stand for one of several arrays, where Python has another name of the array itself.

In: a copy and the arrays it may stand for.  Out: nothing; refuses what tells it from the original:
writes into the copy (`pins.refuse_write`), writes into the arrays while it is read (PO0160).
Copies of names that are bound again are written back, or refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    FALSE,
    TRUE,
    ZERO,
    both,
    compare,
    is_affine,
    plus,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.control_flow import Flow, Item, place_of, shared_loops
from polyopt.frontend.program.drafts import Draft, Invocation, Mark
from polyopt.frontend.program.facts import Occurrence
from polyopt.frontend.program.memory import store, stored
from polyopt.frontend.program.statement_domains import Loop, Scope, holds_nowhere, scope_exprs
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Buffer, Tensor, is_same_view
from polyopt.frontend.variables.call_frames import Frame
from polyopt.ir.expr import CompareOp, Expr, Iter, Load, rewrite
from polyopt.ir.names import reads

LAYOUT = "only the layout in memory tells whether NumPy copies this array"
HINT = "take a `.copy()` where a copy is meant, or write the cases out in an `if`"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """`copy` stands for one of the arrays `sources` from the place `scope` on.

    `view`: it is the memory of a name, which stands for these elements until it is bound again.
    """

    copy: str
    sources: frozenset[str]
    scope: Scope
    reason: str
    loc: Loc | None
    view: Tensor | None = None


def picked_side(b: Builder, value: Tensor, sides: tuple[Tensor, Tensor], loc: Loc | None) -> Tensor:
    """Return `sides[0] if condition else sides[1]`, whose elements are those of `value`."""
    if is_same_view(*sides):
        return sides[0]
    if all(side.view is None for side in sides):
        return value
    copy = stored(b, value, "picked")
    assert copy.view is not None
    stand_for(b, copy.view.buffer, sides, "a conditional expression picks one of two arrays", loc)
    return copy


def stand_for(
    b: Builder, copy: Buffer, sides: Sequence[Tensor], reason: str, loc: Loc | None
) -> None:
    """Note that `copy` stands for one of `sides`, of which those in memory count."""
    sources = frozenset(side.view.buffer.name for side in sides if side.view is not None)
    if sources:
        b.copies[copy.name] = reason
        b.snapshots.append(Snapshot(copy.name, sources, b.here, reason, loc))


def stand_for_name(b: Builder, copy: Buffer, array: Tensor, what: str, loc: Loc | None) -> None:
    """Note that `what`, whose memory is `copy`, becomes another name of the view `array` here."""
    assert array.view is not None
    reason = f"{what} becomes another name of an array"
    sources = frozenset([array.view.buffer.name])
    b.snapshots.append(Snapshot(copy.name, sources, b.here, reason, loc, array))


def stand_for_named(b: Builder, copy: str, source: str, reason: str, loc: Loc | None) -> None:
    """Note that `copy` may stand for the array `source`."""
    b.copies[copy] = reason
    b.snapshots.append(Snapshot(copy, frozenset([source]), b.here, reason, loc))


def refuse_stale(b: Builder, first: int = 0) -> None:
    """Refuse programs that tell a copy from the arrays that it may stand for.

    They read it after one of these was written, or write it; until the name is bound again.
    Snapshots before number `first` are left alone.
    """
    if len(b.snapshots) <= first:
        return
    flow = Flow(b.drafts, b.marks)
    bound_again = {flow.number(b.drafts[n]) for n in b.rebinding}
    end = len(flow.items)
    for found in b.snapshots[first:]:
        ends = {n for n in bound_again if _binds_whole(flow.items[n], found.copy)}
        sources = _all_sources(b, found)
        begins = _begins(b, flow, sources)
        reached = flow.behind(found.scope.order, ends | begins) - bound_again - begins - {end}
        changes = [n for n in reached if _changes(b, found, sources, flow.items[n])]
        for number in sorted(flow.after(changes, ends)):
            item = flow.items[number] if number < end else None
            if found.copy in (read_by(item) if item is not None else _returned(b)):
                message = f"{found.reason}; an array that it may be is written while it is used"
                _refuse(found, item, message)
        for item in (flow.items[n] for n in sorted(reached) if found.view is not None):
            if found.copy in written(item):
                _refuse(found, item, f"in Python this writes another array: {found.reason}")


def _refuse(found: Snapshot, item: Item | None, message: str) -> None:
    loc = item.loc if isinstance(item, Draft) else None
    refuse("PO0160", message, loc or found.loc, HINT)


def _returned(b: Builder) -> frozenset[str]:
    return frozenset(buffer.name for buffer in b.buffers if buffer.returned)


def _begins(b: Builder, flow: Flow, sources: frozenset[str]) -> set[int]:
    """Return the nodes from which on the names in `sources` are those of new arrays."""
    homes = (x.home for x in b.buffers if x.name in sources and x.home is not None)
    found = {flow.first(home): home for home in homes}
    return {
        n
        for n, home in found.items()
        if n < len(flow.items)
        and shared_loops(home, flow.items[n].scope.order) == (len(home) - 1) // 2
    }


def _changes(b: Builder, found: Snapshot, sources: frozenset[str], item: Item) -> bool:
    """Whether an item may write elements of an array that the copy stands for."""
    if not sources & written(item):
        return False
    if found.view is None or not isinstance(item, Draft) or item.target.array not in found.sources:
        return True
    return not _is_apart(b, found, found.view, item)


def _is_apart(b: Builder, found: Snapshot, view: Tensor, draft: Draft) -> bool:
    """Whether `draft` writes none of the view's elements before the name is bound again.

    A name that every iteration binds stands for these elements until the next one does.
    """
    if b.scout:
        return True  # the last reading decides
    scope, order = found.scope, draft.scope.order
    shared = shared_loops(scope.order, order)
    if scope.guard != TRUE or scope.conditions or shared < len(scope.loops):
        return _never_same(b, found, view, draft, 0, TRUE)
    if place_of(scope.order) <= place_of(order):
        return _never_same(b, found, view, draft, shared, TRUE)
    return all(
        _never_same(b, found, view, draft, depth, _is_next(loop))
        for depth, loop in enumerate(scope.loops)
    )


def _never_same(
    b: Builder, found: Snapshot, view: Tensor, draft: Draft, kept: int, condition: Expr
) -> bool:
    """Whether `draft` writes none of the view's elements.

    Both are in the same iterations of the outermost `kept` loops, and where `condition` holds.
    """
    assert view.view is not None
    names = {loop.iter for loop in draft.scope.loops[kept:]}

    def later(expr: Expr) -> Expr:
        return rewrite(
            expr, lambda e: _later(e.name) if isinstance(e, Iter) and e.name in names else None
        )

    loops = [Loop(f"?{d}", ZERO, extent) for d, extent in enumerate(view.shape)]
    loops += [
        Loop(_later(loop.iter).name, later(loop.lower), later(loop.upper), loop.step)
        for loop in draft.scope.loops[kept:]
    ]
    read = view.view.index(tuple(Iter(f"?{d}") for d in range(view.rank)))
    same = condition
    for one, two in zip(read, map(later, draft.target.index), strict=True):
        same = both(same, compare(CompareOp.EQ, one, two))
    whole = Scope().inside((*found.scope.loops, *loops))
    whole = whole.under(*map(later, draft.scope.conditions))
    return is_affine(same) and holds_nowhere(whole, same, b.sizes)


def _later(name: str) -> Iter:
    """Return the iterator `name` of a statement that runs later."""
    return Iter(f"{name}'")


def _is_next(loop: Loop) -> Expr:
    """Return the condition that the later statement is in the next iteration."""
    return compare(CompareOp.EQ, _later(loop.iter), plus(Iter(loop.iter), loop.step))


def _all_sources(b: Builder, found: Snapshot) -> frozenset[str]:
    """Return the arrays that a copy may stand for, those that its sources may stand for too."""
    sources = found.sources
    while True:
        more = sources.union(*(other.sources for other in b.snapshots if other.copy in sources))
        if more == sources:
            return sources - {found.copy}
        sources = more


def _binds_whole(item: Draft | Mark, name: str) -> bool:
    """Whether a draft that binds names again always runs and gives `name` another array."""
    scope = item.scope
    is_always = scope.guard == TRUE and not scope.conditions
    return isinstance(item, Draft) and item.target.array == name and is_always


def written(item: Draft | Mark) -> frozenset[str]:
    """Return the arrays that a draft or mark writes."""
    match item:
        case Mark(what=Invocation(outputs=outputs)):
            return frozenset(outputs)
        case Mark():
            return frozenset()
        case Draft():
            return frozenset([item.target.array])


def read_by(item: Draft | Mark) -> frozenset[str]:
    """Return the arrays that a draft or mark reads."""
    match item:
        case Mark(what=Invocation(inputs=inputs)):
            return frozenset(inputs)
        case Mark():
            return frozenset()
        case Draft():
            exprs = (item.value, *item.target.index, item.scope.guard, *scope_exprs(item.scope))
            return reads(*exprs)


COPY_HINT = "write into the array with `name[:] = ...`, or start from a `.copy()`"


@dataclass(eq=False)
class Copied:
    """`copy`, memory of a name, was made of the array `source`, which it may stand for.

    It was made before draft `start` and mark `marks`, and matters until `end`.  `own`: the drafts
    that bind the name again.  `gives_back`: it is written back; `place`: where to learn that it has
    to be, None where it cannot be.
    """

    copy: str
    source: str
    reason: str
    loc: Loc | None
    place: Occurrence | None
    start: int
    marks: int
    gives_back: bool
    end: tuple[int, int] | None = None
    own: set[int] = field(default_factory=set)


@dataclass(frozen=True, eq=False)
class WriteBack:
    """`copy` belongs into `source` where the BOOL variable `same` holds."""

    source: Tensor
    copy: Tensor
    same: Load
    made: Copied


def write_back(b: Builder, back: WriteBack) -> None:
    """Store the copy where the name stands for the array that it was made of."""
    first = len(b.drafts)
    with b.under((), back.same):
        store(b, back.source, back.copy, b.loc)
    b.written_back.update(range(first, len(b.drafts)))


def bound_again(b: Builder, back: WriteBack) -> None:
    """Write the copy back: from now on the name stands for another array."""
    write_back(b, back)
    first = len(b.drafts)
    b.emit((), back.same, FALSE)
    back.made.own.add(first)


def end_of_function(b: Builder, frame: Frame) -> None:
    """Write all copies back, those of copies first; a caller may not write what it gets of them."""
    backs, is_called = frame.backs, frame.caller is not None
    for back in reversed(backs):
        write_back(b, back)
    for back in backs:
        back.made.end = (len(b.drafts), len(b.marks))
        if is_called:
            stand_for_named(b, back.made.copy, back.made.source, back.made.reason, back.made.loc)
    for copy, array, loc in frame.results if is_called else ():
        stand_for_name(b, copy, array, f"what `{frame.function.name}` returns", loc)


def settle_copies(b: Builder, first: int = 0) -> None:
    """Learn which copies the next reading has to write back; refuse what cannot be.

    Copies before number `first` are left alone.
    """
    for made in b.copied[first:]:
        end, last_mark = made.end or (len(b.drafts), len(b.marks))
        if made.gives_back:
            others = (d for n, d in _others(b, made, end) if n not in b.written_back)
            drafts = [draft for draft in others if made.source in _touched(draft)]
            marks = [m for m in b.marks[made.marks : last_mark] if made.source in _of_mark(m)]
            if drafts or marks:
                message = f"{made.reason}, and is used by another name meanwhile"
                refuse("PO0160", message, drafts[0].loc if drafts else made.loc, COPY_HINT)
            continue
        written = [d for _, d in _others(b, made, end) if d.target.array == made.copy]
        if written:
            learn_write(b, made, written[0])


def settle_views(b: Builder) -> None:
    """Learn which arrays, that only the layout in memory tells from views, need memory."""
    for buffer, place in b.unsure:
        writes = sum(draft.target.array == buffer.name for draft in b.drafts)
        if writes > (0 if buffer.argument is not None else 1):
            b.facts.add(b.facts.unsure, place)


def learn_write(b: Builder, made: Copied, draft: Draft | None = None) -> None:
    """Let the next reading write a copy back, or refuse to write into it."""
    if made.place is not None:
        b.facts.add(b.facts.written_back, made.place)
        return
    loc = (draft.loc if draft is not None else b.loc) or made.loc
    refuse("PO0160", f"an array with two names is written here, and {made.reason}", loc, COPY_HINT)


def _others(b: Builder, made: Copied, end: int) -> list[tuple[int, Draft]]:
    """Return the drafts that do not bind the name again."""
    return [(n, b.drafts[n]) for n in range(made.start, end) if n not in made.own]


def _touched(draft: Draft) -> frozenset[str]:
    return read_by(draft) | {draft.target.array}


def _of_mark(mark: Mark) -> frozenset[str]:
    """Return the arrays of a library call; other marks hold scalar variables."""
    match mark.what:
        case Invocation(inputs=inputs, outputs=outputs):
            return frozenset((*inputs, *outputs))
        case _:
            return frozenset()
