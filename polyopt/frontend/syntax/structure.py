"""Jumps are rewritten into branches and flags.

In: a function's tree.  Out: an equal tree where `return` is the last statement, no `continue` and
no `break` is left and no loop has `else`: what follows `if c: return x` moves under `else`.
No node is in the tree twice: what follows a branch is copied, as each way is read on its own.
A loop that is left early has a flag: the first operand of a `while` test, the `type_comment` of a
`for`.  Items that are read after their loop are assigned in its body.  The names of flags, results
and such items are none that a Python program can write.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from types import UnionType

from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.frontend.syntax.liveness import analyse, assigned, plain_names
from polyopt.frontend.values.codes import refuse

RESULT = "(result"
RETURNED = "(returned)"
Loop = ast.For | ast.While


def is_result(name: str) -> bool:
    """Whether a name stands for what the function returns."""
    return name.startswith(RESULT)


@dataclass(slots=True)
class Rewriter:
    """Knows how to name places in the user's file; counts flags."""

    loc: Callable[[ast.AST], Loc]
    flags: int = 0
    results: list[str] = field(default_factory=list)
    display: ast.expr = field(default_factory=lambda: ast.Name(f"{RESULT}0)", ast.Load()))

    def function(self, tree: ast.FunctionDef) -> ast.FunctionDef:
        """Return the tree with jumps rewritten."""
        returns = [n for n in own(tree.body) if isinstance(n, ast.Return)]
        self._name_results(returns)
        body = list(tree.body)
        if any(isinstance(n, Loop) and _holds(n.body, ast.Return) for n in own(body)):
            body = [self._flag(RETURNED, False, tree.body[0]), *self._leave_loops(body)]
        body = self._block(body)
        if any(isinstance(node, ast.If) and _has(node, ast.Return) for node in body):
            body = self._returns(body)
            body.append(self._final(body[-1]))
        _keep_items(body)
        result = ast.FunctionDef(**{**vars(tree), "body": body})
        return ast.copy_location(result, tree)

    # -- returns --------------------------------------------------------------------------------

    def _name_results(self, returns: Sequence[ast.Return]) -> None:
        """Displays of one kind and length are returned as so many values."""
        if returns:
            self.results.clear()
            self.display = self._common([r.value for r in returns])

    def _common(self, values: Sequence[ast.expr | None]) -> ast.expr:
        """Return the display that all the values are, of names for the parts that differ."""
        parts = [_parts_of(value) for value in values]
        first = values[0]
        if (
            first is None
            or not parts[0]
            or any(part is None for part in parts)
            or any(_kind_of(value) != _kind_of(first) for value in values)
        ):
            self.results.append(f"{RESULT}{len(self.results)})")
            return ast.Name(self.results[-1], ast.Load())
        columns = zip(*(part or () for part in parts), strict=True)
        inner: list[ast.expr] = [self._common(column) for column in columns]
        if isinstance(first, ast.Dict):
            return ast.Dict(copy.deepcopy(first.keys), inner)
        return (ast.Tuple if isinstance(first, ast.Tuple) else ast.List)(inner, ast.Load())

    def _stored(self, node: ast.Return) -> list[ast.stmt]:
        """Return the assignments of what `node` returns."""
        value = node.value or ast.copy_location(ast.Constant(None), node)
        pairs = zip(self.results, _leaves_of(self.display, value), strict=True)
        return [
            placed(ast.Assign([ast.Name(name, ast.Store())], value), node)
            for name, value in pairs
            if not (isinstance(value, ast.Name) and value.id == name)
        ]

    def _final(self, like: ast.AST) -> ast.stmt:
        return placed(ast.Return(copy.deepcopy(self.display)), like)

    def _leave_loops(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return a block whose loops are broken out of instead of returned from."""
        result: list[ast.stmt] = []
        for node in body:
            if isinstance(node, Loop) and _holds([node], ast.Return):
                orelse = self._leave_loops(node.orelse)
                result.append(_with_body(node, self._leaving(node.body), orelse))
                if _is_endless(node):
                    return [*result, self._final(node)]
                test = ast.Name(RETURNED, ast.Load())
                result.append(placed(ast.If(test, [self._final(node)], []), node))
            elif isinstance(node, ast.If):
                then, otherwise = self._leave_loops(node.body), self._leave_loops(node.orelse)
                result.append(ast.copy_location(ast.If(node.test, then, otherwise), node))
            else:
                result.append(node)
        return result

    def _leaving(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return a loop's body with each `return` as an assignment and a `break`."""
        result: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.Return):
                result += [*self._stored(node), self._flag(RETURNED, True, node)]
                return [*result, placed(ast.Break(), node)]
            if isinstance(node, ast.If):
                then, otherwise = self._leaving(node.body), self._leaving(node.orelse)
                result.append(ast.copy_location(ast.If(node.test, then, otherwise), node))
            elif isinstance(node, Loop) and _holds([node], ast.Return):
                orelse = self._leaving(node.orelse)
                result.append(_with_body(node, self._leaving(node.body), orelse))
                test = ast.Name(RETURNED, ast.Load())
                result.append(placed(ast.If(test, [ast.Break()], []), node))
            else:
                result.append(node)
        return result

    def _returns(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return a block that ends by assigning the result instead of returning it."""
        result: list[ast.stmt] = []
        for number, node in enumerate(body):
            if isinstance(node, ast.Return):
                return [*result, *self._stored(node)] or [placed(ast.Pass(), node)]
            if isinstance(node, ast.Raise):
                return [*result, node]
            if isinstance(node, ast.If) and _has(node, ast.Return):
                rest = body[number + 1 :]
                then = self._returns([*node.body, *rest])
                otherwise = self._returns([*node.orelse, *copy.deepcopy(rest)])
                return [*result, ast.copy_location(ast.If(node.test, then, otherwise), node)]
            result.append(node)
        where = body[-1] if body else ast.Pass()
        if not isinstance(self.display, ast.Name):
            hint = "return a tuple of as many values at the end too"
            refuse("PO0122", "the function may end without a result", self.loc(where), hint)
        return [*result, *self._stored(_placed_return(where))]

    # -- loops ----------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [part for node in body for part in self._statement(node)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.For() | ast.While():
                return self._loop(node)
            case ast.If():
                branch = ast.If(node.test, self._block(node.body), self._block(node.orelse))
                return [ast.copy_location(branch, node)]
            case _:
                return [node]

    def _loop(self, node: Loop) -> list[ast.stmt]:
        body = self._block(node.body)
        after = self._block(node.orelse)
        if not breaks(body):
            body = self._jumps(body, "")
            return [_with_body(node, body or [placed(ast.Pass(), node)], []), *after]
        self.flags += 1
        flag = f"(going{self.flags})"
        count = _exchanges(body)
        front, exchange = body[: len(body) - count], body[len(body) - count :]
        body = self._jumps(front, flag)
        for group in _apart(exchange):
            body.append(placed(ast.If(ast.Name(flag, ast.Load()), group, []), node))
        loop = _with_body(node, body, [])
        if isinstance(loop, ast.While):
            test = ast.BoolOp(ast.And(), [ast.Name(flag, ast.Load()), loop.test])
            loop.test = ast.fix_missing_locations(ast.copy_location(test, loop.test))
        else:
            loop.type_comment = flag
        first = self._for_else(node)
        result: list[ast.stmt] = [*first, self._flag(flag, True, node), loop]
        if after:
            result.append(placed(ast.If(ast.Name(flag, ast.Load()), after, []), node))
        return result

    def _for_else(self, node: Loop) -> list[ast.stmt]:
        """Return a first value for the loop variable, where `else` gives it another one anyway."""
        if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name):
            return []
        stored = [t.id for s in node.orelse if isinstance(s, ast.Assign)
                  for t in s.targets if isinstance(t, ast.Name)]  # fmt: skip
        if node.target.id not in stored:
            return []
        zero = ast.Assign([ast.Name(node.target.id, ast.Store())], ast.Constant(0))
        return [placed(zero, node)]

    def _flag(self, name: str, value: bool, like: ast.AST) -> ast.stmt:
        store = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
        return placed(store, like)

    def _jumps(self, body: Sequence[ast.stmt], flag: str) -> list[ast.stmt]:
        """Return a loop's body without `break` (which lowers `flag`) and `continue`."""
        result: list[ast.stmt] = []
        for number, node in enumerate(body):
            if isinstance(node, ast.Continue):
                return result
            if isinstance(node, ast.Break):
                return [*result, self._flag(flag, False, node)]
            if not isinstance(node, ast.If) or not _has(node, ast.Break | ast.Continue):
                result.append(node)
                continue
            rest = body[number + 1 :]
            if not _has(node, ast.Continue) and not _leaves(node.body) and not _leaves(node.orelse):
                then, otherwise = self._jumps(node.body, flag), self._jumps(node.orelse, flag)
                result.append(ast.copy_location(ast.If(node.test, then, otherwise), node))
                more = self._jumps(rest, flag)
                if more:
                    result.append(placed(ast.If(ast.Name(flag, ast.Load()), more, []), node))
                return result
            then = self._jumps([*node.body, *rest], flag)
            otherwise = self._jumps([*node.orelse, *copy.deepcopy(rest)], flag)
            branch = ast.If(node.test, then or [placed(ast.Pass(), node)], otherwise)
            return [*result, ast.copy_location(branch, node)]
        return result


def _parts_of(value: ast.expr | None) -> Sequence[ast.expr] | None:
    """Return the parts of the display of a tuple, a list, or a dict with texts as keys."""
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return None if any(isinstance(part, ast.Starred) for part in parts) else parts
        case ast.Dict(values=parts):
            return None if texts_of(value) is None else parts
        case _:
            return None


def _kind_of(value: ast.expr | None) -> tuple[object, ...]:
    """Return what displays have in common whose parts can be stored apart."""
    keys = texts_of(value) if isinstance(value, ast.Dict) else None
    return type(value), len(_parts_of(value) or ()), keys


def texts_of(node: ast.Dict) -> list[str] | None:
    """Return the keys of a dict that are constant texts, each once, as all have to be."""
    found = [key.value for key in node.keys if isinstance(key, ast.Constant)]
    texts = [key for key in found if isinstance(key, str)]
    return texts if texts and len(set(texts)) == len(node.keys) else None


def _leaves_of(display: ast.expr, value: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of `value` at the names of a display."""
    parts = _parts_of(display)
    if parts is None:
        yield value
        return
    for part, inner in zip(parts, _parts_of(value) or (), strict=True):
        yield from _leaves_of(part, inner)


def _keep_items(body: Sequence[ast.stmt]) -> None:
    """Assign what loops over items bind, and the program reads after them, in their bodies."""
    loops = {node for node in own(body) if isinstance(node, ast.For) and not counts(node.iter)}
    if not loops:
        return
    after = analyse(body).after
    for node in loops:
        names = {name.id for name in plain_names(node.target)} & after.get(node, frozenset())
        if not names:
            continue
        node.target = copy.deepcopy(node.target)
        for target in plain_names(node.target):
            if target.id in names:
                target.id = f"(item {target.id})"
        kept = [ast.Assign([ast.Name(n, ast.Store())], ast.Name(f"(item {n})", ast.Load()))
                for n in sorted(names)]  # fmt: skip
        node.body = [*(placed(part, node.target) for part in kept), *node.body]


def counts(iterable: ast.expr) -> bool:
    """Whether a loop over `iterable` counts, and so holds no array or list."""
    return isinstance(iterable, ast.Call) and ast.unparse(iterable.func) == "range"


def _is_endless(node: Loop) -> bool:
    """Whether only a `return` ends the loop."""
    test = node.test if isinstance(node, ast.While) else None
    return isinstance(test, ast.Constant) and bool(test.value) and not breaks(node.body)


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a block surely ends the iteration."""
    return any(isinstance(node, ast.Break | ast.Continue) for node in body)


def own(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes of a block without those of functions defined in it."""
    for node in body:
        waiting: list[ast.AST] = [node]
        while waiting:
            part = waiting.pop()
            yield part
            if not isinstance(part, ast.FunctionDef | ast.Lambda | ast.ClassDef):
                waiting.extend(ast.iter_child_nodes(part))


def _holds(body: Sequence[ast.stmt], kind: type[ast.stmt]) -> bool:
    return any(isinstance(node, kind) for node in own(body))


def _with_body(node: Loop, body: list[ast.stmt], orelse: list[ast.stmt]) -> Loop:
    result: Loop
    if isinstance(node, ast.For):
        result = ast.For(node.target, node.iter, body, orelse, node.type_comment)
    else:
        result = ast.While(node.test, body, orelse)
    ast.copy_location(result, node)
    return result


def breaks(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop's own body holds `break`."""
    return any(isinstance(node, ast.Break) for node in _outside_loops(body))


def flag_of(node: Loop) -> str | None:
    """Return the name of the flag that tells whether a loop goes on, if it has one."""
    if isinstance(node, ast.For):
        return node.type_comment
    first = node.test.values[0] if isinstance(node.test, ast.BoolOp) else node.test
    return first.id if isinstance(first, ast.Name) and first.id.startswith("(going") else None


def _exchanges(body: Sequence[ast.stmt]) -> int:
    """Return how many statements at the end of a loop's body only exchange names.

    None where `continue` may skip them, or what is before them binds one of the names.
    """
    count = next((n for n, node in enumerate(reversed(body)) if not renamed(node)), len(body))
    front, end = body[: len(body) - count], body[len(body) - count :]
    final: dict[str, str] = {}
    for node in end:
        final.update({name: final.get(value, value) for name, value in renamed(node).items()})
    cycles = {name: value for name, value in final.items() if name != value}
    while any(n not in cycles.values() or cycles[n] not in cycles for n in cycles):
        cycles = {n: v for n, v in cycles.items() if n in cycles.values() and v in cycles}
    if not cycles or final.keys() & assigned(front):
        return 0
    return 0 if any(isinstance(node, ast.Continue) for node in _outside_loops(front)) else count


def _apart(body: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """Return the statements, which only bind names to names, in groups without a common name."""
    groups: list[tuple[set[str], list[ast.stmt]]] = []
    for node in body:
        names = {*renamed(node).keys(), *renamed(node).values()}
        near = [group for group in groups if group[0] & names]
        groups = [group for group in groups if not group[0] & names]
        joined = [part for group in near for part in group[1]]
        groups.append((names.union(*(group[0] for group in near)), [*joined, node]))
    return [group for _, group in groups]


def renamed(node: ast.stmt) -> dict[str, str]:
    """Return which name each name is bound to by `a = b` or `a, b = b, a`."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return {}
    parts = [p.elts if isinstance(p, ast.Tuple) else [p] for p in (node.targets[0], node.value)]
    names = [[part.id for part in side if isinstance(part, ast.Name)] for side in parts]
    if len({*map(len, parts), *map(len, names)}) != 1:
        return {}
    return dict(zip(*names, strict=True))


def _has(node: ast.If, kind: type[ast.stmt] | UnionType) -> bool:
    """Whether the branch holds such a statement outside of loops."""
    return any(isinstance(inner, kind) for inner in _outside_loops((*node.body, *node.orelse)))


def _outside_loops(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that are in no loop of `body`, those of a loop's `else` included."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _outside_loops((*node.body, *node.orelse))
        elif isinstance(node, Loop):
            yield from _outside_loops(node.orelse)


def _placed_return(like: ast.AST) -> ast.Return:
    return ast.fix_missing_locations(ast.copy_location(ast.Return(None), like))


def placed(node: ast.stmt, like: ast.AST) -> ast.stmt:
    """Return a statement that stands where another one does."""
    return ast.fix_missing_locations(ast.copy_location(node, like))
