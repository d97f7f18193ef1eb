"""OpenCL text under Oclgrind: planted faults beside right twins."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.errors import ToolchainError
from tests.gpu.runtime import oclgrind
from tests.gpu.runtime.oclgrind import Launch, check_opencl, has_checker, read_log

needs_oclgrind = pytest.mark.skipif(not has_checker(), reason="no Oclgrind")

SHIFT = """\
__kernel void k(__global float *a, long n) {{
    __local float s[8];
    const int t = (int)get_local_id(0);
    const long i = (long)get_group_id(0) * 8 + t;
    s[t] = i < n ? a[i] : 0.0f;
    {barrier}
    if (i < n) a[i + {past}] = s[7 - t];
}}
"""
RIGHT = SHIFT.format(barrier="barrier(CLK_LOCAL_MEM_FENCE);", past=0)
WRONG = {
    "race": SHIFT.format(barrier="", past=0),
    "Invalid write": SHIFT.format(barrier="barrier(CLK_LOCAL_MEM_FENCE);", past=30),
    "divergence": SHIFT.format(barrier="if (t < 5) barrier(CLK_LOCAL_MEM_FENCE);", past=0),
}
LAUNCHES = (Launch("k", (3, 1, 1), (8, 1, 1), ("a", np.int64(20))),)
ARRAYS = {"a": np.arange(20, dtype=np.float32)}


@needs_oclgrind
def test_nothing_is_said_of_right_kernels() -> None:
    found = check_opencl(RIGHT, LAUNCHES, ARRAYS)
    assert found.reports == ()
    padded = np.append(np.arange(20, dtype=np.float32), np.zeros(4, np.float32))
    want = padded.reshape(3, 8)[:, ::-1].reshape(-1)[:20]
    np.testing.assert_array_equal(found.arrays["a"], want)


@needs_oclgrind
@pytest.mark.parametrize("kind", list(WRONG))
def test_faults_are_reported(kind: str) -> None:
    reports = check_opencl(WRONG[kind], LAUNCHES, ARRAYS).reports
    assert any(kind in report for report in reports), reports


@needs_oclgrind
def test_text_that_does_not_compile_is_told() -> None:
    with pytest.raises(ToolchainError, match="PO0519"):
        check_opencl("__kernel void k(", LAUNCHES, ARRAYS)


def test_no_oclgrind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oclgrind, "has_checker", lambda: False)
    with pytest.raises(ToolchainError, match="PO0511") as caught:
        check_opencl(RIGHT, LAUNCHES, ARRAYS)
    assert "pyopencl[oclgrind]" in caught.value.message


def test_logs_are_cut_into_reports() -> None:
    assert read_log("") == ()
    assert read_log("\nInvalid read\n\tby x\n\nInvalid read\n\tby x\n\n\nrace\n") == (
        "Invalid read\n\tby x",
        "race",
    )
