"""`polyopt explain --target` tells how kernels are launched and what they take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polyopt.cli.app import run
from tests.gpu.runtime.needs import needs_nvcc

PROGRAM = """\
import polyopt as po

def twice(x: po.f32["N,M"], y: po.f32["N,M"]):
    y[:] = 2 * x
"""


def explained(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    assert run(["explain", f"{tmp_path}/program.py:twice", "--target", target, "--json"]) == 0
    lines: list[str] = json.loads(capsys.readouterr().out)["kernels"]
    return lines


@needs_nvcc
def test_cuda_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch, *taken = explained("cuda", tmp_path, capsys)
    assert launch.startswith("twice_0: grid (")
    assert "256 threads a block, 0 bytes of shared memory" in launch
    text = " ".join(taken)
    assert all(arch in text for arch in ("sm_75", "sm_80", "sm_90"))
    assert "no spills" in text


def test_without_a_compiler_the_reason_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYOPT_NVCC", "no-such-nvcc")
    _, told = explained("cuda", tmp_path, capsys)
    assert told.startswith("not compiled: POLYOPT_NVCC")
    assert told.endswith("[PO0514]")


def test_opencl_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(explained("opencl", tmp_path, capsys)) == 1


def test_c_has_no_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError):
        explained("c", tmp_path, capsys)
