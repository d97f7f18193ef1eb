"""`assert`: a check of the call where it is about sizes, a fault of the kernel otherwise.

In: the statement's tree.  Out: a demand, or a statement that notes where it does not hold.
"""

from __future__ import annotations

import ast

from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.expressions import evaluate, truth
from polyopt.frontend.frames import Frame
from polyopt.frontend.integers import is_affine, negated
from polyopt.frontend.values import Known

HINT = "pass values for which the assertion holds"


def read_assert(b: Builder, frame: Frame, node: ast.Assert) -> None:
    """Read an assertion; one that is known to fail is refused."""
    loc = frame.loc(node)
    condition = truth(b, evaluate(b, frame, node.test), frame.loc(node.test))
    message = f"`assert {ast.unparse(node.test)}` does not hold"
    if isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str):
        message = f"{message}: {node.msg.value}"
    if isinstance(condition, Known):
        if not condition.value:
            refuse("PO0177", message, loc, HINT)
        return
    if is_affine(condition.expr):
        b.demand(condition.expr, "PO0177", message, loc, HINT)
        return
    number = b.fault("PO0177", message, loc, HINT)
    b.fail_where(negated(condition.expr), number)
