"""Take the order of a proven tree as the program's own.

In: a Scop and a tree that was proven for it.  Out: an equal Scop whose statements stand in the
tree's order.  Steps that change data start from it: what they do to values is judged in the order
in which the loops run now.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polyopt.ir.expr import Expr, Iter, integer
from polyopt.ir.isl_ast import affine_expr
from polyopt.ir.scop import Scop, Statement
from polyopt.schedule.tree import Tree, time_map


def rebased(scop: Scop, tree: Tree) -> Scop:
    """Return `scop` with the tree's order as its own.

    Instances that the tree leaves unordered follow the text and their iterators.
    """
    times = time_map(tree, scop).intersect_params(scop.context)
    statements = tuple(
        replace(statement, order=_order(statement, times, scop.params, position))
        for position, statement in enumerate(scop.statements)
    )
    return replace(scop, statements=statements)


def _order(
    statement: Statement, times: isl.UnionMap, params: tuple[str, ...], position: int
) -> tuple[Expr, ...]:
    ties = (integer(position), *map(Iter, statement.iters))
    own = times.intersect_domain(isl.UnionSet.from_set(statement.domain))
    if own.is_empty():
        return ties
    time = isl.PwMultiAff.from_map(isl.Map.from_union_map(own))
    levels = range(time.dim(isl.dim_type.out))
    found = (affine_expr(time.get_pw_aff(level), statement.iters, params) for level in levels)
    return (*found, *ties)
