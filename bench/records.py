"""What is compared and what came out: plain records that all parts of the harness share.

In: nothing.  Out: `Implementation`, `Measurement`, `WorkloadResult`, `Request`, `Report`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum, unique
from statistics import median
from typing import Any


@unique
class Kind(Enum):
    """Who computes."""

    NUMPY = "numpy"  # the NumPy form run by NumPy; the reference where there is no such form
    GCC = "gcc"  # the explicit loops in C
    POLYOPT = "polyopt"


@unique
class Status(Enum):
    """How an implementation fared."""

    OK = "ok"
    WRONG = "wrong"  # a result outside the bound, or a crash
    REFUSED = "refused"  # an error was raised instead of a result
    TIMEOUT = "timeout"
    SLOW = "slow"  # one run would use up the time of all
    UNCHECKED = "unchecked"  # what it would be compared with failed


FAILURES = (Status.REFUSED, Status.TIMEOUT, Status.UNCHECKED)  # of which the exit code is 1


@dataclass(frozen=True, slots=True)
class Implementation:
    """One column of the comparison; `form` and `fp` matter to polyopt only."""

    kind: Kind
    form: str = ""
    threads: int = 1
    fp: str = ""

    def __str__(self) -> str:
        match self.kind:
            case Kind.POLYOPT:
                return f"{self.form} x{self.threads}"
            case _:
                return str(self.kind.value)


@dataclass(frozen=True, slots=True)
class Request:
    """What to run.

    `seconds`: of samples, for one implementation of one workload.  `budget`: seconds for the whole
    run, compiling included, None without a limit.  `patience`: seconds to wait for a quiet machine
    before a workload.  Without `gcc`, or for a workload that is not there in C, NumPy alone is
    compared with.
    """

    names: tuple[str, ...]
    dataset: str = "LARGE"
    threads: tuple[int, ...] = (1, 2)
    forms: tuple[str, ...] = ("loops", "numpy")
    fp: str = "strict"
    repeat: int = 5
    seconds: float = 15.0
    budget: float | None = None
    patience: float = 10.0
    timeout: float = 300.0
    bitwise: bool = False
    steps: int | None = None
    gcc: bool = True


@dataclass(frozen=True, slots=True)
class Measurement:
    """One implementation of one workload.

    `error` is relative to the largest expected element, `against` says what it was compared with.
    `samples` are seconds of the whole program; those of a run with fewer time steps are already
    scaled, by 1 / `fraction`.  `bitwise` tells whether the result equals the C loops without
    contraction bit by bit; None where that was not asked.
    """

    implementation: Implementation
    status: Status
    message: str = ""
    error: float | None = None
    against: str = ""
    bitwise: bool | None = None
    compile_seconds: float | None = None
    fraction: float = 1.0
    samples: tuple[float, ...] = ()

    @property
    def seconds(self) -> float | None:
        """The median of the samples."""
        return median(self.samples) if self.samples else None

    @property
    def spread(self) -> float | None:
        """The distance from the fastest to the slowest sample, relative to the median."""
        if len(self.samples) < 2:
            return None
        return (max(self.samples) - min(self.samples)) / median(self.samples)


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """All implementations of one workload; `busy`: the cores that others used before."""

    name: str
    dataset: str
    sizes: Mapping[str, int]
    check_sizes: Mapping[str, int]
    flops: int
    bound: float
    measurements: tuple[Measurement, ...]
    busy: float = 0.0

    def seconds(self, kind: Kind) -> float | None:
        """Return the median time of NumPy or of gcc."""
        for m in self.measurements:
            if m.implementation.kind is kind:
                return m.seconds
        return None

    def ratio(self, measurement: Measurement, kind: Kind) -> float | None:
        """Return how many times faster `measurement` is than NumPy or gcc."""
        base, own = self.seconds(kind), measurement.seconds
        if base is None or own is None or own <= 0:
            return None
        return base / own


@dataclass(frozen=True, slots=True)
class Report:
    """A run; `environment` holds date, commit, machine, compiler and versions.

    `signal`: the number of the signal that ended it early.
    """

    request: Request
    environment: Mapping[str, Any]
    results: tuple[WorkloadResult, ...]
    notes: tuple[str, ...] = field(default=())
    signal: int = 0

    @property
    def exit_code(self) -> int:
        """128 and the signal; 4 when a result was wrong, 1 when one is missing, else 0."""
        found = {m.status for r in self.results for m in r.measurements}
        return code_of(found, self.signal)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "format": 1,
            **self.environment,
            "request": asdict(self.request),
            "notes": list(self.notes),
            "workloads": [_result_json(result) for result in self.results],
        }


def code_of(found: Iterable[Status], signal: int) -> int:
    """Return the exit code of a run that found these, or was ended by a signal."""
    if signal:
        return 128 + signal
    states = set(found)
    if Status.WRONG in states:
        return 4
    return 1 if states.intersection(FAILURES) else 0


def _result_json(result: WorkloadResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "dataset": result.dataset,
        "sizes": dict(result.sizes),
        "check_sizes": dict(result.check_sizes),
        "flops": result.flops,
        "bound": result.bound,
        "busy": result.busy,
        "implementations": [_measurement_json(result, m) for m in result.measurements],
    }


def _measurement_json(result: WorkloadResult, m: Measurement) -> dict[str, Any]:
    return {
        "kind": m.implementation.kind.value,
        "form": m.implementation.form,
        "threads": m.implementation.threads,
        "status": m.status.value,
        "message": m.message,
        "error": m.error,
        "against": m.against,
        "bitwise": m.bitwise,
        "compile_seconds": m.compile_seconds,
        "fraction": m.fraction,
        "samples": list(m.samples),
        "seconds": m.seconds,
        "spread": m.spread,
        "vs_gcc": result.ratio(m, Kind.GCC),
        "vs_numpy": result.ratio(m, Kind.NUMPY),
    }
