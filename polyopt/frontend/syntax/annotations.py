"""Annotations for arguments: `po.f64["N,M"]` is a matrix of float64, `po.f64` a number.

In: an element type subscripted by dimension names, numbers or slices.  Out: `Annotation` records.
Refuses: nothing; names are documentation, only their count and the dimension "1" have a meaning.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Annotation:
    """A dtype and, for an array, one text per dimension; `dims` is None for a number."""

    dtype: DType
    dims: tuple[str, ...] | None = None

    def __getitem__(self, dims: object) -> Annotation:
        """Return the array annotation: `f64["N,M"]`, `f64[:, :]`, `f64["N", 1]`."""
        parts = dims if isinstance(dims, tuple) else (dims,)
        names: list[str] = []
        for part in parts:
            match part:
                case str(text):
                    names += [name.strip() for name in text.split(",") if name.strip()]
                case slice():
                    names.append(":")
                case _:
                    names.append(str(part))
        return replace(self, dims=tuple(names))

    def __repr__(self) -> str:
        dims = "" if self.dims is None else f'["{",".join(self.dims)}"]'
        return f"po.{self.dtype.short_name}{dims}"

    def __str__(self) -> str:
        name = self.dtype.short_name
        return name if self.dims is None else f"{name}[{','.join(self.dims)}]"


bool_ = Annotation(DType.BOOL)
i8 = Annotation(DType.INT8)
i16 = Annotation(DType.INT16)
i32 = Annotation(DType.INT32)
i64 = Annotation(DType.INT64)
u8 = Annotation(DType.UINT8)
u16 = Annotation(DType.UINT16)
u32 = Annotation(DType.UINT32)
u64 = Annotation(DType.UINT64)
f16 = Annotation(DType.FLOAT16)
bf16 = Annotation(DType.BFLOAT16)
f32 = Annotation(DType.FLOAT32)
f64 = Annotation(DType.FLOAT64)
c64 = Annotation(DType.COMPLEX64)
c128 = Annotation(DType.COMPLEX128)
