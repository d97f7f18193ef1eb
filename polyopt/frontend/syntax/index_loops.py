"""Loops over all indices of an array, `np.ndindex` and `np.ndenumerate`, as loops over ranges.

In: a function's tree, the names around it.  Out: the tree with one loop for each named index.
Leaves alone: loops whose index is one name for a tuple, those with `break` or `else`, and those
whose indices are read after them; the front end refuses these.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np

from polyopt.frontend.syntax.liveness import analyse, plain_names
from polyopt.frontend.syntax.structure import breaks, placed


def with_ranges(tree: ast.FunctionDef, object_of: Callable[[ast.expr], object]) -> ast.FunctionDef:
    """Return the tree with nested loops over ranges; `object_of` tells what a name stands for."""
    result = _Ranges(object_of).visit(tree)
    assert isinstance(result, ast.FunctionDef)
    return result


class _Ranges(ast.NodeTransformer):
    def __init__(self, object_of: Callable[[ast.expr], object]) -> None:
        self._object_of = object_of
        self._after: dict[ast.For, frozenset[str]] = {}
        self._count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Find out what is read after the loops of a function, and go through them."""
        loops = {part for part in ast.walk(node) if isinstance(part, ast.For)}
        if any(self._function(part) is not None for part in loops):
            after = analyse(node.body).after
            self._after |= {part: after[part] for part in loops if part in after}
        self.generic_visit(node)
        return node

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        """Nest loops over ranges in place of one over indices."""
        self.generic_visit(node)
        function = self._function(node)
        if function is None or node.orelse or breaks(node.body) or node not in self._after:
            return node
        if self._after[node] & {name.id for name in plain_names(node.target)}:
            return node
        assert isinstance(node.iter, ast.Call)
        made = (_of_shape if function is np.ndindex else _of_array)(
            node.target, node.iter, self._count
        )
        if made is None:
            return node
        self._count += 1
        before, indices, first = made
        body = [*first, *node.body]
        for index, extent in reversed(indices):
            call = ast.Call(ast.Name("range", ast.Load()), [extent], [])
            body = [ast.For(index, call, body, [])]
        return [placed(part, node) for part in (*before, *body)]

    def _function(self, node: ast.For) -> object | None:
        """Return `np.ndindex` or `np.ndenumerate`, if the loop is over what one returns."""
        if not isinstance(node.iter, ast.Call) or node.iter.keywords:
            return None
        found = self._object_of(node.iter.func)
        return found if found is np.ndindex or found is np.ndenumerate else None


_Nest = tuple[list[ast.stmt], list[tuple[ast.expr, ast.expr]], list[ast.stmt]]
"""What stands before the loops, the target and the extent of each, what their body begins with."""


def _of_shape(target: ast.expr, call: ast.Call, number: int) -> _Nest | None:
    """Return the loops of `for i, j in np.ndindex(shape)`, or of `np.ndindex(n, m)`."""
    match call.args:
        case [ast.Starred(value=shape)]:
            pass
        case [ast.Attribute(attr="shape") | ast.Tuple() as shape]:
            pass
        case [shape] if isinstance(target, ast.Tuple) and len(target.elts) > 1:
            pass
        case args if args and not any(isinstance(arg, ast.Starred) for arg in args):
            shape = ast.Tuple(list(args), ast.Load())
        case _:
            return None
    count = len(shape.elts) if isinstance(shape, ast.Tuple) else None
    first: list[ast.stmt] = []
    indices = _names_in(target)
    if indices is None and isinstance(target, ast.Name) and count is not None:
        indices = [ast.Name(f"(index {number}.{d})", ast.Store()) for d in range(count)]
        whole = ast.Tuple([ast.Name(name.id, ast.Load()) for name in indices], ast.Load())
        first.append(ast.Assign([target], whole))
    return None if indices is None else _nested(indices, shape, first, number)


def _of_array(target: ast.expr, call: ast.Call, number: int) -> _Nest | None:
    """Return the loops of `for (i, j), x in np.ndenumerate(a)`."""
    match target, call.args:
        case ast.Tuple(elts=[index, item]), [array] if not isinstance(array, ast.Starred):
            indices = _names_in(index)
        case _:
            return None
    if indices is None:
        return None
    name = f"(array {number})"
    places: list[ast.expr] = [ast.Name(index.id, ast.Load()) for index in indices]
    element = ast.Subscript(ast.Name(name, ast.Load()), ast.Tuple(places, ast.Load()), ast.Load())
    shape = ast.Attribute(ast.Name(name, ast.Load()), "shape", ast.Load())
    first: list[ast.stmt] = [ast.Assign([item], element)]
    before, loops, first = _nested(indices, shape, first, number)
    return [ast.Assign([ast.Name(name, ast.Store())], array), *before], loops, first


def _names_in(target: ast.expr) -> list[ast.Name] | None:
    """Return the names of a tuple of different names."""
    if not isinstance(target, ast.Tuple) or not target.elts:
        return None
    names = [part for part in target.elts if isinstance(part, ast.Name)]
    return names if len({name.id for name in names}) == len(target.elts) else None


def _nested(
    indices: Sequence[ast.Name], shape: ast.expr, first: list[ast.stmt], number: int
) -> _Nest:
    """Return loops over the extents, which are taken once and have to be as many as indices."""
    extents = [f"(extent {number}.{d})" for d in range(len(indices))]
    stored: list[ast.expr] = [ast.Name(name, ast.Store()) for name in extents]
    before: list[ast.stmt] = [ast.Assign([ast.Tuple(stored, ast.Store())], shape)]
    read = [ast.Name(name, ast.Load()) for name in extents]
    return before, list(zip(indices, read, strict=True)), first
