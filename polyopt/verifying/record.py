"""What a verification found.

In: counts, at most one mismatch.  Out: `Verification`, readable as text.
Refuses: `raise_mismatch` raises `MisreadError` PO0920 where the Program is not the function.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc, MisreadError

LONGEST = 160  # characters of an argument in a note


@dataclass(frozen=True, slots=True)
class Skip:
    """Samples that were not compared: why, and how many."""

    reason: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The smallest call found for which Program and function differ.

    `arguments` are (name, text).  `element` names what differs (`C[0, 1]`), `got` is the Program's
    value, `want` the function's; `loc` is the line that writes the element, None if nothing does.
    """

    arguments: tuple[tuple[str, str], ...]
    element: str
    got: str
    want: str
    loc: Loc | None

    @property
    def call(self) -> str:
        """The arguments on one line."""
        return ", ".join(f"{name}={_cut(text)}" for name, text in self.arguments)


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome for one function and some of its argument types.

    `samples` calls were compared, of which `raised` raised an error on both sides; `refused` ones
    are refused by the kernel's checks though Python takes them; of `close` ones the results differ
    by roundings that the contract allows or has no bound for.
    """

    function: str
    types: tuple[str, ...]
    samples: int = 0
    raised: int = 0
    refused: int = 0
    close: int = 0
    skipped: tuple[Skip, ...] = ()
    mismatch: Mismatch | None = None

    @property
    def ok(self) -> bool:
        """Whether no sample differed."""
        return self.mismatch is None

    def raise_mismatch(self) -> None:
        """Raise `MisreadError` PO0920 if a sample differed."""
        found = self.mismatch
        if found is None:
            return
        raise MisreadError(
            "PO0920",
            f"`{self.function}` as read gives {found.element} = {found.got}, Python {found.want}",
            loc=found.loc,
            notes=(f"called with {found.call or 'no arguments'}",),
            hint="polyopt reads the function wrong: please report it with this call; "
            "POLYOPT_DISABLE=1 runs the Python function",
        )

    def __add__(self, other: Verification) -> Verification:
        """Return both outcomes as one."""
        return replace(
            self,
            types=self.types + other.types,
            samples=self.samples + other.samples,
            raised=self.raised + other.raised,
            refused=self.refused + other.refused,
            close=self.close + other.close,
            skipped=self.skipped + other.skipped,
            mismatch=self.mismatch or other.mismatch,
        )

    def __str__(self) -> str:
        head = f"{self.function}({'; '.join(self.types)})"
        counts = [f"{self.samples} samples agree" if self.ok else "the Program is not the function"]
        if self.ok and not self.samples:
            counts = ["nothing was compared"]
        if self.raised:
            counts.append(f"{self.raised} of them raise")
        if self.close:
            counts.append(f"{self.close} of them up to rounding")
        if self.refused:
            counts.append(f"{self.refused} refused by checks of the call")
        lines = [f"{head}: {', '.join(counts)}"]
        lines += [f"  skipped {skip.count}: {skip.reason}" for skip in self.skipped]
        if self.mismatch is not None:
            found = self.mismatch
            where = "" if found.loc is None else f", written at {found.loc}"
            lines.append(f"  {found.element} is {found.got}, Python says {found.want}{where}")
            lines.append(f"  called with {found.call or 'no arguments'}")
        return "\n".join(lines)


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else flat[:LONGEST] + "…"
