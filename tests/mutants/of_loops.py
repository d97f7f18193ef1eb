"""Mutants of lowering: bounds, guards, order.

In: nothing.  Out: `MUTANTS`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import islpy as isl

from polyopt.emit import lower_scop
from polyopt.emit.passes import guards
from polyopt.ir import isl_ast
from polyopt.ir.affine import param_space
from polyopt.ir.expr import Binary, BinaryOp, Expr, integer, rewrite, sub
from polyopt.ir.loops import If
from polyopt.ir.types import DType
from tests.mutants.case import Case
from tests.mutants.layers import Layer
from tests.mutants.mutant import Mutant
from tests.mutants.planting import Change

LOOPS = (Layer.PROOF, Layer.ENUMERATION, Layer.TEXT, Layer.RUN)
BOUNDS = (Layer.PROOF, Layer.ENUMERATION, Layer.TEXT, Layer.SANITIZERS)


def _some(original: Any, build: isl.AstBuild, count: int) -> Any:
    """Make loops for at least one iteration."""
    one = isl.Set.universe(param_space(["N"]))
    one = one.lower_bound_val(isl.dim_type.param, 0, isl.Val(1))
    return original(build.restrict(one), count)


def _one_arm(original: Any, op: BinaryOp, arguments: list[Expr], dtype: DType) -> Expr:
    result: Expr = original(op, arguments[:1] if op is BinaryOp.OR else arguments, dtype)
    return result


def _towards_zero(original: Any, *args: Any) -> Any:
    """Round the first tile's number towards zero."""
    made = original(*args)

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Binary) and part.op is BinaryOp.FLOORDIV:
            down = sub(part.left, sub(part.right, integer(1)))
            return replace(part, left=down)
        return None

    if isinstance(made, isl_ast.AstFor) and made.depth == 0:
        return replace(made, lower=rewrite(made.lower, rule))
    return made


def _one_side(original: Any, expr: Expr, value: int) -> Expr:
    if isinstance(expr, Binary) and expr.op is BinaryOp.MIN:
        return replace(expr, right=isl_ast.plus(expr.right, value))
    result: Expr = original(expr, value)
    return result


def _always(original: Any, outside: Any, loop: Any, result: Any) -> Any:
    """Test what a loop does not change although no iteration may follow."""
    del original, loop
    return (If(guards.conjunction(outside), (result,)),)


def _swapped(original: Any, node: Any, params: Any, mark: str = "") -> Any:
    """Run what stands in one body backwards."""
    found = original(node, params, mark)
    if all(isinstance(step, isl_ast.AstCall) for step in found):
        return tuple(reversed(found))
    return found


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        8,
        "the sizes are taken for positive",
        (Change(lower_scop, "with_iterators", _some),),
        LOOPS,
        Case("for i in range(N):\n  if i == 0:\n    A[i] = 7.0", "A[1]", "parallelize(i)"),
    ),
    Mutant(
        9,
        "one condition of a union is dropped",
        (Change(isl_ast, "_chain", _one_arm),),
        LOOPS,
        Case(
            "for i in range(N):\n  if N > 7 or M > 2:\n    A[i] = A[i] + 1.0",
            "A[N]",
            params="N M",
            sizes=({"N": 5, "M": 4}, {"N": 9, "M": 0}, {"N": 2, "M": 2}),
        ),
    ),
    Mutant(
        10,
        "the first tile is wrong where bounds are negative",
        (Change(isl_ast, "_loop", _towards_zero),),
        LOOPS,
        Case("for i in range(-N, N):\n  A[i + N] = A[i + N] + 1.0", "A[2*N]", "strip(i, 4)"),
    ),
    Mutant(
        11,
        "the last tile lacks an iteration",
        (Change(isl_ast, "plus", _one_side),),
        LOOPS,
        Case(
            "for i in range(N):\n  for j in range(N):\n    A[i, j] = A[i, j] + 1.0",
            "A[N, N]",
            "tile(L0, 4, 4)",
        ),
    ),
    Mutant(
        39,
        "what a loop does not change is read although the loop does not run",
        (Change(guards, "_before", _always),),
        BOUNDS,
        Case(
            "for i in range(N):\n  B[i] = 1.0\n  for j in range(i):\n    if P[i - 1] > 0:\n"
            "      A[i, j] = A[i, j] + 1.0",
            "A[N, N]; B[N]; P[N]",
        ),
    ),
    Mutant(
        40,
        "two writes of one iteration change places",
        (Change(isl_ast, "ast_body", _swapped),),
        LOOPS,
        Case("for i in range(N):\n  A[i] = B[i]\n  A[i] = A[i] * 2.0 + 1.0", "A[N]; B[N]"),
    ),
)
