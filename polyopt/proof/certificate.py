"""Record the claims proven of a kernel, each with its subject and the decided formula.

In: the verdicts of the checks.  Out: immutable records, and plain data for a JSON file.
"""

from __future__ import annotations

from enum import Enum, unique

from polyopt.dataclass import dataclass, plain_record

FORMAT = 1


@unique
class ClaimKind(Enum):
    """The property of the printed loops that a claim asserts."""

    INSTANCES = "instances"  # exactly the source's instances run, each as often as it should
    VALUES = "values"  # a statement computes the source's expression
    ORDER = "order"  # every read gets the value of the source's producer
    STORAGE = "storage"  # a value moved to other storage is the source's value when it is read
    CONCURRENCY = "concurrency"  # nothing conflicts between parallel iterations or lanes
    SYNCHRONISATION = "synchronisation"  # threads that share an element are kept in order
    MATRIX = "matrix"  # matrix instructions compute what the loops in their place do
    BOUNDS = "bounds"  # accesses lie inside their arrays
    WIDTH = "width"  # index arithmetic fits its C type
    LAW = "law"  # the program that the loops run is the source's by a law of arithmetic
    CONTROL = "control"  # the control around static parts is the source's


@unique
class Verdict(Enum):
    """The outcome of a check."""

    PROVEN = "proven"
    TRUSTED = "trusted"  # not decided here: the source's own, checked by the front end
    REFUTED = "refuted"  # there are sizes at which the claim is false
    OPEN = "open"  # not decided: over budget, or beyond what the checks understand


class Unclaimable(Exception):
    """Why no claim is made of `subject`."""

    def __init__(self, subject: str, reason: str) -> None:
        super().__init__(f"{subject}: {reason}")
        self.subject = subject
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim for all sizes: about `subject` (a statement, an array, a loop).

    `formula` is the decided formula, as isl text or in words; `reason` says why it is not proven.
    """

    kind: ClaimKind
    subject: str
    verdict: Verdict
    formula: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Certificate:
    """All claims about one kernel, in the order they were decided."""

    function: str
    claims: tuple[Claim, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all claims."""
        found = {claim.verdict for claim in self.claims}
        for verdict in (Verdict.REFUTED, Verdict.OPEN, Verdict.TRUSTED):
            if verdict in found:
                return verdict
        return Verdict.PROVEN

    @property
    def is_proven(self) -> bool:
        """Whether the kernel may run."""
        return not self.faults

    @property
    def faults(self) -> tuple[Claim, ...]:
        """The claims that are neither proven nor the front end's."""
        accepted = (Verdict.PROVEN, Verdict.TRUSTED)
        return tuple(claim for claim in self.claims if claim.verdict not in accepted)

    def to_record(self) -> dict[str, object]:
        """Return the certificate as plain data."""
        return {
            "format": FORMAT,
            "function": self.function,
            "verdict": self.verdict.value,
            "claims": plain_record(self.claims),
        }

    def __str__(self) -> str:
        lines = [f"{self.function}: {self.verdict.value}, {len(self.claims)} claims"]
        for claim in self.claims:
            why = f" ({claim.reason})" if claim.reason else ""
            lines.append(f"{claim.kind.value} of {claim.subject}: {claim.verdict.value}{why}")
        return "\n".join(lines)
