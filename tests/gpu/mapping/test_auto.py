"""The automatic mapping: legal, the same values, parallel loops on the grid."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from tests import scops
from tests.checks import assert_computes

SMALL = GpuModel(block=8, warp=4)
"""So few threads that there are several blocks at sizes that can be enumerated."""

EVERY = [
    "gemm",
    "ordered_gemm",
    "jacobi",
    "seidel",
    "diagonal",
    "dot",
    "solve",
    "backward",
    "nowhere",
    "transposed",
    "prefix",
    "chain",
    "ahead",
    "planes",
]


def test_golden(golden: Callable[[str, str], None]) -> None:
    lines = []
    for name in EVERY:
        schedule = auto_schedule_gpu(getattr(scops, name)(), GpuModel())
        lines += [f"-- {name}", *schedule.text.splitlines(), "", str(schedule), ""]
    golden("schedule/gpu.tree", "\n".join(lines))


@pytest.mark.parametrize("name", EVERY)
def test_same_results(name: str) -> None:
    scop = getattr(scops, name)()
    assert_computes(scop, *auto_schedule_gpu(scop, SMALL).trace)
