"""What `explain` says of kernels for devices: how they are launched, and what they take.

In: a `DeviceProgram`.  Out: lines; CUDA's compiler is asked where there is one.
"""

from __future__ import annotations

from polyopt.errors import PolyoptError
from polyopt.ir.expr import show
from polyopt.ir.host import DeviceProgram
from polyopt.runtime.device.resources import resources_of, show_taken
from polyopt.runtime.store import open_store


def kernel_lines(program: DeviceProgram) -> tuple[str, ...]:
    """Return a line a kernel, and the compiler's report for each architecture."""
    source = program.source
    lines = [
        f"{entry.name}: grid ({', '.join(map(show, entry.grid))}), {entry.threads} "
        f"thread{'s' * (entry.threads != 1)} a block, {entry.shared} bytes of shared memory"
        for entry in source.entries
    ]
    if source.language != "cuda" or not source.entries:
        return tuple(lines)
    names = tuple(entry.name for entry in source.entries)
    try:
        taken = resources_of(source.text, names, source.flags, store=open_store())
    except PolyoptError as error:
        return (*lines, f"not compiled: {error.message} [{error.code}]", *error.notes)
    return (*lines, *show_taken(taken))
