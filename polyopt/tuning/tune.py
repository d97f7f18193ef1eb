"""Tune a kernel for a call: build candidates, measure them on copies, keep the best.

In: a function, its types and options, a call's values, seconds.  Out: `Tuned`.
Refuses (PO0227): targets other than C, arguments that share memory, calls that the kernel refuses.
Numbers of a schedule that may vary; coordinate descent over them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from polyopt.building import Built, build_kernel, compile_stages
from polyopt.dataclass import dataclass, replace
from polyopt.errors import PolyoptError, UsageError
from polyopt.frontend.syntax.annotations import ArgType
from polyopt.ir.budget import Budget
from polyopt.ir.scop import Scop
from polyopt.ir.source import ArrayArg
from polyopt.machine import Machine
from polyopt.pipeline import Compilation, fits, machine_for
from polyopt.runtime.notices import PolyoptWarning
from polyopt.schedule import Schedule
from polyopt.schedule.schedule import Transform
from polyopt.schedule.sizes import Size, show_steps, value_of
from polyopt.strategy.auto import alternatives
from polyopt.targets import Options, detect_machine, seconds_to_compile
from polyopt.transforms import Deal, Diamond, Overlap, Separate, Strip, Tile, show_schedules
from polyopt.transforms.text import PlacedStep, read_steps
from polyopt.tuning.kept import Tuned
from polyopt.tuning.timing import Copies, overlap

SHORTEST = 1.0  # seconds: less does not build a kernel

Types = tuple[ArgType, ...]


class Bench:
    """Builds candidates of one kernel and races them on copies of one call's arguments."""

    def __init__(
        self, function: Callable[..., object], types: Types, options: Options, copies: Copies
    ) -> None:
        self.function, self.types = function, types
        self.options = replace(options, tune=None)
        self.copies = copies

    def build(self, candidate: Candidate, seconds: float) -> Built | None:
        """Return the proven kernel, or None."""
        if seconds < SHORTEST:
            return None
        budget = min(seconds, seconds_to_compile(self.options))
        options = replace(
            self.options, schedule=candidate.text, threads=candidate.threads, budget=budget
        )
        try:
            return build_kernel(self.function, self.types, options)
        except PolyoptError:
            return None  # refused, too large, or too long to build: not a candidate

    def race(self, champion: object, challenger: object) -> tuple[float, float]:
        """Return the seconds that a call of each takes."""
        assert isinstance(champion, Built)
        assert isinstance(challenger, Built)
        return self.copies.race(champion.loaded.call, challenger.loaded.call)

    def clock(self) -> float:
        """Return the time."""
        return time.monotonic()


def tune(
    function: Callable[..., object],
    types: Types,
    options: Options,
    values: tuple[object, ...],
    seconds: float,
    shop: Workshop | None = None,
) -> Tuned:
    """Return the best schedule that was found within `seconds` for a call with `values`."""
    if not options.target.is_host:
        raise _refused(f'the target is "{options.target.value}", not "c"')
    if overlap(values):
        raise _refused("arguments share memory, which their copies would not")
    begun = time.monotonic()
    plain = replace(options, tune=None)
    built = build_kernel(function, types, plain)
    arguments = enumerate(built.source.signature.arguments)
    written = [n for n, a in arguments if isinstance(a, ArrayArg) and a.written]
    copies = Copies(values, written)
    with _undisturbed():
        if built.loaded.call(*copies.values) is NotImplemented:
            raise _refused("the kernel does not take these arguments as they are")
        stages = built.stages or compile_stages(function, types, plain)
        machine = machine_for(options, detect_machine())
        start = Candidate(built.schedule_text or "source", options.threads)
        bench = shop or Bench(function, types, options, copies)
        others = [
            Candidate(text, options.threads) for text in alternative_texts(stages, plain, machine)
        ]
        left = seconds - (time.monotonic() - begun)
        found = search(start, built, others, _threads(options, machine), left, bench)
    best = found.best
    threads = best.threads if best.threads != options.threads else None
    return Tuned(best.text, threads, _sizes(built, values), found.seconds, found.before,
                 found.tried + 1)  # fmt: skip


def alternative_texts(stages: Compilation, options: Options, machine: Machine) -> list[str]:
    """Return texts of other schedules to begin with; none where the user chose one."""
    if options.schedule is not None:
        return []
    with Budget(seconds_to_compile(options)).running():
        pairs = zip(stages.program.scops, stages.schedules, strict=True)
        found = [_alternatives(stages, scop, options, machine) or (own,) for scop, own in pairs]
    longest = max((len(choices) for choices in found), default=0)
    rows = (
        tuple(choices[min(row, len(choices) - 1)] for choices in found) for row in range(longest)
    )
    return list(dict.fromkeys(show_schedules(row) or "source" for row in rows))


def _alternatives(
    stages: Compilation, scop: Scop, options: Options, machine: Machine
) -> tuple[Schedule, ...]:
    """Return schedules of a part whose temporaries take no more than the program's own arrays."""
    program = stages.program
    return tuple(s for s in alternatives(scop, machine) if fits(s, program, scop, options))


def _threads(options: Options, machine: Machine) -> tuple[int, ...]:
    """Return numbers of threads to try: fewer than all, where the user did not say how many."""
    if options.threads is not None or machine.cores == 1:
        return ()
    return tuple(dict.fromkeys((1, machine.cores // 2)))


def _sizes(built: Built, values: tuple[object, ...]) -> tuple[str, ...]:
    """Return what is told of the call: shapes of arrays, values of integers."""
    named = zip(built.source.signature.arguments, values, strict=True)
    shown = []
    for argument, value in named:
        if isinstance(value, np.ndarray):
            shown.append(f"{argument.name}={'x'.join(map(str, value.shape))}")
        elif isinstance(value, int | np.integer):
            shown.append(f"{argument.name}={value}")
    return tuple(shown)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep NumPy's random numbers, and silence warnings of candidates that took too long."""
    state = np.random.get_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyoptWarning)
        try:
            yield
        finally:
            np.random.set_state(state)


def _refused(reason: str) -> UsageError:
    return UsageError(
        "PO0227",
        f"this call cannot be tuned for: {reason}",
        hint="leave `tune` out, or tune with separate arrays on the target c",
    )


GAIN = 0.97  # of the time that a schedule may take to replace another: less is noise

Call = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A schedule's text and a number of threads; None are all."""

    text: str
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The best candidate; `seconds` of a call with it, `before` with the start; how many tried."""

    best: Candidate
    seconds: float
    before: float
    tried: int
    is_complete: bool


class Workshop(Protocol):
    """What the search needs of the world."""

    def build(self, candidate: Candidate, seconds: float) -> object | None:
        """Return the proven kernel, None where there is none or building took too long."""

    def race(self, champion: object, challenger: object) -> tuple[float, float]:
        """Return the seconds that a call of each takes, measured in turns."""

    def clock(self) -> float:
        """Return the time in seconds."""


class _Search:
    """The state of one search: the champion and the texts that were tried."""

    def __init__(self, start: Candidate, kernel: object, seconds: float, shop: Workshop) -> None:
        self.best, self.kernel = start, kernel
        self.gained = 1.0
        self.time = 0.0
        self.shop = shop
        self.end = shop.clock() + seconds
        self.seen = {start}
        self.longest = 0.0
        self.tried = 0

    def is_over(self) -> bool:
        """Tell whether another candidate would take longer than is left."""
        return self.shop.clock() + self.longest >= self.end

    def improves(self, candidate: Candidate) -> bool:
        """Try a candidate; tell whether it is the new champion."""
        if candidate in self.seen or self.is_over():
            return False
        self.seen.add(candidate)
        begun = self.shop.clock()
        kernel = self.shop.build(candidate, self.end - begun)
        is_faster = False
        if kernel is not None:
            self.tried += 1
            mine, other = self.shop.race(self.kernel, kernel)
            is_faster = other < GAIN * mine
            self.time = min(mine, other) if is_faster else mine
            if is_faster:
                self.gained *= other / mine
                self.best, self.kernel = candidate, kernel
        self.longest = max(self.longest, self.shop.clock() - begun)
        return is_faster


def search(
    start: Candidate,
    kernel: object,
    others: Sequence[Candidate],
    threads: Sequence[int],
    seconds: float,
    shop: Workshop,
) -> Found:
    """Return the fastest candidate that was found within `seconds`.

    `others` are whole schedules to begin with, `threads` numbers to try at the end.
    """
    state = _Search(start, kernel, seconds, shop)
    for other in others:
        state.improves(other)
    while _turn_knobs(state):
        pass
    for number in threads:
        state.improves(Candidate(state.best.text, number))
    return Found(
        state.best, state.time, state.time / state.gained, state.tried, not state.is_over()
    )


def _turn_knobs(state: _Search) -> bool:
    """Try each knob of the champion once; tell whether any of them helped."""
    helped = False
    for position in range(len(knobs(state.best.text))):
        for number in range(len(_steps(state, position))):
            while any(state.improves(c) for c in _neighbour(state, position, number)):
                helped = True
        if state.is_over():
            return False
    return helped


def _steps(state: _Search, position: int) -> tuple[int, ...]:
    return moves(knobs(state.best.text)[position].value)


def _neighbour(state: _Search, position: int, number: int) -> Iterator[Candidate]:
    """Yield the champion with one knob moved in one direction, if it can be."""
    known = knobs(state.best.text)
    values = moves(known[position].value) if position < len(known) else ()
    if number < len(values):
        text = with_value(state.best.text, known[position], values[number])
        yield Candidate(text, state.best.threads)


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
