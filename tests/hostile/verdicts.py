"""What became of a program in a stage.

In: nothing.  Out: `Outcome`, `Verdict`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Outcome(enum.Enum):
    """From harmless to grave."""

    OK = "ok"
    RAISES = "raises in both"
    UNSTABLE = "equal up to the program's own sensitivity"
    REFUSED = "refused"
    WRONG = "wrong"
    CRASH = "crash"

    @property
    def is_finding(self) -> bool:
        """Whether it is a defect."""
        return self in (Outcome.WRONG, Outcome.CRASH)


_ORDER = tuple(Outcome)


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome; `code` of a refusal or the kind of a difference, `text` for people."""

    outcome: Outcome
    code: str = ""
    text: str = ""
    call: int = -1

    def is_like(self, other: Verdict) -> bool:
        """Tell whether both are the same kind of finding."""
        return (self.outcome, self.code) == (other.outcome, other.code)


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the gravest one; a program that never returns in Python raises in both."""
    if not verdicts:
        return Verdict(Outcome.OK)
    gravest = max(verdicts, key=lambda v: _ORDER.index(v.outcome))
    if gravest.outcome is Outcome.RAISES:
        ok = [v for v in verdicts if v.outcome is Outcome.OK]
        return ok[0] if ok else gravest
    return gravest
