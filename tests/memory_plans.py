"""`python -m tests.memory_plans`: memory of temporaries that lie on the heap for a whole call.

In: names of workloads (all, if none), a data set.  Out: a line for each form with at least two such
temporaries: how many, bytes of all of them, the most that live at once, the peak of best-fit greedy
placement by offsets, and what the kernel takes.  Exit status 1 where that is more than best-fit's.

Lifetimes are counted here by the nodes of the function's body, without the emitter's own count, and
best fit is placed by sizes that the call has, which the kernel's plan does not know.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import workloads
from polyopt.building import compile_stages
from polyopt.dataclass import dataclass
from polyopt.emit.peaks import StorageClass, allocations
from polyopt.errors import PolyoptError
from polyopt.ir.expr import Iter, Param, Symbol, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import bind_sizes
from polyopt.ir.loops import Body, If, LoopFunction
from polyopt.ir.scop import Array
from polyopt.pipeline import Compilation
from polyopt.proof.partial import mentioned
from polyopt.targets import Options
from tests.hostile.stages import Settled


@dataclass(frozen=True, slots=True)
class Temporary:
    """An array's bytes at some sizes, and the places between which it lives."""

    name: str
    bytes: int
    first: int
    last: int

    def meets(self, other: Temporary) -> bool:
        """Whether both live at one place."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class Peaks:
    """What temporaries of one kernel take, in bytes."""

    count: int
    all: int
    live: int
    best_fit: int
    planned: int


def places(body: Body) -> Iterator[set[str]]:
    """Yield the arrays of each node of a body, branches opened."""
    for node in body:
        if isinstance(node, If):
            yield set(mentioned((node,))) - set(mentioned((*node.then, *node.otherwise)))
            yield from places((*node.then, *node.otherwise))
        else:
            yield set(mentioned((node,)))


def best_fit(temporaries: list[Temporary]) -> int:
    """Return the peak of placing arrays at offsets, the largest first, each into the least gap."""
    placed: list[tuple[Temporary, int]] = []
    for one in sorted(temporaries, key=lambda t: -t.bytes):
        taken = sorted((at, at + t.bytes) for t, at in placed if t.meets(one))
        end, gaps = 0, []
        for begin, stop in taken:
            if begin - end >= one.bytes:
                gaps.append((begin - end, end))
            end = max(end, stop)
        placed.append((one, min(gaps)[1] if gaps else end))
    return max((at + t.bytes for t, at in placed), default=0)


def peaks(loops: LoopFunction, sizes: Mapping[str, int]) -> Peaks | None:
    """Return what the temporaries take; None where there are fewer than two with known sizes."""
    heap = [one.array for one in allocations(loops) if one.storage is StorageClass.HEAP]
    arrays = [array for array in heap if _names(array) <= set(sizes)]
    if len(arrays) < 2:
        return None
    marks = list(places(loops.body))
    temporaries = []
    for array in arrays:
        at = [place for place, names in enumerate(marks) if array.name in names]
        size = prod(max(evaluate(extent, sizes), 0) for extent in array.shape)
        temporaries.append(Temporary(array.name, size * array.dtype.size, min(at), max(at)))
    by_name = {t.name: t.bytes for t in temporaries}
    guests = {name for group in loops.turns for name in group}
    memories = [[by_name[n] for n in group if n in by_name] for group in loops.turns]
    live = (sum(t.bytes for t in temporaries if t.first <= p <= t.last) for p in range(len(marks)))
    planned = sum(map(max, filter(None, memories)))
    planned += sum(size for name, size in by_name.items() if name not in guests)
    return Peaks(len(temporaries), sum(by_name.values()), max(live), best_fit(temporaries), planned)


def _names(array: Array) -> set[str]:
    parts = (part for extent in array.shape for part in walk(extent))
    return {part.name for part in parts if isinstance(part, Param | Iter | Symbol)}


def of_form(name: str, form: str, data: str, fp: str) -> Peaks | None:
    """Return what the temporaries of a workload's form take at the sizes of a data set."""
    workload = workloads.get(name)
    function: Any = workload.forms[form]
    options = Options().changed({"fp": fp})
    found: list[Compilation] = []

    def compiled(types: Any) -> Any:
        found.append(compile_stages(function, types, options))
        return found[-1].source

    values = tuple(workload.make(data).values())
    try:
        Settled(function, compiled).of(values)
    except PolyoptError:
        return None
    return peaks(found[-1].loops, bind_sizes(found[-1].program.signature, values))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dataset", default="SMALL")
    parser.add_argument("--fp", default="strict", choices=("strict", "reassociate"))
    options = parser.parse_args()
    worse = 0
    print(f"{'form':38} arrays        all       live   best fit    planned")
    for name in options.names or workloads.names():
        for form in workloads.get(name).forms:
            found = of_form(name, form, options.dataset, options.fp)
            if found is None:
                continue
            worse += found.planned > found.best_fit
            mark = "  more than best fit" if found.planned > found.best_fit else ""
            sizes = (found.all, found.live, found.best_fit, found.planned)
            line = "".join(f"{size:11}" for size in sizes)
            print(f"{name + ':' + form:38}{found.count:7}{line}{mark}", flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
