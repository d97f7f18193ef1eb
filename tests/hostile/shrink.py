"""The smallest program that still goes wrong the same way.

In: a program, a test.  Out: a smaller program that passes the test.
Changes are made to the syntax tree: statements go, bodies take their statement's place, an
expression gives way to one of its parts or to a number; calls and parameters go.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.hostile.program import FUNCTION, HostileProgram

Test = Callable[[HostileProgram], bool]
SECONDS = 90.0


def shrunk(program: HostileProgram, fails: Test, seconds: float = SECONDS) -> HostileProgram:
    """Return the smallest program found in so many seconds."""
    until = time.monotonic() + seconds
    fails = _guarded(fails)
    for smaller in _fewer_calls(program):
        if fails(smaller):
            program = smaller
            break
    tried: set[str] = set()
    position = 0
    while position >= 0 and time.monotonic() < until:
        program, position = _step(program, fails, tried, position, until)
    return program


def _guarded(fails: Test) -> Test:
    """Return the test for programs that may not even be called."""

    def guarded(program: HostileProgram) -> bool:
        try:
            return fails(program)
        except Exception:
            return False

    return guarded


def _step(
    program: HostileProgram, fails: Test, tried: set[str], start: int, until: float
) -> tuple[HostileProgram, int]:
    """Return the first smaller program from change number `start` on, and its number; -1: none."""
    for number, smaller in enumerate(_smaller(program)):
        if number < start:
            continue
        text = smaller.show()
        if text in tried or len(text) >= len(program.show()):
            continue
        tried.add(text)
        if time.monotonic() > until:
            break
        if fails(smaller):
            return smaller, number
    return program, 0 if start else -1


def _fewer_calls(program: HostileProgram) -> Iterator[HostileProgram]:
    for call in program.calls:
        if len(program.calls) > 1:
            yield replace(program, calls=(call,))


def _smaller(program: HostileProgram) -> Iterator[HostileProgram]:
    for name in list(program.modules):
        if name != "main":
            modules = {k: v for k, v in program.modules.items() if k != name}
            yield replace(program, modules=modules)
    tree = ast.parse(program.main)
    for changed in _changed(tree):
        try:
            text = ast.unparse(ast.fix_missing_locations(changed)) + "\n"
            compile(text, "", "exec")
        except (SyntaxError, ValueError):
            continue
        yield replace(program, modules={**program.modules, "main": text})
    yield from _fewer_parameters(program)
    yield from _smaller_values(program)


def _changed(tree: ast.Module) -> Iterator[ast.Module]:
    """Give trees with one change each, large ones first."""
    for path, node in _walk(tree):
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if not isinstance(statements, list):
                continue
            for number in range(len(statements) - 1, -1, -1):
                yield from _without(tree, path, field, number)
    for path, node in _walk(tree):
        if isinstance(node, ast.expr) and path:
            yield from _simpler(tree, path, node)


def _walk(node: ast.AST, path: tuple[tuple[str, int], ...] = ()) -> Iterator:
    yield path, node
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield from _walk(value, (*path, (field, -1)))
        elif isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _walk(item, (*path, (field, number)))


def _at(tree: ast.AST, path: tuple[tuple[str, int], ...]) -> ast.AST:
    for field, number in path:
        tree = getattr(tree, field) if number < 0 else getattr(tree, field)[number]
    return tree


def _without(
    tree: ast.Module, path: tuple[tuple[str, int], ...], field: str, number: int
) -> Iterator[ast.Module]:
    """Give the tree without a statement, or with its body in its place."""
    statement = getattr(_at(tree, path), field)[number]
    inner = [getattr(statement, part, []) for part in ("body", "orelse")]
    options: list[list[ast.stmt]] = [[]]
    if isinstance(statement, ast.FunctionDef) and statement.name == FUNCTION:
        return
    if not isinstance(statement, ast.FunctionDef):
        options += [part for part in inner if part]
    for option in options:
        other = copy.deepcopy(tree)
        statements = getattr(_at(other, path), field)
        statements[number : number + 1] = copy.deepcopy(option)
        if not statements and field == "body" and path:
            statements.append(ast.Pass())
        yield other


def _simpler(
    tree: ast.Module, path: tuple[tuple[str, int], ...], node: ast.expr
) -> Iterator[ast.Module]:
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    options: list[ast.expr] = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    if isinstance(node, ast.Call):
        options += [keyword.value for keyword in node.keywords]
    if not isinstance(node, ast.Constant | ast.Slice | ast.Starred):
        options += [ast.Constant(0), ast.Constant(1)]
    if isinstance(node, ast.Tuple) and len(node.elts) > 2:
        options += [
            ast.Tuple([e for k, e in enumerate(node.elts) if k != n], ast.Load())
            for n in range(len(node.elts))
        ]
    for option in options:
        if isinstance(option, ast.Slice | ast.Starred):
            continue
        other = copy.deepcopy(tree)
        parent, (field, number) = _at(other, path[:-1]), path[-1]
        if number < 0:
            setattr(parent, field, copy.deepcopy(option))
        else:
            getattr(parent, field)[number] = copy.deepcopy(option)
        yield other


def _fewer_parameters(program: HostileProgram) -> Iterator[HostileProgram]:
    tree = ast.parse(program.main)
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == FUNCTION)
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    for number, argument in enumerate(function.args.args):
        if argument.arg in used or function.args.defaults:
            continue
        other = copy.deepcopy(tree)
        found = next(n for n in other.body if isinstance(n, ast.FunctionDef) and n.name == FUNCTION)
        del found.args.args[number]
        calls = tuple(_without_argument(call, number) for call in program.calls)
        modules = {**program.modules, "main": ast.unparse(other) + "\n"}
        yield replace(program, modules=modules, calls=calls)


def _without_argument(call: str, number: int) -> str:
    tree = ast.parse(call)
    last = tree.body[-1]
    assert isinstance(last, ast.Assign)
    assert isinstance(last.value, ast.Tuple)
    del last.value.elts[number]
    used = {n.id for n in ast.walk(last) if isinstance(n, ast.Name)}
    kept: list[ast.stmt] = []
    for line in reversed(tree.body[:-1]):
        assert isinstance(line, ast.Assign)
        target = line.targets[0]
        if isinstance(target, ast.Name) and target.id in used:
            kept.insert(0, line)
            used |= {n.id for n in ast.walk(line.value) if isinstance(n, ast.Name)}
    tree.body = [*kept, last]
    return ast.unparse(tree) + "\n"


def _smaller_values(program: HostileProgram) -> Iterator[HostileProgram]:
    """Give programs whose one-dimensional arrays are shorter."""
    for position, call in enumerate(program.calls):
        tree = ast.parse(call)
        for path, node in _walk(tree):
            options: list[list[ast.expr]] = []
            if isinstance(node, ast.List) and len(node.elts) > 1:
                options = [node.elts[:1], node.elts[:-1], node.elts[1:]]
            for option in options:
                other = copy.deepcopy(tree)
                found = _at(other, path)
                assert isinstance(found, ast.List)
                found.elts = copy.deepcopy(option)
                calls = list(program.calls)
                calls[position] = ast.unparse(other) + "\n"
                yield replace(program, calls=tuple(calls))
