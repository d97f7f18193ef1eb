"""Which programs the suite `speed` runs, and its cells.

In: names, data sets, element types, modes, counts of threads.  Out: cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import workloads
from bench.loop import PATIENCE
from bench.speed.records import Cell

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


def names() -> tuple[str, ...]:
    """Return the programs of the suite."""
    return (*workloads.names("polybench"), *LEARNING, *ELEMENTWISE)


def cells(request: SpeedRequest) -> tuple[Cell, ...]:
    """Return what is compared, one program after the other."""
    found = [
        Cell(name, dataset, dtype, fp, threads)
        for name in request.names
        for dataset in request.datasets
        if dataset in workloads.get(name).sizes
        for dtype in _dtypes(name, request.dtypes)
        for fp in request.modes
        for threads in request.threads
    ]
    return tuple(found)


def _dtypes(name: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Return element types; a program over integers has its own alone."""
    own = str(workloads.get(name).dtype)
    if own not in DTYPES:
        return (own,)
    return tuple(dict.fromkeys(own if dtype == OWN else dtype for dtype in asked))
