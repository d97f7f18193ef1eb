"""What nvcc says of the programs' kernels on sm_75, sm_80 and sm_90; warnings are errors.

In: the programs.  Out: a row a kernel and architecture.  Needs no GPU.
"""

from __future__ import annotations

import polyopt as po
from bench.gpu.programs import PROGRAMS, Program
from bench.gpu.stages import say, seconds_left
from polyopt.errors import PolyoptError
from polyopt.ir.host import DeviceProgram
from polyopt.runtime.device.compile import find_cuda_compiler
from polyopt.runtime.device.resources import resources_of
from polyopt.runtime.store import open_store


def report(program: Program) -> None:
    """Print what the kernels of one program take."""
    kernel = po.kernel(target="cuda", device="emulated", fp=program.fp)(program.function)
    compiled = kernel.compile(*program.make(8, 8).values())
    stages = compiled.stages
    source = stages.source
    assert isinstance(source, DeviceProgram)
    entries = source.source.entries
    names = tuple(entry.name for entry in entries)
    threads = {entry.name: entry.threads for entry in entries}
    for taken in resources_of(source.text, names, source.source.flags, store=open_store()):
        found = taken.resources
        say(kernel=found.entry, arch=taken.arch, threads=threads[found.entry],
            registers=found.registers, shared=found.shared, spills=taken.spills)  # fmt: skip


def main() -> None:
    """Report all programs; where there is no compiler, say so."""
    try:
        find_cuda_compiler()
    except PolyoptError as error:
        say(kernel="none", left_out=error.message)
        return
    for program in PROGRAMS:
        if seconds_left() <= 0:
            return
        try:
            report(program)
        except Exception as error:
            say(kernel=program.name, wrong=f"{type(error).__name__}: {error}"[:600])


if __name__ == "__main__":
    main()
