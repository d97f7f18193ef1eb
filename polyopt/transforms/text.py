"""The schedule language: `tile(L0, 32, 32); parallelize(L0.tile[0])`.

In: text.  Out: transformation records, whose `str` prints the same text.
Refuses: unknown steps and malformed arguments, with the place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from polyopt.errors import ScheduleError
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.transforms.affine import Affine, Fusion
from polyopt.transforms.cut import Cut
from polyopt.transforms.distribute import Distribute
from polyopt.transforms.fuse import Fuse
from polyopt.transforms.interchange import Interchange
from polyopt.transforms.parallelize import Parallelize
from polyopt.transforms.peel import Peel
from polyopt.transforms.reorder import Reorder
from polyopt.transforms.separate import Separate
from polyopt.transforms.sink import Sink
from polyopt.transforms.skew import Skew
from polyopt.transforms.tile import Tile
from polyopt.transforms.unroll import Unroll
from polyopt.transforms.vectorize import Vectorize


@dataclass(frozen=True, slots=True)
class _Step:
    """How one step is written: an example, and the function that makes the record."""

    example: str
    make: Callable[[list[str]], Transform]


def _numbers(words: list[str]) -> tuple[int, ...]:
    for word in words:
        if not _NUMBER.match(word):
            raise ValueError(f"`{word}` is not a whole number")
    return tuple(int(word) for word in words)


def _fixed(count: int, words: list[str]) -> list[str]:
    if len(words) != count:
        needed = "1 argument is needed" if count == 1 else f"{count} arguments are needed"
        given = "1 was given" if len(words) == 1 else f"{len(words)} were given"
        raise ValueError(f"{needed}, {given}")
    return words


def _fusion(word: str) -> Fusion:
    if word not in {fusion.value for fusion in Fusion}:
        raise ValueError(f"`{word}` is neither {' nor '.join(f.value for f in Fusion)}")
    return Fusion(word)


STEPS: dict[str, _Step] = {
    "affine": _Step("affine(max)", lambda w: Affine(_fusion(_fixed(1, w)[0]))),
    "cut": _Step("cut(L0, 1)", lambda w: Cut(w[0], *_numbers(_fixed(2, w)[1:]))),
    "distribute": _Step("distribute(L0, 1)", lambda w: Distribute(w[0], *_numbers(w[1:]))),
    "fuse": _Step("fuse(L0, L1)", lambda w: Fuse(w[0], w[1], *_numbers(w[2:]))),
    "interchange": _Step("interchange(i, j)", lambda w: Interchange(*_fixed(2, w))),
    "parallelize": _Step("parallelize(i)", lambda w: Parallelize(*_fixed(1, w))),
    "peel": _Step("peel(L0)", lambda w: Peel(*_fixed(1, w))),
    "reorder": _Step("reorder(L0, 1, 0)", lambda w: Reorder(w[0], _numbers(w[1:]))),
    "separate": _Step(
        "separate(L0.point, L0.point2, 6, 16)", lambda w: Separate(w[0], w[1], _numbers(w[2:]))
    ),
    "sink": _Step("sink(i)", lambda w: Sink(*_fixed(1, w))),
    "skew": _Step("skew(i, t, 1)", lambda w: Skew(w[0], w[1], *_numbers(w[2:]))),
    "tile": _Step("tile(L0, 32, 32)", lambda w: Tile(w[0], _numbers(w[1:]))),
    "unroll": _Step("unroll(i)", lambda w: Unroll(*_fixed(1, w))),
    "vectorize": _Step("vectorize(j)", lambda w: Vectorize(*_fixed(1, w))),
}

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\(([^()]*)\)\s*")
_PART = re.compile(r"\s*part\s*\(\s*(\d{1,9})\s*\)\s*")
_NUMBER = re.compile(r"-?[0-9]{1,18}\Z")
_WORD = re.compile(r"[\w.\[\]-]+\Z")


def parse_steps(text: str) -> tuple[Transform, ...]:
    """Return the steps written in `text`, separated by `;` or line ends; `#` starts a comment.

    Raises `ScheduleError` PO0321 (syntax), PO0322 (unknown step), PO0323 (arguments).
    """
    found: list[Transform] = []
    for number, line in enumerate(text.splitlines(), start=1):
        for piece in line.partition("#")[0].split(";"):
            if piece.strip():
                found.append(_parse(piece, number))
    return tuple(found)


def _parse(piece: str, line: int) -> Transform:
    match = _CALL.fullmatch(piece)
    where = f"schedule line {line}"
    if match is None:
        raise ScheduleError(
            "PO0321",
            f"{where}: `{piece.strip()}` is not a step",
            hint="write steps as name(argument, …), separated by `;`",
        )
    name, arguments = match.group(1), match.group(2)
    step = STEPS.get(name)
    if step is None:
        raise ScheduleError(
            "PO0322", f"{where}: there is no step `{name}`", hint=f"steps: {', '.join(STEPS)}"
        )
    words = [word.strip() for word in arguments.split(",")] if arguments.strip() else []
    try:
        if not all(_WORD.match(word) for word in words):
            raise ValueError("an argument is neither a name nor a number")
        return step.make(words)
    except (ValueError, TypeError, IndexError) as error:
        reason = str(error) if isinstance(error, ValueError) else "wrong number of arguments"
        raise ScheduleError(
            "PO0323",
            f"{where}: `{piece.strip()}`: {reason}",
            hint=f"for example {step.example}",
        ) from None


def parse_schedule(schedule: Schedule, text: str) -> Schedule:
    """Return `schedule` after the steps in `text`, each proven.

    Raises as `Schedule.apply` and `parse_steps` do.
    """
    for step in parse_steps(text):
        schedule = schedule.apply(step)
    return schedule


def parse_schedules(schedules: tuple[Schedule, ...], text: str) -> tuple[Schedule, ...]:
    """Return one schedule for each static control part of a program, after the steps in `text`.

    `part(2)` says that the steps after it are for the part number 2; they begin with part 0.
    Raises as `parse_schedule` does, and `ScheduleError` PO0324 for a part that is not there.
    """
    texts = [""] * len(schedules)
    current = 0
    for line in text.splitlines():
        for piece in line.partition("#")[0].split(";"):
            chosen = _PART.fullmatch(piece)
            if chosen is None:
                texts[current] += f"{piece};"
                continue
            current = int(chosen.group(1))
            if current >= len(schedules):
                raise ScheduleError(
                    "PO0324",
                    f"`{piece.strip()}`: the program has {len(schedules)} static control parts",
                    hint=f"parts are numbered from 0 to {len(schedules) - 1}",
                )
        texts[current] += "\n"
    pairs = zip(schedules, texts, strict=True)
    return tuple(parse_schedule(schedule, steps) for schedule, steps in pairs)


def show_schedules(schedules: tuple[Schedule, ...]) -> str:
    """Return the text that `parse_schedules` reads."""
    if len(schedules) == 1:
        return schedules[0].text
    shown = (
        f"part({number});\n{schedule.text}"
        for number, schedule in enumerate(schedules)
        if schedule.trace
    )
    return ";\n".join(shown)
