"""Print the host's part of a CUDA program: memory of the device, copies, loops around launches.

In: a `DeviceProgram`, its loops, the name of the file with its kernels.  Out: a `Source` whose
entry is called as one of C is, with arrays of the host.
Refuses: host parts that need more than launches under loops and conditions (PO0640).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polyopt.dataclass import dataclass
from polyopt.emit.c_statements import prototype
from polyopt.emit.cuda import CUDA
from polyopt.emit.early_exits import FIRST_FAULT
from polyopt.emit.frame import Frame, make_frame
from polyopt.emit.header import header
from polyopt.emit.wrapper import size_text
from polyopt.emit.wrapping import wrapped
from polyopt.errors import EmitError, UsageError
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Expr, Symbol
from polyopt.ir.host import DeviceProgram
from polyopt.ir.loops import Body, For, If, Kernel, LoopFunction, LoopKind
from polyopt.ir.source import (
    CParamKind,
    KernelEntry,
    KernelParam,
    KernelParamKind,
    Layout,
    Source,
)
from polyopt.ir.types import DType
from polyopt.never import assert_never

_RUNTIME = """\
#include <stdio.h>
#include "po_run.h"

#ifndef PO_LAUNCH
#define PO_LAUNCH(kernel, x, y, z, threads, shared, ...) \\
    kernel<<<dim3((unsigned)(x), (unsigned)(y), (unsigned)(z)), threads, shared>>>(__VA_ARGS__)
#endif

static int po_failed(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return 0;
    fprintf(stderr, "%s: %s\\n", what, cudaGetErrorString(error));
    return 1;
}

/* Memory of the device: a copy of `from`, or zeros, or unset. */
static void *po_device(size_t bytes, const void *from, int is_zero, int *status)
{
    void *place = NULL;
    if (*status != 0)
        return NULL;
    *status = po_failed(cudaMalloc(&place, bytes > 0 ? bytes : 1), "memory of the device");
    if (*status == 0 && from != NULL && bytes > 0)
        *status = po_failed(cudaMemcpy(place, from, bytes, cudaMemcpyHostToDevice), "a copy");
    if (*status == 0 && is_zero && bytes > 0)
        *status = po_failed(cudaMemset(place, 0, bytes), "memory of the device");
    return place;
}

static void po_fetch(void *to, const void *from, size_t bytes, int *status)
{
    if (*status == 0 && bytes > 0)
        *status = po_failed(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "a copy");
}
"""
_FLAGS = (
    "Build with nvcc.  Arrays are those of the host: each call copies them to the device, and what "
    "is written back.  An error of the device is told on stderr."
)


def cuda_source(program: DeviceProgram, loops: LoopFunction, kernels: str) -> Source:
    """Return the host's part, which includes the file `kernels`; raises `UsageError` PO0640."""
    frame = make_frame(loops)
    for argument in loops.arrays:
        if argument.layout is not Layout.C:
            raise _refused(program, f"`{argument.name}` has strides")
    printer = _Host(program, frame, _names(frame), {a.name: k for k, a in enumerate(loops.arrays)})
    restrict = "POLYOPT_RESTRICT"
    text = "\n".join(
        [
            "#include <cuda_runtime.h>",
            f'#include "{kernels}"',
            f'#include "{kernels.removesuffix(".cu")}.h"',
            _RUNTIME,
            'extern "C"',
            *prototype(f"int {frame.entry}", frame.header_declarations(restrict), ""),
            "{",
            *printer.entry(),
            "}",
        ]
    )
    return Source(
        language="cuda",
        entry=frame.entry,
        text=wrapped(text) + "\n",
        header=header(loops, frame, _FLAGS),
        params=frame.params,
        signature=program.signature,
        openmp=False,
        contract=False,
    )


def _refused(program: DeviceProgram, reason: str) -> UsageError:
    return UsageError(
        "PO0640",
        f"the host's part of `{program.entry}` cannot be exported: {reason}",
        hint="export it for C, without --target; `polyopt compile` writes its kernels",
    )


def _names(frame: Frame) -> dict[str, str]:
    """Return the C texts of sizes and numbers."""
    kinds = (CParamKind.SIZE, CParamKind.SCALAR)
    return {param.name: param.text for param in frame.params if param.kind in kinds}


@dataclass(frozen=True, eq=False)
class _Host:
    """Prints statements of the host; `places` numbers the arrays on the device."""

    program: DeviceProgram
    frame: Frame
    names: Mapping[str, str]
    places: Mapping[str, int]

    def entry(self) -> Iterator[str]:
        """Yield the body of the entry."""
        yield "    int status = 0;"
        for array in self.program.arrays:
            place = self.places[array.name]
            yield f"    const size_t b{place} = {self._bytes(array)};"
            yield f"    void *const d{place} = {self._memory(array, place)};"
        owned = list(self._owned())
        for name, param in owned:
            count = "1" if param.value is None else size_text(param.value, {})
            yield (
                f"    void *const {name} = "
                f"po_device((size_t){count} * {param.dtype.size}, NULL, 1, &status);"
            )
        yield "    if (status == 0) {"
        yield from self.body(self.program.body, self.names, 2)
        yield "    }"
        yield "    if (status == 0)"
        yield '        status = po_failed(cudaDeviceSynchronize(), "the kernels");'
        yield from self._results()
        for array in self.program.arrays:
            yield f"    cudaFree(d{self.places[array.name]});"
        for name, _ in owned:
            yield f"    cudaFree({name});"
        yield "    return status;"

    def body(self, body: Body, names: Mapping[str, str], depth: int) -> Iterator[str]:
        """Yield the statements of `body`; `names` are what is known there."""
        pad = "    " * depth
        for node in body:
            match node:
                case For(kind=LoopKind.SEQUENTIAL):
                    own = f"i{depth}"
                    lower, upper = (self._integer(e, names) for e in (node.lower, node.upper))
                    yield f"{pad}for (int64_t {own} = {lower}; {own} < {upper} && status == 0;"
                    yield f"{pad}     {own} += {node.step}) {{"
                    yield from self.body(node.body, {**names, node.iter: own}, depth + 1)
                    yield f"{pad}}}"
                case If():
                    yield f"{pad}if ({self._text(node.condition, names)}) {{"
                    yield from self.body(node.then, names, depth + 1)
                    if node.otherwise:
                        yield f"{pad}}} else {{"
                        yield from self.body(node.otherwise, names, depth + 1)
                    yield f"{pad}}}"
                case Kernel():
                    for launch in self.program.source.launches(node.name):
                        yield from self._launch(launch, names, pad)
                case _:
                    raise _refused(
                        self.program, "between kernels it does more than loops and conditions"
                    )

    def _launch(self, entry: KernelEntry, names: Mapping[str, str], pad: str) -> Iterator[str]:
        grid = ", ".join(self._text(extent, names) for extent in entry.grid)
        given = ", ".join(self._argument(entry, param, names) for param in entry.params)
        yield f"{pad}if (status == 0) {{"
        yield f"{pad}    const wide grid[] = {{ {grid} }};"
        if entry.asked:
            attribute = "cudaFuncAttributeMaxDynamicSharedMemorySize"
            yield f"{pad}    cudaFuncSetAttribute({entry.name}, {attribute}, {entry.asked});"
        yield f"{pad}    if (grid[0] > 0 && grid[1] > 0 && grid[2] > 0) {{"
        yield (
            f"{pad}        PO_LAUNCH({entry.name}, grid[0], grid[1], grid[2], {entry.threads}, "
            f"{entry.asked}, {given});"
        )
        yield f'{pad}        status = po_failed(cudaGetLastError(), "{entry.name}");'
        yield f"{pad}    }}"
        yield f"{pad}}}"

    def _argument(self, entry: KernelEntry, param: KernelParam, names: Mapping[str, str]) -> str:
        pointer = f"({CUDA.types[param.dtype]} *)"
        match param.kind:
            case KernelParamKind.ARRAY:
                return f"{pointer}d{self.places[param.name]}"
            case KernelParamKind.FAULTS:
                return f"(bool *)d{self.places[param.name]}"
            case KernelParamKind.COUNTER | KernelParamKind.SCRATCH:
                return f"{pointer}{_own_name(entry, param)}"
            case KernelParamKind.VALUE:
                assert param.value is not None
                return self._value(param.value, CUDA.types[param.dtype], names)
            case KernelParamKind.STRIDE:
                raise _refused(self.program, f"`{param.name}` has strides")
            case _:
                assert_never(param.kind)

    def _value(self, value: Expr, ctype: str, names: Mapping[str, str]) -> str:
        is_whole = value.dtype.is_integer or value.dtype is DType.BOOL
        if is_whole:
            return f"({ctype}){self._integer(value, names)}"
        if isinstance(value, Symbol) and value.dtype in (DType.FLOAT32, DType.FLOAT64):
            return f"({ctype}){names[value.name]}"
        raise _refused(self.program, f"a kernel takes a number of type {value.dtype}")

    def _integer(self, value: Expr, names: Mapping[str, str]) -> str:
        return f"(int64_t){self._text(value, names)}"

    def _text(self, value: Expr, names: Mapping[str, str]) -> str:
        try:
            return size_text(value, names)
        except EmitError as error:
            raise _refused(self.program, error.message) from None

    def _bytes(self, array: Array) -> str:
        extents = [f"(size_t){self._text(extent, self.names)}" for extent in array.shape]
        return " * ".join([*extents, str(array.dtype.size)])

    def _memory(self, array: Array, place: int) -> str:
        given = array.role not in (Role.TEMP, Role.FAULT, Role.OUTPUT)
        copied = given and array.name not in self.program.overwritten
        source = self.frame.names[array.name] if copied else "NULL"
        return f"po_device(b{place}, {source}, {int(array.role is Role.FAULT)}, &status)"

    def _owned(self) -> Iterator[tuple[str, KernelParam]]:
        kinds = (KernelParamKind.COUNTER, KernelParamKind.SCRATCH)
        for entry in self.program.source.entries:
            for param in entry.params:
                if param.kind in kinds:
                    yield _own_name(entry, param), param

    def _results(self) -> Iterator[str]:
        """Yield the copies of what was written, and the lowest fault that was noted."""
        for array in self.program.arrays:
            place = self.places[array.name]
            if array.role in (Role.INOUT, Role.OUTPUT):
                yield f"    po_fetch({self.frame.names[array.name]}, d{place}, b{place}, &status);"
        count = len(self.program.signature.faults)
        for array in self.program.arrays:
            if array.role is Role.FAULT:
                yield f"    char faults[{max(1, count)}] = {{ 0 }};"
                yield f"    po_fetch(faults, d{self.places[array.name]}, {count}, &status);"
                yield f"    for (int k = 0; k < {count} && status == 0; k++)"
                yield "        if (faults[k])"
                yield f"            status = {FIRST_FAULT} + k;"


def _own_name(entry: KernelEntry, param: KernelParam) -> str:
    """Return the name of memory that a kernel's launches share."""
    return f"own_{entry.kernel}_{param.text}"
