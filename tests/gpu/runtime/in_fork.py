"""Uses an OpenCL device in a forked process; run by test_opencl.py, in a process of its own."""

from __future__ import annotations

import os
import sys

import numpy as np

from polyopt.errors import ToolchainError
from polyopt.runtime.device.choose import DeviceTarget, choose_provider

TEXT = "__kernel void k(__global float *a) { a[get_global_id(0)] = 1; }"


def main() -> int:
    device = choose_provider(DeviceTarget.OPENCL)
    module = device.compile(TEXT, ("k",))
    buffer = device.alloc(32)
    values = np.zeros(8, np.float32)
    device.launch(module, "k", (1, 1, 1), (8, 1, 1), (buffer,))
    device.synchronize()
    child = os.fork()
    uses = (
        lambda: device.alloc(8),
        lambda: device.launch(module, "k", (1, 1, 1), (8, 1, 1), (buffer,)),
        lambda: device.upload(buffer, values),
        lambda: device.download(buffer, values),
        lambda: device.compile(TEXT, ("k",)),
        device.synchronize,
    )
    if child == 0:
        device.free(buffer)
        for use in uses:
            try:
                use()
            except ToolchainError as error:
                if error.code == "PO0519" and "spawn" in (error.hint or ""):
                    continue
            return 1
        return 0
    _, status = os.waitpid(child, 0)
    device.download(buffer, values)
    return os.waitstatus_to_exitcode(status) or int(not (values == 1).all())


if __name__ == "__main__":
    sys.exit(main())
