"""What a check found, for people and for other programs.

In: verdicts with their places.  Out: `Finding`s and the `Report` they make up, as plain records.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, unique

from polyopt.dataclass import dataclass
from polyopt.errors import Loc, PolyoptError


@unique
class Verdict(Enum):
    """The outcome of a claim."""

    PROVEN = "proven"  # it holds for all sizes
    REFUTED = "refuted"  # there are sizes at which it does not hold
    OPEN = "open"  # not decided: over budget, or beyond what is understood
    MISFIT = "misfit"  # it says nothing about this program: an unknown loop, a malformed step


@dataclass(frozen=True, slots=True)
class RelatedLocation:
    """A place that a finding is about as well, and what happens there."""

    text: str
    loc: Loc


@dataclass(frozen=True, eq=False)
class Finding:
    """One claim about `function` and its verdict; `error` says why it is not proven.

    `loc` is the loop or the step; `witness` is the counter-example as plain data; `repair` is a
    list of steps that was proven, `is_mended` where it was taken.  `for_all`: the verdict is about
    all sizes.
    """

    function: str
    claim: str
    verdict: Verdict
    loc: Loc | None = None
    error: PolyoptError | None = None
    places: tuple[RelatedLocation, ...] = ()
    witness: Mapping[str, object] | None = None
    repair: str | None = None
    seconds: float = 0.0
    for_all: bool = True
    is_mended: bool = False


@dataclass(frozen=True, eq=False)
class Skipped:
    """A function that nothing can be said about."""

    function: str
    error: PolyoptError


@dataclass(frozen=True, eq=False)
class Accepted:
    """A function that was read, with its number of statements."""

    function: str
    statements: int


@dataclass(frozen=True, eq=False)
class Report:
    """Everything one run of a check found, in the order of the targets."""

    findings: tuple[Finding, ...]
    accepted: tuple[Accepted, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    seconds: float = 0.0

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that are not proven."""
        return tuple(f for f in self.findings if f.verdict is not Verdict.PROVEN)

    def to_record(self) -> dict[str, object]:
        """Return the report as plain data."""
        return {
            "findings": [finding_record(finding) for finding in self.findings],
            "functions": [
                {"function": one.function, "statements": one.statements} for one in self.accepted
            ],
            "skipped": [
                {"function": one.function, **error_record(one.error)} for one in self.skipped
            ],
            "seconds": round(self.seconds, 4),
        }


def finding_record(finding: Finding) -> dict[str, object]:
    """Return a finding as plain data."""
    found: dict[str, object] = {
        "function": finding.function,
        "claim": finding.claim,
        "verdict": finding.verdict.value,
        "loc": loc_record(finding.loc),
        "seconds": round(finding.seconds, 4),
    }
    if finding.error is not None:
        found["error"] = error_record(finding.error)
        found["places"] = [{"text": p.text, "loc": loc_record(p.loc)} for p in finding.places]
        found["witness"] = finding.witness
        found["repair"] = finding.repair
    return found


def error_record(error: PolyoptError) -> dict[str, object]:
    """Return an error as plain data."""
    return {
        "code": error.code,
        "message": error.message,
        "loc": loc_record(error.loc),
        "notes": list(error.notes),
        "hint": error.hint,
    }


def loc_record(loc: Loc | None) -> dict[str, object] | None:
    """Return a place as plain data."""
    return None if loc is None else {"file": loc.file, "line": loc.line, "col": loc.col}
