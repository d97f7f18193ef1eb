"""Blocks that only set how NumPy warns: `with np.errstate(...)` and the like mean their bodies.

In: a function's tree and what its global names stand for.  Out: the tree without such blocks.
"""

from __future__ import annotations

import ast
import warnings
from types import ModuleType

import numpy as np

from polyopt.capture.reads import Scope

_QUIET = (np.errstate, np.printoptions, warnings.catch_warnings)
SILENT_CALLS = (np.seterr, np.set_printoptions, warnings.simplefilter, warnings.filterwarnings)
"""Functions whose calls change nothing that a kernel computes."""


def without_settings(tree: ast.FunctionDef, scope: Scope) -> ast.FunctionDef:
    """Return the tree with the bodies of such blocks in their places."""
    result = _Splice(scope).visit(tree)
    assert isinstance(result, ast.FunctionDef)
    return result


class _Splice(ast.NodeTransformer):
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        """Splice the body of a block that only sets warnings."""
        self.generic_visit(node)
        quiet = all(item.optional_vars is None and self._is_quiet(item) for item in node.items)
        return node.body if quiet else node

    def _is_quiet(self, item: ast.withitem) -> bool:
        call = item.context_expr
        return isinstance(call, ast.Call) and self._object(call.func) in _QUIET

    def _object(self, node: ast.expr) -> object:
        match node:
            case ast.Name(id=name):
                return self.scope.get(name)
            case ast.Attribute(value=value, attr=attr):
                owner = self._object(value)
                if not isinstance(owner, ModuleType) or not hasattr(owner, attr):
                    return None
                return self.scope.attribute(owner, attr)
            case _:
                return None
