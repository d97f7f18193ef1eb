"""Print asynchronous copies from the device's memory into shared memory.

In: copies, commits, waits.  Out: calls of helpers, where the language has them and sizes allow.
Devices before sm_80 copy synchronously.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.gpu.expressions import KernelPrinter
from polyopt.ir.expr import Load

SIZES = (4, 8, 16)
"""Bytes that one instruction copies; both sides are aligned to as many."""


def copy_text(
    printer: KernelPrinter, dialect: DeviceDialect, target: Load, source: Load, count: int = 1
) -> str | None:
    """Return the statement that starts a copy of `count` elements, or None if none is possible."""
    size = count * source.dtype.size
    if not dialect.asynchronous or size not in SIZES:
        return None
    to, place = (printer.element(side.array, side.index) for side in (target, source))
    return f"po_cp_async{size}(&{to}, &{place});"


def group_text(dialect: DeviceDialect, pending: int | None) -> str | None:
    """Return the statement that commits a group (None), or waits for all but `pending`."""
    if not dialect.asynchronous:
        return None
    return "po_cp_async_commit();" if pending is None else f"po_cp_async_wait<{pending}>();"


def _copy(size: int, cache: str, word: str) -> Sequence[str]:
    return (
        "#ifndef PO_EMULATED",
        f"static __device__ inline void po_cp_async{size}(void *to, const void *from)",
        "{",
        "#if __CUDA_ARCH__ >= 800",
        f'    asm volatile("cp.async.{cache}.shared.global [%0], [%1], {size};"',
        '            : : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");',
        "#else",
        f"    *({word} *)to = *(const {word} *)from;",
        "#endif",
        "}",
        "#endif",
        "",
    )


CUDA_HELPERS: Mapping[str, Sequence[str]] = {
    "po_cp_async4": _copy(4, "ca", "int"),
    "po_cp_async8": _copy(8, "ca", "int2"),
    "po_cp_async16": _copy(16, "cg", "int4"),
    "po_cp_async_commit": (
        "#ifndef PO_EMULATED",
        "static __device__ inline void po_cp_async_commit()",
        "{",
        "#if __CUDA_ARCH__ >= 800",
        '    asm volatile("cp.async.commit_group;" : : : "memory");',
        "#endif",
        "}",
        "#endif",
        "",
    ),
    "po_cp_async_wait": (
        "#ifndef PO_EMULATED",
        "/* waits for all groups of copies but the latest */",
        "template <int Latest> static __device__ inline void po_cp_async_wait()",
        "{",
        "#if __CUDA_ARCH__ >= 800",
        '    asm volatile("cp.async.wait_group %0;" : : "n"(Latest) : "memory");',
        "#endif",
        "}",
        "#endif",
    ),
}
"""Definitions in CUDA by the name that a text uses; an emulator brings its own."""
