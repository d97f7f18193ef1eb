"""Which programs the suite `speed` runs, and its cells.

In: names, data sets, element types, modes, counts of threads.  Out: cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import workloads
from bench import function as functions
from bench.loop import PATIENCE
from bench.speed.records import Cell
from bench.sweeps import Sweep

LEARNING = (
    "adamw", "attention", "batch-norm", "bias-relu", "causal-attention", "conv2d", "conv2d-nchw",
    "cross-entropy", "gelu", "gelu-backward", "layernorm", "layernorm-backward", "max-pool", "mlp",
    "multi-head-attention", "rmsnorm", "softmax", "softmax-backward", "swiglu", "transformer-mlp",
)  # fmt: skip
ELEMENTWISE = ("black-scholes", "go-fast", "compute")
MODES = ("strict", "reassociate")
DTYPES = ("float64", "float32")
OWN = "own"  # the element type that a program is published with


@dataclass(frozen=True, slots=True)
class SpeedRequest:
    """What to run.

    `is_timed`: no to compile and check only.  `budget`: seconds for the whole run, compiling
    included, None without a limit.  `patience`: seconds to wait for a quiet machine before a cell.
    `sweep`: sizes in place of those of the data sets.  `function`: a folder that describes a
    user's function, in place of names.
    """

    names: tuple[str, ...]
    datasets: tuple[str, ...] = ("LARGE",)
    dtypes: tuple[str, ...] = (OWN,)
    modes: tuple[str, ...] = MODES
    threads: tuple[int, ...] = (1, 2)
    peers: tuple[str, ...] = ()
    is_timed: bool = True
    budget: float | None = None
    patience: float = PATIENCE
    sweep: Sweep | None = None
    function: Path | None = None


def names() -> tuple[str, ...]:
    """Return the programs of the suite."""
    return (*workloads.names("polybench"), *LEARNING, *ELEMENTWISE)


def cells(request: SpeedRequest) -> tuple[Cell, ...]:
    """Return what is compared, one program after the other."""
    if request.function is not None:
        return _of_function(request, functions.read(request.function))
    found = [
        Cell(name, place, dtype, fp, threads)
        for name in request.names
        for dataset in request.datasets
        if dataset in workloads.get(name).sizes
        for place in _places(dataset, request.sweep)
        for dtype in _dtypes(name, request.dtypes)
        for fp in request.modes
        for threads in request.threads
    ]
    return tuple(found)


def _of_function(request: SpeedRequest, function: functions.Function) -> tuple[Cell, ...]:
    return tuple(
        Cell(function.name, label, str(function.dtype), fp, threads)
        for label in functions.labels(function)
        for fp in request.modes
        for threads in request.threads
    )


def _places(dataset: str, sweep: Sweep | None) -> tuple[str, ...]:
    if sweep is None:
        return (dataset,)
    return tuple(f"{dataset} {sweep.label(value)}" for value in sweep.values)


def _dtypes(name: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Return element types; a program over integers has its own alone."""
    own = str(workloads.get(name).dtype)
    if own not in DTYPES:
        return (own,)
    return tuple(dict.fromkeys(own if dtype == OWN else dtype for dtype in asked))
