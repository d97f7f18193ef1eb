"""Take the order of a proven tree as the program's own.

In: a Scop and a tree that was proven for it.  Out: an equal Scop whose statements stand in the
tree's order.  Steps that change data start from it: what they do to values is judged in the order
in which the loops run now.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polyopt.ir.expr import Const, Expr, Iter, integer
from polyopt.ir.isl_ast import affine_expr
from polyopt.ir.scop import Scop, Statement
from polyopt.schedule.tree import Tree, time_map


def rebased(scop: Scop, tree: Tree) -> Scop:
    """Return `scop` with the tree's order as its own.

    Instances that the tree leaves unordered follow the text and their iterators.
    """
    times = time_map(tree, scop).intersect_params(scop.context)
    orders = [_time(statement, times, scop.params) for statement in scop.statements]
    levels = [level for level in range(max(map(len, orders), default=0)) if _tells(orders, level)]
    is_total = bool(times.is_injective())
    statements = []
    for position, (statement, order) in enumerate(zip(scop.statements, orders, strict=True)):
        told = tuple(order[level] for level in levels) if order else ()
        ties: tuple[Expr, ...] = ()
        if not is_total:
            ties = (integer(position), *map(Iter, statement.iters))
        statements.append(statement.at((*told, *ties)))
    return replace(scop, statements=tuple(statements))


def _time(statement: Statement, times: isl.UnionMap, params: tuple[str, ...]) -> tuple[Expr, ...]:
    """Return the statement's time vector; empty where none of its instances runs."""
    own = times.intersect_domain(isl.UnionSet.from_set(statement.domain))
    if own.is_empty():
        return ()
    time = isl.PwMultiAff.from_map(isl.Map.from_union_map(own))
    levels = range(time.dim(isl.dim_type.out))
    return tuple(_level(time.get_pw_aff(n), statement, params) for n in levels)


def _level(value: isl.PwAff, statement: Statement, params: tuple[str, ...]) -> Expr:
    if value.n_piece() == 1 and value.is_cst():
        constant = value.max_val()
        if constant.is_int():
            return integer(int(constant.to_python()))
    return affine_expr(value, statement.iters, params)


def _tells(orders: list[tuple[Expr, ...]], level: int) -> bool:
    """Tell whether a level is not one constant for all statements."""
    values = {order[level] for order in orders if order}
    return len(values) > 1 or not all(isinstance(value, Const) for value in values)
