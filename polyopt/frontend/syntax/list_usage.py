"""How a function uses a tuple or a list that it is given.

In: the function, the parameter.  Out: the first use that does more with a list than to index,
iterate and measure it; whether it is used as an array is.
"""

from __future__ import annotations

import ast

_OF_ARRAYS = frozenset(("shape", "size", "ndim", "dtype", "T", "copy", "sum", "mean", "astype"))
_READING = frozenset(
    ("len", "enumerate", "zip", "reversed", "sorted", "sum", "min", "max", "any", "all", "tuple")
)


def other_use(tree: ast.FunctionDef, name: str) -> ast.AST | None:
    """Return the first use of `name` that may change it or give it another name."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and not _only_reads(node, parents):
            return node
    return None


def is_used_as_array(tree: ast.FunctionDef, name: str) -> bool:
    """Tell whether attributes of arrays are asked of `name`."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in _OF_ARRAYS
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in ast.walk(tree)
    )


def _only_reads(node: ast.Name, parents: dict[ast.AST, ast.AST]) -> bool:
    if not isinstance(node.ctx, ast.Load):
        return False
    used: ast.AST = node
    parent = parents[used]
    while isinstance(parent, ast.Subscript) and parent.value is used:
        if not isinstance(parent.ctx, ast.Load) or isinstance(parents[parent], ast.AugAssign):
            return False
        used, parent = parent, parents[parent]
    if used is not node:
        return True
    match parent:
        case ast.For(iter=over) | ast.comprehension(iter=over):
            return over is node
        case ast.Call(func=ast.Name(id=called)):
            return called in _READING
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "numpy"))):
            return True
        case ast.Assign(targets=[ast.Tuple() | ast.List()]):
            return True
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return True
        case _:
            return False
