"""Python statements: assignments, loops, branches, returns.

In: a function body, the frame, the builder.  Out: drafts in the builder and the returned value.
Refuses: each statement outside the supported set with its own code.
"""

from __future__ import annotations

import ast
from typing import Any, cast

from polyopt import frontend
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.snapshots import end_of_function
from polyopt.frontend.reader.assignments import assign, assign_to, augment
from polyopt.frontend.reader.closures import closure_of
from polyopt.frontend.reader.expressions import evaluate
from polyopt.frontend.reader.loops import read_for, read_while
from polyopt.frontend.values.codes import RaisingError, refuse
from polyopt.frontend.values.values import Known, Value
from polyopt.frontend.variables.appending import append, appended_name, fixed, note_list, pop
from polyopt.frontend.variables.call_frames import Frame

_REFUSED: dict[type[ast.stmt], tuple[str, str, str]] = {
    ast.Try: ("PO0112", "`try`", "check the inputs before the kernel is called"),
    ast.With: ("PO0112", "`with`", "do this outside the kernel"),
    ast.AsyncFor: ("PO0113", "`async for`", "use a plain `for` loop"),
    ast.AsyncWith: ("PO0113", "`async with`", "do this outside the kernel"),
    ast.AsyncFunctionDef: ("PO0113", "a coroutine", "use a plain function of the module"),
    ast.ClassDef: ("PO0117", "a class", "define it outside and pass arrays"),
    ast.Global: ("PO0118", "`global`", "return the value instead"),
    ast.Nonlocal: ("PO0118", "`nonlocal`", "return the value instead"),
    ast.Import: ("PO0120", "`import`", "import at the top of the module"),
    ast.ImportFrom: ("PO0120", "`import`", "import at the top of the module"),
    ast.Delete: ("PO0121", "`del`", "leave it out: temporaries vanish by themselves"),
}


class StatementReader:
    """The `Reader` that frames carry."""

    def function(self, b: Builder, frame: Frame) -> Value | None:
        """Read a whole function; return what it returns, None when it returns nothing."""
        frame.home = b.scope
        value = read_block(b, frame, frame.function.tree.body)
        end_of_function(b, frame)
        return value

    def block(self, b: Builder, frame: Frame, body: list[ast.stmt]) -> Value | None:
        """Read statements in order; return the value of a `return` among them."""
        return read_block(b, frame, body)


def read_block(b: Builder, frame: Frame, body: list[ast.stmt]) -> Value | None:
    """Read statements in order; return the value of a `return` among them."""
    for number, node in enumerate(body):
        b.loc, b.text = frame.loc(node), frame.text(node)
        match node:
            case ast.Return(value=None):
                return Known(None)
            case ast.Return(value=ast.expr() as value):
                return evaluate(b, frame, value)
            case _:
                returned = _read_path(b, frame, node, body[number + 1 :])
                if returned is not None or node in b.raising:
                    return returned
    return None


def _read_path(b: Builder, frame: Frame, node: ast.stmt, rest: list[ast.stmt]) -> Value | None:
    """Read a statement; where Python always raises in it, it must not be reached."""
    b.raising.discard(node)  # read before, for another call or iteration
    ahead = dict(b.evaluated)
    before = len(b.drafts), len(b.marks), len(b.demands), len(b.limits)
    names = dict(frame.env), dict(frame.pins), dict(frame.watched), dict(frame.awaited)
    try:
        if isinstance(node, ast.If):
            return frontend.reader.branches.read_if(b, frame, node, rest)
        read_statement(b, frame, node)
    except RaisingError as error:
        if not frontend.reader.branches.may_be_skipped(b):
            raise
        # a loop that was read in part might never end
        made: tuple[list[Any], ...] = (b.drafts, b.marks, b.demands, b.limits)
        for listed, count in zip(made, before, strict=True):
            del listed[count:]
        frame.env, frame.pins, frame.watched, frame.awaited = names
        frontend.reader.branches.unreached(b, error.code, error.message, error.loc, error.hint)
        b.evaluated = ahead
        b.raising.add(node)
    return None


def read_statement(b: Builder, frame: Frame, node: ast.stmt) -> None:  # noqa: C901  one case each
    """Read one statement that neither branches nor returns."""
    match node:
        case ast.Assign(targets=targets, value=value):
            taken = pop(b, frame, value)
            if taken is None:
                assign(b, frame, targets, value, node)
            else:
                for target in targets:
                    assign_to(b, frame, target, taken, node)
            note_list(b, frame, targets, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            assign(b, frame, [target], value, node)
        case ast.AugAssign():
            augment(b, frame, node)
        case ast.FunctionDef(name=name):
            frame.env[name] = closure_of(b, frame, node, evaluate)
        case ast.For():
            with fixed(frame, node.iter):
                read_for(b, frame, node)
        case ast.While():
            read_while(b, frame, node)
        case ast.Assert():
            frontend.reader.branches.read_assert(b, frame, node)
        case ast.Raise():
            frontend.reader.branches.read_raise(b, frame, node)
        case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.AnnAssign():
            return
        case ast.Expr(value=value):
            if pop(b, frame, value) is not None:
                return
            grown = appended_name(value)
            if grown is None or not append(b, frame, cast(ast.Call, value), grown):
                evaluate(b, frame, value)
        case _:
            code, what, hint = _REFUSED.get(
                type(node),
                ("PO0127", f"`{type(node).__name__.lower()}`", "write it with `if` and `for`"),
            )
            refuse(code, f"{what} is not supported in a kernel", frame.loc(node), hint)
