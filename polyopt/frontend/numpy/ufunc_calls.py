"""Calls of ufuncs with all their arguments, of their methods, and of those with two results.

In: arguments of `np.add(...)`, `np.add.reduce(...)`, `np.divmod(...)`.  Out: values.
Refuses: `reduceat`, and reductions of functions that have no neutral element (PO0150).
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import Elementwise, apply, combine, operand_kinds
from polyopt.frontend.arithmetic.operators import operand
from polyopt.frontend.integers.affine_integers import ONE, select
from polyopt.frontend.numpy import axis_reductions, products, scans
from polyopt.frontend.numpy.axis_reductions import one_axis
from polyopt.frontend.numpy.call_arguments import Arguments, dtype, is_none, tensor
from polyopt.frontend.numpy.reductions import is_true, request, with_out
from polyopt.frontend.numpy.table_rules import OnMasked, Rule
from polyopt.frontend.numpy.ufuncs import PAIRS, UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, settled, stored
from polyopt.frontend.subscripts import masks
from polyopt.frontend.values.codes import refuse, refuse_raising
from polyopt.frontend.values.constants import array_or_number, as_sequence
from polyopt.frontend.values.promote import cast, dtypes_of, is_castable, typed_loop
from polyopt.frontend.values.values import (
    Index,
    Known,
    Masked,
    Number,
    Operandish,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    remapped,
)
from polyopt.frontend.variables.alternatives import applied
from polyopt.ir.expr import Const
from polyopt.ir.types import DType

_OPTIONS = "out where casting order dtype subok"


def elementwise(op: Elementwise) -> Rule:
    """Return the rule of a ufunc call with `out=`, `where=`, `dtype=` and `casting=`."""
    names = " ".join(f"x{number}" for number in range(1, op.ufunc.nin + 1))

    def rule(b: Builder, args: Arguments) -> Value:
        if len(args.values) > op.ufunc.nin + 1:
            hint = f"pass {op.ufunc.nin} and, at most, the result's array"
            refuse("PO0151", f"`{args.name}` with {len(args.values)} arguments", args.loc, hint)
        *values, out, where, casting, _, kind, _ = args.take(names, _OPTIONS)
        out = _single(out)

        def compute(plain: tuple[Value, ...]) -> Value:
            operands = [array_or_number(b, value, args.loc) for value in plain]
            wanted = dtype(kind, args.loc)
            if wanted is None:
                return applied(b, op, operands, args.loc)
            loop = typed_loop(op.ufunc, operand_kinds(operands), wanted, args.loc)
            return combine(
                b, op.name, operands, loop[:-1], loop[-1], op.rule, args.loc, repeats=op.repeats
            )

        result = masks.through(b, values, compute, args.loc)
        if isinstance(result, Masked):
            return result
        assert isinstance(result, Number | Tensor)
        rule_name = casting.value if isinstance(casting, Known) and casting.value else "same_kind"
        if is_none(where) or is_true(where):
            if is_none(out):
                return result
            _check_cast(b, result, tensor(b, out, args.loc), str(rule_name), args.loc)
            target = tensor(b, out, args.loc)
            plain = _converted(b, result, target, args.loc)
            return with_out(b, plain, out, args, widens=True)
        return _where(b, result, out, where, str(rule_name), args)

    return rule


def _single(out: Value) -> Value:
    found = as_sequence(out)
    return found.items[0] if isinstance(found, Sequence) and len(found.items) == 1 else out


def _check_cast(
    b: Builder, result: Operandish, target: Tensor, casting: str, loc: Loc | None
) -> None:
    if not is_castable(result.dtype, target.dtype, casting):
        message = f"{result.dtype} does not go into `out` of {target.dtype}"
        refuse_raising("PO0144", message, loc)


def _converted(b: Builder, result: Operandish, target: Tensor, loc: Loc | None) -> Operandish:
    """Return the result in the target's type, complex to real left to the check before."""
    kind = target.dtype
    if result.dtype is kind or isinstance(result, Tensor):
        return result
    return Number(cast(result.expr, kind, loc), False)


def _where(
    b: Builder, result: Operandish, out: Value, where: Value, casting: str, args: Arguments
) -> Value:
    """Compute where the mask holds; elsewhere `out` keeps its elements, a new array has zeros."""
    flags = settled(b, operand(where, args.loc))
    base: Operandish
    if is_none(out):
        zero = cast(Const(0, DType.INT64), result.dtype)
        base = Number(zero, False)
    else:
        target = tensor(b, out, args.loc)
        _check_cast(b, result, target, casting, args.loc)
        base = target
    kind = base.dtype
    kinds = (DType.BOOL, kind, kind)
    chosen = combine(
        b,
        "where",
        (flags, settled(b, result), base),
        kinds,
        kind,
        lambda p, _: select(*p),
        args.loc,
    )
    return with_out(b, chosen, out, args, widens=True)


def pair(name: str) -> Rule:
    """Return the rule of np.divmod, np.modf or np.frexp."""
    first, second = PAIRS[name]
    ufunc = first.ufunc
    names = " ".join(f"x{number}" for number in range(1, ufunc.nin + 1))

    def rule(b: Builder, args: Arguments) -> Value:
        *values, out1, out2, out = args.take(names, "out1 out2 out")
        given = as_sequence(out)
        if isinstance(given, Sequence) and len(given.items) == 2:
            out1, out2 = given.items
        operands = [settled(b, array_or_number(b, value, args.loc)) for value in values]
        loop = dtypes_of(ufunc, operand_kinds(operands), args.loc)
        results = [
            combine(b, name, operands, loop[: ufunc.nin], kind, op.rule, args.loc, repeats=True)
            for op, kind in zip((first, second), loop[ufunc.nin :], strict=True)
        ]
        outs = (out1, out2)
        if not all(is_none(o) for o in outs):  # both are read before either is written
            results = [stored(b, r) if isinstance(r, Tensor) and r.rank else r for r in results]
        return Sequence(tuple(with_out(b, r, o, args) for r, o in zip(results, outs, strict=True)))

    return rule


# -- methods ----------------------------------------------------------------------------------

_REDUCERS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
    "logical_or": "any", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
}  # fmt: skip


def method(op: Elementwise, name: str) -> Rule | None:
    """Return the rule of `np.<ufunc>.reduce`, `.accumulate` or `.outer`."""
    match name:
        case "outer" if op.ufunc.nin == 2:
            return _outer(op)
        case "reduce" if op.name in _REDUCERS:
            return _reduce(_REDUCERS[op.name])
        case "accumulate" if op.name in _REDUCERS:
            return _accumulate(_REDUCERS[op.name])
        case _:
            return None


def _reduce(reducer: str) -> Rule:
    """`reduce`: like the function, but over axis 0 unless told otherwise."""

    def rule(b: Builder, args: Arguments) -> Value:
        r = request(b, args, "axis dtype out keepdims initial where")
        given = len(args.values) > 1 or "axis" in args.keywords
        result = axis_reductions.reduced(
            b, reducer, r.value, r.axes if given else (0,), r.keepdims, args.loc, r.dtype,
            initial=r.initial, where=r.where,
        )  # fmt: skip
        return with_out(b, result, r.out, args)

    return rule


def _accumulate(reducer: str) -> Rule:
    def rule(b: Builder, args: Arguments) -> Value:
        array, axis, kind, out = args.take("array", "axis dtype out")
        value = forced(b, tensor(b, array, args.loc))
        along = one_axis(b, axis, value.rank, args.loc, 0)
        found = dtype(kind, args.loc) or axis_reductions.summation_dtype(reducer, value.dtype)
        return with_out(b, scans.running_along(b, value, along, reducer, found), out, args)

    return rule


def _outer(op: Elementwise) -> Rule:
    """All pairs of elements."""

    def rule(b: Builder, args: Arguments) -> Value:
        first, second, out = args.take("a b", "out")
        left, right = (forced(b, tensor(b, value, args.loc)) for value in (first, second))
        rank = left.rank
        shape: Index = (*left.shape, *(ONE,) * right.rank)
        wide = remapped(left, shape, lambda index: index[:rank])
        return with_out(b, apply(b, op, (wide, right), args.loc), out, args)

    return rule


def contracted(signature: str) -> Rule:
    """Return the rule of np.vecdot, np.matvec or np.vecmat: `signature` is einsum's."""

    def rule(b: Builder, args: Arguments) -> Value:
        first, second, out = args.take("x1 x2", "out")
        left, right = (forced(b, tensor(b, value, args.loc)) for value in (first, second))
        if signature.startswith("...i,") and left.dtype.is_complex:
            conjugate = apply(b, UFUNCS["conjugate"], (left,), args.loc)
            left = as_tensor(conjugate)
        kind = products.product_dtype(left, right, args.loc)
        result = products.einsum(b, signature, (left, right), args.loc, kind, is_narrow=False)
        return with_out(b, result, out, args)

    return rule


FUNCTIONS: dict[str, Rule | OnMasked] = {
    **{name: OnMasked(elementwise(op)) for name, op in UFUNCS.items()},
    **{name: pair(name) for name in PAIRS},
    "vecdot": contracted("...i,...i"),
    "matvec": contracted("...ij,...j->...i"),
    "vecmat": contracted("...i,...ij->...j"),
}
