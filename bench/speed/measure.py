"""Check and time all entrants of one cell, in turn.

In: a cell, the peers, seconds to spend.  Out: `CellResult`.
Results are compared before anything is timed; what is wrong, refused or far too slow is not timed.
A check that was passed is kept until the program, the peer or polyopt changes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import workloads
from bench import function as functions
from bench import levels
from bench.baseline import NoCompiler
from bench.budget import Deadline
from bench.function import FORM, Function
from bench.keep import json_text, replace_file
from bench.measure import SAMPLE_SECONDS, check_sizes
from bench.peers import ccode, registry
from bench.peers.folder import digest, store
from bench.peers.prints import fingerprint
from bench.process import NEVER, Conversation, WorkerFailure
from bench.records import Status
from bench.speed.limits import Limits
from bench.speed.records import OWN, Cell, CellResult, Entrant, Outcome
from bench.sweeps import sizes_of
from workloads import Workload

Sizes = dict[str, int]
Say = Callable[[str], None]
TIMEOUT = 240.0  # seconds for one answer of the project's own processes
PATIENCE = 60.0  # of another's: who takes longer to compile or to run is not timed
LONGEST = 12.0  # seconds of one run; who needs more is not timed
PART = 2.0  # seconds that are timed of a time loop that would take longer
LEAST, MOST = 3, 9  # samples
AGAIN, SHORT = 2, 2.0  # calls after the first one, where that took so many seconds at most
FAR = 6.0  # who takes so many times as long as the best is timed once
PASSING = (Status.TIMEOUT, Status.UNCHECKED)  # may be otherwise in the next run
SETTLE = 0.03  # seconds until the threads of the one before no longer wait busily


class NoReference(WorkerFailure):
    """What results are compared with could not be computed."""


@dataclass(slots=True)
class Lane:
    """One entrant under measurement."""

    entrant: Entrant
    process: Conversation
    status: Status = Status.OK
    message: str = ""
    error: float | None = None
    against: str = ""
    last: float = 0.0
    sizes: Sizes = field(default_factory=dict)
    fraction: float = 1.0  # the part of the time steps that is run
    samples: list[float] = field(default_factory=list)

    def fail(self, failure: Exception) -> None:
        """Take the entrant out of the run."""
        self.status = failure.status if isinstance(failure, WorkerFailure) else Status.REFUSED
        self.message = str(failure)

    def outcome(self) -> Outcome:
        """Return what was found."""
        found = (self.entrant, self.status, self.message, self.error, self.against)
        return Outcome(*found, tuple(self.samples))


@dataclass(slots=True)
class Session:
    """The processes of one cell."""

    cell: Cell
    workload: Workload
    sizes: Sizes
    judge: Conversation  # computes what is expected
    who: Entrant  # the judge: NumPy, or Python itself
    lanes: list[Lane]
    say: Say
    deadline: Deadline = NEVER
    folder: Path | None = None  # of a user's function

    @property
    def against(self) -> str:
        """What is compared with."""
        return "NumPy's reference" if self.folder is None else "Python itself"

    @property
    def alive(self) -> list[Lane]:
        """Those still in the run."""
        return [lane for lane in self.lanes if lane.status is Status.OK]


def entrants(cell: Cell, workload: Workload, peers: tuple[str, ...]) -> tuple[Entrant, ...]:
    """Return who takes part; of a user's function polyopt last, compared with the others."""
    order = sorted(peers, key=lambda peer: peer == OWN) if isinstance(workload, Function) else peers
    return tuple(
        Entrant(peer, form) for peer in order for form in registry.forms(peer, workload, cell.fp)
    )


def measure(
    cell: Cell,
    peers: tuple[str, ...],
    seconds: float,
    limits: Limits | None,
    say: Say,
    deadline: Deadline = NEVER,
    busy: float = 0.0,
    folder: Path | None = None,
) -> CellResult:
    """Check and time one cell; samples take about `seconds`, with 0 it is only checked.

    `folder` holds the user's function that the cell is about, if it is about one.
    """
    found = workloads.get(cell.workload) if folder is None else functions.read(folder)
    workload = replace(found, dtype=np.dtype(cell.dtype))
    sizes = sizes_of(workload, cell.dataset)
    with ExitStack() as stack:

        def start(peer: str) -> Conversation:
            python = registry.interpreter(peer)
            seconds = TIMEOUT if peer in registry.IN_PROJECT else PATIENCE
            return stack.enter_context(
                Conversation(cell.threads, seconds, "bench.speed.worker", python, deadline)
            )

        lanes = [Lane(e, start(e.peer), sizes=dict(sizes)) for e in entrants(cell, workload, peers)]
        judge = Entrant("numpy", "numpy") if folder is None else Entrant("python", FORM)
        session = Session(
            cell, workload, sizes, start(judge.peer), judge, lanes, say, deadline, folder
        )
        _load(session)
        moved = _check(session)
        if seconds > 0:
            _warm_up(session)
            _time(session, min(seconds, deadline.left()))
        limit, bound_by = (None, "") if limits is None or not moved else limits.of(
            cell, workload.flops(sizes), moved
        )  # fmt: skip
        return CellResult(
            cell, sizes, workload.flops(sizes), moved, limit, bound_by,
            tuple(lane.outcome() for lane in lanes), busy,
        )  # fmt: skip


def _load(session: Session) -> None:
    """Let all workers load at the same time."""
    cell = session.cell
    session.judge.send(**_loading(session, session.who, ""))
    for lane in session.lanes:
        peer = lane.entrant.peer
        try:
            library = ""
            if peer in ccode.C_PEERS:
                left = session.deadline.left()
                library = str(ccode.build(session.workload, peer, cell.dtype, cell.fp, left))
            lane.process.send(**_loading(session, lane.entrant, library))
        except (NoCompiler, WorkerFailure) as failure:
            lane.fail(failure)
    try:
        session.judge.receive()
    except WorkerFailure as failure:
        _unchecked(session, failure)
    for lane in session.alive:
        _guarded(session, lane, lane.process.receive)


def _unchecked(session: Session, failure: WorkerFailure) -> None:
    """Take everybody out of the run: what they would be compared with is missing."""
    session.say(f"{session.cell}: the reference: {failure.status.value}: {failure}")
    for lane in session.alive:
        lane.status = Status.UNCHECKED
        lane.message = f"the reference: {failure.status.value}: {failure}"


def _loading(session: Session, entrant: Entrant, library: str) -> dict[str, Any]:
    cell = session.cell
    return {
        "function": "" if session.folder is None else str(session.folder),
        "workload": cell.workload,
        "peer": entrant.peer,
        "form": entrant.form,
        "dtype": cell.dtype,
        "fp": cell.fp,
        "threads": cell.threads,
        "library": library,
    }


def _guarded(
    session: Session, lane: Lane, ask: Callable[[], dict[str, Any]]
) -> dict[str, Any] | None:
    """Return an answer; None where there is none, and the lane is taken out."""
    try:
        return ask()
    except WorkerFailure as failure:
        lane.fail(failure)
        session.say(f"{session.cell}: {lane.entrant}: {failure.status.value}: {failure}")
        return None


def _check(session: Session) -> int:
    """Compare everybody with what is expected; return the bytes that must be moved.

    A check that could not be made, or ended with the time, is made again in a later run.
    """
    small = check_sizes(session.workload, session.sizes)
    record = store("checks") / f"{digest(session.cell, levels.name())}.json"
    kept = json.loads(record.read_text()) if record.is_file() else {}
    moved = kept.get("moved")
    passed = dict(kept.get("passed", {}))
    for lane in session.alive:
        mark = fingerprint(lane.entrant.peer, session.workload)
        known = passed.get(str(lane.entrant))
        if known is None or known["mark"] != mark:
            try:
                _judge(session, lane, small)
            except NoReference as failure:
                _unchecked(session, failure)
                break
            if lane.status not in PASSING:
                passed[str(lane.entrant)] = {"mark": mark, **_kept(lane)}
        else:
            lane.status, lane.sizes = Status(known["status"]), known["sizes"]
            lane.message, lane.error, lane.against = (
                known[name] for name in ("message", "error", "against")
            )
            lane.fraction, lane.last = known["fraction"], known["last"]
    if moved is None and session.alive:
        try:
            # Python itself may be too slow to run a user's function at full size
            one = session.judge if session.folder is None else session.alive[-1].process
            moved = one.ask(do="moved", sizes=session.sizes)["moved"]
        except WorkerFailure as failure:
            session.say(f"{session.cell}: bytes moved: {failure.status.value}: {failure}")
    replace_file(record, json_text({"moved": moved, "passed": passed}))
    return int(moved or 0)


def _kept(lane: Lane) -> dict[str, Any]:
    return {
        "status": lane.status.value,
        "message": lane.message,
        "error": lane.error,
        "against": lane.against,
        "fraction": lane.fraction,
        "sizes": lane.sizes,
        "last": lane.last,
    }


def _judge(session: Session, lane: Lane, small: Sizes) -> None:
    """Compare a lane with NumPy's reference, and at full size with the first that was right."""
    _compare(session, lane, small, _reference(session, small), session.against)
    if small == session.sizes or lane.status is not Status.OK:
        return
    flops = session.workload.flops
    ask = partial(lane.process.ask, do="time", sizes=small, calls=3)
    again = _guarded(session, lane, ask)  # the first run makes arrays, threads and code
    if again is None:
        return
    fastest = min(again["seconds"])
    _forecast(session, lane, fastest * flops(session.sizes) / max(flops(small), 1))
    if lane.status is not Status.OK:
        return
    full = _expected(session, lane.sizes)
    if full.is_file():
        _compare(session, lane, lane.sizes, full, "the first to be right at the small size")
    elif lane.entrant.peer in ccode.C_PEERS or (
        session.folder is not None and lane.entrant.peer != OWN
    ):
        ask = partial(lane.process.ask, do="save", sizes=lane.sizes, path=str(full))
        reply = _guarded(session, lane, ask)
        lane.last = lane.last if reply is None else reply["seconds"]


def _forecast(session: Session, lane: Lane, seconds: float) -> None:
    """Let a slow lane run fewer time steps, or take it out."""
    steps, sizes = session.workload.steps, session.sizes
    lane.last = seconds
    if seconds <= LONGEST:
        return
    if steps is None:
        lane.status, lane.message = Status.SLOW, f"one run would take about {seconds:.0f} s"
        return
    fewer = max(1, ceil(sizes[steps] * PART / seconds))
    lane.sizes = {**sizes, steps: fewer}
    lane.fraction = fewer / sizes[steps]
    lane.last = seconds * lane.fraction


def _compare(session: Session, lane: Lane, sizes: Sizes, path: Path, against: str) -> None:
    ask = partial(lane.process.ask, do="check", sizes=sizes, path=str(path))
    reply = _guarded(session, lane, ask)
    if reply is None:
        return
    lane.last, lane.error, lane.against = reply["seconds"], reply["error"], against
    bound = session.workload.bound(sizes)
    if not reply["error"] <= bound:
        lane.status = Status.WRONG
        lane.message = f"error {reply['error']:.1e} against {against}, bound {bound:.1e}"
        session.say(f"{session.cell}: {lane.entrant}: wrong: {lane.message}")


def _reference(session: Session, sizes: Sizes) -> Path:
    """Return the file with the results of NumPy's reference."""
    path = _expected(session, sizes, "reference")
    if not path.is_file():
        try:
            session.judge.ask(do="reference", sizes=sizes, path=str(path))
        except WorkerFailure as failure:
            raise NoReference(failure.status, str(failure)) from None
    return path


def _expected(session: Session, sizes: Sizes, kind: str = "full") -> Path:
    """Return the file of results; those of a user's function go with its values."""
    mark = digest(fingerprint("numpy", session.workload), session.cell.dtype, sizes)
    folder = store("expected") if session.folder is None else session.folder
    return folder / f"{session.workload.name}-{kind}-{mark}.npz"


def _warm_up(session: Session) -> None:
    """Call everybody at full size: arrays are made, pages touched, code is compiled.

    The first call may be mostly that; where it is not long, others say what a call takes.
    """
    for lane in session.alive:
        for calls in (1, AGAIN):
            ask = partial(lane.process.ask, do="time", sizes=lane.sizes, calls=calls)
            reply = _guarded(session, lane, ask)
            if reply is None:
                break
            lane.last = min(reply["seconds"])
            if lane.last > SHORT:
                break


def _time(session: Session, seconds: float) -> None:
    """Take samples in turn: as many rounds as fit, fewer of those that are far behind."""
    calls = {id(lane): _calls(lane) for lane in session.alive}
    cost = sum(calls[id(lane)] * lane.last for lane in session.alive)
    rounds = max(LEAST, min(MOST, int(seconds / max(cost, 1e-9))))
    best = min((lane.last / lane.fraction for lane in session.alive), default=0.0)
    for turn in range(rounds):
        for lane in session.alive:
            if turn >= _turns(lane, best, rounds):
                continue
            if lane.samples and calls[id(lane)] * lane.last > session.deadline.left():
                continue
            ask = partial(lane.process.ask, do="time", sizes=lane.sizes, calls=calls[id(lane)])
            time.sleep(SETTLE)
            reply = _guarded(session, lane, ask)
            if reply is not None:
                lane.samples.append(median(reply["seconds"]) / lane.fraction)


def _calls(lane: Lane) -> int:
    return max(1, min(50, ceil(SAMPLE_SECONDS / max(lane.last, 1e-7))))


def _turns(lane: Lane, best: float, rounds: int) -> int:
    """Return how many samples a lane is worth."""
    behind = lane.last / lane.fraction / max(best, 1e-9)
    if behind > FAR and lane.last > 0.2:
        return 1
    return LEAST if behind > FAR / 2 else rounds
