"""Rank schedules by the time that the model predicts for usual sizes.

In: a schedule's loops, a `Machine`.  Out: seconds, to be compared with those of another schedule of
the same program.  Speeds are assumed ones, so that the choice does not depend on measurements.
"""

from __future__ import annotations

from polyopt.ir.loops import LoopFunction
from polyopt.ir.names import params
from polyopt.ir.scop import Role
from polyopt.machine import Machine, assumed_rates
from polyopt.model.amount import Amount
from polyopt.model.predict import predict

ELEMENTS = 4_000_000  # of the largest arrays: more than the caches hold
STEPS = 32  # a size that no array has


def predicted_seconds(loops: LoopFunction, machine: Machine) -> float:
    """Return the predicted seconds of a call at usual sizes."""
    sizes = {name: Amount(value, value) for name, value in usual_sizes(loops).items()}
    return predict(loops, sizes, machine, assumed_rates(machine)).seconds


def usual_sizes(loops: LoopFunction) -> dict[str, int]:
    """Return a value for each size: as large as makes arrays of usual number of elements."""
    found: dict[str, int] = {}
    for array in loops.arrays:
        named = [params(extent) for extent in array.shape]
        rank = sum(map(bool, named))
        if array.role is Role.TEMP or not rank:
            continue
        extent = round(ELEMENTS ** (1 / rank))
        for name in set[str]().union(*named):
            found[name] = min(extent, found.get(name, extent))
    return {name: found.get(name, STEPS) for name in loops.params}
