"""Early `return` and `continue` are rewritten into `else` branches.

In: a function's tree.  Out: the same tree where `return` is the last statement and no `continue` is
left: what follows `if c: return x` moves under `else`.
Refuses: `return` inside a loop (PO0122), `break` (PO0111).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyopt.errors import Loc
from polyopt.frontend.codes import refuse

RESULT = "(result)"  # no Python name: it cannot clash with the user's


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Knows how to name places in the user's file."""

    loc: Callable[[ast.AST], Loc]

    def function(self, tree: ast.FunctionDef) -> ast.FunctionDef:
        """Return the tree with early returns and `continue` rewritten."""
        self._refuse_deep_returns(tree.body)
        body = [self._loops(statement) for statement in tree.body]
        if _early_return(body):
            body = self._returns(body)
            last = ast.Return(ast.Name(RESULT, ast.Load()))
            body.append(_placed(last, body[-1]))
        result = ast.FunctionDef(**{**vars(tree), "body": body})
        return ast.copy_location(result, tree)

    def _refuse_deep_returns(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            for loop in ast.walk(statement):
                if not isinstance(loop, ast.For):
                    continue
                for node in ast.walk(loop):
                    if isinstance(node, ast.Return):
                        hint = "assign to a variable in the loop and return it after the loop"
                        refuse("PO0122", "`return` inside a loop", self.loc(node), hint)

    # -- returns ------------------------------------------------------------------------------

    def _returns(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return a block that ends by assigning the result instead of returning it."""
        result: list[ast.stmt] = []
        for number, node in enumerate(body):
            if isinstance(node, ast.Return):
                value = node.value or ast.copy_location(ast.Constant(None), node)
                store = ast.Assign([ast.copy_location(ast.Name(RESULT, ast.Store()), node)], value)
                return [*result, _placed(store, node)]
            if isinstance(node, ast.If) and _has(node, ast.Return):
                rest = body[number + 1 :]
                then = self._returns([*node.body, *rest])
                otherwise = self._returns([*node.orelse, *rest])
                return [*result, ast.copy_location(ast.If(node.test, then, otherwise), node)]
            result.append(node)
        where = body[-1] if body else ast.Pass()
        nothing = ast.copy_location(ast.Constant(None), where)
        store = ast.Assign([ast.copy_location(ast.Name(RESULT, ast.Store()), where)], nothing)
        return [*result, _placed(store, where)]

    # -- continue -----------------------------------------------------------------------------

    def _loops(self, node: ast.stmt) -> ast.stmt:
        match node:
            case ast.For():
                body = self._continues([self._loops(inner) for inner in node.body])
                loop = ast.For(node.target, node.iter, body or [ast.Pass()], node.orelse)
                return ast.copy_location(loop, node)
            case ast.If():
                body = [self._loops(inner) for inner in node.body]
                orelse = [self._loops(inner) for inner in node.orelse]
                return ast.copy_location(ast.If(node.test, body, orelse), node)
            case _:
                return node

    def _continues(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for number, node in enumerate(body):
            if isinstance(node, ast.Continue):
                return result
            if isinstance(node, ast.If) and _has(node, ast.Continue):
                rest = body[number + 1 :]
                then = self._continues([*node.body, *rest])
                otherwise = self._continues([*node.orelse, *rest])
                branch = ast.If(node.test, then or [_placed(ast.Pass(), node)], otherwise)
                return [*result, ast.copy_location(branch, node)]
            result.append(node)
        return result


def _early_return(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.If) and _has(node, ast.Return) for node in body)


def _has(node: ast.If, kind: type[ast.stmt]) -> bool:
    """Whether the branch holds such a statement outside of loops."""
    for inner in (*node.body, *node.orelse):
        if isinstance(inner, kind) or (isinstance(inner, ast.If) and _has(inner, kind)):
            return True
    return False


def _placed(node: ast.stmt, like: ast.AST) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(node, like))
