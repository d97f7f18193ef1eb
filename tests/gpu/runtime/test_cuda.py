"""The CUDA providers without a GPU: the real bindings on a driver of our own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import compiler

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the driver under its usual name, in a directory of its own."""
    if find_spec("cuda") is None:
        pytest.skip("cuda-bindings is not installed")
    found = compiler()
    if found is None:
        pytest.skip("no C compiler")
    directory = tmp_path_factory.mktemp("driver")
    library, name = directory / "libcuda.so.1", "-Wl,-soname,libcuda.so.1"
    flags = ("-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", name)
    subprocess.run([found, *flags, "-o", str(library), str(HERE / "driver.c"), "-ldl"], check=True)
    return directory


@pytest.mark.toolchain
@pytest.mark.parametrize("pools", [True, False])
def test_the_bindings_drive_a_device(driver: Path, pools: bool) -> None:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver)}
    environment.pop("WITHOUT_POOLS", None)
    if not pools:
        environment["WITHOUT_POOLS"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "tests.gpu.runtime.on_driver"],
        env=environment, cwd=HERE.parents[2], capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "done"
