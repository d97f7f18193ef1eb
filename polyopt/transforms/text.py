"""The schedule language: `tile(L0, 32, 32); parallelize(L0.tile[0])`.

In: text.  Out: transformation records, whose `str` prints the same text; schedules after them.
Refuses: unknown steps and malformed arguments, with the place in the text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from polyopt import transforms
from polyopt.dataclass import dataclass
from polyopt.errors import IllegalSchedule, Loc, ScheduleError, boundary
from polyopt.ir.loops import LoopKind
from polyopt.late import named
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.sizes import show_steps
from polyopt.schedule.tree import bands
from polyopt.schedulefile import (
    NOWHERE,
    Call,
    Let,
    ScheduleText,
    load_text,
    nearest,
    read_items,
)
from polyopt.transforms.fields import read_record

if TYPE_CHECKING:
    from polyopt.transforms import Arguments


@dataclass(frozen=True, slots=True)
class Step:
    """How a step is written: an example, and its record, whose fields are its words.

    A record of this package goes by its place, `tile.Tile`; it is imported when a step is read.
    A function makes records of words that are not fields one by one.
    """

    example: str
    record: str | type[Transform] | Callable[[Arguments], Transform]

    def read(self, a: Arguments) -> Transform:
        """Return the record of a written step; raises `ScheduleError` PO0323, PO0326."""
        record = self.record
        if isinstance(record, str):
            record = named("polyopt.transforms", record)
        return read_record(record, a) if isinstance(record, type) else record(a)


def _affine(a: Arguments) -> Transform:
    a.count(1, 2)
    return transforms.Affine(
        a.choice(0, transforms.Fusion), a.name(1) if len(a.call.words) == 2 else ""
    )


def _contract(a: Arguments) -> Transform:
    a.at_least(1)
    return transforms.Contract(a.name(0), a.sizes(1))


def _pipeline(a: Arguments) -> Transform:
    a.count(2, 3)
    is_plain = len(a.call.words) == 3 and a.name(2) == "plain"
    if len(a.call.words) == 3 and not is_plain:
        raise a.wrong("the last word is not `plain`", a.call.words[2])
    return transforms.Pipeline(a.name(0), a.number(1), is_plain)


def _shift(a: Arguments) -> Transform:
    a.count(2, 3)
    statement = a.name(1) if len(a.call.words) == 3 else ""
    return transforms.Shift(a.name(0), a.amount(len(a.call.words) - 1), statement)


STEPS: dict[str, Step] = {
    "affine": Step("affine(max)", _affine),
    "atomic": Step("atomic(S1)", "atomic.Atomic"),
    "clone": Step("clone(L0.high)", "clone.Clone"),
    "combine": Step("combine(i)", "combine.Combine"),
    "contract": Step("contract(T, 2, 0)", _contract),
    "cut": Step("cut(L0, 1)", "cut.Cut"),
    "deal": Step("deal(i, 32)", "deal.Deal"),
    "diamond": Step("diamond(L0, 32)", "diamond.Diamond"),
    "distribute": Step("distribute(L0, 1)", "distribute.Distribute"),
    "embed": Step("embed(L1, i)", "embed.Embed"),
    "expand": Step("expand(T, i)", "expand.Expand"),
    "finish": Step("finish(L1)", "finish.Finish"),
    "fuse": Step("fuse(L0, L1)", "fuse.Fuse"),
    "grid": Step("grid(i_tile, j_tile)", "mapping.Grid"),
    "hold": Step("hold(A, L0)", "hold.Hold"),
    "interchange": Step("interchange(i, j)", "interchange.Interchange"),
    "layout": Step("layout(T, 1, 0)", "layout.LayOut"),
    "library": Step("library(S1)", "library.Library"),
    "mirror": Step("mirror(S1, 24)", "mirror.Mirror"),
    "move": Step("move(L0, L3)", "move.Move"),
    "online": Step("online(S3, 128, 256)", "online.Online"),
    "overlap": Step("overlap(t, 2, 32, 32)", "overlap.Overlap"),
    "pack": Step("pack(B, k_tile)", "pack.Pack"),
    "parallelize": Step("parallelize(i)", "marks.Parallelize"),
    "peel": Step("peel(L0)", "peel.Peel"),
    "pipeline": Step("pipeline(k_tile, 2)", _pipeline),
    "privatise": Step("privatise(T, i)", "expand.Expand"),
    "rearrange": Step("rearrange(A, L0, 1+2*0, 0)", "rearrange.Rearrange"),
    "recompute": Step("recompute(T, i_tile)", "recompute.Recompute"),
    "reorder": Step("reorder(L0, 1, 0)", "reorder.Reorder"),
    "reverse": Step("reverse(i)", "reverse.Reverse"),
    "replicate": Step("replicate(A)", "shard.Replicate"),
    "rfactor": Step("rfactor(S0, i_tile)", "rfactor.Rfactor"),
    "scan": Step("scan(i)", "scan.Scan"),
    "separate": Step("separate(L0.point, L0.point2, 6, 16)", "separate.Separate"),
    "shard": Step("shard(A, 0)", "shard.Shard"),
    "shift": Step("shift(i, S1, 1)", _shift),
    "sink": Step("sink(i)", "sink.Sink"),
    "skew": Step("skew(i, t, 1)", "skew.Skew"),
    "split": Step("split(i, N - 1)", "split.Split"),
    "strip": Step("strip(i, 32)", "strip.Strip"),
    "swizzle": Step("swizzle(i_tile, j_tile, 8)", "swizzle.Swizzle"),
    "tensorize": Step("tensorize(L0.point, 64, 32)", "tensorize.Tensorize"),
    "threads": Step("threads(i, j)", "mapping.Threads"),
    "tile": Step("tile(L0, 32, 32)", "tile.Tile"),
    "unroll": Step("unroll(i)", "marks.Unroll"),
    "vectorize": Step("vectorize(j)", "marks.Vectorize"),
    "version": Step("version(N <= 8)", "version.Version"),
}


_OF_DEVICES = (LoopKind.BLOCK, LoopKind.THREAD, LoopKind.MATRIX)


@dataclass(frozen=True, slots=True)
class PlacedStep:
    """A step of a text: the static control part it is for, and its place."""

    step: Transform
    part: int
    loc: Loc


class _Open(dict[str, int]):
    """Values of sizes in which every name has one."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> int:
        return 1


def check_text(text: str) -> None:
    """Raise what `read_steps` raises, but for sizes that have no value yet."""
    _read(text, _Open())


def read_steps(text: str) -> tuple[PlacedStep, ...]:
    """Return the steps written in `text` with their places.

    Raises `ScheduleError` PO0321 (syntax), PO0322 (unknown step), PO0323 (arguments), PO0326 (a
    size without a value), PO0329 (version, length).
    """
    return _read(text, {})


def _read(text: str, lets: dict[str, int]) -> tuple[PlacedStep, ...]:
    found: list[PlacedStep] = []
    part = 0
    for item in read_items(text):
        match item:
            case Let():
                lets[item.name] = item.value
            case Call(name="part"):
                part = _part(transforms.Arguments(item, lets, "part(1)"))
            case Call():
                found.append(PlacedStep(_step(item, lets), part, item.loc))
    return tuple(found)


def parse_steps(text: str) -> tuple[Transform, ...]:
    """Return the steps written in `text`, separated by `;` or line ends; `#` starts a comment.

    Raises as `read_steps` does, and `ScheduleError` PO0324 for steps of another part than 0.
    """
    placed = read_steps(text)
    for one in placed:
        if one.part:
            raise _no_part(one, 1)
    return tuple(one.step for one in placed)


def _part(arguments: Arguments) -> int:
    arguments.count(1)
    number = arguments.number(0)
    if number < 0:
        raise arguments.wrong("parts are numbered from 0")
    return number


def _step(call: Call, lets: dict[str, int]) -> Transform:
    known = STEPS.get(call.name)
    if known is not None:
        return known.read(transforms.Arguments(call, lets, known.example))
    near = nearest(call.name, STEPS)
    hint = f"steps: {', '.join(STEPS)}"
    if near is not None:
        hint = f"did you mean `{near}`? {hint}"
    raise ScheduleError("PO0322", f"there is no step `{call.name}`", loc=call.loc, hint=hint)


def parse_schedule(schedule: Schedule, text: str) -> Schedule:
    """Return `schedule` after the steps in `text`, each proven.

    Raises as `Schedule.apply` and `parse_steps` do.
    """
    return parse_schedules((schedule,), text)[0]


def parse_schedules(schedules: tuple[Schedule, ...], text: str) -> tuple[Schedule, ...]:
    """Return one schedule for each static control part of a program, after the steps in `text`.

    `part(2)` says that the steps after it are for the part number 2; they begin with part 0.
    Raises as `parse_schedule` does, and `ScheduleError` PO0324 for a part that is not there.
    """
    placed = read_steps(text)
    for one in placed:
        if one.part >= len(schedules):
            raise _no_part(one, len(schedules))
    result = list(schedules)
    for one in placed:
        result[one.part] = apply_placed(result[one.part], one, len(placed) > 1)
    return tuple(result)


def refuse_mapped(schedules: Sequence[Schedule], text: str) -> None:
    """Raise `ScheduleError` PO0336 where steps of a text map loops to a device; for processors."""
    loops = (m for s in schedules for band in bands(s.tree) for m in band.members)
    if not any(loop.kind in _OF_DEVICES for loop in loops):
        return
    for placed in read_steps(text):
        if isinstance(placed.step, transforms.Grid | transforms.Threads | transforms.Tensorize):
            raise ScheduleError(
                "PO0336",
                f"{placed.step}: the code is for the processor, which has no blocks and threads",
                loc=placed.loc,
                hint='name a device\'s language, such as target="cuda", or use `parallelize`',
            )


def apply_placed(schedule: Schedule, placed: PlacedStep, several: bool = True) -> Schedule:
    """Return the schedule after a step of a text; errors tell the step's place."""
    try:
        return schedule.apply(placed.step)
    except ScheduleError as error:
        if several or placed.loc.file != NOWHERE:
            if isinstance(error, IllegalSchedule):
                error.notes = (*error.notes, f"the step is asked for at {placed.loc}")
            else:
                error.loc = error.loc or placed.loc
        raise


def _no_part(placed: PlacedStep, count: int) -> ScheduleError:
    if count == 1:
        hint = "leave `part(…)` out: the program is one static control part, number 0"
    else:
        hint = f"parts are numbered from 0 to {count - 1}"
    parts = "1 static control part" if count == 1 else f"{count} static control parts"
    return ScheduleError(
        "PO0324",
        f"`{placed.step}` is for part {placed.part}: the program has {parts}",
        loc=placed.loc,
        hint=hint,
    )


def show_schedules(schedules: Sequence[Schedule]) -> str:
    """Return the text that `parse_schedules` reads."""
    if len(schedules) == 1:
        return schedules[0].text
    shown = (
        f"part({number});\n{show_steps(schedule.trace)}"
        for number, schedule in enumerate(schedules)
        if schedule.trace
    )
    return ";\n".join(shown)


@boundary
def load_schedule(path: str | os.PathLike[str]) -> ScheduleText:
    """Return the schedule in a file as text; what it does to a program is proven when it is used.

    Raises `UsageError` PO0601 for a file that cannot be read, `ScheduleError` for one that holds
    something else.
    """
    text = load_text(path)
    check_text(text)
    return text
