"""The short comparison: polyopt with NumPy, one line a program and form.

In: names of workloads and a data set.  Out: a `Report`, and it as one table.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from bench.keep import NOWHERE, Outputs
from bench.loop import PATIENCE
from bench.records import Kind, Measurement, Report, Request, Status, WorkloadResult
from bench.run import run
from bench.table import failures, grid, three_digits

REPEAT, SECONDS = 3, 5.0  # of samples, for one implementation


def compare(
    names: tuple[str, ...],
    dataset: str,
    threads: int | None = None,
    say: Callable[[str], None] = lambda _: None,
    outputs: Outputs = NOWHERE,
    budget: float | None = None,
    patience: float = PATIENCE,
) -> Report:
    """Check and time polyopt, with one thread and with `threads`, and NumPy."""
    most = threads or len(os.sched_getaffinity(0))
    counts = tuple(sorted({1, most}))
    request = Request(
        names,
        dataset,
        counts,
        repeat=REPEAT,
        seconds=SECONDS,
        budget=budget,
        patience=patience,
        timeout=600.0,
        gcc=False,
    )
    return run(request, say, outputs)


def render(report: Report) -> str:
    """Return one line for every program and form."""
    counts = report.request.threads
    head = [
        "program",
        "form",
        "size",
        "NumPy ms",
        *(f"polyopt x{n}" for n in counts),
        "ratio",
        "equal",
    ]
    rows = [head]
    for result in report.results:
        found = [m for m in result.measurements if m.implementation.kind is Kind.POLYOPT]
        for form in dict.fromkeys(m.implementation.form for m in found):
            own = [m for m in found if m.implementation.form == form]
            rows.append([result.name, form, *_cells(result, own)])
    table = grid(rows, left=3)
    notes = [
        "ratio: NumPy's time over polyopt's with most threads.  NumPy runs the program's NumPy"
        " form,\nor the reference where there is none.",
        *report.notes,
    ]
    return "\n\n".join([part for part in (table, failures(report)) if part] + ["\n".join(notes)])


def _cells(result: WorkloadResult, own: list[Measurement]) -> list[str]:
    numpy = result.seconds(Kind.NUMPY)
    ratio = result.ratio(own[-1], Kind.NUMPY)
    return [
        result.dataset,
        "-" if numpy is None else three_digits(1e3 * numpy),
        *("-" if m.seconds is None else three_digits(1e3 * m.seconds) for m in own),
        "-" if ratio is None else f"{ratio:.2f}",
        verdict(own),
    ]


def verdict(own: list[Measurement]) -> str:
    """Tell whether all results equal NumPy's, or why there is none."""
    for m in own:
        if m.status is Status.WRONG:
            return "no"
        if m.status is not Status.OK:
            return m.status.value
    return "yes"
