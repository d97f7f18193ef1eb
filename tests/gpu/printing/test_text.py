"""The text of kernels: accepted by compilers without a warning, readable, refused where it must."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from polyopt.emit.cuda import emit_cuda
from polyopt.emit.opencl import emit_opencl
from polyopt.errors import EmitError
from tests.gpu.printing.build import function
from tests.gpu.printing.cases import CASES
from tests.gpu.runtime.needs import needs_nvcc


@pytest.mark.machine
@needs_nvcc
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_nvcc_has_nothing_to_say(arch: str, tmp_path: Path) -> None:
    parts = []
    for number, case in enumerate(CASES.values()):
        source = emit_cuda(case.fn)
        text = re.sub(r"\bdemo_(\d)", rf"k{number}_\1", source.text)
        parts.append(f"namespace n{number} {{\n{text}}}\n")
    path = tmp_path / "all.cu"
    path.write_text("".join(parts))
    command = ["nvcc", f"-arch={arch}", "-cubin", "-Werror", "all-warnings", *source.flags]
    done = subprocess.run(
        [*command, "-o", tmp_path / "all.cubin", path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["matmul", "stencil", "axpy", "wide"])
def test_goldens(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"emit/kernels/{name}.cu", emit_cuda(CASES[name].fn).text)
    golden(f"emit/kernels/{name}.cl", emit_opencl(CASES[name].fn).text)


def test_functions_that_no_complex_number_has() -> None:
    fn = function(
        """
        with kernel(32):
            for i in thread(0, 32):
                z[i] = cbrt(w[i])
        """,
        z="c64[32]",
        w="c64[32]",
    )
    with pytest.raises(EmitError, match="`cbrt` has no C function") as found:
        emit_cuda(fn)
    assert found.value.code == "PO0402"


def test_loops_over_threads_need_a_constant_length() -> None:
    fn = function(
        """
        with kernel(32):
            for i in thread(0, N):
                z[i] = 1.0
        """,
        z="f32[N]",
        N="size",
    )
    with pytest.raises(EmitError, match="its length is no constant") as found:
        emit_opencl(fn)
    assert found.value.code == "PO0405"
