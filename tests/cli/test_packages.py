"""`polyopt compile --package`: C projects build with the files, without Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from polyopt.artefact import digest_of

PROGRAM = """
def scaled(x: po.f64["N,M"], out: po.f64["N,M"], a: float):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = a * x[i, j]
"""
MAIN = """
#include <stdio.h>
#include "scaled.h"
int main(void)
{
    double x[6] = {1, 2, 3, 4, 5, 6}, out[6] = {0};
    int status = polyopt_scaled(2, 3, 10.0, x, out);
    printf("%d %g %g\\n", status, out[0], out[5]);
    return 0;
}
"""
NEEDS_CMAKE = pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
NEEDS_PKG_CONFIG = pytest.mark.skipif(shutil.which("pkg-config") is None, reason="no pkg-config")


@pytest.fixture
def package(polyopt, tmp_path):
    """Return the folder of a package; what runs there finds no Python."""
    (tmp_path / "p.py").write_text(f"import polyopt as po\n{PROGRAM}")
    outcome = polyopt("compile", "p.py:scaled", "-o", "out", "--package")
    assert outcome.code == 0, outcome.err
    (tmp_path / "main.c").write_text(MAIN)
    return tmp_path / "out"


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a command with an environment without Python."""
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cc", "gcc", "cmake", "make", "ninja", "pkg-config", "sh", "ld", "as", "ar",
                 "ranlib", "uname", "true"):  # fmt: skip
        if (found := shutil.which(name)) is not None:
            (tools / name).symlink_to(found)

    def call(*command: str, **environment: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env={**kept, "PATH": str(tools), **environment},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert not any((tools / name).exists() for name in ("python", "python3", "polyopt"))
    return call


def test_a_package_has_a_manifest(package):
    record = json.loads((package / "scaled.manifest.json").read_text())
    assert [kernel["entry"] for kernel in record["kernels"]] == ["polyopt_scaled"]
    assert set(record["files"]) == {
        "scaled.c", "scaled.h", "scaled.schedule.txt", "scaled.certificate.json", "scaled.pc",
        "scaledConfig.cmake", "CMakeLists.txt",
    }  # fmt: skip
    for name, digest in record["files"].items():
        assert digest_of((package / name).read_text()) == digest


def test_a_package_is_checked_as_other_files(package, polyopt):
    assert polyopt("check", "out").code == 0


@pytest.mark.toolchain
@NEEDS_PKG_CONFIG
def test_a_project_builds_with_pkg_config(package, run, tmp_path):
    where = {"PKG_CONFIG_PATH": str(package)}
    sources = run("pkg-config", "--variable=sources", "scaled", **where).split()
    flags = run("pkg-config", "--cflags", "--libs", "scaled", **where).split()
    run("gcc", "-std=c11", "-O2", "-fopenmp", "main.c", *sources, *flags, "-o", "program")
    assert run(str(tmp_path / "program")) == "0 10 60\n"


@pytest.mark.toolchain
@NEEDS_CMAKE
@pytest.mark.parametrize(
    "how", ["find_package(scaled CONFIG REQUIRED PATHS out)", "add_subdirectory(out)"]
)
def test_a_project_builds_with_cmake(package, run, tmp_path, how):
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.13)
project(demo LANGUAGES C)
{how}
add_executable(program main.c)
target_link_libraries(program PRIVATE scaled::scaled)
""")
    run("cmake", "-S", ".", "-B", "build")
    run("cmake", "--build", "build")
    assert run(str(tmp_path / "build" / "program")) == "0 10 60\n"


@pytest.mark.toolchain
@NEEDS_CMAKE
def test_a_package_is_installed(package, run, tmp_path):
    run("cmake", "-S", "out", "-B", "made", "-DCMAKE_INSTALL_PREFIX=installed")
    run("cmake", "--build", "made")
    run("cmake", "--install", "made", "--prefix", str(tmp_path / "installed"))
    user = tmp_path / "user"
    user.mkdir()
    shutil.copy(tmp_path / "main.c", user)
    (user / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.13)
project(demo LANGUAGES C)
find_package(scaled CONFIG REQUIRED)
add_executable(program main.c)
target_link_libraries(program PRIVATE scaled::scaled)
""")
    run("cmake", "-S", "user", "-B", "used", f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}")
    run("cmake", "--build", "used")
    assert run(str(tmp_path / "used" / "program")) == "0 10 60\n"


def test_packages_are_directories_of_c(polyopt, tmp_path):
    (tmp_path / "p.py").write_text(f"import polyopt as po\n{PROGRAM}")
    assert polyopt("compile", "p.py:scaled", "-o", "-", "--package").code == 2
    outcome = polyopt("compile", "p.py:scaled", "-o", "out", "--package", "--target", "cuda")
    assert outcome.code == 2
    assert "driven by Python" in outcome.err
