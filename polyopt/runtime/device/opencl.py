"""OpenCL devices, by pyopencl.

In: OpenCL C 1.2.  Out: `OpenCLProvider`, and which devices there are.
Refuses: no package (PO0512), no device (PO0511), text that does not compile (PO0515), no memory
(PO0707).
"""

from __future__ import annotations

import importlib
import shutil
import warnings
from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import InternalError
from polyopt.runtime.device.faults import (
    compile_failure,
    device_failed,
    no_package,
    no_platform,
    out_of_memory,
)
from polyopt.runtime.device.provider import (
    AnyArray,
    Buffer,
    Extent3,
    Home,
    KernelArgument,
    Limits,
    Log,
    Module,
    Resources,
    as_argument,
    check_fits,
    check_launch,
    no_log,
)

POCL = "Portable Computing Language"
CHECKER = "Oclgrind"
_OPTIONS = ("-cl-std=CL1.2", "-cl-kernel-arg-info")
_MOST_THREADS, _MOST_SHARED = 1024, 48 * 1024
_GRID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class OpenCLDevice:
    """A device of a platform; `fault` says why it cannot be used."""

    device: Any
    platform: str
    name: str
    version: str
    is_cpu: bool
    fault: str = ""

    def describe(self) -> str:
        """Return platform and device."""
        return f"{self.platform}, {self.name}"


def load() -> Any:  # noqa: ANN401 - pyopencl has no types where it is not installed
    """Return pyopencl."""
    try:
        return importlib.import_module("pyopencl")
    except (ImportError, OSError) as error:
        raise no_package(f"pyopencl does not load ({error})", "opencl") from None


def opencl_devices() -> tuple[OpenCLDevice, ...]:
    """Return all devices; GPUs and the like, then processors, then those that only check."""
    cl = load()
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        raise no_platform(f"no platform is installed ({error})") from None
    found = [_describe(cl, platform, device) for platform in platforms for device in _of(platform)]
    return tuple(sorted(found, key=lambda d: (bool(d.fault), d.platform == CHECKER, d.is_cpu)))


def _of(platform: Any) -> list[Any]:  # noqa: ANN401
    try:
        return list(platform.get_devices())
    except Exception:  # a platform without devices says so in many ways
        return []


def _describe(cl: Any, platform: Any, device: Any) -> OpenCLDevice:  # noqa: ANN401
    is_cpu = bool(device.type & cl.device_type.CPU)
    name, version = str(device.name).strip(), str(device.version).strip()
    return OpenCLDevice(
        device, platform.name, name, version, is_cpu, _fault(platform.name, version)
    )


def _fault(platform: str, version: str) -> str:
    """Return why a device would end the process or build nothing, or ''."""
    if platform != POCL:
        return ""
    if shutil.which("ld") is None:
        return "PoCL needs the linker `ld`: install the package binutils"
    if "x86" in version and version.endswith("-generic"):
        return "this PoCL is older than the processor: install the package pocl-opencl-icd"
    return ""


class _Memory:
    """A buffer of OpenCL until it is freed; drivers do not survive that it is used then."""

    __slots__ = ("_buffer",)

    def __init__(self, buffer: Any) -> None:  # noqa: ANN401
        self._buffer = buffer

    def get(self) -> Any:  # noqa: ANN401
        """Return the buffer."""
        if self._buffer is None:
            raise InternalError("PO0918", "memory of a device is used after it was freed")
        return self._buffer

    def free(self) -> None:
        """Give it back."""
        buffer, self._buffer = self.get(), None
        buffer.release()


class OpenCLProvider:
    """One device with a context and a queue, in order."""

    def __init__(self, chosen: OpenCLDevice) -> None:
        if chosen.fault:
            raise no_platform(chosen.fault)
        self._cl, self._home = load(), Home()
        device = chosen.device
        self._device, self._platform, self._version = device, chosen.platform, chosen.version
        self._name = chosen.describe()
        try:
            self._context = self._cl.Context([device])
            timed = self._cl.command_queue_properties.PROFILING_ENABLE
            self._queue = self._cl.CommandQueue(self._context, device, properties=timed)
        except self._cl.Error as error:
            self._fail("start", error)
        self._limits = Limits(
            threads_per_block=min(int(device.max_work_group_size), _MOST_THREADS),
            shared_bytes=min(int(device.local_mem_size), _MOST_SHARED),
            grid=(_GRID, _GRID, _GRID),
            warp=1,
            arch="OpenCL C 1.2",
            block=_three(device.max_work_item_sizes),
        )

    @property
    def name(self) -> str:
        """Platform and device."""
        return self._name

    @property
    def limits(self) -> Limits:
        """What a launch may ask for: never more than CUDA devices allow."""
        return self._limits

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        """Build `text` as OpenCL C 1.2."""
        cl = self._cl
        self._home.check(self._name)
        fault = _fault(self._platform, self._version)  # what was there at the start may have gone
        if fault:
            raise no_platform(fault)
        program = cl.Program(self._context, text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)  # it is in the log
                program.build([*_OPTIONS, *flags], devices=[self._device], cache_dir=False)
            log(str(program.get_build_info(self._device, cl.program_build_info.LOG)))
            kernels = {entry: cl.Kernel(program, entry) for entry in entries}
        except cl.Error as error:
            log(str(error))
            raise compile_failure(f"OpenCL ({self._name})", text, str(error)) from None
        shared = cl.kernel_work_group_info.LOCAL_MEM_SIZE
        resources = {
            name: Resources(name, shared=int(kernel.get_work_group_info(shared, self._device)))
            for name, kernel in kernels.items()
        }
        return Module(kernels, resources, program)

    def alloc(self, nbytes: int) -> Buffer:
        """Give a buffer; OpenCL has none of 0 bytes, so that one has a byte."""
        cl = self._cl
        self._home.check(self._name)
        try:
            if nbytes > self._device.max_mem_alloc_size:
                raise out_of_memory(self._name, nbytes)
            handle = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, max(1, nbytes))
        except cl.Error as error:
            self._fail(f"memory of {nbytes} bytes", error, nbytes)
        return Buffer(_Memory(handle), nbytes)

    def free(self, buffer: Buffer) -> None:
        """Give the buffer back."""
        if buffer.owner is None and not self._home.is_left:
            buffer.handle.free()

    def upload(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy to the device."""
        check_fits(buffer, array)
        if array.nbytes:
            self._copy(buffer.handle.get(), np.ascontiguousarray(array), array.nbytes)

    def download(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy from the device."""
        check_fits(buffer, array)
        if array.nbytes == 0:
            self.synchronize()
            return
        target = array if array.flags.c_contiguous else np.empty(array.shape, array.dtype)
        self._copy(target, buffer.handle.get(), array.nbytes)
        if target is not array:
            array[...] = target

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte."""
        if buffer.nbytes:
            where = (buffer.handle.get(), np.uint8(byte), 0, buffer.nbytes)
            self._do("fill", self._cl.enqueue_fill_buffer, *where)

    def launch(
        self,
        module: Module,
        entry: str,
        grid: Extent3,
        block: Extent3,
        args: Sequence[KernelArgument],
        shared: int = 0,
    ) -> None:
        """Run a kernel; where `shared` is not 0, local memory of that size is its last argument."""
        self._home.check(self._name)
        static = module.resources[entry].shared or 0
        if not check_launch(self._limits, entry, grid, block, shared, static):
            return
        kernel = module.functions[entry]
        self._check_arguments(entry, kernel, args, shared)
        values = [a.handle.get() if isinstance(a, Buffer) else as_argument(a) for a in args]
        if shared:
            values.append(self._cl.LocalMemory(shared))
        total = tuple(g * b for g, b in zip(grid, block, strict=True))
        try:
            kernel.set_args(*values)
            self._cl.enqueue_nd_range_kernel(self._queue, kernel, total, block)
        except self._cl.Error as error:
            self._fail(f"kernel `{entry}` of {prod(total)} threads", error)

    def _check_arguments(
        self,
        entry: str,
        kernel: Any,  # noqa: ANN401
        args: Sequence[KernelArgument],
        shared: int,
    ) -> None:
        """Compare with the kernel's own parameters: a number for a pointer ends the process."""
        facts = self._cl.kernel_arg_info.ADDRESS_QUALIFIER
        private = self._cl.kernel_arg_address_qualifier.PRIVATE
        count = int(kernel.num_args)
        wanted = [kernel.get_arg_info(number, facts) != private for number in range(count)]
        given = [isinstance(a, Buffer) for a in args] + [True] * (shared > 0)
        if wanted != given:
            raise InternalError(
                "PO0918", f"kernel `{entry}` takes {_kinds(wanted)}, not {_kinds(given)}"
            )

    def synchronize(self) -> None:
        """Wait for the queue."""
        self._do("kernels", lambda queue: queue.finish())

    def mark(self) -> object:
        """Record an event."""
        return self._do("timing", self._cl.enqueue_marker)

    def seconds(self, start: Any, end: Any) -> float:  # noqa: ANN401 - events
        """Return the time between two events."""
        self._do("kernels", lambda _: end.wait())
        return float(end.profile.end - start.profile.end) * 1e-9

    def _copy(self, target: Any, source: Any, nbytes: int) -> None:  # noqa: ANN401
        self._do(
            f"a copy of {nbytes} bytes",
            lambda queue: self._cl.enqueue_copy(queue, target, source, is_blocking=True),
        )

    def _do(self, doing: str, action: Any, *args: Any) -> Any:  # noqa: ANN401
        self._home.check(self._name)
        try:
            return action(self._queue, *args)
        except self._cl.Error as error:
            self._fail(doing, error)

    def _fail(self, doing: str, error: Exception, nbytes: int = 0) -> NoReturn:
        text = str(error)
        names = ("MEM_OBJECT_ALLOCATION_FAILURE", "OUT_OF_HOST_MEMORY", "INVALID_BUFFER_SIZE")
        if any(name in text for name in names):
            raise out_of_memory(self._name, nbytes) from None
        raise device_failed(self._name, doing, text) from None


def _kinds(pointers: Sequence[bool]) -> str:
    return f"({', '.join('array' if is_pointer else 'number' for is_pointer in pointers)})"


def _three(extents: Sequence[int]) -> Extent3:
    x, y, z = (*(int(extent) for extent in extents[:3]), 1, 1)[:3]
    return x, y, z
