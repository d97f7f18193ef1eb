"""What a run of a kernel on the emulator showed, in words.

In: numbers that the run time noted, and the lines and names they stand for.  Out: `Finding`s.
"""

from __future__ import annotations

from enum import IntEnum, unique

from polyopt.dataclass import dataclass
from polyopt.errors import PolyoptError

_MOST = 6  # findings that an error shows


@unique
class FindingKind(IntEnum):
    """What is wrong; the numbers are those of the run time."""

    RACE_WRITE_READ = 0
    RACE_READ_WRITE = 1
    RACE_WRITE_WRITE = 2
    UNSET_SHARED = 3
    UNSET_GLOBAL = 4
    OUTSIDE = 5
    ARRAY_INDEX = 6
    MISALIGNED = 7
    DIVISION = 8
    DIVERGENCE = 9
    WARP_MASK = 10
    WARP_SOURCE = 11
    IN_FLIGHT = 12
    NEVER_WAITED = 13
    ENDLESS = 14
    CONSTANT_WRITE = 15
    CRASH = 16

    @property
    def is_race(self) -> bool:
        """Whether two threads touched one place, in no order."""
        return self <= FindingKind.RACE_WRITE_WRITE


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the emitted text, from 1 (0: unknown), and what stands there."""

    number: int
    text: str

    def __str__(self) -> str:
        if self.number == 0:
            return "an unknown line"
        return f"line {self.number} `{self.text}`" if self.text else f"line {self.number}"


@dataclass(frozen=True, slots=True)
class Actor:
    """A thread and where it was."""

    line: Line
    block: tuple[int, int, int]
    thread: tuple[int, int, int]

    def __str__(self) -> str:
        return f"thread {self.thread} of block {self.block} in {self.line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, as it was first met, and how often it was.

    `place` is the memory in words; `then` the other access of a race.  `facts` depend on the kind.
    """

    kind: FindingKind
    actor: Actor
    place: str
    size: int
    times: int
    then: Actor | None
    facts: tuple[int, int, int, int]
    array_type: str = ""

    def describe(self) -> str:
        """Return the fault in words, with its lines."""
        other = "" if self.then is None else f", and {self.then}"
        return f"{self.what()}: {self.actor}{other}"

    def what(self) -> str:
        """Return the fault in words, without its lines."""
        first, second, third, fourth = self.facts
        if self.kind is FindingKind.WARP_MASK:
            return _mask(*self.facts)
        others = f"{third} are at line {fourth}" if fourth else f"{third} have ended"
        return _WORDS[self.kind].format(
            place=self.place,
            size=self.size,
            first=first,
            second=second,
            mask=f"{first & 0xFFFFFFFF:#x}",
            others=others,
            array=self.array_type,
        )


_WORDS = {
    FindingKind.RACE_WRITE_READ: "race: {place} is read while another thread writes it",
    FindingKind.RACE_READ_WRITE: "race: {place} is written while another thread reads it",
    FindingKind.RACE_WRITE_WRITE: "race: {place} is written by two threads",
    FindingKind.UNSET_SHARED: "uninitialized: {place} is read before it is written",
    FindingKind.UNSET_GLOBAL: "uninitialized: {place} is read before it is written",
    FindingKind.OUTSIDE: "out of bounds: {size} bytes at {place}",
    FindingKind.ARRAY_INDEX: "out of bounds: subscript {first} of an array of type {array}",
    FindingKind.MISALIGNED: "misaligned: {place} is not a multiple of {first} bytes",
    FindingKind.DIVISION: "division by zero, or without a result",
    FindingKind.DIVERGENCE: "barrier divergence: {first} threads wait at line {second}, {others}",
    FindingKind.WARP_SOURCE: "warp operation: mask {mask} does not name the source lane {second}",
    FindingKind.IN_FLIGHT: "asynchronous copy: {place} is touched before the copy was waited for",
    FindingKind.NEVER_WAITED: "asynchronous copy: {place} is copied to, and nothing waits for it",
    FindingKind.ENDLESS: "the kernel did not end in time",
    FindingKind.CONSTANT_WRITE: "a constant is written: {size} bytes at {place}",
    FindingKind.CRASH: "the kernel ended with signal {first}",
}


def _mask(mask: int, lane: int, why: int, line: int) -> str:
    reason = (
        f"which waits at a block barrier, line {line}",
        f"which waits elsewhere, line {line}",
        "",
    )[why]
    if not reason:
        return f"warp operation: mask {mask & 0xFFFFFFFF:#x} leaves out lane {lane}, which calls it"
    return f"warp operation: mask {mask & 0xFFFFFFFF:#x} names lane {lane}, {reason}"


class DeviceFault(PolyoptError):
    """A kernel did on the emulator what no device allows, or what has no defined result."""

    def __init__(self, entry: str, findings: tuple[Finding, ...]) -> None:
        more = len(findings) - _MOST
        notes = [finding.describe() for finding in findings[:_MOST]]
        if more > 0:
            notes.append(f"and {more} more")
        super().__init__(
            "PO0521",
            f"kernel `{entry}` is wrong: {findings[0].what()}",
            notes=tuple(notes),
            hint='report this with the program; `target="c"` works without a device',
        )
        self.findings = findings
