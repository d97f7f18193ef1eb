"""`polyopt export --target cuda`: the host's part, run under a stand-in for CUDA's runtime.

The stand-in runs the threads of a launch one after the other: kernels here have no barriers.
"""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest

PROGRAM = """
import polyopt as po


@po.kernel(schedule="tile(L1, 64); threads(L1.point[0]); grid(L1.tile[0]); "
                    "tile(L2, 64); threads(L2.point[0]); grid(L2.tile[0])")
def heat(u: po.f64["N"], v: po.f64["N"], a: float, steps: int):
    for t in range(steps):
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i] + a * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        for i in range(1, u.shape[0] - 1):
            u[i] = v[i]


def inverse(x: po.f32["N,M"]):
    y = x.copy()
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            assert x[i, j] != 0, "a zero"
            y[i, j] = 1 / x[i, j]
    return y


def above(x: po.f64["N"]):
    return x[x > 0.5]
"""
RUNTIME = """
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#define __global__
#define __device__
#define __launch_bounds__(count)
struct uint3 { unsigned x, y, z; };
static uint3 threadIdx, blockIdx, gridDim;
typedef int cudaError_t;
enum { cudaSuccess, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
static int launches;
static const char *cudaGetErrorString(cudaError_t) { return "it failed"; }
static cudaError_t cudaMalloc(void **place, size_t bytes)
{
    *place = malloc(bytes);
    if (*place != NULL)
        memset(*place, 0xAB, bytes);
    return *place == NULL;
}
static cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int)
{
    memcpy(to, from, bytes);
    return 0;
}
static cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    memset(to, value, bytes);
    return 0;
}
static cudaError_t cudaFree(void *place) { free(place); return 0; }
static cudaError_t cudaGetLastError(void) { return getenv("PO_FAILS") != NULL; }
static cudaError_t cudaDeviceSynchronize(void) { return 0; }
#define PO_LAUNCH(kernel, X, Y, Z, threads, shared, ...) \\
    for (gridDim = { (unsigned)(X), (unsigned)(Y), (unsigned)(Z) }, blockIdx.z = 0; \\
         blockIdx.z < gridDim.z; blockIdx.z++) \\
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++) \\
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) \\
                for (threadIdx.x = 0; threadIdx.x < (threads); threadIdx.x++) \\
                    kernel(__VA_ARGS__)
"""
pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.machine,
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++"),
]


@pytest.fixture
def build(polyopt, tmp_path):
    """Return a function that exports a function and builds the program with the stand-in."""
    (tmp_path / "p.py").write_text(PROGRAM)
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "cuda_runtime.h").write_text(RUNTIME)

    def make(name: str) -> str:
        outcome = polyopt("export", f"p.py:{name}", "-o", "out", "--target", "cuda")
        assert outcome.code == 0, outcome.err
        assert f"nvcc -std=c++17 -O3 -arch=native --fmad=false {name}_host.cu" in outcome.err
        sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1", "-Wall"]
        for command in (
            ["g++", "-std=c++17", *sanitized, "-I../fake", "-x", "c++", "-c", f"{name}_host.cu",
             "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unknown-pragmas"],
            ["gcc", "-std=c11", *sanitized, "-c", f"{name}_main.c", "po_run.c", "po_files.c"],
            ["g++", *sanitized, f"{name}_host.o", f"{name}_main.o", "po_run.o", "po_files.o",
             "-o", name],
        ):  # fmt: skip
            done = subprocess.run(
                command, cwd=tmp_path / "out", capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        return f"out/{name}"

    return make


def run(program, tmp_path, **environment):
    return subprocess.run(
        [program, "given.npz", "-o", "made"], cwd=tmp_path, capture_output=True, text=True,
        check=False, env=environment,
    )  # fmt: skip


@pytest.mark.parametrize("n, steps", [(0, 3), (1, 1), (2, 2), (3, 1), (130, 5), (65, 0)])
def test_loops_of_the_host_around_launches(build, tmp_path, n, steps):
    program = build("heat")
    u, v = np.random.default_rng(n).random((2, n))
    np.savez(tmp_path / "given.npz", u=u, v=v, a=0.1, steps=steps)
    done = run(program, tmp_path)
    assert done.returncode == 0, done.stderr
    for _ in range(steps):
        v[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:]) if n > 2 else v[1:-1]
        u[1:-1] = v[1:-1]
    np.testing.assert_allclose(np.load(tmp_path / "made" / "u.npy"), u, rtol=1e-13)
    np.testing.assert_allclose(np.load(tmp_path / "made" / "v.npy"), v, rtol=1e-13)
    failed = run(program, tmp_path, PO_FAILS="1")
    assert (failed.returncode, "it failed" in failed.stderr) == (
        (5, True) if n > 1 and steps > 0 else (0, False)
    )


def test_results_and_faults(build, tmp_path, polyopt):
    program = build("inverse")
    x = np.random.default_rng(1).random((33, 70), np.float32) + np.float32(0.5)
    np.savez(tmp_path / "given.npz", x=x)
    assert run(program, tmp_path).returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "made" / "result.npy"), 1 / x)
    x[7, 5] = 0
    np.savez(tmp_path / "given.npz", x=x)
    done = run(program, tmp_path)
    assert done.returncode == 1
    assert "a zero" in done.stderr
    record = json.loads((tmp_path / "out" / "inverse.manifest.json").read_text())
    assert (record["language"], record["kernels"][0]["file"]) == ("cuda", "inverse_host.cu")
    assert polyopt("check", "out").code == 0


def test_a_host_that_reads_the_device_is_refused(polyopt, tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    outcome = polyopt("export", "p.py:above", "-o", "out", "--target", "cuda")
    assert outcome.code == 2
    assert "error[PO0640]: the host's part of `above` cannot be exported" in outcome.err
    assert polyopt("export", "p.py:inverse", "-o", "out", "--target", "opencl").code == 2
