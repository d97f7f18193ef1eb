"""What names and subscripts of a syntax tree mean, as far as the tree itself tells.

In: nodes, and the globals that a function sees.  Out: objects, names, counts of dimensions."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import TypeGuard

from polyopt.capture.reads import plain_function
from polyopt.capture.text import Changed, NoText, verified_text


def function_ast(func: Callable[..., object]) -> ast.FunctionDef | None:
    """Return the definition of a plain Python function, or None when its source is not at hand."""
    plain = plain_function(func)
    if not isinstance(plain, FunctionType):
        return None
    try:
        tree = verified_text(plain).tree()
    except (NoText, Changed):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def is_capital(name: str) -> bool:
    """Whether `name` is written as matrices usually are."""
    return name[:1].isupper()


def local_names(definition: ast.FunctionDef) -> frozenset[str]:
    """Return the arguments and the names the body assigns; they hide the module's names."""
    arguments = definition.args
    found = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for node in ast.walk(definition):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


def leaves(expr: ast.expr) -> tuple[str, ...]:
    """Return the names an elementwise value is made of, in order, each once."""
    found: dict[str, None] = {}
    match expr:
        case ast.Name(id=name):
            found[name] = None
        case ast.BinOp():
            parts: Sequence[ast.expr] = (expr.left, expr.right)
            found = dict.fromkeys(name for part in parts for name in leaves(part))
        case ast.UnaryOp():
            found = dict.fromkeys(leaves(expr.operand))
        case ast.Compare():
            parts = (expr.left, *expr.comparators)
            found = dict.fromkeys(name for part in parts for name in leaves(part))
        case ast.Call():
            found = dict.fromkeys(name for part in expr.args for name in leaves(part))
        case _:
            pass
    return tuple(found)


def resolve(node: ast.expr, names: Mapping[str, object]) -> object | None:
    """Return the object a dotted name stands for, looking only into modules, or None."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=value, attr=attr):
            owner = resolve(value, names)
            return getattr(owner, attr, None) if isinstance(owner, ModuleType) else None
        case _:
            return None


def is_one_of(target: object, functions: tuple[object, ...]) -> bool:
    return any(target is function for function in functions)


def is_numpy(function: Callable[..., object]) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] in ("numpy", math.__name__)


def has_star(parts: Sequence[ast.expr]) -> bool:
    return any(isinstance(part, ast.Starred) for part in parts)


def subscript_items(index: ast.expr) -> tuple[ast.expr, ...]:
    return tuple(index.elts) if isinstance(index, ast.Tuple) else (index,)


def is_newaxis(part: ast.expr) -> TypeGuard[ast.expr]:
    match part:
        case ast.Constant(value=None) | ast.Attribute(attr="newaxis"):
            return True
        case _:
            return False


def is_ellipsis(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def dropped_dimensions(index: ast.expr) -> int:
    """How many dimensions the subscript takes away (an index array's own rank comes on top)."""
    kept = [
        isinstance(p, ast.Slice) or is_newaxis(p) or is_ellipsis(p) for p in subscript_items(index)
    ]
    return kept.count(False)


def added_dimensions(index: ast.expr) -> int:
    return sum(is_newaxis(p) for p in subscript_items(index))
