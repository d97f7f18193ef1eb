"""Where and with what a measurement was made.

In: the running machine.  Out: JSON values: date, commit, machine, compiler, versions.
"""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench import levels
from bench.baseline import compiler, flags
from bench.process import ROOT

VARIABLES = (
    "OMP_", "GOMP_", "KMP_", "OPENBLAS_", "MKL_", "BLIS_", "NUMBA_", "XLA_", "JAX_", "TORCH_",
    "ATEN_", "POLYOPT_MACHINE", "POLYOPT_BENCH_CLOCK", "MALLOC_", "GLIBC_TUNABLES",
    "LD_PRELOAD", "CFLAGS",
)  # fmt: skip


def describe() -> dict[str, Any]:
    """Return the environment of a run."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": {
            "cpu": _cpu(),
            "isa": levels.name(),
            "cores": len(os.sched_getaffinity(0)),
            "load": round(os.getloadavg()[0], 2),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "caches": caches(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "compiler": _output(compiler(), "--version").partition("\n")[0],
        "flags": list(flags()),
        "variables": variables(),
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in ("numpy", "islpy", "polyopt")},
        },
    }


def variables() -> dict[str, str]:
    """Return the variables of the environment that change how compilers and libraries work.

    Of paths, the last part alone.
    """
    found = sorted(os.environ.items())
    return {name: Path(text).name for name, text in found if name.startswith(VARIABLES)}


def _commit() -> str:
    if not (ROOT / ".git").exists():
        return f"release {_version('polyopt')}"  # which may lie in a checkout of something else
    commit = _output("git", "-C", str(ROOT), "rev-parse", "HEAD").strip()
    changed = _output("git", "-C", str(ROOT), "status", "--porcelain", "-uno").strip()
    return f"{commit} with changes" if changed else commit or "unknown"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    fields = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    name = fields.get("model name", platform.processor() or "unknown")
    numbers = [fields[key] for key in ("cpu family", "model") if key in fields]
    return f"{name} (family and model {' '.join(numbers)})" if numbers else name


def caches() -> dict[str, str]:
    """Return the sizes of the caches of a core, as the system writes them."""
    found: dict[str, str] = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level = (index / "level").read_text().strip()
        kind = (index / "type").read_text().strip().lower()
        found[f"L{level} {kind}"] = (index / "size").read_text().strip()
    return found


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""
