"""What the suite `speed` compares and what came out: plain records.

In: nothing.  Out: `Cell`, `Entrant`, `Outcome`, `CellResult`, `SpeedReport`, and them as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from bench.records import Status, code_of

OWN = "polyopt"
ORDERED = ("gcc", "clang", "gcc-omp", "clang-omp", "polly")  # keep the order of explicit loops


@dataclass(frozen=True, slots=True)
class Cell:
    """One comparison: everything but who computes."""

    workload: str
    dataset: str
    dtype: str
    fp: str
    threads: int

    def __str__(self) -> str:
        return f"{self.workload} {self.dataset} {self.dtype} {self.fp} x{self.threads}"


@dataclass(frozen=True, slots=True)
class Entrant:
    """Who computes.

    `form` is the form of the workload that it is given, "" for C, and "python" for a user's
    function, which has no other.
    """

    peer: str
    form: str = ""

    def __str__(self) -> str:
        return self.peer if self.form == "python" else f"{self.peer} {self.form}".strip()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an entrant fared: seconds of the whole program, or why there are none."""

    entrant: Entrant
    status: Status
    message: str = ""
    error: float | None = None
    against: str = ""
    samples: tuple[float, ...] = ()

    @property
    def seconds(self) -> float | None:
        """The median of the samples."""
        return median(self.samples) if self.samples else None

    @property
    def spread(self) -> float:
        """The distance between the quartiles of the samples, relative to the median."""
        if len(self.samples) < 2:
            return 0.0
        found = sorted(self.samples)
        low, high = found[len(found) // 4], found[-1 - len(found) // 4]
        return (high - low) / median(found)


@dataclass(frozen=True, slots=True)
class CellResult:
    """All entrants of a cell.

    `moved`: bytes that must be read and written at least once.  `limit`: the seconds below which
    no program can stay on this machine; None where the limits were not measured.  `busy`: the
    cores that other programs used before.
    """

    cell: Cell
    sizes: Mapping[str, int]
    flops: int
    moved: int
    limit: float | None
    bound_by: str
    outcomes: tuple[Outcome, ...]
    busy: float = 0.0

    @property
    def own(self) -> tuple[Outcome, ...]:
        """polyopt's outcomes, one for each form."""
        return tuple(o for o in self.outcomes if o.entrant.peer == OWN)

    def rivals(self, form: str) -> tuple[Outcome, ...]:
        """Return the timed peers that a form is fairly compared with."""
        return tuple(
            o
            for o in self.outcomes
            if o.entrant.peer != OWN
            and o.seconds is not None
            and is_comparable(self.cell.fp, form, o.entrant)
        )

    def best_rival(self, form: str) -> Outcome | None:
        """Return the fastest of the rivals."""
        return min(self.rivals(form), key=lambda o: o.seconds or 0.0, default=None)

    def ratio(self, own: Outcome) -> float | None:
        """Return the time of the best rival over polyopt's."""
        best = self.best_rival(own.entrant.form)
        if best is None or best.seconds is None or not own.seconds:
            return None
        return best.seconds / own.seconds

    def share(self, outcome: Outcome) -> float | None:
        """Return which part of the machine's roofline an entrant reaches."""
        seconds = outcome.seconds
        return None if self.limit is None or not seconds else self.limit / seconds


def is_comparable(fp: str, form: str, rival: Entrant) -> bool:
    """Whether a rival is as free to reorder sums as the form is.

    Explicit loops in strict mode keep their order; a NumPy operation fixes none.
    """
    return fp != "strict" or form != "loops" or rival.peer in ORDERED or rival.form == "loops"


@dataclass(frozen=True, slots=True)
class SpeedReport:
    """A run; `signal`: the number of the signal that ended it early."""

    environment: Mapping[str, Any]
    limits: Mapping[str, Mapping[str, float]]
    peers: Mapping[str, str]
    results: tuple[CellResult, ...]
    notes: tuple[str, ...] = ()
    signal: int = 0

    @property
    def exit_code(self) -> int:
        """128 and the signal; 4 when a result of polyopt was wrong, 1 when one is missing, or 0."""
        return code_of((own.status for result in self.results for own in result.own), self.signal)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "format": 2,
            "suite": "speed",
            **self.environment,
            "limits": {name: dict(values) for name, values in self.limits.items()},
            "peers": dict(self.peers),
            "notes": list(self.notes),
            "cells": [_cell_json(result) for result in self.results],
        }


def _cell_json(result: CellResult) -> dict[str, Any]:
    return {
        **asdict(result.cell),
        "sizes": dict(result.sizes),
        "flops": result.flops,
        "moved": result.moved,
        "limit": result.limit,
        "bound_by": result.bound_by,
        "busy": result.busy,
        "outcomes": [_outcome_json(result, outcome) for outcome in result.outcomes],
    }


def _outcome_json(result: CellResult, outcome: Outcome) -> dict[str, Any]:
    is_own = outcome.entrant.peer == OWN
    best = result.best_rival(outcome.entrant.form) if is_own else None
    return {
        "peer": outcome.entrant.peer,
        "form": outcome.entrant.form,
        "status": outcome.status.value,
        "message": outcome.message,
        "error": outcome.error,
        "against": outcome.against,
        "samples": list(outcome.samples),
        "seconds": outcome.seconds,
        "spread": outcome.spread,
        "best_rival": None if best is None else str(best.entrant),
        "ratio": result.ratio(outcome) if is_own else None,
        "share": result.share(outcome),
    }


def report_of(found: Mapping[str, Any]) -> SpeedReport:
    """Return the report that a JSON file holds."""
    kept = ("date", "commit", "machine", "compiler", "flags", "variables", "versions")
    return SpeedReport(
        environment={name: found[name] for name in kept if name in found},
        limits=found["limits"],
        peers=found["peers"],
        results=tuple(_result_of(cell) for cell in found["cells"]),
        notes=tuple(found["notes"]),
    )


def _result_of(found: Mapping[str, Any]) -> CellResult:
    return CellResult(
        Cell(*(found[name] for name in ("workload", "dataset", "dtype", "fp", "threads"))),
        found["sizes"],
        found["flops"],
        found["moved"],
        found["limit"],
        found["bound_by"],
        tuple(
            Outcome(
                Entrant(o["peer"], o["form"]),
                Status(o["status"]),
                o["message"],
                o["error"],
                o["against"],
                tuple(o["samples"]),
            )
            for o in found["outcomes"]
        ),
        found.get("busy", 0.0),
    )
