"""The options of `kernel` as type checkers see them; nothing imports this at run time.

In: nothing.  Out: `KernelOptions`, the keywords with the types of their values.
"""

from __future__ import annotations

import os
from typing import Literal, TypedDict

from polyopt.ir.target import Target
from polyopt.schedule import Schedule
from polyopt.schedulefile import ScheduleText
from polyopt.targets import FpMode


class KernelOptions(TypedDict, total=False):
    """Keywords of `kernel` and `Kernel.with_options`; `kernel` says what they mean."""

    fp: FpMode | Literal["strict", "reassociate", "fast"]
    threads: int | None
    schedule: str | os.PathLike[str] | Schedule | ScheduleText | None
    fuse: Literal["all"] | None
    compiler: str | None
    budget: float | str | None
    target: Target | Literal["c", "cuda", "opencl"]
    device: int | str | None
    tune: float | str | None
    tuned: str | os.PathLike[str] | None
    memory: int | str | None
    fixed_sizes: bool
