"""Answers to `--why-not`: what keeps a loop from being parallel, in vectors, tiled or fused.

In: a question such as `parallel:i`, a program.  Out: `Answer`s, with the dependence as two
iterations and a step that was proven to help; or the step itself where nothing blocks it.
Refuses: what is no question (PO0631), unknown loops (PO0301), several of a name (PO0302).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, unique

from polyopt.dataclass import dataclass, replace
from polyopt.errors import BudgetError, IllegalSchedule, ScheduleError, UsageError
from polyopt.ir.budget import Budget
from polyopt.report.blockers import blocker, region_text, repair_text
from polyopt.report.claims import Subject
from polyopt.report.names import Names, loop_name
from polyopt.report.nests import Loop, named
from polyopt.schedule import Repair, Schedule, Transform
from polyopt.schedule.regions import independent
from polyopt.schedule.repair import RepairKind
from polyopt.schedulefile import nearest
from polyopt.transforms import Fuse, Parallelize, Tile, Vectorize

SECONDS = 20.0  # for one answer
TILE = 32


@unique
class Wish(Enum):
    """What a loop might be."""

    PARALLEL = "parallel"
    VECTORIZE = "vectorize"
    TILE = "tile"
    FUSE = "fuse"


_WORDS = {
    Wish.PARALLEL: "run in parallel",
    Wish.VECTORIZE: "run in vectors",
    Wish.TILE: "be tiled",
    Wish.FUSE: "be fused",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A wish, and the loops it is about: names, references or lines."""

    wish: Wish
    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """`head` says what blocks the wish, or that nothing does; `notes` show it.

    `steps` are the text of a schedule that was proven legal: the wish itself (`is_free`), or what
    lifts the block, "" for none.
    """

    head: str
    notes: tuple[str, ...] = ()
    hint: str = ""
    steps: str = ""
    is_free: bool = False


def parse_question(text: str) -> Question:
    """Return the question of `parallel:i`; raises `UsageError` PO0631."""
    wish, colon, loops = text.partition(":")
    known = [one.value for one in Wish]
    found = tuple(part.strip() for part in loops.split(",") if part.strip())
    wanted = 2 if wish == Wish.FUSE.value else 1
    if wish not in known or not colon or len(found) != wanted:
        near = nearest(wish, known)
        meant = f"did you mean `{near}`? " if near is not None and wish not in known else ""
        raise UsageError(
            "PO0631",
            f"--why-not: `{text}` is no question",
            hint=f"{meant}write parallel:LOOP, vectorize:LOOP, tile:LOOP or fuse:LOOP,LOOP",
        )
    return Question(Wish(wish), found)


def answers(question: Question, subject: Subject, names: Names) -> tuple[Answer, ...]:
    """Return an answer for every loop of the name; raises `ScheduleError`."""
    with Budget(SECONDS).running():
        if question.wish is Wish.FUSE:
            found = [_fusion(question, subject, names)]
        else:
            loops = _found(subject, question.loops[0], names)
            found = [_of_loop(question.wish, loop, subject, names) for loop in loops]
        return tuple(
            replace(one, head=names.text(one.head), notes=tuple(map(names.text, one.notes)))
            for one in found
        )


def _found(subject: Subject, name: str, names: Names) -> tuple[Loop, ...]:
    """Return the loops of a name, a reference or a line; those of a statement's name, too."""
    found = named(subject.loops, name)
    if not found:
        found = tuple(
            loop
            for loop in subject.loops
            if names.variable(loop.name) == name or loop_name(names, loop) == name
        )
    if not found:
        found = tuple(loop for loop in subject.loops if name in loop.statements)
    if not found:
        raise subject.unknown(name)
    return found


def _of_loop(wish: Wish, loop: Loop, subject: Subject, names: Names) -> Answer:
    if loop.region is not None:
        return _of_region(wish, loop, subject, names)
    schedule = subject.schedules[loop.part]
    step = _step(wish, loop, schedule)
    what = f"{_title(names, loop)} can"
    found = blocker(schedule, loop, names) if wish is not Wish.TILE else None
    why = f": {found.text}" if found is not None else ""
    return _judged(
        f"{what} {_WORDS[wish]}", f"{what}not {_WORDS[wish]}{why}", loop.part, step, subject
    )


def _step(wish: Wish, loop: Loop, schedule: Schedule) -> Transform:
    match wish:
        case Wish.PARALLEL:
            return Parallelize(loop.reference)
        case Wish.VECTORIZE:
            return Vectorize(loop.reference)
        case _:
            members = schedule.tree.by_label[loop.label].members
            return Tile(loop.label, (TILE,) * len(members))


def _of_region(wish: Wish, loop: Loop, subject: Subject, names: Names) -> Answer:
    assert loop.region is not None
    title = _title(names, loop)
    if wish is Wish.PARALLEL and independent(subject.program, loop.region):
        return Answer(f"{title} can run in parallel: nothing blocks it", is_free=True)
    why = region_text(names, loop.region)
    hint = "give the loop bounds that are known before it runs, and no break or while inside"
    return Answer(f"{title} cannot {_WORDS[wish]}: {why}", hint=hint)


def _title(names: Names, loop: Loop) -> str:
    place = names.place(loop.place)
    name = loop_name(names, loop)
    return f"{name} ({place})" if place and name.startswith("loop ") else name


def _fusion(question: Question, subject: Subject, names: Names) -> Answer:
    first, second = (_found(subject, name, names) for name in question.loops)
    pairs = [
        (one, two)
        for one in first
        for two in second
        if one.region is None and two.region is None
        and one.part == two.part and one.position == two.position and one.label != two.label
        and not set(one.statements) & set(two.statements)
    ]  # fmt: skip
    if not pairs:
        reason = _apart(first[0], second[0])
        return Answer(
            f"{_title(names, first[0])} and {_title(names, second[0])} cannot be fused: {reason}",
            hint="name two loops that follow each other at the same depth, by their lines",
        )
    one, two = pairs[0]
    both = f"{_title(names, one)} and {_title(names, two)}"
    step = Fuse(one.label, two.label, one.position + 1)
    what = f"{both} can"
    return _judged(f"{what} be fused", f"{what}not be fused", one.part, step, subject)


def _apart(one: Loop, two: Loop) -> str:
    if one.region is not None or two.region is not None or one.part != two.part:
        return "what lies between them is decided while the function runs"
    return "they are not at the same depth of two nests"


def _judged(can: str, cannot: str, part: int, step: Transform, subject: Subject) -> Answer:
    """Return what the legality check says of a step on the order of the source."""
    schedule = subject.schedules[part]
    try:
        schedule.apply(step)
    except IllegalSchedule as refusal:
        repair = refusal.repair if isinstance(refusal.repair, Repair) else None
        usable = repair is not None and repair.kind is not RepairKind.MODE
        steps = _placed(subject, part, repair.text) if usable and repair is not None else ""
        hint = repair_text(repair) if repair is not None else refusal.hint or ""
        return Answer(cannot, tuple(refusal.notes), hint, steps)
    except BudgetError as error:
        return Answer(f"{cannot}, as far as is known: {error.message}")
    except ScheduleError as error:
        return Answer(f"{cannot}: {error.message}", hint=error.hint or "")
    steps = _placed(subject, part, str(step))
    return Answer(f"{can}: nothing blocks it, {step} is proven legal", steps=steps, is_free=True)


def _placed(subject: Subject, part: int, steps: str) -> str:
    return f"part({part}); {steps}" if len(subject.schedules) > 1 else steps


def answer_lines(answer: Answer) -> Iterator[str]:
    """Yield an answer as text."""
    yield answer.head
    yield from (f"   {note}" for note in answer.notes)
    if answer.hint:
        yield f"   help: {answer.hint}"
