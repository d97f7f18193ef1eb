"""`items.append(value)` and `x = items.pop()`: lists that grow and shrink.

In: the call's tree.  Out: a longer or shorter sequence; in a loop, an array with a place for every
turn; elsewhere a list that lives in memory (`growing`).
Refuses: lists under two names (PO0152).
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from contextlib import contextmanager

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import floordiv
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import settled, store
from polyopt.frontend.program.statement_domains import Loop, Scope, is_same_place
from polyopt.frontend.reader.expressions import evaluate
from polyopt.frontend.syntax.structure import counts
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import array_or_number
from polyopt.frontend.values.values import (
    Growing,
    Number,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    remapped,
    view_of,
)
from polyopt.frontend.variables import lists
from polyopt.frontend.variables.binding import kept
from polyopt.frontend.variables.call_frames import Frame
from polyopt.frontend.variables.growing import HINT, grow, made, shrink
from polyopt.frontend.variables.lists import as_list
from polyopt.frontend.variables.name_rotation import trips
from polyopt.ir.expr import Expr, Iter, integer


def appended_name(node: ast.expr) -> str | None:
    """Return the list's name where `node` is `name.append(value)`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[_], keywords=[]
        ):
            return name
        case _:
            return None


def is_read_while_growing(tree: ast.AST, call: ast.Call, name: str) -> bool:
    """Tell whether a loop in which the call makes a list longer, or a function, reads the list.

    What is read has the items of earlier turns, which an array with a place for every turn hides.
    """
    assert isinstance(call.func, ast.Attribute)
    inner = (part for part in ast.walk(tree) if isinstance(part, ast.Lambda | ast.FunctionDef))
    if any(part is not tree and name in _names(part) for part in inner):
        return True
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For | ast.While):
            inside = list(ast.walk(loop))
            names = [part for part in inside if isinstance(part, ast.Name) and part.id == name]
            is_made = any(isinstance(part.ctx, ast.Store) for part in names)
            if not is_made and any(part is call for part in inside):
                return any(part is not call.func.value for part in names)
    return False


def _names(tree: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}


def note_list(b: Builder, frame: Frame, targets: list[ast.expr], value: ast.expr) -> None:
    """Remember where a list is made; one that gets a second name may not grow."""
    share(frame, value)
    match targets, value:
        case [ast.Name(id=name)], ast.List() | ast.ListComp() | ast.Call():
            frame.lists[name] = b.scope
            place = frame.made[name] = frame.place(targets[0], name)
            found = frame.env.get(name)
            if place in b.facts.grown and isinstance(found, Sequence):
                first = [array_or_number(b, item, frame.loc(value)) for item in found.items]
                frame.env[name] = made(b, name, place, _numbers(b, first, frame.loc(value)))
        case [ast.Tuple(elts=names)], ast.Tuple(elts=parts) if len(names) == len(parts):
            for target, item in zip(names, parts, strict=True):
                note_list(b, frame, [target], item)
        case [ast.Name(id=name)], ast.Name(id=other):
            frame.lists.pop(name, None)
            if isinstance(frame.env.get(other), Sequence | Growing | Tensor):
                frame.lists.pop(other, None)
        case _:
            for target in targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name):
                        frame.lists.pop(part.id, None)


def share(frame: Frame, value: ast.expr) -> None:
    """Note that the lists which `value` holds are another's, too: they may not grow."""
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.BoolOp(values=parts):
            pass
        case ast.IfExp(body=then, orelse=otherwise):
            parts = [then, otherwise]
        case ast.Call(func=ast.Name(id=name)) if not hasattr(builtins, name):
            parts = [*value.args, *(keyword.value for keyword in value.keywords)]
        case _:
            return
    for part in parts:
        if isinstance(part, ast.Name):
            frame.lists.pop(part.id, None)
        share(frame, part)


@contextmanager
def fixed(frame: Frame, iterable: ast.expr) -> Iterator[None]:
    """Lists that a loop runs over neither grow nor shrink in it."""
    before = frame.fixed
    parts = () if counts(iterable) else ast.walk(iterable)
    frame.fixed |= {part.id for part in parts if isinstance(part, ast.Name)}
    try:
        yield
    finally:
        frame.fixed = before


def append(b: Builder, frame: Frame, node: ast.Call, name: str) -> bool:
    """Read `name.append(value)`; False when the name is no list."""
    found = frame.env.get(name)
    home = frame.lists.get(name)
    is_list = isinstance(found, Growing) or (isinstance(found, Sequence) and found.is_list)
    if not is_list and not (isinstance(found, Tensor) and home is not None):
        return False
    loc = frame.loc(node)
    if home is None or name not in frame.made or name in frame.fixed:
        refuse("PO0152", f"`{name}` cannot grow here", loc, HINT)
    share(frame, ast.Tuple(node.args))
    value = evaluate(b, frame, node.args[0])
    if isinstance(found, Sequence) and is_same_place(b.scope, home):
        frame.env[name] = Sequence((*found.items, kept(b, name, value)), True)
        return True
    if isinstance(found, Tensor) and lists.is_list(found) and is_same_place(b.scope, home):
        longer = Sequence((kept(b, name, value),), True)
        frame.env[name] = lists.operated(b, "add", (found, longer), loc) or found
        return True
    loop = _turn(b.scope, home)
    is_empty = isinstance(found, Sequence) and not found.items
    if loop is None or not is_empty or is_read_while_growing(frame.function.tree, node, name):
        (item,) = _numbers(b, [array_or_number(b, value, loc)], loc)
        places = (frame.made[name], frame.place(node, "append"))
        grow(b, name, places, home, item, found)
        return True
    frame.env[name] = _array(b, name, loop, value, node, frame)
    return True


def pop(b: Builder, frame: Frame, node: ast.expr) -> Value | None:
    """Return the last item of the list in `name.pop()`, which loses it; None for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(ast.Name(id=name), "pop"), args=[], keywords=[]):
            found, home = frame.env.get(name), frame.lists.get(name)
        case _:
            return None
    items = found.items if isinstance(found, Sequence) and found.is_list else None
    is_made = home is not None and name in frame.made and name not in frame.fixed
    if home is None or not is_made or (not items and not isinstance(found, Growing)):
        return None
    if items and is_same_place(b.scope, home):
        frame.env[name] = Sequence(items[:-1], True)
        return items[-1]
    last = None
    if items:
        (last,) = _numbers(b, [array_or_number(b, items[-1], b.loc)], b.loc)
    places = (frame.made[name], frame.place(node, "pop"))
    return shrink(b, name, places, found if isinstance(found, Growing) else None, last)


def _numbers(b: Builder, items: list[Number | Tensor], loc: Loc | None) -> tuple[Number, ...]:
    found = [settled(b, item) for item in items]
    if any(isinstance(item, Tensor) for item in found):
        refuse("PO0152", "a list of arrays grows by conditions or in several loops", loc, HINT)
    return tuple(item for item in found if isinstance(item, Number))


def _turn(here: Scope, home: Scope) -> Loop | None:
    """Return the loop whose every turn is here, if it is the only one since the list was made."""
    if len(here.loops) != len(home.loops) + 1 or here.loops[:-1] != home.loops:
        return None
    if (here.conditions, here.guard) != (home.conditions, home.guard):
        return None
    return here.loops[-1] if here.loops[-1].going is None else None


def _array(b: Builder, name: str, loop: Loop, value: Value, node: ast.Call, frame: Frame) -> Tensor:
    """Return the array of all items; the one of this turn is stored."""
    loc = frame.loc(node)
    element = as_tensor(settled(b, array_or_number(b, value, loc)))
    current = Iter(loop.iter)
    distance = loop.distance(current)
    place: Expr = floordiv(distance, integer(abs(loop.step)))
    shape = (trips(b, loop), *element.shape)
    whole = view_of(b.new_buffer(name, element.dtype, shape, around=True))
    assert whole.view is not None
    whole.view.buffer.weak = element.weak
    row = remapped(whole, element.shape, lambda inner: (place, *inner))
    store(b, row, element, loc)
    return as_list(Tensor(shape, whole.dtype, whole.at, whole.view))
