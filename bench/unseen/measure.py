"""Check and time all implementations of one program, in turn.

In: a program, how to run it.  Out: `Row`.
Results are compared before anything is timed; what is wrong or refused is not timed.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.budget import Deadline
from bench.process import Conversation, WorkerFailure
from bench.unseen.program import Program
from bench.worker import save

PEERS = ("numba", "gcc")
BOUND = {"float64": 1e-9, "float32": 1e-4}
TIMEOUT = 200.0  # seconds for one answer
ROUNDS = 9
CALLS = 2  # in each round
NUMPY_ROUNDS = 3  # NumPy is not compared with, and often ten times slower


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is made."""

    threads: int = 1
    dtype: str = "float64"
    rounds: int = ROUNDS
    peers: tuple[str, ...] = PEERS


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds of one program by implementation: medians of all samples.

    `fastest`: the fastest samples, which other programs on the machine disturb least.
    `failures`: why an implementation has no time.  `errors`: the largest relative difference.
    `spread`: of each implementation the middle half of its samples, over the median.
    """

    name: str
    threads: int
    times: Mapping[str, float] = field(default_factory=dict)
    fastest: Mapping[str, float] = field(default_factory=dict)
    spread: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    compile_seconds: float | None = None
    busy: float = 0.0

    @property
    def ratio(self) -> float | None:
        """Return the faster peer's time over polyopt's; None where one of them is missing."""
        return _ratio(self.times)

    @property
    def fastest_ratio(self) -> float | None:
        """Return the ratio of the fastest samples."""
        return _ratio(self.fastest)


def _ratio(times: Mapping[str, float]) -> float | None:
    others = [times[peer] for peer in PEERS if peer in times]
    return min(others) / times["polyopt"] if others and "polyopt" in times else None


@dataclass(slots=True)
class Lane:
    """One implementation under measurement."""

    who: str
    process: Conversation
    failure: str = ""
    seconds: float | None = None
    error: float | None = None
    samples: list[float] = field(default_factory=list)


def measure(program: Program, options: Options, deadline: Deadline, busy: float) -> Row:
    """Compile, check and time one program."""
    names = ["numpy"] if program.is_numpy else []
    names += [*options.peers, "polyopt"]
    with tempfile.TemporaryDirectory(prefix="polyopt-unseen-") as name, ExitStack() as stack:
        lanes = []
        for who in names:
            process = Conversation(
                options.threads, TIMEOUT, "bench.unseen.worker", deadline=deadline
            )
            lanes.append(Lane(who, stack.enter_context(process)))
        for lane in lanes:
            _load(lane, program, options)
        _check(lanes, program, options, Path(name))
        for number in range(options.rounds):
            for lane in lanes:
                if lane.who != "numpy" or number < NUMPY_ROUNDS:
                    _sample(lane)
    return Row(
        program.name,
        options.threads,
        {lane.who: statistics.median(lane.samples) * 1e3 for lane in lanes if lane.samples},
        {lane.who: min(lane.samples) * 1e3 for lane in lanes if lane.samples},
        {lane.who: spread(lane.samples) for lane in lanes if lane.samples},
        {lane.who: lane.error for lane in lanes if lane.error is not None},
        {lane.who: lane.failure for lane in lanes if lane.failure},
        next(lane.seconds for lane in lanes if lane.who == "polyopt"),
        busy,
    )


def spread(samples: list[float]) -> float:
    """Return the middle half of the samples over their median."""
    low, middle, high = np.percentile(samples, (25, 50, 75))
    return round(float((high - low) / middle), 3)


def _load(lane: Lane, program: Program, options: Options) -> None:
    try:
        reply = lane.process.ask(
            program=program.name, who=lane.who, threads=options.threads, dtype=options.dtype
        )
        lane.seconds = reply["seconds"]
    except WorkerFailure as failure:
        lane.failure = str(failure)


def _check(lanes: list[Lane], program: Program, options: Options, folder: Path) -> None:
    """Compare with Python's results at the small sizes, then with the first one at all sizes."""
    bound = BOUND[options.dtype]
    arguments = program.make(program.small, options.dtype)
    program.function(*arguments.values())
    path = str(folder / "small.npz")
    save(path, {name: arguments[name] for name in program.outputs})
    for lane in lanes:
        _compare(lane, path, "small", bound)
    first = next((lane for lane in lanes if not lane.failure), None)
    if first is None:
        return
    path = str(folder / "full.npz")
    try:
        first.process.ask(do="save", at="sizes", path=path)
    except WorkerFailure as failure:
        first.failure = str(failure)
        return _check(lanes, program, options, folder)
    for lane in lanes:
        if lane is not first:
            _compare(lane, path, "sizes", bound)
    return None


def _compare(lane: Lane, path: str, at: str, bound: float) -> None:
    if lane.failure:
        return
    try:
        error = lane.process.ask(do="check", at=at, path=path)["error"]
    except WorkerFailure as failure:
        lane.failure = str(failure)
        return
    lane.error = max(error, lane.error or 0.0)
    if not error <= bound:
        lane.failure = f"wrong: differs by {error:.1e}, bound {bound:.0e}"


def _sample(lane: Lane) -> None:
    if lane.failure:
        return
    try:
        lane.samples += lane.process.ask(do="time", at="sizes", calls=CALLS)["seconds"]
    except WorkerFailure as failure:
        lane.failure, lane.samples = str(failure), []
