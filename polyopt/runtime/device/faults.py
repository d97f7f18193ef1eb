"""The errors of devices and their compilers.

In: what was found where.  Out: coded errors, with the line of the text where there is one.
"""

from __future__ import annotations

import re

from polyopt.dataclass import dataclass
from polyopt.errors import BudgetError, PolyoptError, ToolchainError, UsageError

_PLACES = (
    re.compile(
        r"^[^\s(][^(\n]*\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.*)$"
    ),
    re.compile(r"^[^\s(][^(\n]*\((?P<line>\d+)\): (?P<text>warning(?: #[\w-]+)?: .*)$"),
    re.compile(r"^ptxas [^;\n]*; (?P<text>(?:error|fatal) *:.*)$"),  # its lines are PTX's
    re.compile(r"^(?P<text>ptxas +(?:error|fatal|warning) *:.*)$"),
    re.compile(r"^error: [^\n]*?:(?P<line>\d+):(?P<column>\d+): (?P<text>.*)$"),
    re.compile(r"^[^\n]*?:(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<text>.*)$"),
)


_UNKNOWN_ARCH = re.compile(r"Unsupported gpu architecture|invalid value for --gpu-architecture")


_SHARED = re.compile(
    r"function '(?P<entry>\w+)' uses too much shared data "
    r"\((?P<wanted>0x[0-9a-f]+) bytes, (?P<allowed>0x[0-9a-f]+) max\)"
)


_MOST = 3  # complaints that are shown


@dataclass(frozen=True, slots=True)
class Complaint:
    """One error of a compiler: its words, and the line and column, from 1, that it names."""

    text: str
    line: int | None = None
    column: int | None = None


def complaints(log: str) -> tuple[Complaint, ...]:
    """Return the errors in a compiler's output: nvcc's, NVRTC's, ptxas' or clang's."""
    found: list[Complaint] = []
    for line in log.splitlines():
        for pattern in _PLACES:
            match = pattern.match(line.rstrip())
            if match is not None:
                facts = match.groupdict()
                line_number, column = (_number(facts.get(name)) for name in ("line", "column"))
                found.append(Complaint(facts["text"].strip(), line_number, column))
                break
    return tuple(found)


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def compile_failure(compiler: str, text: str, log: str) -> PolyoptError:
    """Return the error of a text that a device's compiler refused."""
    shared = _SHARED.search(log)
    if shared is not None:
        return ToolchainError(
            "PO0517",
            f"kernel `{shared['entry']}` needs {int(shared['wanted'], 16)} bytes of shared memory "
            f"a block; the device allows {int(shared['allowed'], 16)}",
            hint="use smaller tiles, or pack fewer arrays into shared memory",
        )
    if _UNKNOWN_ARCH.search(log):
        return ToolchainError(
            "PO0514",
            f"{compiler}: the compiler does not know this architecture",
            hint="install a CUDA toolkit that is as new as the device, and set CUDA_HOME to it",
        )
    found = complaints(log)
    lines = text.splitlines()
    notes: list[str] = []
    for complaint in sorted(found, key=_is_warning)[:_MOST]:
        notes += _show(complaint, lines)
    if not notes:
        notes = [line.strip()[:200] for line in log.splitlines() if line.strip()][:_MOST]
    return ToolchainError(
        "PO0515",
        f"{compiler} refused the emitted text",
        notes=tuple(notes),
        hint='report this with the program; `target="c"` works without a device',
    )


def _is_warning(complaint: Complaint) -> bool:
    return "warning" in complaint.text.partition(":")[0]


def _show(complaint: Complaint, lines: list[str]) -> list[str]:
    number = complaint.line
    if number is None or not 1 <= number <= len(lines):
        return [complaint.text[:200]]
    return [f"line {number}: {complaint.text[:200]}", f"    {lines[number - 1].strip()[:200]}"]


def out_of_memory(device: str, wanted: int) -> BudgetError:
    """Return the error of memory that a device does not have."""
    return BudgetError(
        "PO0707",
        f"{device} has no {wanted} bytes of memory",
        hint="use smaller arrays, or free what other programs keep on the device",
    )


def device_failed(device: str, doing: str, reason: str) -> ToolchainError:
    """Return the error of a device that did not do what it was asked for."""
    return ToolchainError(
        "PO0519",
        f"{device} failed at {doing}: {reason[:300]}",
        hint="after a failed kernel the process must start anew; "
        '`device="emulated"` runs CUDA text on the CPU and says where it goes wrong',
    )


def forked(device: str) -> ToolchainError:
    """Return the error of a process that got a device from the one it was forked from."""
    return ToolchainError(
        "PO0519",
        f"{device} was opened by the process that this one was forked from",
        hint='start processes anew: `multiprocessing.get_context("spawn")`',
    )


def no_driver(reason: str) -> ToolchainError:
    """Return the error of a machine without an NVIDIA device or its driver."""
    return ToolchainError(
        "PO0510",
        f"there is no CUDA device: {reason}",
        hint='install the NVIDIA driver; without a device, `device="emulated"` runs the CUDA text '
        'on the CPU, and `target="opencl"` runs on PoCL',
    )


def no_platform(reason: str) -> ToolchainError:
    """Return the error of a machine without an OpenCL device."""
    return ToolchainError(
        "PO0511",
        f"there is no OpenCL device: {reason}",
        hint='PoCL runs OpenCL on the CPU: `pip install "polyopt[opencl]"`, or the package '
        "pocl-opencl-icd",
    )


def no_package(reason: str, extra: str) -> ToolchainError:
    """Return the error of a Python package that is missing or does not load."""
    return ToolchainError(
        "PO0512",
        f"devices cannot be reached: {reason}",
        hint=f'`pip install "polyopt[{extra}]"`',
    )


def no_device(wanted: object, names: tuple[str, ...]) -> UsageError:
    """Return the error of a device that is not among those found."""
    listed = "; ".join(f"{number}: {name}" for number, name in enumerate(names))
    return UsageError(
        "PO0513",
        f"there is no device {wanted!r}",
        notes=(f"found: {listed}",) if listed else (),
        hint="choose one by its number or a part of its name; `polyopt devices` lists them",
    )
