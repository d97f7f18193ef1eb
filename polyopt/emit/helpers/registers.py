"""x86's registers and intrinsics by dtype and number of lanes, for helpers that use them."""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.emit.helpers.helper import Helper
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class Registers:
    """Names of x86's vector intrinsics for one vector type."""

    bits: int
    type: str
    prefix: str
    element: str

    @staticmethod
    def of(helper: Helper) -> Registers | None:
        """Return the names for `helper`'s vectors, or None where x86 has no such register."""
        bits = helper.dtype.size * helper.lanes * 8
        if bits not in (128, 256, 512):
            return None
        letter = {DType.FLOAT64: "d", DType.FLOAT32: ""}.get(helper.dtype, "i")
        element = {DType.FLOAT64: "pd", DType.FLOAT32: "ps"}.get(
            helper.dtype, f"epi{helper.dtype.size * 8}"
        )
        return Registers(
            bits, f"__m{bits}{letter}", "_mm" if bits == 128 else f"_mm{bits}", element
        )


def either(feature: str, fast: list[str], plain: list[str]) -> list[str]:
    """Return lines for compilers that define a macro, and for others."""
    return [f"#ifdef {feature}", *fast, "#else", *plain, "#endif"]
