"""CUDA text to binaries: the report, the cache, the line that is wrong, no compiler."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from polyopt.errors import ToolchainError
from polyopt.runtime.device import compile as compiling
from polyopt.runtime.device.compile import compile_cuda, find_cuda_compiler, read_report
from polyopt.runtime.device.faults import Complaint, compile_failure, complaints
from polyopt.runtime.device.provider import Resources
from polyopt.runtime.device.resources import Taken, resources_of, show_taken
from polyopt.runtime.store import Store
from tests.gpu.runtime.needs import needs_nvcc, needs_nvrtc

TEXT = """\
extern "C" __global__ void plain(float *a) { a[threadIdx.x] = 1.0f; }
extern "C" __global__ void turned(float *a) {
    __shared__ float s[64];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[63 - threadIdx.x];
}
"""
WRONG = 'extern "C" __global__ void k(float *a) {\n    a[0] = missing;\n}\n'
GREEDY = 'extern "C" __global__ void k(float *a) {\n    __shared__ float s[40000];\n' + (
    "    s[threadIdx.x] = a[threadIdx.x];\n    __syncthreads();\n    a[0] = s[a[1] > 0];\n}\n"
)
LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'small' for 'sm_90'
ptxas info    : Function properties for small
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
ptxas info    : Compiling entry function 'large' for 'sm_90'
ptxas         . 48 bytes stack frame, 44 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 48 bytes cumulative stack size, 8320 bytes smem
"""


@dataclass
class Counting:
    """A compiler that is asked how often it ran."""

    runs: list[str] = field(default_factory=list)
    identity: str = "counting 1"
    strict: tuple[str, ...] = ()
    log: str = LOG

    def run(self, text: str, arch: str, flags: tuple[str, ...]) -> tuple[bytes, str]:
        self.runs.append(arch)
        return b"image of " + text.encode(), self.log


def test_reports_are_read() -> None:
    assert read_report(LOG) == {
        "small": Resources("small", 12, 0, 0, 0, 0),
        "large": Resources("large", 255, 8320, 44, 40, 48),
    }
    assert read_report("nothing of the kind") == {}


@pytest.mark.parametrize(
    "line, complaint",
    [
        ('kernel.cu(7): error: identifier "x" is undefined', ('identifier "x" is undefined', 7)),
        ("kernel.cu(2): catastrophic error: no file", ("no file", 2)),
        ("error: <program source>:3:9: use of undeclared 'x'", ("use of undeclared 'x'", 3, 9)),
        ("/tmp/a/b.cl:12:1: fatal error: too deep", ("too deep", 12, 1)),
        ('k.cu(2): error #177-D: variable "x"', ('variable "x"', 2)),
        ("k.cu(2): warning #177-D: never used", ("warning #177-D: never used", 2)),
        ("ptxas fatal   : Unresolved extern", ("ptxas fatal   : Unresolved extern",)),
        ("ptxas warning : too much", ("ptxas warning : too much",)),
        ("ptxas /tmp/x.ptx, line 26; error   : needs sm_80", ("error   : needs sm_80",)),
    ],
)
def test_complaints_of_every_compiler(line: str, complaint: tuple[object, ...]) -> None:
    assert complaints(f"noise\n{line}\n1 error generated.\n") == (Complaint(*complaint),)  # type: ignore[arg-type]


def test_errors_are_shown_before_warnings() -> None:
    log = "".join(f"k.cu({n}): warning #1-D: odd\n" for n in range(1, 5)) + "k.cu(5): error: bad\n"
    assert compile_failure("it", "a\nb\nc\nd\ne", log).notes[:2] == ("line 5: bad", "    e")


def test_a_log_without_places_is_shown_as_it_is() -> None:
    error = compile_failure("it", "text", "\nsomething\nwent wrong\n")
    assert error.notes == ("something", "went wrong")


def test_binaries_are_kept(tmp_path: Path) -> None:
    compiler, store = Counting(), Store(tmp_path)
    first = compile_cuda(compiler, TEXT, "sm_80", store=store)
    said: list[str] = []
    again = compile_cuda(compiler, TEXT, "sm_80", store=store, log=said.append)
    assert again == first
    assert said == [LOG]
    assert compiler.runs == ["sm_80"]
    compile_cuda(compiler, TEXT, "sm_90", store=store)
    compile_cuda(compiler, TEXT + "\n", "sm_90", store=store)
    compile_cuda(compiler, TEXT, "sm_90", ("--fmad=false",), store=store)
    compiler.identity = "counting 2"
    compile_cuda(compiler, TEXT, "sm_90", store=store)
    assert compiler.runs == ["sm_80", *["sm_90"] * 4]


@needs_nvcc
def test_nvcc_compiles_and_reports(tmp_path: Path) -> None:
    cubin = compile_cuda(find_cuda_compiler(), TEXT, "sm_75", store=Store(tmp_path))
    assert cubin.image.startswith(b"\x7fELF")
    assert cubin.resources["plain"].shared == 0
    assert cubin.resources["turned"].shared == 256
    assert (cubin.resources["turned"].registers or 0) > 0
    assert cubin.resources["turned"].spill_stores == 0


@needs_nvcc
def test_nvcc_shows_the_line_that_is_wrong() -> None:
    with pytest.raises(ToolchainError) as caught:
        compile_cuda(find_cuda_compiler(), WRONG, "sm_80")
    assert caught.value.code == "PO0515"
    assert "nvcc for sm_80" in caught.value.message
    assert caught.value.notes[0].startswith("line 2: ")
    assert caught.value.notes[1] == "    a[0] = missing;"


@needs_nvcc
def test_nvcc_says_too_much_shared_memory() -> None:
    with pytest.raises(ToolchainError, match="PO0517") as caught:
        compile_cuda(find_cuda_compiler(), GREEDY, "sm_80")
    assert "160000 bytes" in caught.value.message


UNUSED = 'extern "C" __global__ void k(float *a) {\n    int rest = 3;\n    a[0] = 1;\n}\n'


@needs_nvcc
def test_what_kernels_take_on_every_architecture(tmp_path: Path) -> None:
    taken = resources_of(TEXT, ("turned", "plain"), store=Store(tmp_path))
    assert [(row.arch, row.resources.entry) for row in taken] == [
        (arch, entry) for arch in ("sm_75", "sm_80", "sm_90") for entry in ("turned", "plain")
    ]
    assert [row.resources.shared for row in taken] == [256, 0] * 3
    assert all(row.spills == 0 for row in taken)
    assert show_taken(taken)[0].startswith("turned: sm_75")


@needs_nvcc
def test_warnings_are_errors_where_resources_are_asked_for() -> None:
    compile_cuda(find_cuda_compiler(), UNUSED, "sm_90")
    with pytest.raises(ToolchainError, match="PO0515") as caught:
        resources_of(UNUSED, ("k",), architectures=("sm_90",))
    assert caught.value.notes[1] == "    int rest = 3;"


def test_warnings_in_the_log_are_errors_too() -> None:
    compiler = Counting(log="kernel.cu(2): warning #177-D: never used\n")
    with pytest.raises(ToolchainError, match="PO0515") as caught:
        resources_of(UNUSED, ("k",), architectures=("sm_90",), compiler=compiler)
    assert caught.value.notes[1] == "    int rest = 3;"


@needs_nvcc
def test_an_architecture_that_is_newer_than_the_compiler() -> None:
    with pytest.raises(ToolchainError, match="PO0514") as caught:
        compile_cuda(find_cuda_compiler(), TEXT, "sm_999")
    assert "sm_999" in caught.value.message


def test_what_kernels_take_is_shown() -> None:
    small = Resources("small", 12, 0, 0, 0, 0)
    large = Resources("large", 255, 8320, 44, 40, 48)
    fewer = Resources("large", 128, 8320, 0, 0, 0)
    first = (Taken("sm_75", small), Taken("sm_75", large))
    assert show_taken((*first, Taken("sm_80", small), Taken("sm_80", fewer))) == (
        "small: sm_75, sm_80: 12 registers, 0 bytes of shared memory, no spills",
        "large: sm_75: 255 registers, 8320 bytes of shared memory, spills 44 bytes out, 40 in, "
        "48 bytes of stack",
        "large: sm_80: 128 registers, 8320 bytes of shared memory, no spills",
    )
    assert show_taken((Taken("sm_75", Resources("other")),)) == (
        "other: sm_75: the compiler says nothing",
    )


@needs_nvrtc
def test_nvrtc_compiles_and_shows_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_nvcc", lambda: None)
    compiler = find_cuda_compiler()
    assert compiler.identity.startswith("NVRTC ")
    cubin = compile_cuda(compiler, TEXT, "sm_80")
    assert cubin.resources["turned"].shared == 256
    with pytest.raises(ToolchainError, match="PO0515") as caught:
        compile_cuda(compiler, WRONG, "sm_80")
    assert caught.value.notes[1] == "    a[0] = missing;"


def test_no_compiler_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_nvcc", lambda: None)
    monkeypatch.setattr(compiling, "find_nvrtc", lambda: None)
    with pytest.raises(ToolchainError, match="PO0514") as caught:
        find_cuda_compiler()
    assert "cuda-nvrtc" in (caught.value.hint or "")


def test_a_compiler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYOPT_NVCC", "no-such-nvcc")
    with pytest.raises(ToolchainError, match="no-such-nvcc"):
        find_cuda_compiler()


@pytest.mark.parametrize("body", ["exit 3", "echo nothing known"])
def test_a_compiler_that_does_not_work(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvcc"
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("POLYOPT_NVCC", str(program))
    with pytest.raises(ToolchainError, match="PO0514"):
        find_cuda_compiler()
