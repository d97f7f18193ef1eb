"""Check and time all implementations of one workload, in turn.

In: a workload and a request.  Out: `WorkloadResult`.
Results are compared before anything is timed; what is wrong or refused is not timed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from pathlib import Path

from bench import baseline
from bench.baseline import NoCompiler
from bench.budget import Deadline
from bench.function import Function
from bench.process import NEVER, WorkerFailure, WorkerProcess
from bench.records import Implementation, Kind, Measurement, Request, Status, WorkloadResult
from workloads import DATASETS, Workload

Sizes = dict[str, int]
Say = Callable[[str], None]

REFERENCE_FLOPS = 3e8  # a slow NumPy reference is run at sizes that need no more than this
NUMPY_SECONDS = 2.0  # a NumPy time loop is timed over as many steps as take about this long
SAMPLE_SECONDS = 0.02  # shorter programs are called several times for one sample
CONTRACT_FLOPS = 1e6  # Python runs the function itself at sizes that need no more than this
EXACT_FLOPS = 2e9  # bitwise comparison is on by default up to this


@dataclass(slots=True)
class Lane:
    """One implementation under measurement."""

    implementation: Implementation
    process: WorkerProcess
    status: Status = Status.OK
    message: str = ""
    error: float | None = None
    against: str = ""
    bitwise: bool | None = None
    compile_seconds: float | None = None
    fraction: float = 1.0
    sizes: Sizes = field(default_factory=dict)
    last: float = 0.0
    used: float = 0.0
    samples: list[float] = field(default_factory=list)

    def fail(self, failure: Exception) -> None:
        """Take the implementation out of the run."""
        self.status = failure.status if isinstance(failure, WorkerFailure) else Status.REFUSED
        self.message = str(failure)

    def result(self) -> Measurement:
        """Return what was found."""
        return Measurement(
            self.implementation,
            self.status,
            self.message,
            self.error,
            self.against,
            self.bitwise,
            self.compile_seconds,
            self.fraction,
            tuple(self.samples),
        )


def implementations(workload: Workload, request: Request) -> tuple[Implementation, ...]:
    """Return what takes part: NumPy with the most threads asked for, gcc, polyopt's variants."""
    found = [Implementation(Kind.NUMPY, threads=max(request.threads))]
    if uses_gcc(workload, request):
        found.append(Implementation(Kind.GCC))
    for form in request.forms:
        if form in workload.forms:
            found += [
                Implementation(Kind.POLYOPT, form, threads, request.fp)
                for threads in request.threads
            ]
    return tuple(found)


def uses_gcc(workload: Workload, request: Request) -> bool:
    """Return whether the loops in C take part."""
    return request.gcc and baseline.has(workload)


def measure(
    workload: Workload,
    request: Request,
    say: Say,
    deadline: Deadline = NEVER,
    busy: float = 0.0,
) -> WorkloadResult:
    """Run one workload, at its largest data set where it lacks the one asked for."""
    dataset = min(request.dataset, max(workload.sizes, key=rank), key=rank)
    sizes = workload.at(dataset)
    if request.steps is not None and workload.steps is not None:
        sizes[workload.steps] = min(sizes[workload.steps], request.steps)
    small = check_sizes(workload, sizes)
    with tempfile.TemporaryDirectory(prefix="polyopt-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        start = partial(WorkerProcess, timeout=request.timeout, deadline=deadline)
        lanes = [
            Lane(i, stack.enter_context(start(i)), sizes=dict(sizes))
            for i in implementations(workload, request)
        ]
        _load(workload, lanes, folder, request, say)
        _check(workload, lanes, small, folder, say)
        if (uses_gcc(workload, request) and request.fp == "strict") and (
            request.bitwise or workload.flops(small) <= EXACT_FLOPS
        ):
            _compare_bits(workload, lanes, small, folder, start)
        _warm_up(workload, lanes, small, sizes, folder, say)
        _time(lanes, request, deadline)
        return WorkloadResult(
            workload.name,
            dataset,
            sizes,
            small,
            workload.flops(sizes),
            workload.bound(sizes),
            tuple(lane.result() for lane in lanes),
            busy,
        )


def rank(dataset: str) -> int:
    """Return the place of a data set among all of them."""
    return DATASETS.index(dataset)


def check_sizes(workload: Workload, sizes: Sizes) -> Sizes:
    """Return the sizes at which NumPy's reference is computed: all, or fewer steps, or smaller."""
    if isinstance(workload, Function):
        return workload.check_sizes(sizes)
    flops = workload.flops(sizes)
    if workload.whole_reference or flops <= REFERENCE_FLOPS:
        return dict(sizes)
    if workload.steps is not None:
        steps = max(1, int(sizes[workload.steps] * REFERENCE_FLOPS / flops))
        return {**sizes, workload.steps: steps}
    fitting = {workload.flops(s): s for s in workload.sizes.values()}
    return dict(fitting[max(count for count in fitting if count <= REFERENCE_FLOPS)])


def _alive(lanes: list[Lane]) -> list[Lane]:
    return [lane for lane in lanes if lane.status is Status.OK]


def _load(workload: Workload, lanes: list[Lane], folder: Path, request: Request, say: Say) -> None:
    for lane in lanes:
        try:
            library = ""
            if lane.implementation.kind is Kind.GCC:
                library = str(baseline.build(workload, folder))
            lane.compile_seconds = lane.process.load(workload.name, library)
        except (NoCompiler, WorkerFailure) as failure:
            lane.fail(failure)
            say(f"{workload.name}: {lane.implementation}: {failure}")


def _check(workload: Workload, lanes: list[Lane], small: Sizes, folder: Path, say: Say) -> None:
    """Compare everybody with NumPy's reference; without one, nobody is timed."""
    path = str(folder / "reference.npz")
    try:
        lanes[0].process.ask(do="reference", sizes=small, path=path)
    except WorkerFailure as failure:
        say(f"{workload.name}: the NumPy reference: {failure}")
        for lane in _alive(lanes):
            lane.status = Status.UNCHECKED
            lane.message = f"the NumPy reference: {failure.status.value}: {failure}"
        return
    bound = workload.bound(small)
    for lane in _alive(lanes):
        _compare(lane, small, path, bound, "the NumPy reference")
        if lane.implementation.kind is Kind.POLYOPT and lane.status is Status.OK:
            _check_contract(workload, lane)


def _compare(lane: Lane, sizes: Sizes, path: str, bound: float, against: str) -> None:
    try:
        reply = lane.process.ask(do="check", sizes=sizes, path=path)
    except WorkerFailure as failure:
        lane.fail(failure)
        return
    lane.last, lane.error, lane.against = reply["seconds"], reply["error"], against
    if not reply["error"] <= bound:
        lane.status = Status.WRONG
        lane.message = f"error {reply['error']:.1e} against {against}, bound {bound:.1e}"


def _check_contract(workload: Workload, lane: Lane) -> None:
    """Compare a kernel with its own function run by Python: bit for bit, or under its bounds."""
    sizes = workload.at("MINI")
    if workload.flops(sizes) > CONTRACT_FLOPS:
        return
    try:
        found = lane.process.ask(do="contract", sizes=sizes)["outside"]
    except WorkerFailure as failure:
        lane.fail(failure)
        return
    if found:
        lane.status = Status.WRONG
        lane.message = f"outside its contract: {found[0]}"


def _compare_bits(
    workload: Workload,
    lanes: list[Lane],
    small: Sizes,
    folder: Path,
    start: Callable[[Implementation], WorkerProcess],
) -> None:
    """Compare explicit loops with the C loops compiled without contraction."""
    path = str(folder / "exact.npz")
    own = [lane for lane in _alive(lanes) if lane.implementation.form == "loops"]
    try:
        exact = str(baseline.build(workload, folder, baseline.EXACT))
        with start(Implementation(Kind.GCC)) as process:
            process.load(workload.name, exact)
            process.ask(do="save", sizes=small, path=path)
    except (NoCompiler, WorkerFailure) as failure:
        for lane in own:
            lane.status, lane.message = Status.UNCHECKED, f"the loops in source order: {failure}"
        return
    for lane in own:
        try:
            lane.bitwise = lane.process.ask(do="bitwise", sizes=small, path=path)["same"]
        except WorkerFailure as failure:
            lane.fail(failure)
            continue
        if not lane.bitwise:
            lane.status = Status.WRONG
            lane.message = "not bitwise equal to the loops in source order"


def _warm_up(
    workload: Workload, lanes: list[Lane], small: Sizes, sizes: Sizes, folder: Path, say: Say
) -> None:
    """Run everybody once at full size, against gcc where the reference was computed smaller."""
    numpy, *others = lanes
    if small == sizes:
        return
    if workload.steps is not None:
        each = numpy.last / small[workload.steps]
        steps = min(sizes[workload.steps], max(1, ceil(NUMPY_SECONDS / max(each, 1e-9))))
        numpy.sizes = {**sizes, workload.steps: steps}
        numpy.fraction = steps / sizes[workload.steps]
        numpy.last = each * steps
    else:
        numpy.last = numpy.last * workload.flops(sizes) / max(workload.flops(small), 1)
    path = str(folder / "full.npz")
    first, against = None, ""
    for lane in _alive(others):
        if first is not None:
            _compare(lane, sizes, path, workload.bound(sizes), against)
            continue
        try:
            lane.last = lane.process.ask(do="save", sizes=sizes, path=path)["seconds"]
            first, against = lane, f"{lane.implementation} at full size"
        except WorkerFailure as failure:
            lane.fail(failure)
            say(f"{workload.name}: {lane.implementation}: {failure}")
    for lane in lanes:
        lane.used = 0.0 if lane is numpy else lane.last


def _time(lanes: list[Lane], request: Request, deadline: Deadline) -> None:
    """Take samples in turn until each has enough or has used up its time."""
    for _ in range(request.repeat):
        for lane in _alive(lanes):
            left = min(request.seconds - lane.used, deadline.left())
            if lane.samples and lane.last > left:
                continue
            calls = max(1, min(50, ceil(SAMPLE_SECONDS / max(lane.last, 1e-7))))
            try:
                seconds = lane.process.ask(do="time", sizes=lane.sizes, calls=calls)["seconds"]
            except WorkerFailure as failure:
                lane.fail(failure)
                continue
            lane.used += sum(seconds)
            lane.last = sorted(seconds)[len(seconds) // 2]
            lane.samples.append(lane.last / lane.fraction)
