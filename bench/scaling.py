"""Compare one thread with several for every workload: who gains, who loses.

In: names of workloads (none: all), a data set.  Out: a line for each form, worst scaling first.
`--compile` fills the cache only, so that a later run measures without compilers beside it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np

import polyopt as po
import workloads

SAMPLES = 7
SAMPLE_SECONDS = 0.01  # shorter programs are called several times for one sample
MOST_SECONDS = 1.5  # for all samples of one form


@dataclass(frozen=True, slots=True)
class Scaling:
    """Median seconds of one call, on one thread and on several."""

    name: str
    form: str
    one: float
    several: float

    @property
    def gain(self) -> float:
        """How many times faster several threads are."""
        return self.one / self.several

    def __str__(self) -> str:
        times = f"{self.one * 1e3:10.3f} ms {self.several * 1e3:10.3f} ms"
        return f"{self.name:24} {self.form:6} {times}  {self.gain:6.2f}x"


class Runner:
    """One compiled form and its arguments, restored before every call."""

    def __init__(self, workload: workloads.Workload, form: str, threads: int, fp: str) -> None:
        self.kernel = po.kernel(workload.forms[form]).with_options(fp=fp, threads=threads)
        self.workload = workload
        self.kernel.compile(*workload.make("MINI").values())

    def prepare(self, dataset: str) -> None:
        """Make the arguments of a data set."""
        self.arguments: dict[str, Any] = self.workload.make(dataset)
        self.pristine = {n: self.arguments[n].copy() for n in self.workload.written}
        self.call: Callable[[], object] = partial(self.kernel, *self.arguments.values())

    def seconds(self) -> float:
        """Call once and return how long it took."""
        for name, values in self.pristine.items():
            np.copyto(self.arguments[name], values)
        start = perf_counter()
        self.call()
        return perf_counter() - start


def measured(name: str, form: str, one: Runner, several: Runner) -> Scaling:
    """Take samples of both in turn."""
    runners = (one, several)
    last = [min(runner.seconds() for _ in range(2)) for runner in runners]
    count = max(1, min(50, ceil(SAMPLE_SECONDS / max(min(last), 1e-7))))
    rounds = max(1, min(SAMPLES, int(MOST_SECONDS / max(sum(last) * count, 1e-7))))
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for runner, found in zip(runners, samples, strict=True):
            found.append(statistics.median(runner.seconds() for _ in range(count)))
    return Scaling(name, form, *(statistics.median(found) for found in samples))


def main(arguments: list[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--size", default="LARGE")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fp", default="strict")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args(arguments)
    found: list[Scaling] = []
    for name in options.names or workloads.names():
        workload = workloads.get(name)
        size = options.size if options.size in workload.sizes else list(workload.sizes)[-1]
        for form in workload.forms:
            try:
                one, several = (
                    Runner(workload, form, threads, options.fp) for threads in (1, options.threads)
                )
                if options.compile:
                    continue
                one.prepare(size)
                several.prepare(size)
                found.append(measured(name, form, one, several))
            except po.PolyoptError as error:
                print(f"{name} {form}: {error.code}", file=sys.stderr)
                continue
            print(found[-1], flush=True)
    found.sort(key=lambda scaling: scaling.gain)
    print("\nworst first:", *found, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
