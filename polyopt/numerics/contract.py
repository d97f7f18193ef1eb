"""The numerics contract: how far each output of a kernel may differ from the Python function's.

In: what `classify` finds.  Out: immutable records, lines for people, plain data for files.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import Any

from polyopt.dataclass import dataclass, plain_record


@unique
class Exactness(Enum):
    """What may differ between the kernel's output and the Python function's."""

    EXACT = "exact"  # nothing: the source's operations in the source's order, bit for bit
    REASSOCIATED = "reassociated"  # the order of sums and products that the source leaves open
    APPROXIMATE = "approximate"  # also the last bits of functions such as exp


@unique
class Sharing(Enum):
    """How the terms of a reduction that one loop runs through come together."""

    IN_ORDER = "in order"  # one after another into one accumulator
    LANES = "lanes"  # an accumulator for each lane, joined by the C compiler's code
    THREADS = "threads"  # an accumulator for each thread, joined as threads finish


@dataclass(frozen=True, slots=True)
class Level:
    """One loop of a reduction's tree, by its label in the schedule."""

    loop: str
    sharing: Sharing

    def __str__(self) -> str:
        return f"{self.loop} {self.sharing.value}"


@dataclass(frozen=True, slots=True)
class Tree:
    """The loops, outermost first, that one copy of a reduction's terms is summed by.

    `contracted`: product and sum are rounded once.
    """

    levels: tuple[Level, ...]
    contracted: bool

    @property
    def is_fixed(self) -> bool:
        """Whether the same terms always come together in the same order."""
        return all(level.sharing is Sharing.IN_ORDER for level in self.levels)

    def __str__(self) -> str:
        loops = ", ".join(map(str, self.levels)) or "in order"
        return loops + (", each product and sum rounded once" if self.contracted else "")


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction whose order the source leaves open, and the trees it is computed by."""

    statement: str
    line: int | None
    text: str
    op: str
    dtype: str
    trees: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function whose last bits differ between libraries; errors in units of the last place."""

    name: str
    dtype: str
    ours: float
    reference: float


@dataclass(frozen=True, slots=True)
class OutputContract:
    """What one output's elements may differ by.

    `reductions` (statements), `functions` and `library` are what leads to it, through temporaries
    too.  `decided`: inexact data choose a branch or end a loop on the way, so a rounding may change
    a result as a whole.
    """

    name: str
    array: str
    dtype: str
    exactness: Exactness
    reductions: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    decided: bool = False


@dataclass(frozen=True, slots=True)
class NumericsContract:
    """What all outputs of a kernel promise."""

    function: str
    outputs: tuple[OutputContract, ...]
    reductions: tuple[Reduction, ...]
    functions: tuple[Function, ...]

    def output(self, name: str) -> OutputContract:
        """Return the contract of the output called `name`; raises `KeyError`."""
        for output in self.outputs:
            if output.name == name:
                return output
        raise KeyError(name)

    @property
    def is_exact(self) -> bool:
        """Whether all outputs are the Python function's bit for bit."""
        return all(output.exactness is Exactness.EXACT for output in self.outputs)

    @property
    def is_repeatable(self) -> bool:
        """Whether every run gives the same bits: no reduction is joined as threads finish."""
        levels = (level for r in self.reductions for tree in r.trees for level in tree.levels)
        return all(level.sharing is not Sharing.THREADS for level in levels)

    def to_record(self) -> dict[str, Any]:
        """Return the contract as plain data."""
        return {"function": self.function, "repeatable": self.is_repeatable, **plain_record(self)}


def show_contract(contract: NumericsContract) -> tuple[str, ...]:
    """Return the contract as lines; one that begins with a space belongs to the line above."""
    lines: list[str] = []
    for output in contract.outputs:
        lines.append(f"{output.name}: {_meaning(output)}")
    for reduction in contract.reductions:
        where = "" if reduction.line is None else f" (line {reduction.line})"
        what = f"{reduction.op} in {reduction.dtype}"
        lines.append(f"{reduction.statement}{where}: {what}, {reduction.text}")
        lines += [f"    {tree}" for tree in reduction.trees]
    for function in contract.functions:
        ours, other = f"{function.ours:g}", f"{function.reference:g}"
        lines.append(
            f"{function.name} in {function.dtype}: within {ours} units of the last place, "
            f"NumPy's within {other}"
        )
    if not contract.is_repeatable:
        lines.append("threads join their sums as they finish: bits may differ between runs")
    return tuple(lines)


def _meaning(output: OutputContract) -> str:
    causes = []
    if output.reductions:
        causes.append(f"reductions {', '.join(output.reductions)}")
    if output.functions:
        causes.append(", ".join(output.functions))
    if output.library:
        causes.append(f"{', '.join(output.library)} of inexact arrays")
    if output.decided:
        causes.append("inexact data decide what is computed")
    if output.exactness is Exactness.EXACT:
        return "exact: bit for bit the source's"
    return f"{output.exactness.value}: {'; '.join(causes)}"
