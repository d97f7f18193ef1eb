"""The numbers of a schedule that may be varied, and texts with other ones.

In: a schedule's text.  Out: `Knob`s: sizes of tiles, strips, diamonds and time tiles, those of full
tiles together with the tiles that they are of; neighbouring values, the text with one of them.
A text with other numbers is judged and proven like any other: knobs know nothing of legality.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.schedule.schedule import Transform
from polyopt.schedule.sizes import Size, show_steps, value_of
from polyopt.transforms import Deal, Diamond, Overlap, Separate, Strip, Tile
from polyopt.transforms.text import PlacedStep, read_steps

LARGEST = 1 << 20


SMALL = 16  # up to here neighbours are steps of one or two, not factors


@dataclass(frozen=True, slots=True)
class StepNumber:
    """A number of a step: the step's position in the text, the number's among the step's."""

    step: int
    number: int


@dataclass(frozen=True, slots=True)
class Knob:
    """Numbers that change together, and their value."""

    places: tuple[StepNumber, ...]
    value: int


def knobs(text: str) -> tuple[Knob, ...]:
    """Return the knobs of a text in the order of its steps."""
    steps = read_steps(text)
    groups: dict[object, list[StepNumber]] = {}
    for position, placed in enumerate(steps):
        if isinstance(placed.step, Separate):
            for place, owner in _owners(steps, position):
                groups.setdefault(_name(steps, owner), []).append(place)
            continue
        for number, size in enumerate(sizes_of(placed.step)):
            if value_of(size) > 1:
                place = StepNumber(position, number)
                groups.setdefault(_name(steps, place), []).append(place)
    found = (Knob(tuple(places), _value(steps, places[0])) for places in groups.values())
    return tuple(found)


def moves(value: int) -> tuple[int, ...]:
    """Return the values to try next to one, the likeliest first."""
    near: tuple[int, ...]
    if value <= SMALL:
        near = (value + 2, value - 2, 2 * value, value // 2, value + 1, value - 1)
    else:
        near = (2 * value, value // 2, value + value // 2, value * 3 // 4)
    found = dict.fromkeys(v for v in near if 1 < v <= LARGEST)
    return tuple(v for v in found if v != value)


def with_value(text: str, knob: Knob, value: int) -> str:
    """Return the text with the knob's numbers replaced."""
    steps = list(read_steps(text))
    for place in knob.places:
        placed = steps[place.step]
        sizes = list(sizes_of(placed.step))
        sizes[place.number] = value
        steps[place.step] = replace(placed, step=_with_sizes(placed.step, tuple(sizes)))
    return show_placed(steps)


def show_placed(steps: list[PlacedStep]) -> str:
    """Return the text of steps of one or several static control parts."""
    parts = sorted({placed.part for placed in steps})
    texts = {part: show_steps(p.step for p in steps if p.part == part) for part in parts}
    if parts in ([], [0]):
        return texts.get(0, "")
    return ";\n".join(f"part({part});\n{text}" for part, text in texts.items())


def sizes_of(step: object) -> tuple[Size, ...]:
    """Return the numbers of a step that say how large something is."""
    match step:
        case Tile() | Diamond() | Separate():
            return step.sizes
        case Strip() | Deal():
            return (step.size,)
        case Overlap():
            return (step.steps, *step.sizes)
        case _:
            return ()


def _with_sizes(step: Transform, sizes: tuple[Size, ...]) -> Transform:
    match step:
        case Tile() | Diamond() | Separate():
            return replace(step, sizes=sizes)
        case Strip() | Deal():
            return replace(step, size=sizes[0])
        case Overlap():
            return replace(step, steps=sizes[0], sizes=sizes[1:])
        case _:
            return step


def _owners(
    steps: tuple[PlacedStep, ...], position: int
) -> Iterator[tuple[StepNumber, StepNumber]]:
    """Yield the numbers of a `separate` with the tile's number that each of them repeats.

    They are looked for from the last one, in the tiles of the nearest bands around its loops.
    """
    separate = steps[position].step
    assert isinstance(separate, Separate)
    taken: set[StepNumber] = set()
    for number in reversed(range(len(separate.sizes))):
        value = value_of(separate.sizes[number])
        for owner in _tiles_around(steps, position, separate.point):
            if value and owner not in taken and _value(steps, owner) == value:
                taken.add(owner)
                yield StepNumber(position, number), owner
                break


def _tiles_around(steps: tuple[PlacedStep, ...], position: int, point: str) -> Iterator[StepNumber]:
    for before in reversed(range(position)):
        step = steps[before].step
        is_around = isinstance(step, Tile) and point.startswith(f"{step.band}.")
        if is_around and steps[before].part == steps[position].part:
            for number in reversed(range(len(sizes_of(step)))):
                yield StepNumber(before, number)


def _name(steps: tuple[PlacedStep, ...], place: StepNumber) -> object:
    """Return what tells a knob from others: its name in the text, or its place."""
    size = sizes_of(steps[place.step].step)[place.number]
    return place if isinstance(size, int) else (steps[place.step].part, size.name)


def _value(steps: tuple[PlacedStep, ...], place: StepNumber) -> int:
    return value_of(sizes_of(steps[place.step].step)[place.number])
