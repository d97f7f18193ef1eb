"""Sample projects ship an emitted kernel: wheels are built, and used without polyopt.

`projects/` holds one for each build system, as docs/emitted-c.md shows them.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BACKENDS = {
    "setuptools": "setuptools",
    "scikit-build-core": "scikit_build_core",
    "meson-python": "mesonpy",
}
USE = """
import sys
import numpy as np
import demo

assert "polyopt" not in sys.modules
x = np.arange(6.0).reshape(2, 3)
assert (demo.scaled(x, 10.0) == 10.0 * x).all()
try:
    import polyopt
except ImportError:
    print("used without polyopt")
"""


def has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def files(name: str) -> list[Path]:
    return sorted(path for path in (HERE / "projects" / name).rglob("*") if path.is_file())


@pytest.mark.toolchain
@pytest.mark.parametrize("name", BACKENDS)
def test_a_wheel_has_the_kernel(name, tmp_path):
    needed = ["pip", BACKENDS[name]]
    if name == "setuptools" and not has_module("setuptools.command.bdist_wheel"):
        needed.append("wheel")  # which older versions make wheels with
    missing = [module for module in needed if not has_module(module)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    project = tmp_path / "project"
    shutil.copytree(HERE / "projects" / name, project)
    where = f"{HERE / 'scaled.py'}:scaled"
    command = [sys.executable, "-m", "polyopt", "compile", where, "-o", "kernel", "--package"]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    wheels = tmp_path / "wheels"
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "."]
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*build, "-w", str(wheels)], cwd=project, env={**os.environ, "PATH": tools},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (wheel,) = wheels.iterdir()
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    assert any(path.suffix == ".so" for path in (installed / "demo").iterdir())
    import numpy

    home = Path(numpy.__file__).parent
    for path in home.parent.glob("numpy*"):  # NumPy, and nothing else of this environment
        (installed / path.name).symlink_to(path)
    command = [sys.executable, "-I", "-S", "-c", f"import sys\nsys.path[:0] = [{str(installed)!r}]"]
    command[-1] += USE
    used = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert used.stdout == "used without polyopt\n", used.stderr


@pytest.mark.parametrize("name", BACKENDS)
def test_the_documentation_shows_the_project(name):
    page = (HERE.parent.parent / "docs" / "emitted-c.md").read_text(encoding="utf-8")
    for path in files(name):
        if path.name != "pyproject.toml":
            assert path.read_text(encoding="utf-8").strip() in page, path.name
