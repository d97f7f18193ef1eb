"""Contractions: `@`, dot, inner, tensordot and einsum, all from labelled dimensions.

In: operands and one label per dimension.  Out: a `Fold` over the labels that the result lacks.
Refuses: ranks and extents that do not fit (PO0141, PO0140).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import apply
from polyopt.frontend.integers.affine_integers import ONE
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, operand_of_product, plain
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.merged_dimensions import groups_of, merge
from polyopt.frontend.values.promote import cast, dtypes_of
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import (
    Fold,
    Index,
    Operandish,
    Tensor,
    as_tensor,
    as_value,
    remapped,
)
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, integer
from polyopt.ir.types import DType

Labels = str
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def contract(
    b: Builder,
    operands: Sequence[Tensor],
    labels: Sequence[Labels],
    result: Labels,
    loc: Loc | None,
    sum_dtype: DType | None = None,
    is_narrow: bool = False,
) -> Tensor:
    """Return `einsum(labels -> result)` of the operands; sums become `sum_dtype`.

    `is_narrow`: NumPy may round partial sums to the result's type.
    """
    if any(operand.merged is not None for operand in operands):
        return _of_merged(b, operands, labels, result, loc, (sum_dtype, is_narrow))
    dtype = operands[0].dtype
    for other in operands[1:]:
        kinds = ((dtype, False), (other.dtype, other.weak))
        dtype = dtypes_of(np.multiply, kinds, loc)[-1]
    extents = _extents(b, operands, labels, loc)
    summed = "".join(dict.fromkeys(c for word in labels for c in word if c not in result))
    shape = tuple(extents[label] for label in result)
    every = set("".join(labels))
    ready = [
        operand_of_product(b, operand, reused=bool(every - set(word)))
        for operand, word in zip(operands, labels, strict=True)
    ]

    def term(index: Index, inner: Index) -> Expr:
        place = dict(zip((*result, *summed), (*index, *inner), strict=True))
        factors = [
            cast(tensor.at(_subscript(tensor, word, place)), dtype, loc)
            for tensor, word in zip(ready, labels, strict=True)
        ]
        value = factors[0]
        for factor in factors[1:]:
            op = BinaryOp.AND if dtype is DType.BOOL else BinaryOp.MUL
            value = Binary(op, value, factor, dtype)
        return value

    if not summed:
        return Tensor(shape, dtype, lambda index: term(index, ()), cost=len(ready) - 1)
    result_dtype, dtype = sum_dtype or dtype, accumulator_dtype(dtype)
    op = BinaryOp.OR if dtype is DType.BOOL else BinaryOp.ADD
    zero = cast(Const(0, DType.INT64), dtype)
    assert isinstance(zero, Const)
    narrow = result_dtype if result_dtype.is_half and is_narrow else None
    fold = Fold(op, dtype, shape, tuple(extents[c] for c in summed), term, zero, narrow)
    return rounded(b, folded(fold), result_dtype, loc)


def accumulator_dtype(dtype: DType) -> DType:
    """Return the dtype that sums of `dtype` are made in: NumPy's of float16 are of float32."""
    return DType.FLOAT32 if dtype.is_half else dtype


def rounded(b: Builder, value: Tensor, dtype: DType, loc: Loc | None) -> Tensor:
    """Return a sum in its result's dtype."""
    if value.dtype is dtype:
        return value
    total = forced(b, value, "total")
    return Tensor(value.shape, dtype, lambda index: cast(total.at(index), dtype, loc), cost=1)


def _of_merged(
    b: Builder,
    operands: Sequence[Tensor],
    labels: Sequence[Labels],
    result: Labels,
    loc: Loc | None,
    sums: tuple[DType | None, bool],
) -> Tensor:
    """Contract arrays with merged dimensions in the dimensions behind them, where all agree."""
    groups: dict[str, Index] = {}
    for operand, word in zip(operands, labels, strict=True):
        own = groups_of(operand)
        for d, label in enumerate(word):
            extents = own.get(d - len(word), (operand.shape[d],))
            if groups.setdefault(label, extents) != extents:
                simple = [plain(b, operand) for operand in operands]
                return contract(b, simple, labels, result, loc, *sums)
    free = iter(letter for letter in LETTERS if letter not in groups)
    names = {
        label: label if len(extents) == 1 else "".join(next(free) for _ in extents)
        for label, extents in groups.items()
    }
    words = ["".join(names[label] for label in word) for word in labels]
    sources = [o if o.merged is None else o.merged.source for o in operands]
    joined = "".join(names[label] for label in result)
    inner = contract(b, sources, words, joined, loc, *sums)
    if all(len(names[label]) == 1 for label in result):
        return inner
    totals = _extents(b, operands, labels, loc)
    shape = tuple(totals[label] for label in result)
    return merge(forced(b, inner), [len(names[label]) for label in result], shape)


def folded(fold: Fold) -> Tensor:
    """Return a reduction as an array value; its elements exist once it is stored."""

    def unready(index: Index) -> Expr:
        raise AssertionError("a reduction was read before it was stored")

    return Tensor(fold.shape, fold.dtype, unready, fold=fold)


def _subscript(tensor: Tensor, word: Labels, place: dict[str, Expr]) -> Index:
    return tuple(
        integer(0) if extent == ONE else place[label]
        for extent, label in zip(tensor.shape, word, strict=True)
    )


def _extents(
    b: Builder, operands: Sequence[Tensor], labels: Sequence[Labels], loc: Loc | None
) -> dict[str, Expr]:
    extents: dict[str, Expr] = {}
    for tensor, word in zip(operands, labels, strict=True):
        for label, extent in zip(word, tensor.shape, strict=True):
            known = extents.get(label, ONE)
            if ONE in (known, extent):
                extents[label] = extent if known == ONE else known
            else:
                extents[label] = equate(b, known, extent, "product", loc)
    return extents


def matmul(b: Builder, left: Operandish, right: Operandish, loc: Loc | None) -> Tensor:
    """Return `left @ right`: vectors, matrices and stacks of matrices."""
    a, c = as_tensor(left), as_tensor(right)
    if a.rank == 0 or c.rank == 0:
        refuse("PO0141", "`@` needs arrays, and one side is a number", loc, "multiply with `*`")
    _refuse_unit_sum(a.shape[-1], c.shape[-1 if c.rank == 1 else -2], loc)
    stack = "abcdefgh"
    left_stack = stack[: max(a.rank - 2, 0)]
    right_stack = stack[: max(c.rank - 2, 0)]
    deep = max(len(left_stack), len(right_stack))
    left_word = stack[deep - len(left_stack) : deep] + ("k" if a.rank == 1 else "ik")
    right_word = stack[deep - len(right_stack) : deep] + ("k" if c.rank == 1 else "kj")
    result = stack[:deep] + ("" if a.rank == 1 else "i") + ("" if c.rank == 1 else "j")
    kind = product_dtype(a, c, loc)
    return contract(b, (a, c), (left_word, right_word), result, loc, kind)


def product_dtype(left: Tensor, right: Tensor, loc: Loc | None) -> DType | None:
    """Return the dtype of `@` where it is not that of products: bfloat16 gives float32."""
    if not (left.dtype.is_half or right.dtype.is_half):
        return None
    return dtypes_of(np.matmul, ((left.dtype, left.weak), (right.dtype, right.weak)), loc)[-1]


def _refuse_unit_sum(left: Expr, right: Expr, loc: Loc | None) -> None:
    """The summed dimension does not broadcast."""
    if ONE in (left, right) and left != right:
        refuse("PO0140", "the summed dimensions of a product differ", loc, "check the shapes")


def dot(b: Builder, left: Operandish, right: Operandish, loc: Loc | None) -> Operandish:
    """Return `np.dot`: the last dimension of the left with the last but one of the right."""
    a, c = as_tensor(left), as_tensor(right)
    if a.rank == 0 or c.rank == 0:
        return apply(b, UFUNCS["multiply"], (left, right), loc)
    inner = c.shape[-1 if c.rank == 1 else -2]
    _refuse_unit_sum(a.shape[-1], inner, loc)
    left_free, right_free = _free_labels(a.rank - 1, c.rank - 1)
    right_word = right_free[:-1] + "k" + right_free[-1:] if c.rank > 1 else "k"
    return contract(b, (a, c), (left_free + "k", right_word), left_free + right_free, loc)


def inner(b: Builder, left: Operandish, right: Operandish, loc: Loc | None) -> Operandish:
    """Return `np.inner`: the last dimensions of both."""
    a, c = as_tensor(left), as_tensor(right)
    if a.rank == 0 or c.rank == 0:
        return apply(b, UFUNCS["multiply"], (left, right), loc)
    _refuse_unit_sum(a.shape[-1], c.shape[-1], loc)
    left_free, right_free = _free_labels(a.rank - 1, c.rank - 1)
    words = (left_free + "k", right_free + "k")
    return contract(b, (a, c), words, left_free + right_free, loc)


def outer(b: Builder, left: Operandish, right: Operandish, loc: Loc | None) -> Operandish:
    """Return `np.outer` of two vectors."""
    a, c = (_at_least_vector(as_tensor(side)) for side in (left, right))
    if a.rank != 1 or c.rank != 1:
        hint = "flatten them with `.ravel()` first"
        refuse("PO0141", "np.outer of arrays that are no vectors", loc, hint)
    return contract(b, (a, c), ("i", "j"), "ij", loc)


def _at_least_vector(value: Tensor) -> Tensor:
    return remapped(value, (ONE,), lambda _: ()) if value.rank == 0 else value


def tensordot(
    b: Builder,
    left: Tensor,
    right: Tensor,
    ours: Sequence[int],
    theirs: Sequence[int],
    loc: Loc | None,
) -> Operandish:
    """Return the sum of products over the axes `ours` of the left and `theirs` of the right."""
    if len(ours) != len(theirs) or len(ours) > min(left.rank, right.rank):
        refuse("PO0141", "np.tensordot with axes that do not pair up", loc)
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left_word = [next(letters) for _ in range(left.rank)]
    right_word = [next(letters) for _ in range(right.rank)]
    for one, other in zip(ours, theirs, strict=True):
        right_word[other] = left_word[one]
    shared = {left_word[axis] for axis in ours}
    result = [label for label in (*left_word, *right_word) if label not in shared]
    return contract(
        b, (left, right), ("".join(left_word), "".join(right_word)), "".join(result), loc
    )


def einsum(
    b: Builder,
    text: str,
    operands: Sequence[Tensor],
    loc: Loc | None,
    sum_dtype: DType | None = None,
    is_narrow: bool = True,
) -> Operandish:
    """Return `np.einsum(text, *operands)`; `sum_dtype` and `is_narrow` as for `contract`."""
    plain = text.replace(" ", "")
    inputs, arrow, result = plain.partition("->")
    words = inputs.split(",")
    if not set(plain.replace("...", "")) <= set(LETTERS + ",->"):
        refuse("PO0151", f"the subscripts {text!r} of np.einsum", loc, "use letters and `...`")
    if len(words) != len(operands):
        refuse("PO0141", f"np.einsum of {len(operands)} arrays with {len(words)} subscripts", loc)
    if not arrow:
        named = inputs.replace("...", "").replace(",", "")
        once = sorted(label for label in set(named) if named.count(label) == 1)
        result = ("..." if "..." in inputs else "") + "".join(once)
    words, result = _without_dots(words, result, operands, loc)
    for word, operand in zip(words, operands, strict=True):
        if len(word) != operand.rank:
            message = f"np.einsum names {len(word)} dimensions of an array of rank {operand.rank}"
            refuse("PO0141", message, loc)
    if set(result) - set("".join(words)) or len(set(result)) != len(result):
        refuse("PO0151", f"the result {result!r} of np.einsum", loc, "name each label once")
    left, labels = _in_pairs(b, list(operands), words, result, loc)
    return as_value(contract(b, left, labels, result, loc, sum_dtype, is_narrow))


def _without_dots(
    words: Sequence[Labels], result: Labels, operands: Sequence[Tensor], loc: Loc | None
) -> tuple[list[Labels], Labels]:
    """Write `...` as labels of their own, the same ones from the last dimension backwards."""
    counts = [
        operand.rank - len(word.replace("...", "")) if "..." in word else 0
        for word, operand in zip(words, operands, strict=True)
    ]
    used = set("".join(words) + result)
    free = [label for label in LETTERS if label not in used]
    deep = max(counts, default=0)
    if min(counts, default=0) < 0 or deep > len(free):
        refuse("PO0141", "np.einsum names more dimensions than an array has", loc)
    dots = "".join(free[:deep])
    found = [
        word.replace("...", dots[deep - count :]) for word, count in zip(words, counts, strict=True)
    ]
    return found, result.replace("...", dots)


def _in_pairs(
    b: Builder, operands: list[Tensor], words: list[Labels], result: Labels, loc: Loc | None
) -> tuple[list[Tensor], list[Labels]]:
    """Contract two operands at a time where that makes the loop nests less deep.

    Return what is left to contract.
    """
    while len(words) > 2:
        everything = len(set("".join(words)))
        steps = [
            (len(set(words[i] + words[j])), len(_kept(words, (i, j), result)), i, j)
            for i in range(len(words))
            for j in range(i + 1, len(words))
        ]
        depth, _, i, j = min(steps)
        if depth >= everything:
            break
        kept = _kept(words, (i, j), result)
        pair = (operands[i], operands[j])
        joint = contract(b, pair, (words[i], words[j]), kept, loc, is_narrow=True)
        for position in (j, i):
            del operands[position], words[position]
        operands.append(joint)
        words.append(kept)
    return operands, words


def _kept(words: Sequence[Labels], pair: tuple[int, int], result: Labels) -> Labels:
    """Return the labels of the two operands that the others or the result still need."""
    others = "".join(word for n, word in enumerate(words) if n not in pair) + result
    return "".join(dict.fromkeys(c for n in pair for c in words[n] if c in others))


def _free_labels(left: int, right: int) -> tuple[Labels, Labels]:
    letters = "abcdefghijlmnopqrstuvwxyz"
    return letters[:left], letters[left : left + right]
