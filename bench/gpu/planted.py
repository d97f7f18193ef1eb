"""Small CUDA kernels, right or with one planted fault each, for compute-sanitizer.

In: the name of a tool and `right` or `wrong`, on the command line.  Out: nothing; run under the
tool, the wrong one must be reported and the right one must not.
"""

from __future__ import annotations

import sys

import numpy as np

from polyopt.runtime.device.choose import DeviceTarget, choose_provider
from polyopt.runtime.device.provider import Provider
from polyopt.runtime.store import open_store

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


def run(device: Provider, tool: str, kind: str) -> None:
    """Run one kernel once; initcheck's fault is memory that nobody has set."""
    right, wrong = _TEXTS[tool]
    module = device.compile(_HEAD + (wrong if kind == "wrong" else right), ("k",), ("-lineinfo",))
    buffer = device.alloc(4 * 64)
    if not (tool == "initcheck" and kind == "wrong"):
        device.upload(buffer, np.arange(64, dtype=np.float32))
    device.launch(module, "k", (1, 1, 1), (64, 1, 1), (buffer, np.int64(3)))
    device.synchronize()
    device.download(buffer, np.empty(64, np.float32))


if __name__ == "__main__":
    run(choose_provider(DeviceTarget.CUDA, store=open_store()), *sys.argv[1:])
