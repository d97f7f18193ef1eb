"""What ptxas says a kernel takes.

In: the output of nvcc or NVRTC with `-v` for ptxas.  Out: `Resources` by kernel.
"""

from __future__ import annotations

import re

from polyopt.dataclass import replace
from polyopt.runtime.device.provider import Resources

_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '\w+'")
_FRAME = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)  # fmt: skip
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def read_report(log: str) -> dict[str, Resources]:
    """Return what each kernel takes; a kernel without `smem` takes no shared memory."""
    found: dict[str, Resources] = {}
    entry: str | None = None
    for line in log.splitlines():
        head = _ENTRY.search(line)
        if head is not None:
            entry = head[1]
            found[entry] = Resources(entry)
        if entry is None:
            continue
        frame, used, shared = _FRAME.search(line), _USED.search(line), _SHARED.search(line)
        if frame is not None:
            stack, stores, loads = (int(number) for number in frame.groups())
            found[entry] = replace(
                found[entry], stack=stack, spill_stores=stores, spill_loads=loads
            )
        if used is not None:
            taken = 0 if shared is None else int(shared[1])
            found[entry] = replace(found[entry], registers=int(used[1]), shared=taken)
    return found
