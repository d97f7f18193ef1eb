"""What every device can do, and what a launch must fit into.

In: text, arrays, launches.  Out: the protocol `Provider` and the records it speaks in.
Refuses: blocks with too many threads (PO0516), too much shared memory (PO0517), grids that are too
large (PO0518), arrays that do not fit a buffer (PO0918).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from polyopt.dataclass import dataclass, field
from polyopt.errors import InternalError, ToolchainError
from polyopt.runtime.device.faults import forked

AnyArray: TypeAlias = npt.NDArray[Any]
Extent3: TypeAlias = tuple[int, int, int]
Log: TypeAlias = Callable[[str], None]


def no_log(_: str) -> None:
    """Drop what a compiler says."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device allows in one launch.

    `shared_bytes` a block has without asking, `shared_most` when it is asked for at the launch.
    `arch` is the name that compilers know the device by: `sm_90`, `OpenCL C 1.2`.
    """

    threads_per_block: int
    shared_bytes: int
    grid: Extent3
    warp: int
    arch: str
    block: Extent3 = (1024, 1024, 64)
    shared_most: int = 0

    @property
    def shared_at_most(self) -> int:
        """Bytes of shared memory that a launch may ask for."""
        return max(self.shared_bytes, self.shared_most)


@dataclass(frozen=True, slots=True)
class Resources:
    """What the compiler says one kernel takes; None where it does not say."""

    entry: str
    registers: int | None = None
    shared: int | None = None
    spill_stores: int | None = None
    spill_loads: int | None = None
    stack: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """Memory of a device: `handle` is an address or the provider's own object.

    `owner` keeps memory alive that another library has given; such memory is never freed here.
    """

    handle: Any
    nbytes: int
    owner: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """Compiled text: the provider's functions by name, and what each of them takes."""

    functions: Mapping[str, Any]
    resources: Mapping[str, Resources] = field(default_factory=dict)
    keep: object = None


KernelArgument: TypeAlias = Buffer | np.generic


class Provider(Protocol):
    """A device with its memory and one queue, in which what is asked for happens in order."""

    @property
    def name(self) -> str:
        """The device and what drives it, for people."""

    @property
    def limits(self) -> Limits:
        """What a launch may ask for."""

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        """Compile `text` for this device; `entries` are the kernels that will be launched."""

    def alloc(self, nbytes: int) -> Buffer:
        """Give undefined memory; none at all is a buffer, too."""

    def free(self, buffer: Buffer) -> None:
        """Take memory back once all that was asked for before is done."""

    def upload(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy `array`, in C order, to the buffer's start; the array may change afterwards."""

    def download(self, buffer: Buffer, array: AnyArray) -> None:
        """Fill `array`, in C order, from the buffer's start; it is complete on return."""

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte."""

    def launch(
        self,
        module: Module,
        entry: str,
        grid: Extent3,
        block: Extent3,
        args: Sequence[KernelArgument],
        shared: int = 0,
    ) -> None:
        """Run a kernel in `grid` blocks of `block` threads, x first; nothing where one is 0."""

    def synchronize(self) -> None:
        """Wait for all that was asked for; raises what a kernel ran into."""


@runtime_checkable
class Timed(Protocol):
    """A provider whose device says itself when something was done."""

    def mark(self) -> object:
        """Note the moment when all that was asked for before is done."""

    def seconds(self, start: Any, end: Any) -> float:  # noqa: ANN401 - the provider's own marks
        """Return the time between two marks, and wait for the second."""


@runtime_checkable
class Streamed(Protocol):
    """A provider whose queue is a CUDA stream, which other libraries know by its number."""

    @property
    def stream(self) -> int:
        """The number."""

    def wait_for(self, stream: int) -> None:
        """Have what is asked for from here on wait for what `stream` was asked for before."""

    def lead(self, stream: int) -> None:
        """Have what `stream` is asked for from here on wait for what was asked for here."""


@dataclass(frozen=True, slots=True)
class Home:
    """The process that opened a device: in one forked from it drivers fail, or never answer."""

    process: int = field(default_factory=os.getpid)

    @property
    def is_left(self) -> bool:
        """Whether this is another process."""
        return os.getpid() != self.process

    def check(self, device: str) -> None:
        """Raise in another process."""
        if self.is_left:
            raise forked(device)


def check_launch(
    limits: Limits, entry: str, grid: Extent3, block: Extent3, shared: int, static: int = 0
) -> bool:
    """Return whether there is anything to run; `static` bytes of shared memory are the text's."""
    if prod(block) > limits.threads_per_block or _exceeds(block, limits.block):
        raise too_many_threads(entry, block, limits)
    if shared + static > limits.shared_at_most:
        raise too_much_shared(entry, shared + static, limits.shared_at_most)
    if _exceeds(grid, limits.grid):
        raise ToolchainError(
            "PO0518",
            f"kernel `{entry}` needs a grid of {_extents(grid)} blocks; "
            f"the device allows {_extents(limits.grid)}",
            hint="use larger tiles on the grid's loops",
        )
    return min(*grid, *block) > 0


def _exceeds(wanted: Extent3, most: Extent3) -> bool:
    return wanted[0] > most[0] or wanted[1] > most[1] or wanted[2] > most[2]


def too_many_threads(entry: str, block: Extent3, limits: Limits) -> ToolchainError:
    """Return the error of a block with more threads than the device has for one."""
    return ToolchainError(
        "PO0516",
        f"kernel `{entry}` needs blocks of {_extents(block)} threads; "
        f"the device allows {limits.threads_per_block} in all, {_extents(limits.block)} at most",
        hint="use smaller tiles on the threads' loops",
    )


def too_much_shared(entry: str, wanted: int, allowed: int) -> ToolchainError:
    """Return the error of a block with more shared memory than the device has for one."""
    return ToolchainError(
        "PO0517",
        f"kernel `{entry}` needs {wanted} bytes of shared memory a block; "
        f"the device allows {allowed}",
        hint="use smaller tiles, or pack fewer arrays into shared memory",
    )


def _extents(extents: Extent3) -> str:
    return " x ".join(str(extent) for extent in extents)


def check_fits(buffer: Buffer, array: AnyArray) -> None:
    """Raise where an array is larger than the buffer it is copied to or from."""
    if array.nbytes > buffer.nbytes:
        raise InternalError(
            "PO0918", f"an array of {array.nbytes} bytes, a buffer of {buffer.nbytes}"
        )


def as_argument(value: np.generic) -> np.generic:
    """Return a number as kernels take it: truth values are bytes, halves are `float`."""
    found: np.generic = value
    if isinstance(value, np.bool_):
        found = np.uint8(value)
    elif value.dtype.name in ("float16", "bfloat16"):
        found = np.float32(value)
    return found
