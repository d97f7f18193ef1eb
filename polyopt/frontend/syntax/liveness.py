"""Which names a statement may read later: liveness over Python's syntax tree.

In: a function body.  Out: for each statement the names live after it, for each loop the names live
at the top of its body.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from polyopt.dataclass import dataclass, field


@dataclass
class Liveness:
    """`after[s]`: names that may be read after statement `s` before they are assigned again.

    `body[loop]`: names that may be read at the top of the loop's body, coming from before the loop
    or from an earlier iteration.  A `for` reads its flag (its type comment) at the top.
    `before` holds what is live before a statement, by what is live after it.
    """

    after: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)
    body: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)
    reads: dict[ast.AST, frozenset[str]] = field(default_factory=dict)
    before: dict[tuple[ast.stmt, frozenset[str]], frozenset[str]] = field(default_factory=dict)

    def used(self, node: ast.AST | None) -> frozenset[str]:
        """Return the names that an expression reads; loops ask for the same ones repeatedly."""
        if node is None:
            return frozenset()
        found = self.reads.get(node)
        if found is None:
            found = self.reads[node] = _used(node)
        return found


def analyse(body: Sequence[ast.stmt]) -> Liveness:
    """Return the liveness of a function body."""
    result = Liveness()
    _block(body, frozenset(), result)
    captured = frozenset().union(*(_used(inner) for inner in _functions(body)))
    if captured:  # functions of the kernel may be called anywhere
        for names in (result.after, result.body):
            names.update({node: live | captured for node, live in names.items()})
    return result


def _functions(body: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """Yield the functions and lambdas defined in a body, without those inside of them."""
    for node in body:
        if isinstance(node, Function):
            yield node
        else:
            yield from _functions(ast.iter_child_nodes(node))


def assigned(body: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that the statements bind, or whose array gets another shape."""
    found: set[str] = set()
    for statement in body:
        nodes = list(ast.walk(statement))
        inside = (node for node in nodes if isinstance(node, Comprehension))
        own = {id(name) for node in inside for name in _own_targets(node)}
        for node in nodes:
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Store) and id(node) not in own:
                    found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found |= {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
    return frozenset(found)


def binds(*nodes: ast.expr) -> bool:
    """Whether evaluating one of the expressions binds a name."""
    return any(isinstance(part, ast.NamedExpr) for node in nodes for part in ast.walk(node))


def _used(node: ast.AST) -> frozenset[str]:
    """Return the names that are read, without those that functions and comprehensions own."""
    parts = tuple(ast.walk(node))
    if not any(isinstance(part, Comprehension | Function) for part in parts):
        return frozenset(
            n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        )
    inner = frozenset().union(*(_used(child) for child in ast.iter_child_nodes(node)))
    match node:
        case ast.FunctionDef(args=given) | ast.Lambda(args=given):
            outside = [value for value in (*given.defaults, *given.kw_defaults) if value]
            return (inner - _own_names(node)).union(*map(_used, outside))
        case _ if isinstance(node, Comprehension):
            own = frozenset(name.id for name in _own_targets(node))
            return (inner - own) | _used(node.generators[0].iter)
        case _:
            return inner


def _own_names(function: Function) -> frozenset[str]:
    """Return the parameters of a function, and the names that its body binds for itself."""
    own = {part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)}
    if isinstance(function, ast.Lambda):
        return frozenset(own)
    others = {
        name
        for part in ast.walk(function)
        if isinstance(part, ast.Nonlocal | ast.Global)
        for name in part.names
    }
    return (assigned(function.body) | own) - others


Function = ast.FunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _own_targets(node: ast.AST) -> Iterable[ast.Name]:
    """Yield the targets of a comprehension, which are names of its own."""
    if isinstance(node, Comprehension):
        for part in node.generators:
            for name in ast.walk(part.target):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    yield name


def _block(body: Sequence[ast.stmt], live: frozenset[str], result: Liveness) -> frozenset[str]:
    for statement in reversed(body):
        result.after[statement] = live | result.after.get(statement, frozenset())
        known = result.before.get((statement, live))  # loops in loops ask for the same again
        if known is None:
            known = result.before[statement, live] = _statement(statement, live, result)
        live = known
    return live


def _statement(node: ast.stmt, live: frozenset[str], result: Liveness) -> frozenset[str]:
    match node:
        case ast.Assign(targets=targets, value=value):
            kill = frozenset(t.id for target in targets for t in plain_names(target))
            reads = result.used(value).union(*(result.used(t) for t in targets))
            return (live - kill) | reads
        case ast.AnnAssign(target=target, value=value):
            kill = (
                frozenset(t.id for t in plain_names(target)) if value is not None else frozenset()
            )
            return (live - kill) | result.used(value) | result.used(target)
        case ast.AugAssign(target=target, value=value):
            own = frozenset([target.id]) if isinstance(target, ast.Name) else result.used(target)
            return live | own | result.used(value)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            own = frozenset(t.id for t in plain_names(target))
            live = _block(orelse, live, result) | live
            flag = frozenset([node.type_comment]) if node.type_comment else frozenset()
            top = _loop(body, live | flag, own, result)
            result.body[node] = _block(body, top, result) - own
            return top | result.used(iterable)
        case ast.While(test=test, body=body):
            top = _loop(body, live | result.used(test), frozenset(), result)
            result.body[node] = _block(body, top, result) | result.used(test)
            return top
        case ast.If(test=test, body=body, orelse=orelse):
            then = _block(body, live, result)
            return then | _block(orelse, live, result) | result.used(test)
        case ast.Return(value=value):
            return result.used(value)
        case _:
            return live | result.used(node)


def _loop(
    body: Sequence[ast.stmt], live: frozenset[str], own: frozenset[str], result: Liveness
) -> frozenset[str]:
    """Return the names live at the top of a loop."""
    top = live
    while True:
        before = (_block(body, top, result) - own) | live
        if before <= top:
            return top
        top = top | before


def plain_names(target: ast.expr) -> Iterable[ast.Name]:
    """Yield the names that a target binds."""
    match target:
        case ast.Name():
            yield target
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from plain_names(part)
        case _:
            return
