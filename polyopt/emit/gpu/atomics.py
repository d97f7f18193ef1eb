"""Print atomic updates.

In: an update of an element of the device's memory.  Out: a statement.
Refuses: operations that the language does not have for the element's type (PO0411).
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.errors import EmitError
from polyopt.ir.expr import BinaryOp
from polyopt.ir.types import DType

_CUDA = {
    BinaryOp.ADD: "atomicAdd",
    BinaryOp.MIN: "atomicMin",
    BinaryOp.MAX: "atomicMax",
    BinaryOp.AND: "atomicAnd",
    BinaryOp.OR: "atomicOr",
    BinaryOp.XOR: "atomicXor",
}
_BITS = (BinaryOp.ADD, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)


def cuda_atomic(op: BinaryOp, dtype: DType, place: str, value: str) -> str:
    """Return an update in CUDA, which has the bits of 64 only without a sign."""
    if dtype is DType.INT64 and op in _BITS:
        kind = "unsigned long long"
        return f"{_CUDA[op]}(({kind} *)&{place}, ({kind})({value}));"
    return f"{_CUDA[op]}(&{place}, {value});"


def atomic_text(dialect: DeviceDialect, op: BinaryOp, dtype: DType, place: str, value: str) -> str:
    """Return an update in the language of `dialect`; raises `EmitError` PO0411."""
    if dialect.language == "cuda":
        return cuda_atomic(op, dtype, place, value)
    word = _WORDS.get(dtype, {}).get(op)
    if word is None:
        raise EmitError(
            "PO0411",
            f"{dialect.language} has no atomic `{op.value}` of {dtype}",
            hint="leave `atomic` out, or use target='cuda'",
        )
    return f"{word}(&{place}, {value});"


_SHORT = {op: f"atomic_{op.name.lower()}" for op in _CUDA}
_LONG = {op: f"atom_{op.name.lower()}" for op in _CUDA}
_WORDS: Mapping[DType, Mapping[BinaryOp, str]] = {
    DType.INT32: _SHORT,
    DType.UINT32: _SHORT,
    DType.INT64: _LONG,
    DType.UINT64: _LONG,
}
