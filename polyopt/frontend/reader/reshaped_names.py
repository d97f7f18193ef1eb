"""`a.shape = sizes`: the names that stand for the array get it in its new shape.

In: the target, the new shape.  Out: the names bound to views of the same memory.
Refuses: arguments, whose shape belongs to the caller, and names that loops or branches share
(PO0163); shapes of another size, as `np.reshape` does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from polyopt.frontend.arithmetic.operators import describe
from polyopt.frontend.integers.affine_integers import TRUE
from polyopt.frontend.numpy import regrouping
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.reader.expressions import evaluate
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Sequence, Tensor, Value
from polyopt.frontend.variables.binding import bind
from polyopt.frontend.variables.call_frames import Frame


def assign_shape(
    b: Builder, frame: Frame, target: ast.Attribute, shape: Value, node: ast.stmt
) -> None:
    """`target.value.shape = shape`."""
    loc = frame.loc(target)
    value = evaluate(b, frame, target.value)
    text = ast.unparse(target.value)
    hint = f"bind another name: flat = {text}.reshape(...)"
    if (
        not isinstance(value, Tensor)
        or value.view is None
        or not isinstance(target.value, ast.Name)
    ):
        refuse("PO0163", f"the shape of {describe(value)} is assigned", loc, hint)
    new = regrouping.reshape(b, Arguments("np.reshape", (value, shape), {}, loc))
    assert isinstance(new, Tensor)
    if new.shape == value.shape:
        return
    if any(value is given for _, given in b.given.values()):
        refuse("PO0163", f"the shape of the argument `{text}` is the caller's", loc, hint)
    is_shared = bool(b.scope.loops or b.scope.conditions) or b.scope.guard != TRUE
    for home, name, found in _names(frame):
        if isinstance(found, Sequence) and _holds(found, value):
            refuse("PO0163", f"the tuple `{name}` holds the array whose shape changes", loc, hint)
        if found is not value:
            continue
        other = home is not frame or name != text
        if name in home.pins or (other and is_shared):
            refuse("PO0163", f"`{name}` would change its shape in a loop or branch", loc, hint)
        bind(b, home, name, new, node)


def _names(frame: Frame) -> Iterator[tuple[Frame, str, Value]]:
    """Yield the names of the function and of those that called it."""
    home: Frame | None = frame
    while home is not None:
        for name, value in list(home.env.items()):
            yield home, name, value
        home = home.caller


def _holds(items: Sequence, value: Tensor) -> bool:
    return any(
        item is value or (isinstance(item, Sequence) and _holds(item, value))
        for item in items.items
    )
