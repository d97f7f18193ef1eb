"""`polyopt explain --target` tells how kernels are launched and what they take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polyopt.cli.app import run
from polyopt.runtime.device.occupancy import occupancy
from tests.gpu.runtime.needs import needs_nvcc

PROGRAM = """\
import polyopt as po

def twice(x: po.f32["N,M"], y: po.f32["N,M"]):
    y[:] = 2 * x
"""


SUMS = """\
import polyopt as po

def products(A: po.f32["N,K"], B: po.f32["K,M"], C: po.f32["N,M"]):
    C[:] = A @ B

def strided(x: po.f32["N"], y: po.f32["N"]):
    for i in range(x.shape[0] // 2 - 1):
        y[2 * i + 2] = y[2 * i] * x[2 * i + 1]
"""


def facts(target: str, directory: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (directory / "program.py").write_text(PROGRAM, encoding="utf-8")
    assert run(["explain", f"{directory}/program.py:twice", "--target", target, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def explained(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    lines: list[str] = facts(target, tmp_path, capsys)["kernels"]
    return lines


@needs_nvcc
def test_cuda_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = facts("cuda", tmp_path, capsys)
    launch, *taken = found["kernels"]
    assert launch.startswith("twice_0_: grid (")
    assert "256 threads a block, 0 bytes of shared memory" in launch
    text = "\n".join(taken)
    assert all(arch in text for arch in ("sm_75", "sm_80", "sm_90"))
    assert "no spills" in text
    assert "    a block for each i_tile = floor(i/8), j_tile = floor(j/32)\n" in text
    assert "    no barriers: " in text
    assert "    at once on sm_80: 8 blocks, 100 % of its threads, limited by threads\n" in text
    (row,) = found["launches"]
    assert row["entry"] == "twice_0_"
    assert [one["arch"] for one in row["compiled"]] == ["sm_75", "sm_80", "sm_90"]
    assert row["occupancy"][0]["limit"] == "threads"


def test_what_a_block_has_and_waits_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYOPT_NVCC", "no-such-nvcc")
    (tmp_path / "program.py").write_text(SUMS, encoding="utf-8")
    rows = {}
    for name in ("products", "strided"):
        path = f"{tmp_path}/program.py:{name}"
        assert run(["explain", path, "--target", "cuda", "--json"]) == 0
        rows[name] = json.loads(capsys.readouterr().out)["launches"]
    product = rows["products"][-1]
    assert {one["array"] for one in product["shared"]} == {"A_pack", "B_pack"}
    assert sum(one["bytes"] for one in product["shared"]) == product["shared_bytes"]
    assert product["registers"]
    assert any("A_pack: written above, read below" in one["note"] for one in product["barriers"])
    assert product["one_thread"] == []
    (alone,) = rows["strided"]
    assert "carries a dependence" in alone["one_thread"][0]
    assert (alone["blocks"], alone["barriers"]) == ([], [])


@pytest.mark.parametrize(
    "arch, threads, registers, shared, blocks, limit",
    [
        ("sm_90", 256, 128, 0, 2, "registers"),
        ("sm_80", 256, 129, 0, 1, "registers"),
        ("sm_75", 1024, 32, 0, 1, "threads"),
        ("sm_80", 32, 16, 0, 32, "blocks"),
        ("sm_80", 128, 16, 48 << 10, 3, "shared memory"),
        ("sm_75", 128, 16, 33 << 10, 1, "shared memory"),
        ("sm_90", 33, 200, 0, 4, "registers"),
    ],
)
def test_blocks_at_once(
    arch: str, threads: int, registers: int, shared: int, blocks: int, limit: str
) -> None:
    found = occupancy(arch, threads, registers, shared)
    assert found is not None
    assert (found.blocks, found.limit) == (blocks, limit)
    assert occupancy("sm_10", threads, registers, shared) is None


def test_without_a_compiler_the_reason_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYOPT_NVCC", "no-such-nvcc")
    told = explained("cuda", tmp_path, capsys)[-1]
    assert told.startswith("not compiled: POLYOPT_NVCC")
    assert told.endswith("[PO0514]")


def test_opencl_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch, *told = explained("opencl", tmp_path, capsys)
    assert launch.startswith("twice_0_: grid (")
    assert told
    assert not any("sm_" in line for line in told)


def test_c_has_no_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError):
        explained("c", tmp_path, capsys)
