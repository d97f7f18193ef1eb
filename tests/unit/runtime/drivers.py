"""Build C programs that call what kernels of a process share, and run them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from polyopt.runtime.build import NATIVE
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import Family, environment, find_compiler

OWN = Path(__file__).with_name("native")
SANITIZED = ("-O1", "-fsanitize=thread")


def build(name: str, directory: Path, *flags: str) -> Path:
    """Compile a driver with the process's files; skip where the compiler does not know a flag."""
    compiler = find_compiler(open_store())
    if compiler.family is not Family.GCC:
        pytest.skip("the calls are gcc's")
    common = [*compiler.command, "-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", *flags]
    common += ["-I", str(NATIVE)]

    def run(*arguments: str) -> None:
        done = subprocess.run([*common, *arguments], cwd=directory, env=environment(None),
                              capture_output=True, text=True, check=False)  # fmt: skip
        if done.returncode != 0 and flags:
            pytest.skip(f"{flags}: {done.stderr[:200]}")
        assert done.returncode == 0, done.stderr

    shared = [str(path) for path in sorted(NATIVE.glob("*.c"))]
    run("-fopenmp", "-c", str(OWN / f"{name}.c"), "-o", "driver.o")
    run(*shared, "driver.o", "-o", name, "-pthread")
    return directory / name


def said(driver: Path, *arguments: str, **own: str) -> str:
    """Return what a driver prints."""
    done = subprocess.run([str(driver), *arguments], env={**os.environ, **own}, capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("ThreadSanitizer cannot run here")
    return done.stdout + done.stderr
