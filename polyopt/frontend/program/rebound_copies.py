"""Names that are bound again while their memory is a copy of the array they had: it gets writes.

In: a copy, and the array that it was made of.  Out: statements that write the copy back where the
name still stands for that array: before it is bound again, and at the end of the function.
Refuses (PO0160): arrays that something else reads or writes in between.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import FALSE
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Draft, Invocation, Mark
from polyopt.frontend.program.facts import Occurrence
from polyopt.frontend.program.memory import store
from polyopt.frontend.program.snapshots import read_by, stand_for_name, stand_for_named
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Tensor
from polyopt.frontend.variables.call_frames import Frame
from polyopt.ir.expr import Load

HINT = "write into the array with `name[:] = ...`, or start from a `.copy()`"


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
                refuse("PO0160", message, drafts[0].loc if drafts else made.loc, HINT)
            continue
        written = [d for _, d in _others(b, made, end) if d.target.array == made.copy]
        if written:
            learn_write(b, made, written[0])


def learn_write(b: Builder, made: Copied, draft: Draft | None = None) -> None:
    """Let the next reading write a copy back, or refuse to write into it."""
    if made.place is not None:
        b.facts.add(b.facts.written_back, made.place)
        return
    loc = (draft.loc if draft is not None else b.loc) or made.loc
    refuse("PO0160", f"an array with two names is written here, and {made.reason}", loc, HINT)


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
