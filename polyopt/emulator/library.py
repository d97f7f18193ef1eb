"""A library built for the emulator, loaded: its memory, its kernels, what its run time found.

In: a `Built`, memory, launches.  Out: `Finding`s.
Refuses: more arrays, blocks or memory to watch than it can hold (PO0707); files that do not load
(PO0503).
"""

from __future__ import annotations

import _ctypes
import ctypes
import mmap
import re
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from enum import IntEnum, unique
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.emulator.build import Built, lines_at
from polyopt.emulator.findings import Actor, Finding, FindingKind, Line
from polyopt.errors import ToolchainError
from polyopt.runtime.device.faults import out_of_memory
from polyopt.runtime.device.provider import Extent3
from polyopt.runtime.store import Store

_WORDS = (
    "kind", "area", "offset", "address", "size", "times",
    "place", "call", "line", "thread", "block_x", "block_y", "block_z",
    "then_place", "then_call", "then_line", "then_thread", "then_block_x", "then_block_y",
    "then_block_z", "has_then",
)  # fmt: skip
_FACTS = 4
_MOST_BLOCKS = 1 << 26  # of a launch; each takes so many bytes:
_BLOCK_BYTES = 4
_STATIC, _DYNAMIC_AREA = 1, 2
_GLOBAL, _SHARED_KIND = 0, 1
_CONSEQUENCES = (FindingKind.UNSET_SHARED, FindingKind.UNSET_GLOBAL)  # mostly of other faults
RUNNING = threading.RLock()
"""Held while a kernel runs: all libraries share stacks, and how signals are handled."""

FIRST_BUFFER = 16
"""Numbers of memory from here on are buffers'; those before it belong to a library itself."""


@unique
class Order(IntEnum):
    """In which order the blocks, and the threads of a block, get their turns."""

    FORWARD = 0
    BACKWARD = 1
    SHUFFLED = 2


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory that kernels may touch: so many first bytes of it are `known` to be set."""

    number: int
    address: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One launch: how far it goes, in which order, and what is looked for."""

    grid: Extent3
    block: Extent3
    shared: int
    order: Order
    seed: int
    seconds: float
    checks: bool
    unset: bool


class _Entry(ctypes.Structure):
    _fields_ = (
        ("call", ctypes.c_void_p),
        ("count", ctypes.c_int),
        ("sizes", ctypes.POINTER(ctypes.c_ubyte)),
        ("kinds", ctypes.c_char_p),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A kernel: its address, and the size and kind (p, i, f, o) of each parameter."""

    name: str
    address: int
    sizes: tuple[int, ...]
    kinds: str
    params: tuple[str, ...]


class Library:
    """One copy of a library, with a run time of its own."""

    def __init__(self, built: Built, text: str, entries: Sequence[str], store: Store) -> None:
        self._built = built
        self._lines = text.split("\n")
        self._native = _load(built.image, store)
        weakref.finalize(self, _unload, self._native)
        for function in ("pe_findings_count", "pe_area_near", "pe_area_start", "pe_stack_bytes"):
            getattr(self._native, function).restype = ctypes.c_uint64
        self._watched: dict[int, int] = {}  # known bytes by number
        self._dynamic = 0
        self.entries = {name: self._entry(name, text) for name in entries}
        self._native.pe_areas_own()

    def _entry(self, name: str, text: str) -> Entry:
        found = _Entry.in_dll(self._native, f"pe_entry_{name}")
        sizes = tuple(found.sizes[k] for k in range(found.count))
        names = _parameters(text, name)
        if len(names) != found.count:
            names = tuple(f"argument {k}" for k in range(found.count))
        return Entry(name, int(found.call or 0), sizes, (found.kinds or b"").decode(), names)

    def shared(self, entry: str) -> int:
        """Return how many bytes of shared memory a kernel itself declares."""
        return self._built.shared(entry)

    def _add(self, memory: Memory, known: int, kind: int) -> None:
        words = [ctypes.c_uint64(v) for v in (memory.address, memory.nbytes, memory.number, known)]
        if not self._native.pe_area_add(*words, ctypes.c_uint32(kind)):
            raise out_of_memory("the emulator", memory.nbytes)

    def rest(self) -> None:
        """Allow the next launch no memory but what is watched from now on."""
        self._native.pe_areas_rest()

    def watch(self, memory: Memory, known: int) -> None:
        """Allow accesses of `memory`, whose first `known` bytes are set."""
        before = self._watched.get(memory.number)
        if before is None:
            self._add(memory, known, _GLOBAL)
        else:
            self._native.pe_area_use(ctypes.c_uint64(memory.number), ctypes.c_uint64(known))
        self._watched[memory.number] = max(known, before or 0)

    def forget(self, number: int) -> None:
        """Allow no more accesses of that memory."""
        if self._watched.pop(number, None) is not None:
            self._native.pe_area_remove(ctypes.c_uint64(number))

    def launch(self, entry: Entry, addresses: Sequence[int], turn: Turn) -> None:
        """Run a kernel whose arguments lie at `addresses`."""
        stacks = _stacks(self._native.pe_stack_bytes())
        if not self._native.pe_stacks(ctypes.c_void_p(ctypes.addressof(stacks))):
            raise out_of_memory("the emulator", ctypes.sizeof(stacks))
        self._make_dynamic(turn.shared)
        given = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        numbers = (
            *turn.grid, *turn.block, int(turn.order), turn.seed,
            max(1, int(turn.seconds * 1000)), int(turn.checks),
            int(turn.unset),
        )  # fmt: skip
        settings = (ctypes.c_uint64 * len(numbers))(*numbers)
        blocks = prod(turn.grid)
        few = blocks <= _MOST_BLOCKS
        if not few or not self._native.pe_launch(ctypes.c_void_p(entry.address), given, settings):
            raise out_of_memory("the emulator", _BLOCK_BYTES * blocks)

    def _make_dynamic(self, nbytes: int) -> None:
        if nbytes == self._dynamic:
            return
        if self._dynamic:
            self._native.pe_area_remove(ctypes.c_uint64(_DYNAMIC_AREA))
        if nbytes:
            start = ctypes.addressof(ctypes.c_char.in_dll(self._native, "pe_dynamic_memory"))
            memory = Memory(_DYNAMIC_AREA, start, nbytes)
            self._add(memory, 0, _SHARED_KIND)
        self._dynamic = nbytes

    def findings(self, entry: Entry, block: Extent3, names: Mapping[int, str]) -> list[Finding]:
        """Return what the last launch showed; `names` are those of memory by its number."""
        reports: list[dict[str, int]] = []
        for number in range(self._native.pe_findings_count()):
            words = (ctypes.c_int64 * (len(_WORDS) + _FACTS))()
            self._native.pe_findings_get(ctypes.c_uint64(number), words)
            report = dict(zip(_WORDS, words[: len(_WORDS)], strict=True))
            report.update({f"fact{k}": words[len(_WORDS) + k] for k in range(_FACTS)})
            reports.append(report)
        places = self._places(reports)
        found = [self._finding(entry, report, block, names, places) for report in reports]
        return sorted(found, key=lambda finding: finding.kind in _CONSEQUENCES)

    def _places(self, reports: list[dict[str, int]]) -> dict[int, tuple[str, int]]:
        keys = ("place", "call", "then_place", "then_call")
        offsets = [report[key] for report in reports for key in keys]
        if not any(offsets):
            return {}
        with tempfile.TemporaryDirectory(prefix="polyopt-") as directory:
            image = Path(directory) / "kernel.so"
            image.write_bytes(self._built.image)
            return lines_at(image, offsets)

    def _finding(
        self,
        entry: Entry,
        report: dict[str, int],
        block: Extent3,
        names: Mapping[int, str],
        places: dict[int, tuple[str, int]],
    ) -> Finding:
        kind = FindingKind(report["kind"])
        facts = (report["fact0"], report["fact1"], report["fact2"], report["fact3"])
        array_type = ""
        if kind is FindingKind.ARRAY_INDEX and facts[1]:
            array_type = ctypes.string_at(facts[1]).decode("utf-8", "replace").strip("'")
        return Finding(
            kind,
            self._actor(entry, report, "", block, places),
            self._name(entry, report, names),
            report["size"],
            report["times"],
            self._actor(entry, report, "then_", block, places) if report["has_then"] else None,
            facts,
            array_type,
        )

    def _actor(
        self,
        entry: Entry,
        report: dict[str, int],
        who: str,
        block: Extent3,
        places: dict[int, tuple[str, int]],
    ) -> Actor:
        function, number = places.get(report[f"{who}place"], ("", report[f"{who}line"]))
        call = places.get(report[f"{who}call"])
        if call is not None and call[1] and function not in ("", entry.name):
            number = call[1]  # inside a helper function: the line of its call
        shown = self._lines[number - 1].strip() if 0 < number <= len(self._lines) else ""
        at = report[f"{who}thread"]
        thread = (at % block[0], at // block[0] % block[1], at // block[0] // block[1])
        position = tuple(report[f"{who}block_{axis}"] for axis in "xyz")
        return Actor(Line(number, shown), (position[0], position[1], position[2]), thread)

    def _name(self, entry: Entry, report: dict[str, int], names: Mapping[int, str]) -> str:
        area, offset = report["area"], report["offset"]
        if area == _STATIC:
            for array in self._built.arrays:
                if array.start <= offset < array.start + array.size:
                    return f"byte {offset - array.start} of shared `{array.name}`"
        if area in (_STATIC, _DYNAMIC_AREA):
            return f"byte {offset} of shared memory"
        if area >= FIRST_BUFFER:
            return f"byte {offset} of {names.get(area, 'an array of another kernel')}"
        return _near(report["address"], names, self._nearby(report["address"]))

    def _nearby(self, address: int) -> tuple[int, int] | None:
        """Return number and offset of the buffer whose end, or start, an address is close to."""
        number = self._native.pe_area_near(ctypes.c_uint64(address))
        if not number:
            return None
        return number, address - int(self._native.pe_area_start(ctypes.c_uint64(number)))


@cache
def _stacks(nbytes: int) -> ctypes.Array[ctypes.c_char]:
    """Return memory for the stacks of a block's threads, whatever library they are of."""
    try:
        memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise out_of_memory("the emulator", nbytes) from None
    return (ctypes.c_char * nbytes).from_buffer(memory)


def _load(image: bytes, store: Store) -> Any:  # noqa: ANN401
    """Load a library from a file of its own: the same one loaded twice is one library."""
    try:
        with store.staging() as work:
            (work / "kernel.so").write_bytes(image)
            return ctypes.CDLL(str(work / "kernel.so"))
    except OSError as error:
        raise ToolchainError(
            "PO0503",
            f"a library for the emulator cannot be loaded: {error}",
            hint="if the cache directory is mounted noexec or full, set POLYOPT_CACHE_DIR",
        ) from None


def _unload(native: Any) -> None:  # noqa: ANN401
    """Give back what a library that nobody uses any more holds."""
    with RUNNING:
        native.pe_areas_end()
        _ctypes.dlclose(native._handle)


def _near(address: int, names: Mapping[int, str], nearby: tuple[int, int] | None) -> str:
    if address == 0:
        return "no memory"
    if nearby is None:
        return f"address {address:#x}, which is no array's"
    number, offset = nearby
    name = names.get(number, "shared memory" if number < FIRST_BUFFER else "another array")
    return f"byte {offset} of {name}"


def _parameters(text: str, entry: str) -> tuple[str, ...]:
    """Return the names of a kernel's parameters."""
    match = re.search(rf"\b{re.escape(entry)}\s*\(([^()]*)\)\s*\{{", text)
    if match is None or not match[1].strip():
        return ()
    names = [re.search(r"(\w+)\s*$", part) for part in match[1].split(",")]
    return tuple(f"`{name[1]}`" if name else "an argument" for name in names)
