"""Rewrite a form of a workload for a peer: plain Python, `prange` for loops, pure functions.

In: a workload and the name of a form.  Out: the text of a module that defines the form.
Refuses: a statement that the peer has no way to say.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import partial

from bench.function import Named
from bench.peers.folder import digest, store
from workloads import Workload


class NoForm(Exception):
    """A peer cannot be given the program; the text says why."""


def definitions(workload: Workload, form: str) -> tuple[list[ast.stmt], ast.FunctionDef]:
    """Return what the form needs of its module, without annotations, and the form itself."""
    function = workload.forms[form]
    source = function.path if isinstance(function, Named) else inspect.getsourcefile(function)
    assert source is not None
    with open(source, encoding="utf-8") as file:
        module = ast.parse(file.read())
    known: dict[str, ast.stmt] = {}
    for statement in module.body:
        known |= dict.fromkeys(_bound(statement), statement)
    found: dict[str, ast.stmt] = {}
    _collect(function.__name__, known, found)
    wanted = list(found.values())
    kept = [statement for statement in module.body if statement in wanted]
    for node in kept:
        if isinstance(node, ast.FunctionDef):
            _plain(node)
    entry = found.get(function.__name__)
    if not isinstance(entry, ast.FunctionDef):
        raise NoForm(f"{function.__name__} is not defined at the top of its file")
    return kept, entry


def _bound(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name):
            return [name]
        case ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name for alias in names]
        case _:
            return []


def _collect(name: str, known: dict[str, ast.stmt], found: dict[str, ast.stmt]) -> None:
    if name in found or name not in known or name == "po":
        return
    found[name] = known[name]
    body = known[name].body if isinstance(known[name], ast.FunctionDef) else [known[name]]
    for used in (n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name)):
        _collect(used, known, found)


def _plain(function: ast.FunctionDef) -> None:
    for argument in function.args.args:
        argument.annotation = None
    function.returns = None
    function.decorator_list = []
    if len(function.body) > 1 and ast.get_docstring(function) is not None:
        function.body.pop(0)


def module_text(statements: list[ast.stmt], head: str = "") -> str:
    """Return statements as the text of a module."""
    for statement in statements:
        ast.fix_missing_locations(statement)
    return head + "\n".join(ast.unparse(statement) for statement in statements) + "\n"


def written_module(text: str, stem: str) -> str:
    """Write a module; return its path: what compilers keep is kept beside it."""
    path = store("forms") / f"{stem}_{digest(text)}.py"
    if not path.is_file():
        path.write_text(text, encoding="utf-8")
    return str(path)


# -- loops that may run in parallel ------------------------------------------------------------


def parallel(function: ast.FunctionDef) -> int:
    """Turn outermost independent loops over `range` into `prange`; return how many.

    A loop is independent where every array that it writes is indexed by the loop's variable in
    one place, always, or is made in it, and every scalar is set before it is read.
    """
    return sum(_parallel(statement) for statement in function.body)


def _parallel(statement: ast.stmt) -> int:
    match statement:
        case ast.For(
            target=ast.Name(id=variable), iter=ast.Call(func=ast.Name(id="range") as name)
        ):
            if _is_independent(variable, statement.body):
                name.id = "prange"
                return 1
            return sum(map(_parallel, statement.body))
        case ast.For(body=body) | ast.If(body=body) | ast.While(body=body):
            return sum(map(_parallel, body))
        case _:
            return 0


def _is_independent(variable: str, body: list[ast.stmt]) -> bool:
    nodes = [node for statement in body for node in ast.walk(statement)]
    if any(isinstance(n, ast.Break | ast.Return | ast.While) for n in nodes):
        return False
    accesses = [n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
    private = _set_first(body)
    written = {_base(n) for n in accesses if isinstance(n.ctx, ast.Store)} - private
    scalars = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if not scalars <= private:
        return False
    mentioned = [n.id for n in nodes if isinstance(n, ast.Name)]
    for array in written:
        own = [n for n in accesses if _base(n) == array]
        if mentioned.count(array) != len(own):
            return False
        places = [{k for k, e in enumerate(_indices(n)) if _is_name(e, variable)} for n in own]
        if not set.intersection(*places):
            return False
    return True


def _set_first(body: list[ast.stmt]) -> set[str]:
    """Return the names that are set before they are read, as far as is plain to see."""
    found: set[str] = set()
    read: set[str] = set()

    def visit(statements: list[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    read.update(_loaded(value))
                    names = [n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
                    stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
                    read.update({n.id for n in names} - stored)
                    found.update(n for n in stored if n not in read)
                case ast.For(target=target, iter=domain, body=inner):
                    read.update(_loaded(domain))
                    found.update(n for n in _loaded(target) if n not in read)
                    visit(inner)
                case _:
                    read.update(_loaded(statement))

    visit(body)
    return found


def _loaded(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _base(node: ast.Subscript) -> str:
    assert isinstance(node.value, ast.Name)
    return node.value.id


def _indices(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


# -- pure functions ------------------------------------------------------------------------------


def pure(function: ast.FunctionDef, written: tuple[str, ...], loops: bool) -> None:
    """Make assignments to elements new arrays, and return what was written besides the result.

    `loops`: loops over `range` become calls of `_loop(first, end, step, body, state)`.
    """
    known = {argument.arg for argument in function.args.args}
    result: ast.expr = ast.Constant(None)
    if isinstance(function.body[-1], ast.Return) and function.body[-1].value is not None:
        result = function.body[-1].value
        function.body.pop()
    if any(isinstance(n, ast.Return) for n in ast.walk(function)):
        raise NoForm("returns from the middle")
    function.body = list(_pure(function.body, known, loops))
    names = ast.Tuple([ast.Name(n, ast.Load()) for n in written], ast.Load())
    function.body.append(ast.Return(ast.Tuple([result, names], ast.Load())))


def _pure(body: list[ast.stmt], known: set[str], loops: bool) -> Iterator[ast.stmt]:
    for statement in body:
        yield from _pure_statement(statement, known, loops)
        known |= _stored(statement)


def _pure_statement(statement: ast.stmt, known: set[str], loops: bool) -> Iterator[ast.stmt]:
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name)) as place], value=value):
            yield _set(name, place, value)
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name)) as place):
            old = ast.Subscript(ast.Name(name, ast.Load()), place.slice, ast.Load())
            yield _set(name, place, ast.BinOp(old, statement.op, statement.value))
        case ast.AugAssign(target=ast.Name(id=name)):
            value = ast.BinOp(ast.Name(name, ast.Load()), statement.op, statement.value)
            yield ast.Assign([ast.Name(name, ast.Store())], value)
        case ast.Assign():
            yield statement
        case ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"))) if loops:
            yield from _loop(statement, known)
        case ast.For():
            yield ast.For(
                statement.target,
                ast.Call(ast.Name("_few", ast.Load()), [statement.iter], []),
                list(_pure(statement.body, known, loops)),
                [],
            )
        case ast.Expr(value=ast.Constant()):
            return
        case _:
            raise NoForm(f"no pure form of: {ast.unparse(statement).splitlines()[0]}")


def _set(name: str, place: ast.Subscript, value: ast.expr) -> ast.stmt:
    at = ast.Attribute(ast.Name(name, ast.Load()), "at", ast.Load())
    element = ast.Subscript(at, place.slice, ast.Load())
    call = ast.Call(ast.Attribute(element, "set", ast.Load()), [value], [])
    return ast.Assign([ast.Name(name, ast.Store())], call)


def _stored(statement: ast.stmt) -> set[str]:
    stored = {
        n.id
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    subscripts = (n for n in ast.walk(statement) if isinstance(n, ast.Subscript))
    return stored | {
        n.value.id
        for n in subscripts
        if isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
    }


def _loop(statement: ast.For, known: set[str]) -> Iterator[ast.stmt]:
    assert isinstance(statement.target, ast.Name)
    assert isinstance(statement.iter, ast.Call)
    carried = sorted(set().union(*map(_stored, statement.body)) & known)
    inner = list(_pure(statement.body, {*known, statement.target.id}, True))
    state = partial(ast.Tuple, [ast.Name(name, ast.Load()) for name in carried])
    taken = ast.Tuple([ast.Name(name, ast.Store()) for name in carried], ast.Store())
    body = ast.FunctionDef(
        name="_body",
        args=ast.arguments(
            [], [ast.arg(statement.target.id), ast.arg("_state")], None, [], [], None, []
        ),
        body=[
            ast.Assign([taken], ast.Name("_state", ast.Load())),
            *inner,
            ast.Return(state(ast.Load())),
        ],
        decorator_list=[],
    )
    yield body
    call = ast.Call(
        ast.Name("_loop", ast.Load()),
        [ast.Name("_body", ast.Load()), state(ast.Load()), *statement.iter.args],
        [],
    )
    yield ast.Assign([taken], call)
