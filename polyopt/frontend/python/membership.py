"""`in` and `not in`: of tuples, ranges and texts known while compiling.

In: a value and a container.  Out: a truth value.
Refuses: other containers (PO0127).
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import describe, operand, operate
from polyopt.frontend.integers.affine_integers import both, either, negated
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import settled
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.values import Known, Number, Sequence, Tensor, Value
from polyopt.ir.expr import Const, Expr
from polyopt.ir.types import DType


def contained(b: Builder, item: Value, container: Value, wanted: bool, loc: Loc | None) -> Value:
    """Return whether the container has the item, or with `wanted` False whether it has not."""
    if isinstance(item, Known) and isinstance(container, Known):
        try:
            return Known((item.value in container.value) is wanted)  # type: ignore[operator]
        except TypeError:
            refuse("PO0127", f"`in` {describe(container)}", loc, "compare the values one by one")
    found = as_sequence(container)
    if not isinstance(found, Sequence):
        refuse("PO0127", f"`in` {describe(container)}", loc, "use np.any(array == value)")
    total: Expr = Const(False, DType.BOOL)
    for other in found.items:
        total = either(total, _equal(b, item, other, loc))
    if isinstance(total, Const):
        return Known(bool(total.value) is wanted)
    return Number(total if wanted else negated(total), True)


def _equal(b: Builder, left: Value, right: Value, loc: Loc | None) -> Expr:
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        if len(left.items) != len(right.items):
            return Const(False, DType.BOOL)
        total: Expr = Const(True, DType.BOOL)
        for one, other in zip(left.items, right.items, strict=True):
            total = both(total, _equal(b, one, other, loc))
        return total
    if any(isinstance(v, Known) and isinstance(v.value, str | type(None)) for v in (left, right)):
        known = isinstance(left, Known) and isinstance(right, Known) and left.value == right.value
        return Const(known, DType.BOOL)
    result = settled(b, operand(operate(b, "equal", (left, right), loc), loc))
    if isinstance(result, Tensor):
        refuse("PO0142", "`in` with an array among the items", loc, "use np.any(array == value)")
    return result.expr
