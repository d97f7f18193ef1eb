"""One size, or several that stay equal, through a range: `n=64..4096`, `NI=NJ=100..1000:100`.

In: a text.  Out: `Sweep`: doubled from the first size to the last, or in steps.
Refuses: with `ValueError`, any other text, and more sizes than anybody waits for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from workloads import Workload

MOST = 200  # sizes of a sweep
_TEXT = re.compile(r"((?:[A-Za-z_]\w*(?:\[\d+\])?=)+)(\d+)\.\.(\d+)(?::(\d+))?")
_POINT = re.compile(r"((?:[^=\s]+=)+)(\d+)")


@dataclass(frozen=True, slots=True)
class Sweep:
    """The names of sizes that are equal, and their values."""

    names: tuple[str, ...]
    values: tuple[int, ...]

    def at(self, value: int) -> dict[str, int]:
        """Return the sizes that have this value."""
        return dict.fromkeys(self.names, value)

    def label(self, value: int) -> str:
        """Return the name of a point, as `NI=NJ=64`."""
        return f"{'='.join(self.names)}={value}"


def parse(text: str) -> Sweep:
    """Return the sweep that a text describes; the last size is always among them."""
    found = _TEXT.fullmatch(text.replace(" ", ""))
    if found is None:
        raise ValueError(f"`{text}` is not a sweep: write n=64..4096, or n=100..1000:100 for steps")
    first, last, step = int(found[2]), int(found[3]), int(found[4] or 0)
    if not 0 < first <= last:
        raise ValueError(f"`{text}`: the first size is at least 1 and no larger than the last")
    values = [first]
    while (after := values[-1] + step if step else 2 * values[-1]) <= last and len(values) <= MOST:
        values.append(after)
    if len(values) > MOST:
        raise ValueError(f"`{text}` has more than {MOST} sizes")
    values += [last] if values[-1] < last else []
    return Sweep(tuple(found[1].rstrip("=").split("=")), tuple(values))


def sizes_of(workload: Workload, text: str) -> dict[str, int]:
    """Return the sizes at a data set, or at one with sizes of a sweep, as `LARGE N=64`."""
    if text in workload.sizes:
        return workload.at(text)
    dataset, _, rest = text.partition(" ")
    found = workload.at(dataset)
    for match in _POINT.finditer(rest):
        found |= dict.fromkeys(match[1].rstrip("=").split("="), int(match[2]))
    return workload.at(found)


def swept(dataset: str) -> Mapping[str, int]:
    """Return the swept sizes in the name of a data set, none where there was no sweep."""
    found = [*_POINT.finditer(dataset)]
    return {name: int(m[2]) for m in found for name in m[1].rstrip("=").split("=")}
