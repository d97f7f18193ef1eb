"""Small CUDA kernels, right or with one planted fault each, for compute-sanitizer.

In: the name of a tool and whether there is to be a fault.  Out: text of a kernel `k(a, n)`, or a
program that runs it on 64 numbers.
"""

from __future__ import annotations

_HEAD = 'extern "C" __global__ void k(float *a, long long n) {\n'
_SHIFT = """\
    __shared__ float s[64];
    const int t = (int)threadIdx.x;
    s[t] = a[t];
    {barrier}
    a[t] = s[63 - t];
}}
"""
_WAIT = """\
    const int t = (int)threadIdx.x;
    if (t < {most}) __syncthreads();
    a[t] = (float)n;
}}
"""
_WRITE = "    a[(long long)threadIdx.x + {shift}] = (float)n;\n}}\n"
_COPY = "    const int t = (int)threadIdx.x;\n    a[t] = a[t] + (float)n;\n}}\n"
_TEXTS = {
    "memcheck": (_WRITE.format(shift="0"), _WRITE.format(shift="(1 << 24)")),
    "racecheck": (_SHIFT.format(barrier="__syncthreads();"), _SHIFT.format(barrier="")),
    "synccheck": (_WAIT.format(most=64), _WAIT.format(most=40)),
    "initcheck": (_COPY.format(), _COPY.format()),
}
TOOLS = tuple(_TEXTS)


_PROGRAM = """
#include <cuda_runtime.h>
int main() {{
    float *a, host[64];
    for (int i = 0; i < 64; ++i) host[i] = (float)i;
    if (cudaMalloc(&a, sizeof host) != cudaSuccess) return 2;
    if ({is_set}) cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
    k<<<1, 64>>>(a, 3);
    const cudaError_t status = cudaDeviceSynchronize();
    cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(a);
    return status == cudaSuccess ? 0 : 3;
}}
"""


def kernel(tool: str, *, faulty: bool) -> str:
    """Return the text of a kernel."""
    return _HEAD + _TEXTS[tool][faulty]


def is_set(tool: str, *, faulty: bool) -> bool:
    """Tell whether the numbers are written before; initcheck's fault is that they are not."""
    return not (tool == "initcheck" and faulty)


def program(tool: str, *, faulty: bool) -> str:
    """Return a whole program."""
    given = "true" if is_set(tool, faulty=faulty) else "false"
    return kernel(tool, faulty=faulty) + _PROGRAM.format(is_set=given)
