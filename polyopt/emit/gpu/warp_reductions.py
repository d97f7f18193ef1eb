"""Define reductions of 32-bit integers over all lanes of a warp.

In: an operation on integers of 32 bits.  Out: the name of a function, and its definition in CUDA:
`redux.sync` from sm_80 on, a tree of shuffles before.
Returns None without such a function; the caller then prints shuffles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyopt.dataclass import dataclass
from polyopt.ir.expr import BinaryOp
from polyopt.ir.types import DType

_SIGNED, _UNSIGNED = "int", "unsigned int"


@dataclass(frozen=True, slots=True)
class WarpFunction:
    """`name` takes and gives a value of `kind`, whose bits are those of either sign."""

    name: str
    kind: str

    def call(self, value: str, dtype: DType) -> str:
        """Return the text of a call with a variable of `dtype`."""
        if self.kind == _UNSIGNED and dtype is DType.INT32:
            return f"({_SIGNED}){self.name}(({_UNSIGNED}){value})"
        return f"{self.name}({value})"


_BITS = {
    BinaryOp.ADD: "value + other",
    BinaryOp.AND: "value & other",
    BinaryOp.OR: "value | other",
    BinaryOp.XOR: "value ^ other",
}
_ORDERS = {BinaryOp.MIN: "other < value", BinaryOp.MAX: "value < other"}
_SUFFIX = {DType.INT32: "i32", DType.UINT32: "u32"}

CUDA_WARP: Mapping[tuple[BinaryOp, DType], WarpFunction] = {
    (op, dtype): WarpFunction(f"po_warp_{op.name.lower()}", _UNSIGNED)
    for op in _BITS
    for dtype in _SUFFIX
} | {
    (op, dtype): WarpFunction(f"po_warp_{op.name.lower()}_{suffix}", kind)
    for op in _ORDERS
    for (dtype, suffix), kind in zip(_SUFFIX.items(), (_SIGNED, _UNSIGNED), strict=True)
}
"""Functions of whole warps by what they combine; sums wrap around, as those of integers do."""


def _definition(function: WarpFunction, op: BinaryOp) -> Sequence[str]:
    joined = _BITS.get(op) or f"{_ORDERS[op]} ? other : value"
    kind = function.kind
    return (
        f"static __device__ inline {kind} {function.name}({kind} value)",
        "{",
        "#if defined(PO_EMULATED) || __CUDA_ARCH__ >= 800",
        f"    return __reduce_{op.name.lower()}_sync(0xffffffffu, value);",
        "#else",
        "#pragma unroll",
        "    for (int by = 16; by > 0; by /= 2) {",
        f"        const {kind} other = __shfl_xor_sync(0xffffffffu, value, by);",
        f"        value = {joined};",
        "    }",
        "    return value;",
        "#endif",
        "}",
        "",
    )


WARP_HELPERS: Mapping[str, Sequence[str]] = {
    function.name: _definition(function, op) for (op, _), function in CUDA_WARP.items()
}
"""Definitions in CUDA by the name that a text uses."""
