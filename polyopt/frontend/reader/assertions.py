"""`assert` and `raise`: checks of the call where sizes decide, faults of the kernel otherwise.

In: the statement's tree.  Out: a demand, or a statement that notes where it does not hold.
"""

from __future__ import annotations

import ast
from collections.abc import Set

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import FALSE, TRUE, is_affine, negated
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.statement_domains import ENDLESS
from polyopt.frontend.reader.conditions import truth
from polyopt.frontend.reader.expressions import evaluate
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Known
from polyopt.frontend.variables.call_frames import Frame

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


def read_raise(b: Builder, frame: Frame, node: ast.Raise) -> None:
    """Read a `raise`: nothing may lead there."""
    message = f"`{ast.unparse(node)}` is reached"
    unreached(b, "PO0177", message, frame.loc(node), "pass values for which it is not")


def unreached(b: Builder, code: str, message: str, loc: Loc | None, hint: str | None) -> None:
    """Note that nothing may lead here: a check of the call, or a fault where data decides."""
    if b.scope.guard == TRUE:
        b.demand(FALSE, code, message, loc, hint)
        return
    b.fail_where(TRUE, b.fault(code, message, loc, hint))


def may_be_skipped(b: Builder) -> bool:
    """Whether a branch leads past this place, and loops around it end whatever is left out.

    A guard is inside the innermost `while` loop, which a fault ends.
    """
    scope = b.scope
    is_bounded = all(loop.upper != ENDLESS for loop in scope.loops)
    return scope.guard != TRUE or (is_bounded and bool(scope.conditions))


def always_raises(body: list[ast.stmt], raising: Set[ast.stmt] = frozenset()) -> bool:
    """Whether a block that Python ends, ends by raising; `raising`: statements that do."""
    if not raising.isdisjoint(body):
        return True
    match body:
        case [*_, ast.Raise()]:
            return True
        case [*_, ast.If(body=then, orelse=otherwise)]:
            return always_raises(then, raising) and always_raises(otherwise, raising)
        case _:
            return False
