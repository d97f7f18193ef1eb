"""Integer arguments that kernels can count with.

In: the sizes of a signature.  Out: the checks of a call that keep index arithmetic within 64 bits:
every integer that sizes or loops depend on lies within `LARGEST_SIZE`, as do all array extents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyopt.errors import Loc
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Param, integer
from polyopt.ir.source import LARGEST_SIZE, Argument, Check, IntegerOf, SizeOf
from polyopt.ir.types import DType


def countable(
    sizes: Sequence[SizeOf | IntegerOf], arguments: Sequence[Argument], loc: Loc | None
) -> Iterator[Check]:
    """Yield one check for each integer argument that is a size."""
    for size in sizes:
        if isinstance(size, IntegerOf):
            param = Param(size.param)
            low = Compare(CompareOp.GE, param, integer(-LARGEST_SIZE))
            high = Compare(CompareOp.LE, param, integer(LARGEST_SIZE))
            name = arguments[size.argument].name
            yield Check(
                Binary(BinaryOp.AND, low, high, DType.BOOL),
                "PO0216",
                f"`{name}` is too large to count with",
                loc,
                "sizes and loop bounds lie between -2**53 and 2**53",
            )
