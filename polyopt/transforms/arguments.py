"""Parse the arguments of one step.

In: words, the sizes that have values.  Out: names, numbers, sizes and amounts, by position.
Refuses: a wrong number of them, a word of another kind (PO0323), a size without a value (PO0326).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from polyopt import transforms
from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.schedule.sizes import Named, Size
from polyopt.schedulefile import MAX_SIZE, Call, Word
from polyopt.transforms.amount import Distance, read_amount

if TYPE_CHECKING:
    from polyopt.transforms.version import Bound

_NUMBER = re.compile(r"-?[0-9]{1,18}\Z")
_NAME = re.compile(r"[\w.-]+(\[\w+\])?\Z")

_E = TypeVar("_E", bound=Enum)


@dataclass(frozen=True, slots=True)
class Arguments:
    """The words of `call`; `lets` gives names their values, `example` shows a valid call."""

    call: Call
    lets: Mapping[str, int]
    example: str

    def count(self, least: int, most: int | None = None) -> None:
        """Check the number of arguments; `most` None means as many as `least`."""
        given = len(self.call.words)
        top = least if most is None else most
        if least <= given <= top:
            return
        raise self.wrong(f"{_needed(least, top)}, {_given(given)}")

    def at_least(self, least: int) -> None:
        """Check that there are at least this many arguments."""
        given = len(self.call.words)
        if given < least:
            raise self.wrong(f"at least {_needed(least, least)}, {_given(given)}")

    def name(self, position: int) -> str:
        """Return a name of a loop, a band, a statement or an array."""
        word = self._word(position)
        if not _NAME.match(word.text):
            raise self.wrong(f"`{word.text}` is not a name", word)
        return word.text

    def numbers(self, start: int) -> tuple[int, ...]:
        """Return the arguments from `start` on as integers."""
        return tuple(self.number(p) for p in range(start, len(self.call.words)))

    def number(self, position: int) -> int:
        """Return an integer."""
        word = self._word(position)
        return self._bounded(word)

    def sizes(self, start: int) -> tuple[Size, ...]:
        """Return the arguments from `start` on: integers, or names that have values."""
        return tuple(self.size(p) for p in range(start, len(self.call.words)))

    def size(self, position: int) -> Size:
        """Return an integer or a name that has a value."""
        word = self._word(position)
        if not word.text.isidentifier():
            return self._bounded(word)
        if word.text not in self.lets:
            raise ScheduleError(
                "PO0326",
                f"`{self.call.text}`: the size `{word.text}` has no value",
                loc=word.loc,
                hint=f"write `let {word.text} = 32` before, or give it with the schedule: "
                f"with_schedule(…, {word.text}=32), --set {word.text}=32",
            )
        return Named(word.text, self.lets[word.text])

    def amount(self, position: int) -> Distance:
        """Return an affine expression of sizes."""
        word = self._word(position)
        try:
            return read_amount(word.text, self.lets)
        except ValueError as error:
            raise self.wrong(str(error), word) from None

    def bound(self, position: int) -> Bound:
        """Return a bound of sizes, `N <= 8`."""
        word = self._word(position)
        amount, sign, most = word.text.partition("<=")
        if not sign:
            raise self.wrong(f"`{word.text}` is not a bound of sizes", word)
        try:
            found = read_amount(amount.strip(), self.lets)
        except ValueError as error:
            raise self.wrong(str(error), word) from None
        return transforms.Bound(found, self._bounded(replace(word, text=most.strip())))

    def choice(self, position: int, kind: type[_E]) -> _E:
        """Return the member of an enum by its value."""
        word = self._word(position)
        for member in kind:
            if member.value == word.text:
                return member
        raise self.wrong(f"`{word.text}` is neither {' nor '.join(m.value for m in kind)}", word)

    def _word(self, position: int) -> Word:
        if position < len(self.call.words):
            return self.call.words[position]
        raise self.wrong("wrong number of arguments")

    def _bounded(self, word: Word) -> int:
        if not _NUMBER.match(word.text):
            raise self.wrong(f"`{word.text}` is not a whole number", word)
        value = int(word.text)
        if abs(value) > MAX_SIZE:
            raise self.wrong(f"{value} is too large: {MAX_SIZE} is the largest number", word)
        return value

    def wrong(self, reason: str, word: Word | None = None) -> ScheduleError:
        """Return the error for a word, or for the whole step."""
        return ScheduleError(
            "PO0323",
            f"`{self.call.text}`: {reason}",
            loc=self.call.loc if word is None else word.loc,
            hint=f"for example {self.example}",
        )


def _needed(least: int, most: int) -> str:
    if least != most:
        return f"{least} to {most} arguments are needed"
    return "1 argument is needed" if least == 1 else f"{least} arguments are needed"


def _given(given: int) -> str:
    return "1 was given" if given == 1 else f"{given} were given"
