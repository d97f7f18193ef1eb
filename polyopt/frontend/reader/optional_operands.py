"""Operands that Python may leave out, and the names that they bind.

In: the condition under which an operand is evaluated.  Out: names that stand for the new value
where it was, else for the one before.
Refuses: arrays that are bound there (PO0160); reading a name that nothing bound is a fault.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import FALSE
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import buffer_of, stored_number
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import as_number
from polyopt.frontend.values.values import Gone, Perhaps, Value
from polyopt.frontend.variables.alternatives import choose
from polyopt.frontend.variables.binding import kept
from polyopt.frontend.variables.call_frames import Frame
from polyopt.frontend.variables.memory_variables import meet
from polyopt.ir.expr import Expr


@contextmanager
def operand(b: Builder, frame: Frame, condition: Expr, node: ast.expr) -> Iterator[None]:
    """Everything inside, `node`, is evaluated only where the condition holds."""
    before = dict(frame.env)
    with b.operand(condition):
        yield
    for name, value in list(frame.env.items()):
        old = before.get(name)
        if value is old:
            continue
        if name in frame.pins:
            meet(b, frame, [name])
            continue
        frame.env[name] = _either(b, frame, name, condition, value, old, node)


def _either(
    b: Builder,
    frame: Frame,
    name: str,
    condition: Expr,
    value: Value,
    old: Value | None,
    node: ast.expr,
) -> Value:
    """Return what a name stands for that is bound to `value` where the condition holds."""
    loc: Loc | None = frame.loc(node)
    new = as_number(value, loc)
    if new is None or isinstance(old, Perhaps):
        hint = "assign it in a statement of its own before"
        refuse("PO0160", f"`{name}` is bound in an operand that may be left out", loc, hint)
    if old is None or isinstance(old, Gone):
        with b.operand(condition):
            variable = buffer_of(b, stored_number(b, new, name))
        flag = b.unconditional(f"{name}_is_set", condition, FALSE)
        return Perhaps(variable, new.weak, flag, frame.place(node, name))
    before = as_number(old, loc)
    if before is None:
        message = f"`{name}` is an array, or a number where an operand is not left out"
        refuse("PO0160", message, loc, "use another name")
    return kept(b, name, choose(b, condition, new, before, loc))
