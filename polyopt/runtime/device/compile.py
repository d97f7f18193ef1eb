"""CUDA text to a binary of one architecture, with the report of what its kernels take.

In: text, an architecture such as `sm_90`, flags.  Out: `Cubin`, kept in the cache.
Refuses: no compiler (PO0514), text that does not compile (PO0515), too much shared memory (PO0517).
What ptxas says of the resources of kernels.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ToolchainError
from polyopt.runtime.device.faults import compile_failure
from polyopt.runtime.device.nvrtc import Nvrtc, find_nvrtc
from polyopt.runtime.device.provider import Log, Resources, no_log
from polyopt.runtime.store import Store, digest
from polyopt.runtime.toolchain import call_tool
from polyopt.settings import chosen, variable_of

_SECONDS = 300
_KIND = "cubins"
_BINARY, _LOG = "kernel.cubin", "log.txt"


@dataclass(frozen=True, slots=True)
class Cubin:
    """A binary that the driver loads, what the compiler said, and what each kernel takes."""

    image: bytes
    log: str
    resources: Mapping[str, Resources]


class CudaCompiler(Protocol):
    """What turns CUDA text into a cubin."""

    @property
    def identity(self) -> str:
        """The compiler and its version."""

    @property
    def strict(self) -> tuple[str, ...]:
        """The flags that make every warning an error."""

    def run(self, text: str, arch: str, flags: tuple[str, ...]) -> tuple[bytes, str]:
        """Return the binary and what was said; raises where the text is refused."""


@dataclass(frozen=True, slots=True)
class Nvcc:
    """nvcc as a program."""

    path: str
    version: str

    @property
    def identity(self) -> str:
        """The version and where it is."""
        return f"nvcc {self.version} ({self.path})"

    @property
    def strict(self) -> tuple[str, ...]:
        """The flags that make every warning an error."""
        return ("-Werror", "all-warnings")

    def run(self, text: str, arch: str, flags: tuple[str, ...]) -> tuple[bytes, str]:
        """Compile in a directory of its own."""
        with Store(None).staging() as work:
            (work / "kernel.cu").write_text(text, encoding="utf-8")
            command = [self.path, f"-arch={arch}", "-cubin", "-Xptxas", "-v", *flags]
            status, log = _call([*command, "-o", _BINARY, "kernel.cu"], work)
            if status != 0:
                raise compile_failure(f"nvcc for {arch}", text, log)
            return (work / _BINARY).read_bytes(), log


@dataclass(frozen=True, slots=True)
class Runtime:
    """NVRTC, the compiler as a library."""

    library: Nvrtc

    @property
    def identity(self) -> str:
        """The version and where it is."""
        return f"NVRTC {self.library.version} ({self.library.path})"

    @property
    def strict(self) -> tuple[str, ...]:
        """None: its warnings stay in the log."""
        return ()

    def run(self, text: str, arch: str, flags: tuple[str, ...]) -> tuple[bytes, str]:
        """Compile in this process."""
        options = (f"--gpu-architecture={arch}", "--ptxas-options=-v", *flags)
        image, log = self.library.compile(text, options)
        if image is None:
            raise compile_failure(f"NVRTC for {arch}", text, log)
        return image, log


def find_cuda_compiler() -> CudaCompiler:
    """Return nvcc, from POLYOPT_NVCC, CUDA_HOME, CUDA_PATH or the PATH, or else NVRTC."""
    path = _nvcc()
    if path is not None:
        return Nvcc(path, _version(path))
    library = find_nvrtc()
    if library is not None:
        return Runtime(library)
    raise ToolchainError(
        "PO0514",
        "there is no CUDA compiler: neither nvcc nor NVRTC is installed",
        hint='`pip install "polyopt[cuda-nvrtc]"`, or set CUDA_HOME to an installed CUDA toolkit',
    )


def compile_cuda(
    compiler: CudaCompiler,
    text: str,
    arch: str,
    flags: tuple[str, ...] = (),
    *,
    store: Store | None = None,
    log: Log = no_log,
) -> Cubin:
    """Return the binary of `text` for `arch`, from `store` where it is known already."""
    kept = Store(None) if store is None else store
    facts = ["cubin", 1, compiler.identity, arch, list(flags), digest(text.encode())]
    key = json.dumps(facts)
    known = kept.load(_KIND, key, lambda entry: (entry.files[_BINARY], entry.text(_LOG)))
    if known is not None:
        image, said = known
    else:
        image, said = compiler.run(text, arch, flags)
        kept.write(_KIND, key, {_BINARY: image, _LOG: said.encode()})
    log(said)
    return Cubin(image, said, read_report(said))


def _nvcc() -> str | None:
    wanted, origin = chosen("nvcc")
    if wanted is not None:
        found = shutil.which(wanted)
        if found is None:
            hint = f"unset {variable_of('nvcc')}, or name a working nvcc"
            raise ToolchainError(
                "PO0514", f"{origin} is `{wanted}`, which is no program", hint=hint
            )
        return found
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    places = [*(str(Path(home) / "bin" / "nvcc") for home in homes), "nvcc"]
    places.append("/usr/local/cuda/bin/nvcc")
    return next((found for place in places if (found := shutil.which(place))), None)


def _version(path: str) -> str:
    status, text = _call([path, "--version"], Path.cwd())
    lines = [line for line in text.splitlines() if "release" in line]
    if status != 0 or not lines:
        raise ToolchainError(
            "PO0514",
            f"`{path} --version` failed with status {status}",
            notes=tuple(text.strip().splitlines()[:2]),
            hint="set CUDA_HOME to a working CUDA toolkit",
        )
    return lines[0].rpartition("V")[2].strip()


def _call(command: list[str], work: Path) -> tuple[int, str]:
    return call_tool(command, work, _SECONDS, _unusable)


def _unusable(reason: str) -> ToolchainError:
    return ToolchainError("PO0514", reason, hint="set CUDA_HOME to a working CUDA toolkit")


_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '\w+'")
_FRAME = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)  # fmt: skip
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def read_report(log: str) -> dict[str, Resources]:
    """Return what each kernel takes; a kernel without `smem` takes no shared memory."""
    found: dict[str, Resources] = {}
    entry: str | None = None
    for line in log.splitlines():
        head = _ENTRY.search(line)
        if head is not None:
            entry = head[1]
            found[entry] = Resources(entry)
        if entry is None:
            continue
        frame, used, shared = _FRAME.search(line), _USED.search(line), _SHARED.search(line)
        if frame is not None:
            stack, stores, loads = (int(number) for number in frame.groups())
            found[entry] = replace(
                found[entry], stack=stack, spill_stores=stores, spill_loads=loads
            )
        if used is not None:
            taken = 0 if shared is None else int(shared[1])
            found[entry] = replace(found[entry], registers=int(used[1]), shared=taken)
    return found
