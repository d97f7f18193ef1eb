"""The machine: GPUs as nvidia-smi and polyopt see them, and the libraries to compare with.

In: nothing.  Out: `Devices`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bench.process import ROOT

_LIBRARIES = ("cupy", "cupy-cuda13x", "cupy-cuda12x", "torch", "triton")
_QUERY = (
    "name,driver_version,memory.total,memory.used,clocks.sm,clocks.mem,power.limit,temperature.gpu"
)


@dataclass(frozen=True, slots=True)
class Devices:
    """What can be run on: the targets that have a device, and all that is known, as JSON."""

    targets: frozenset[str]
    record: dict[str, Any]
    missing: tuple[str, ...]


def devices() -> Devices:
    """Look at the machine."""
    command = [sys.executable, "-m", "polyopt", "devices", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    known = json.loads(done.stdout)
    usable = [device for device in known["devices"] if not device["fault"]]
    record = {
        "devices": usable,
        "tools": known["tools"],
        "libraries": {name: found for name in _LIBRARIES if (found := _version(name))},
        "nvidia-smi": nvidia_smi(),
    }
    targets = frozenset(device["target"] for device in usable)
    missing = tuple(f"{thing['reason']}; {thing['fix']}" for thing in known["missing"])
    return Devices(targets, record, missing)


def nvidia_smi() -> list[dict[str, str]]:
    """Return what nvidia-smi says of each GPU."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, f"--query-gpu={_QUERY}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    names = _QUERY.split(",")
    lines = [line.split(", ") for line in done.stdout.splitlines() if done.returncode == 0]
    return [dict(zip(names, values, strict=True)) for values in lines if len(values) == len(names)]


def show_machine(found: Devices) -> str:
    """Return the machine as text."""
    lines = [
        ", ".join(f"{name} {value}" for name, value in gpu.items())
        for gpu in found.record["nvidia-smi"]
    ]
    lines += [f"{d['target']} device {d['number']}: {d['name']}" for d in found.record["devices"]]
    lines += [f"found: {tool}" for tool in found.record["tools"]]
    lines += [f"found: {name} {value}" for name, value in found.record["libraries"].items()]
    lines += [f"missing: {reason}" for reason in found.missing]
    if "cuda" not in found.targets:
        lines.append("There is no CUDA device here: what needs one is left out.")
    return "\n".join(lines)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
