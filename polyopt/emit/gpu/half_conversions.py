"""Define conversions of float16 and bfloat16 by instructions of the device.

In: nothing.  Out: for a helper, a condition of the preprocessor and the lines for devices where it
holds, or for all without a condition.  Elsewhere the emulation on bits is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from polyopt.emit.helpers import Helper, HelperKind
from polyopt.ir.types import DType

Shortcuts: TypeAlias = Mapping[Helper, tuple[str, Sequence[str]]]

_F16, _BF16 = DType.FLOAT16, DType.BFLOAT16
_DEVICE = "#ifndef PO_EMULATED"
_SM80 = "#if !defined(PO_EMULATED) && __CUDA_ARCH__ >= 800"

CUDA_SHORTCUTS: Shortcuts = {
    Helper(HelperKind.WIDEN, _F16): (
        _DEVICE,
        ["float all;", 'asm("cvt.f32.f16 %0, %1;" : "=f"(all) : "h"(x));', "return all;"],
    ),
    Helper(HelperKind.NARROW, _F16): (
        _DEVICE,
        ["uint16_t near;", 'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(near) : "f"(x));', "return near;"],
    ),
    Helper(HelperKind.ROUND, _F16): (
        _DEVICE,
        [
            "float near;",
            'asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h; }"',
            '    : "=f"(near) : "f"(x));',
            "return near;",
        ],
    ),
    Helper(HelperKind.NARROW, _BF16): (
        _SM80,
        ["uint16_t near;", 'asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(near) : "f"(x));', "return near;"],
    ),
    Helper(HelperKind.ROUND, _BF16): (
        _SM80,
        [
            "float near;",
            'asm("{ .reg .b16 h; cvt.rn.bf16.f32 h, %1; mov.b32 %0, {0, h}; }"',
            '    : "=f"(near) : "f"(x));',
            "return near;",
        ],
    ),
}

_STORED = ["ushort bits;", "vstore_half_rte(x, 0, (__private half *)&bits);"]

OPENCL_SHORTCUTS: Shortcuts = {
    Helper(HelperKind.WIDEN, _F16): (
        "",
        ["ushort bits = x;", "return vload_half(0, (const __private half *)&bits);"],
    ),
    Helper(HelperKind.NARROW, _F16): ("", [*_STORED, "return bits;"]),
    Helper(HelperKind.ROUND, _F16): (
        "",
        [*_STORED, "return vload_half(0, (const __private half *)&bits);"],
    ),
}


def with_shortcut(helper: Helper, definition: Sequence[str], shortcuts: Shortcuts) -> list[str]:
    """Return the lines that define `helper`, by the device's instructions where it has some."""
    found = shortcuts.get(helper)
    if found is None:
        return list(definition)
    condition, fast = found
    head, (opening, *plain, closing) = definition[0], definition[1:]
    lines = [f"    {line}" for line in fast]
    if condition:
        lines = [condition, *lines, "#else", *plain, "#endif"]
    return [head, opening, *lines, closing]
