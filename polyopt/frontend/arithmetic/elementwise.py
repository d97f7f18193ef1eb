"""Elementwise operations: operands broadcast, promoted as NumPy does, one lazy expression out.

In: an `Elementwise` rule and values.  Out: a number or a lazy array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.exponents import demand_exponent
from polyopt.frontend.arithmetic.narrowing import COMPARISONS, compared_in, demand_fit
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import cheap, cheap_number, forced, settled
from polyopt.frontend.values.merged_dimensions import common_groups, expanded, groups_of, restored
from polyopt.frontend.values.promote import Operand, cast, dtypes_of, wrapped
from polyopt.frontend.values.shapes import broadcast, is_repeated, stretched
from polyopt.frontend.values.values import Index, Number, Operandish, Tensor, as_tensor, cost_of
from polyopt.ir.expr import Cast, Const, Expr, Iter, walk
from polyopt.ir.types import DType

Rule: TypeAlias = Callable[[tuple[Expr, ...], DType], Expr]


@dataclass(frozen=True, eq=False)
class Elementwise:
    """A ufunc: NumPy's object decides the dtypes, `rule` makes the expression of one element.

    `repeats`: the rule uses an operand more than once, so expensive operands are stored first.
    `of_numbers`: the rule where NumPy treats numbers otherwise than arrays.
    """

    ufunc: np.ufunc
    rule: Rule
    repeats: bool = False
    of_numbers: Rule | None = None

    @property
    def name(self) -> str:
        """NumPy's name."""
        return str(self.ufunc.__name__)


def operand_kinds(values: Sequence[Operandish]) -> tuple[Operand, ...]:
    """Return dtype and weakness of the operands; Python's bool is as strong as NumPy's."""
    return tuple((v.dtype, v.weak and v.dtype is not DType.BOOL) for v in values)


def apply(b: Builder, op: Elementwise, values: Sequence[Operandish], loc: Loc | None) -> Operandish:
    """Return `op(*values)`, element by element; a number when all operands are numbers."""
    operands = operand_kinds(values)
    *given, output = dtypes_of(op.ufunc, operands, loc)
    inputs = tuple(given)
    if op.name in COMPARISONS:
        inputs = compared_in(values, inputs)
    if op.name == "power":
        values = (values[0], demand_exponent(b, values[1], output, loc))
    rule = op.rule
    if op.of_numbers is not None and all(isinstance(value, Number) for value in values):
        rule = op.of_numbers
    return combine(b, op.name, values, inputs, output, rule, loc, repeats=op.repeats)


def combine(
    b: Builder,
    what: str,
    values: Sequence[Operandish],
    inputs: tuple[DType, ...],
    output: DType,
    rule: Rule,
    loc: Loc | None,
    *,
    repeats: bool = False,
) -> Operandish:
    """Return the elementwise `rule` of the values, each cast to its dtype in `inputs`."""
    values = [settled(b, value) for value in values]
    for value, kind in zip(values, inputs, strict=True):
        demand_fit(b, value, kind, loc)
    if all(isinstance(value, Number) for value in values):
        numbers = [cheap_number(b, v) if repeats else v for v in values if isinstance(v, Number)]
        parts = tuple(cast(n.expr, d, loc) for n, d in zip(numbers, inputs, strict=True))
        if all(number.weak for number in numbers):
            return Number(rule(parts, output), False)
        return Number(_computed(what, rule, parts, output), False)
    tensors = [as_tensor(value) for value in values]
    if repeats:
        tensors = [cheap(b, forced(b, tensor)) for tensor in tensors]
    groups = common_groups(tensors)
    if groups is not None:
        whole = {d: t.shape[d] for t in tensors for d in groups_of(t)}
        apart = [expanded(tensor, groups) for tensor in tensors]
        inner = combine(b, what, apart, inputs, output, rule, loc, repeats=repeats)
        return restored(as_tensor(inner), groups, whole)
    ready = aligned(b, tensors, what, loc)
    shape = ready[0].shape

    def at(index: Index) -> Expr:
        parts = tuple(cast(t.at(index), d, loc) for t, d in zip(ready, inputs, strict=True))
        return _computed(what, rule, parts, output)

    probe = tuple(Iter(f"?{d}") for d in range(len(shape)))
    return Tensor(shape, output, at, cost=cost_of(at(probe)))


def _computed(name: str, rule: Rule, parts: tuple[Expr, ...], output: DType) -> Expr:
    """Return `rule` of the parts; of large integers in UINT64, which wraps as NumPy's int64 does.

    Sizes and iterators are added and multiplied as numbers without bounds.
    """
    result = rule(parts, output)
    if output is not DType.INT64 or name not in _WRAPPING or not _has_large(result):
        return result
    if isinstance(result, Const):
        return Const(wrapped(int(result.value.real), output), output)
    return Cast(rule(tuple(map(_modular, parts)), DType.UINT64), output)


_WRAPPING = frozenset(
    ("add", "subtract", "multiply", "negative", "positive", "power", "square", "left_shift")
)
_LARGE = 2**31


def _has_large(expr: Expr) -> bool:
    """Tell whether a constant is so large that a product with a size may not fit 64 bits."""
    return any(
        isinstance(part, Const) and part.dtype is DType.INT64 and abs(part.value) > _LARGE
        for part in walk(expr)
    )


def _modular(part: Expr) -> Expr:
    if isinstance(part, Const):
        return Const(wrapped(int(part.value.real), DType.UINT64), DType.UINT64)
    return Cast(part, DType.UINT64)


def aligned(b: Builder, values: Sequence[Tensor], what: str, loc: Loc | None) -> tuple[Tensor, ...]:
    """Return the arrays broadcast to one shape; reductions and expensive repeated ones stored."""
    tensors = [forced(b, value) for value in values]
    shape = broadcast(b, [tensor.shape for tensor in tensors], what, loc)
    result: list[Tensor] = []
    for tensor in tensors:
        repeated = tensor.rank > 0 and is_repeated(tensor.shape, shape)
        result.append(stretched(cheap(b, tensor) if repeated else tensor, shape))
    return tuple(result)
