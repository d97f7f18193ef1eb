"""How much code a loop of a kernel is, and how often it runs."""

from __future__ import annotations

from polyopt.emit.gpu.nests import spans
from polyopt.ir.expr import Const, Expr, sub
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Body, For, If, While

MOST_WORK = 512
"""Assignments that a loop may become without being asked to."""


def is_constant_from(lower: Expr, limit: Expr) -> bool:
    """Tell whether `limit` is told by the constant count of iterations."""
    return isinstance(normalize(sub(limit, lower)), Const)


def trips_of(loop: For) -> int | None:
    """Return the constant that a loop's number of iterations is at most, if there is one."""
    found = [distance for _, distance in spans(loop)]
    if not found:
        return None
    return max(0, -(-min(found) // loop.step))


def work_of(body: Body) -> int:
    """Return how many assignments `body` is when its loops are unrolled; others count much."""
    total = 0
    for node in body:
        match node:
            case For():
                trips = trips_of(node)
                total += (MOST_WORK if trips is None else trips) * work_of(node.body)
            case While():
                total += MOST_WORK
            case If():
                total += work_of(node.then) + work_of(node.otherwise)
            case _:
                total += 1
    return total
