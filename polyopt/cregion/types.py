"""C's arithmetic types and their conversions (ISO C11, 6.3.1).

In: the words of a declaration.  Out: `Number`.
`int` and `long` that only count or subscript are Python's integers (`INDEX`).
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Number:
    """An arithmetic type as an element type; `is_index` for integers that stay affine."""

    dtype: DType
    is_index: bool = False

    @property
    def is_float(self) -> bool:
        """Whether it is `float` or `double`."""
        return self.dtype.is_float

    @property
    def numpy(self) -> str:
        """The name of the type in NumPy."""
        return self.dtype.spelled


INDEX = Number(DType.INT64, is_index=True)
INT = Number(DType.INT32)
FLOAT = Number(DType.FLOAT32)
DOUBLE = Number(DType.FLOAT64)

_NAMED = {
    "float": FLOAT,
    "double": DOUBLE,
    "_Bool": Number(DType.BOOL),
    "bool": Number(DType.BOOL),
    "size_t": Number(DType.UINT64),
    "ssize_t": Number(DType.INT64),
    "ptrdiff_t": Number(DType.INT64),
    **{f"int{n}_t": Number(DType(f"int{n}")) for n in (8, 16, 32, 64)},
    **{f"uint{n}_t": Number(DType(f"uint{n}")) for n in (8, 16, 32, 64)},
}
_QUALIFIERS = frozenset(
    ("const", "volatile", "restrict", "__restrict", "__restrict__", "static", "extern", "register")
)


def number_of(words: list[str]) -> Number | None:
    """Return the type that the words of a declaration name, None for one that is no number."""
    kept = [word for word in words if word not in _QUALIFIERS]
    if len(kept) == 1 and kept[0] in _NAMED:
        return _NAMED[kept[0]]
    unsigned = "unsigned" in kept
    rest = sorted(word for word in kept if word not in ("unsigned", "signed", "int"))
    bits = {"char": 8, "short": 16, "": 32, "long": 64, "long long": 64}.get(" ".join(rest))
    if bits is None or not kept:
        return None
    return Number(DType(f"{'u' if unsigned else ''}int{bits}"))


def promoted(kind: Number) -> Number:
    """Return the type after the integer promotions."""
    if kind.is_index or kind.is_float or _bits(kind) >= 32:
        return kind
    return INT


def common(left: Number, right: Number) -> Number:
    """Return the type that the usual arithmetic conversions give both operands."""
    left, right = promoted(left), promoted(right)
    if left.is_float or right.is_float:
        floats = [kind for kind in (left, right) if kind.is_float]
        return max(floats, key=_bits)
    if left.is_index and right.is_index:
        return INDEX
    if left.is_index or right.is_index:
        return right if left.is_index else left
    if _bits(left) != _bits(right):
        return max(left, right, key=_bits)
    return right if right.dtype.value.startswith("u") else left


def _bits(kind: Number) -> int:
    return kind.dtype.size * 8 if kind.dtype is not DType.BOOL else 1
