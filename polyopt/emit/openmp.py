"""OpenMP pragmas for loops whose kind was proven.

In: a `For`.  Out: the pragma's text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polyopt.emit.regions import nodes
from polyopt.emit.work import work
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Iter, linear, sub, walk
from polyopt.ir.loops import For

_REDUCTION = {
    BinaryOp.ADD: "+",
    BinaryOp.MUL: "*",
    BinaryOp.MIN: "min",
    BinaryOp.MAX: "max",
    BinaryOp.AND: "&",
    BinaryOp.OR: "|",
    BinaryOp.XOR: "^",
}


def reduction_clauses(loop: For, names: Mapping[str, str]) -> str:
    """Return the reduction clauses of `loop`, each with a leading space."""
    return "".join(
        f" reduction({_REDUCTION[op]} : {names.get(symbol.name, symbol.name)})"
        for op, symbol in loop.reductions
    )


ENOUGH_WORK = 20_000  # assignments; fewer cost less than waking the threads


def parallel_pragma(
    loop: For, names: Mapping[str, str], text: Callable[[Expr], str], *, simd: bool = False
) -> str:
    """Return the pragma that shares the iterations of `loop` among threads, if there are enough.

    `text` prints an INT64 expression.
    """
    amount = work(loop)
    condition = f" if ({text(amount)} > {ENOUGH_WORK})"
    if isinstance(amount, Const):
        condition = "" if int(amount.value.real) > ENOUGH_WORK else " if (0)"
    how = "dynamic" if has_varying_work(loop) else "static"
    kind = "parallel for simd" if simd else "parallel for"
    return f"omp {kind} schedule({how}){reduction_clauses(loop, names)}{condition}"


def simd_pragma(loop: For, names: Mapping[str, str]) -> str:
    """Return the pragma that spreads the iterations of `loop` over SIMD lanes."""
    return f"omp simd{reduction_clauses(loop, names)}"


def has_varying_work(loop: For) -> bool:
    """Tell whether some inner trip count depends on which iteration of `loop` runs.

    Bounds of tiles (`32*it` to `min(N, 32*it + 32)`) count as constant.
    """
    tainted = {loop.iter}
    for node in nodes(loop.body):
        if not isinstance(node, For):
            continue
        if _mentions(node.lower, tainted) or _mentions(node.upper, tainted):
            lowers = _arms(node.lower, BinaryOp.MAX)
            uppers = _arms(node.upper, BinaryOp.MIN)
            if not any(_is_steady(u, low, tainted) for u in uppers for low in lowers):
                return True
            tainted.add(node.iter)
    return False


def _mentions(expr: Expr, iters: set[str]) -> bool:
    return any(isinstance(part, Iter) and part.name in iters for part in walk(expr))


def _is_steady(upper: Expr, lower: Expr, tainted: set[str]) -> bool:
    return not any(_mentions(atom, tainted) for atom, _ in linear(sub(upper, lower)).terms)


def _arms(expr: Expr, op: BinaryOp) -> tuple[Expr, ...]:
    if isinstance(expr, Binary) and expr.op is op:
        return (*_arms(expr.left, op), *_arms(expr.right, op))
    return (expr,)
