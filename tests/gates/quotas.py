"""The whole pipeline with isl's operations running out: `python -m tests.gates.quotas --count 100`.

In: how many quotas between 1 and 60,000, over four programs.  Wrong: anything but a coded error or
proven loops that compute the program.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from polyopt.errors import PolyoptError
from polyopt.frontend import build
from polyopt.ir.affine import quota
from polyopt.machine import Machine
from polyopt.pipeline import compile_program
from polyopt.proof import certify
from polyopt.specialize import Parameters, types_of
from polyopt.targets import Options
from tests.gates.kernels import FUNCTIONS
from tests.gates.series import series
from tests.oracle import enumerate_call

MOST = 60_000
MACHINE = Machine(cores=2, vector_bytes=16, l1=512, l2=2048, l3=8192)
SIZES = (1, 2, 5, 9)


def quota_of(number: int) -> int:
    """Return quotas that meet every order of magnitude alike, without a repeat of a pattern."""
    golden = (number * 0.6180339887) % 1.0
    return max(1, round(MOST**golden))


def trial(number: int) -> str | None:
    """Compile one of the programs under a quota."""
    program = _program(FUNCTIONS[number % len(FUNCTIONS)])
    operations = quota_of(number)
    try:
        with quota(operations):
            made = compile_program(program, Options(), MACHINE)
    except PolyoptError as error:
        return None if error.code.startswith("PO07") else f"quota {operations}: {error.code}"
    except Exception as error:
        return f"quota {operations}: {error!r}"
    if not certify(made.written or program, made.loops).is_proven:
        return f"quota {operations}: loops that are not proven"
    for size in SIZES:
        wrong = enumerate_call(program, made.loops, (np.arange(float(size)), np.arange(3.0 + size)))
        if wrong:
            return f"quota {operations}: {wrong[0]}"
    return None


def _program(function: Any) -> Any:
    return build(function, types_of(Parameters.of(function), (np.ones(9), np.ones(9)), frozenset()))


if __name__ == "__main__":
    sys.exit(series("Compile with few isl operations.", trial, 100))
