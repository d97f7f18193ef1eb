"""What the kernels of a CUDA text take on the architectures that are supported.

In: CUDA text.  Out: `Taken` for each architecture and kernel, from the cache where known.
Refuses: no compiler (PO0514), text that does not compile or only with warnings (PO0515), too much
shared memory (PO0517).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from polyopt.dataclass import dataclass
from polyopt.runtime.device.compile import CudaCompiler, compile_cuda, find_cuda_compiler
from polyopt.runtime.device.faults import compile_failure, complaints
from polyopt.runtime.device.provider import Resources
from polyopt.runtime.store import Store

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Taken:
    """What one kernel takes on one architecture."""

    arch: str
    resources: Resources

    @property
    def spills(self) -> int:
        """Bytes that a thread writes to and reads from memory for want of registers."""
        return (self.resources.spill_stores or 0) + (self.resources.spill_loads or 0)


def resources_of(
    text: str,
    entries: tuple[str, ...],
    flags: tuple[str, ...] = (),
    *,
    architectures: tuple[str, ...] = ARCHITECTURES,
    compiler: CudaCompiler | None = None,
    store: Store | None = None,
) -> tuple[Taken, ...]:
    """Compile `text`, every warning an error, and return what its kernels take, in their order."""
    chosen = find_cuda_compiler() if compiler is None else compiler

    def rows(arch: str) -> tuple[Taken, ...]:
        given = (*flags, *chosen.strict)
        cubin = compile_cuda(chosen, text, arch, given, store=store)
        if complaints(cubin.log):
            raise compile_failure(f"{chosen.identity.split()[0]} for {arch}", text, cubin.log)
        known = cubin.resources
        return tuple(Taken(arch, known.get(entry, Resources(entry))) for entry in entries)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return tuple(row for each in pool.map(rows, architectures) for row in each)


def show_taken(taken: tuple[Taken, ...]) -> tuple[str, ...]:
    """Return a line for each kernel and for all architectures on which it takes the same."""
    groups: dict[Resources, list[str]] = {}
    for row in taken:
        groups.setdefault(row.resources, []).append(row.arch)
    order = list(dict.fromkeys(row.resources.entry for row in taken))
    listed = sorted(groups.items(), key=lambda group: order.index(group[0].entry))
    return tuple(f"{found.entry}: {', '.join(names)}: {_show(found)}" for found, names in listed)


def _show(found: Resources) -> str:
    if found.registers is None:
        return "the compiler says nothing"
    spills = "no spills"
    if found.spill_stores or found.spill_loads:
        spills = f"spills {found.spill_stores or 0} bytes out, {found.spill_loads or 0} in"
    stack = f", {found.stack} bytes of stack" if found.stack else ""
    return (
        f"{found.registers} registers, {found.shared or 0} bytes of shared memory, {spills}{stack}"
    )
