"""The schedule language: `tile(L0, 32, 32); parallelize(L0.tile[0])`.

In: text.  Out: transformation records, whose `str` prints the same text; schedules after them.
Refuses: unknown steps and malformed arguments, with the place in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from polyopt import transforms
from polyopt.dataclass import dataclass
from polyopt.errors import IllegalSchedule, Loc, ScheduleError
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.sizes import show_steps
from polyopt.schedulefile import NOWHERE, Call, Let, nearest, read_items

if TYPE_CHECKING:
    from polyopt.transforms import Arguments


@dataclass(frozen=True, slots=True)
class _Step:
    """How one step is written: an example, and the function that makes the record."""

    example: str
    make: Callable[[Arguments], Transform]


def _affine(a: Arguments) -> Transform:
    a.count(1, 2)
    return transforms.Affine(
        a.choice(0, transforms.Fusion), a.name(1) if len(a.call.words) == 2 else ""
    )


def _contract(a: Arguments) -> Transform:
    a.at_least(1)
    return transforms.Contract(a.name(0), a.sizes(1))


def _cut(a: Arguments) -> Transform:
    a.count(2)
    return transforms.Cut(a.name(0), a.number(1))


def _deal(a: Arguments) -> Transform:
    a.count(2)
    return transforms.Deal(a.name(0), a.size(1))


def _diamond(a: Arguments) -> Transform:
    a.at_least(2)
    return transforms.Diamond(a.name(0), a.sizes(1))


def _distribute(a: Arguments) -> Transform:
    a.count(1, 3)
    return transforms.Distribute(a.name(0), *a.numbers(1))


def _expand(a: Arguments) -> Transform:
    a.at_least(2)
    first, *loops = (a.name(position) for position in range(len(a.call.words)))
    return transforms.Expand(first, tuple(loops))


def _fuse(a: Arguments) -> Transform:
    a.count(2, 3)
    return transforms.Fuse(a.name(0), a.name(1), *a.numbers(2))


def _grid(a: Arguments) -> Transform:
    a.at_least(1)
    return transforms.Grid(a.every_name())


def _hold(a: Arguments) -> Transform:
    a.at_least(2)
    first, *labels = (a.name(position) for position in range(len(a.call.words)))
    return transforms.Hold(first, tuple(labels))


def _layout(a: Arguments) -> Transform:
    a.at_least(2)
    return transforms.LayOut(a.name(0), _dimensions(a, 1))


def _pack(a: Arguments) -> Transform:
    a.at_least(2)
    return transforms.Pack(a.name(0), a.name(1), _dimensions(a, 2))


def _rearrange(a: Arguments) -> Transform:
    a.at_least(3)
    return transforms.Rearrange(a.name(0), a.name(1), _dimensions(a, 2))


DIMENSIONS = "1, 0/32, 0%32, 1+8, 1+2*0 or 1^8*0/2%4"
"""How the dimensions of an array can be kept, in examples."""


def _dimensions(a: Arguments, start: int) -> tuple[transforms.Dimension, ...]:
    found = []
    for word in a.call.words[start:]:
        dimension = transforms.read_dimension(word.text)
        if dimension is None:
            raise a.wrong(f"`{word.text}` is no dimension: {DIMENSIONS}", word)
        found.append(dimension)
    return tuple(found)


def _pipeline(a: Arguments) -> Transform:
    a.count(2, 3)
    is_plain = len(a.call.words) == 3 and a.name(2) == "plain"
    if len(a.call.words) == 3 and not is_plain:
        raise a.wrong("the last word is not `plain`", a.call.words[2])
    return transforms.Pipeline(a.name(0), a.number(1), is_plain)


def _overlap(a: Arguments) -> Transform:
    a.at_least(3)
    return transforms.Overlap(a.name(0), a.size(1), a.sizes(2))


def _reorder(a: Arguments) -> Transform:
    a.at_least(2)
    return transforms.Reorder(a.name(0), a.numbers(1))


def _separate(a: Arguments) -> Transform:
    a.at_least(3)
    return transforms.Separate(a.name(0), a.name(1), a.sizes(2))


def _shift(a: Arguments) -> Transform:
    a.count(2, 3)
    statement = a.name(1) if len(a.call.words) == 3 else ""
    return transforms.Shift(a.name(0), a.amount(len(a.call.words) - 1), statement)


def _skew(a: Arguments) -> Transform:
    a.count(2, 3)
    return transforms.Skew(a.name(0), a.name(1), *a.numbers(2))


def _split(a: Arguments) -> Transform:
    a.count(2)
    return transforms.Split(a.name(0), a.amount(1))


def _strip(a: Arguments) -> Transform:
    a.count(2)
    return transforms.Strip(a.name(0), a.size(1))


def _tensorize(a: Arguments) -> Transform:
    a.count(3)
    return transforms.Tensorize(a.name(0), a.size(1), a.size(2))


def _threads(a: Arguments) -> Transform:
    a.at_least(1)
    return transforms.Threads(a.every_name())


def _tile(a: Arguments) -> Transform:
    a.at_least(2)
    return transforms.Tile(a.name(0), a.sizes(1))


def _swizzle(a: Arguments) -> Transform:
    a.count(3)
    return transforms.Swizzle(a.name(0), a.name(1), a.number(2))


STEPS: dict[str, _Step] = {
    "affine": _Step("affine(max)", _affine),
    "atomic": _Step("atomic(S1)", lambda a: transforms.Atomic(*a.names(1))),
    "combine": _Step("combine(i)", lambda a: transforms.Combine(*a.names(1))),
    "contract": _Step("contract(T, 2, 0)", _contract),
    "cut": _Step("cut(L0, 1)", _cut),
    "deal": _Step("deal(i, 32)", _deal),
    "diamond": _Step("diamond(L0, 32)", _diamond),
    "distribute": _Step("distribute(L0, 1)", _distribute),
    "embed": _Step("embed(L1, i)", lambda a: transforms.Embed(*a.names(2))),
    "expand": _Step("expand(T, i)", _expand),
    "finish": _Step("finish(L1)", lambda a: transforms.Finish(*a.names(1))),
    "fuse": _Step("fuse(L0, L1)", _fuse),
    "grid": _Step("grid(i_tile, j_tile)", _grid),
    "hold": _Step("hold(A, L0)", _hold),
    "interchange": _Step("interchange(i, j)", lambda a: transforms.Interchange(*a.names(2))),
    "layout": _Step("layout(T, 1, 0)", _layout),
    "move": _Step("move(L0, L3)", lambda a: transforms.Move(*a.names(2))),
    "overlap": _Step("overlap(t, 2, 32, 32)", _overlap),
    "pack": _Step("pack(B, k_tile)", _pack),
    "parallelize": _Step("parallelize(i)", lambda a: transforms.Parallelize(*a.names(1))),
    "peel": _Step("peel(L0)", lambda a: transforms.Peel(*a.names(1))),
    "pipeline": _Step("pipeline(k_tile, 2)", _pipeline),
    "privatise": _Step("privatise(T, i)", _expand),
    "rearrange": _Step("rearrange(A, L0, 1+2*0, 0)", _rearrange),
    "recompute": _Step("recompute(T, i_tile)", lambda a: transforms.Recompute(*a.names(2))),
    "reorder": _Step("reorder(L0, 1, 0)", _reorder),
    "reverse": _Step("reverse(i)", lambda a: transforms.Reverse(*a.names(1))),
    "rfactor": _Step("rfactor(S0, i_tile)", lambda a: transforms.Rfactor(*a.names(2))),
    "scan": _Step("scan(i)", lambda a: transforms.Scan(*a.names(1))),
    "separate": _Step("separate(L0.point, L0.point2, 6, 16)", _separate),
    "shift": _Step("shift(i, S1, 1)", _shift),
    "sink": _Step("sink(i)", lambda a: transforms.Sink(*a.names(1))),
    "skew": _Step("skew(i, t, 1)", _skew),
    "split": _Step("split(i, N - 1)", _split),
    "strip": _Step("strip(i, 32)", _strip),
    "swizzle": _Step("swizzle(i_tile, j_tile, 8)", _swizzle),
    "tensorize": _Step("tensorize(L0.point, 64, 32)", _tensorize),
    "threads": _Step("threads(i, j)", _threads),
    "tile": _Step("tile(L0, 32, 32)", _tile),
    "unroll": _Step("unroll(i)", lambda a: transforms.Unroll(*a.names(1))),
    "vectorize": _Step("vectorize(j)", lambda a: transforms.Vectorize(*a.names(1))),
}


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
        return known.make(transforms.Arguments(call, lets, known.example))
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
