"""What `explain` says of kernels for devices: how they are launched, what they do and take.

In: a `Compilation` for a device.  Out: lines, and plain data; CUDA's compiler is asked where there
is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.errors import PolyoptError
from polyopt.ir.host import DeviceProgram
from polyopt.ir.showing import show
from polyopt.ir.source import DeviceSource, KernelEntry
from polyopt.report.launches import Launch, launches
from polyopt.runtime.device.occupancy import Occupancy, occupancy
from polyopt.runtime.device.resources import Taken, resources_of, show_taken
from polyopt.runtime.store import open_store

if TYPE_CHECKING:
    from polyopt.pipeline import Compilation


class Kernels:
    """The kernels of a compilation, and what the compiler says of them."""

    def __init__(self, compilation: Compilation) -> None:
        assert isinstance(compilation.source, DeviceProgram)
        self.source: DeviceSource = compilation.source.source
        self.launches = {
            one.name: one for one in launches(compilation.loops, compilation.schedules)
        }
        self.taken: tuple[Taken, ...] = ()
        self.refused: tuple[str, ...] = ()
        if self.source.language != "cuda" or not self.source.entries:
            return
        names = tuple(entry.name for entry in self.source.entries)
        try:
            self.taken = resources_of(
                self.source.text, names, self.source.flags, store=open_store()
            )  # fmt: skip
        except PolyoptError as error:
            self.refused = (f"not compiled: {error.message} [{error.code}]", *error.notes)

    def lines(self) -> tuple[str, ...]:
        """Return a heading a kernel with its facts below, and the compiler's report."""
        found: list[str] = []
        for entry in self.source.entries:
            found.append(_head(entry))
            known = self.launches.get(entry.kernel)
            found += [f"    {line}" for line in known.lines()] if known is not None else []
            held = self._occupancies(entry) if entry.threads > 1 else []
            found += [f"    at once on {one}" for one in held]
        return (*found, *self.refused, *show_taken(self.taken))

    def to_record(self) -> list[dict[str, Any]]:
        """Return the same as plain data."""
        return [self._record(entry) for entry in self.source.entries]

    def _record(self, entry: KernelEntry) -> dict[str, Any]:
        known: Launch | None = self.launches.get(entry.kernel)
        compiled = [
            {
                "arch": row.arch,
                "registers": row.resources.registers,
                "shared": row.resources.shared,
                "spill_bytes": row.spills,
            }
            for row in self.taken
            if row.resources.entry == entry.name
        ]
        held = [
            {"arch": one.arch, "blocks": one.blocks, "threads": one.threads, "limit": one.limit}
            for one in self._occupancies(entry)
        ]
        return {
            **(known.to_record() if known is not None else {"kernel": entry.kernel}),
            "entry": entry.name,
            "grid": [show(extent) for extent in entry.grid],
            "threads_of_a_block": entry.threads,
            "shared_bytes": entry.shared + entry.asked,
            "compiled": compiled,
            "occupancy": held,
        }

    def _occupancies(self, entry: KernelEntry) -> list[Occupancy]:
        """Return what is at once on a multiprocessor, as far as the compiler's report says."""
        rows = (row for row in self.taken if row.resources.entry == entry.name)
        found = (
            occupancy(row.arch, entry.threads, registers, (row.resources.shared or 0) + entry.asked)
            for row in rows
            if (registers := row.resources.registers) is not None
        )
        return [one for one in found if one is not None]


def _head(entry: KernelEntry) -> str:
    shared = entry.shared + entry.asked
    return (
        f"{entry.name}: grid ({', '.join(map(show, entry.grid))}), {entry.threads} "
        f"thread{'s' * (entry.threads != 1)} a block, {shared} bytes of shared memory"
    )
