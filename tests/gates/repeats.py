"""The same text from every process: `python -m tests.gates.repeats --count 20`.

In: how many workloads.  Out: those whose emitted C, CUDA or OpenCL depends on the seed of Python's
hashes or on the current directory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.gates.series import series
from workloads import registry

ROOT = Path(__file__).resolve().parent.parent.parent
SEEDS = ("0", "1", "2", "41", "4000000000")


def trial(number: int) -> str | None:
    """Emit all forms of one workload ten times, in processes of their own."""
    names = sorted(registry.names())
    name = names[number * 37 % len(names)]  # 37: an order that mixes the suites
    with tempfile.TemporaryDirectory() as folder:
        texts = {_emitted(name, seed, Path(at)) for seed in SEEDS for at in (ROOT, folder)}
    return None if len(texts) == 1 else f"{name}: {len(texts)} different texts"


def _emitted(name: str, seed: str, directory: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "digests.json"
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        arguments = ["--output", str(record), "--jobs", "1", "--level", "x86-64-v3"]
        subprocess.run(
            [sys.executable, "-m", "tests.digests", name, *arguments],
            cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return record.read_text()


if __name__ == "__main__":
    sys.exit(series("Emit the same in other processes.", trial, 5))
