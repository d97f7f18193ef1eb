"""A Python function's syntax tree with places in its file.

In: a function object.  Out: `PyFunction`.
Refuses: functions without source text (PO0101) or with another one than they were compiled from
(PO0104), lambdas, generators, coroutines (PO0102, PO0113).
Blocks that only set how NumPy warns mean their bodies.
"""

from __future__ import annotations

import ast
import inspect
import sysconfig
import types
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import NoReturn

import numpy as np

from polyopt.capture.reads import Recording, Scope, annotations_of, plain_function
from polyopt.capture.text import Changed, FunctionText, NoText, verified_text
from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.syntax.index_loops import with_ranges
from polyopt.frontend.syntax.liveness import Liveness, analyse, assigned
from polyopt.frontend.syntax.structure import Rewriter
from polyopt.frontend.values.codes import refuse


@dataclass(frozen=True, eq=False)
class PyFunction:
    """A function's tree; `first_line` turns its lines into the file's."""

    name: str
    tree: ast.FunctionDef
    file: str
    first_line: int
    lines: tuple[str, ...]
    globals: Scope
    signature: inspect.Signature
    annotations: Mapping[str, object]
    origin: object
    live: Liveness
    locals: frozenset[str]

    @property
    def definition(self) -> Loc:
        """Where the function stands: `def` and its name."""
        whole = self.loc(self.tree)
        end = whole.col + len("def ") + len(self.name)
        return Loc(whole.file, whole.line, whole.col, whole.line, end)

    def argument_loc(self, name: str) -> Loc:
        """Return where an argument stands in the function's head."""
        spec = self.tree.args
        for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
            if argument.arg == name:
                whole = self.loc(argument)
                return Loc(whole.file, whole.line, whole.col, whole.line, whole.col + len(name))
        return self.loc(self.tree)

    def loc(self, node: ast.AST) -> Loc:
        """Return where `node` stands in the file."""
        line = getattr(node, "lineno", 1)
        end_line = getattr(node, "end_lineno", None) or line
        col = self._column(line, getattr(node, "col_offset", 0))
        end_col = self._column(end_line, getattr(node, "end_col_offset", None) or 0)
        shift = self.first_line - 1
        return Loc(self.file, line + shift, col, end_line + shift, end_col)

    def _column(self, line: int, offset: int) -> int:
        """ast counts bytes of UTF-8; people count characters."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(text.encode()[:offset].decode(errors="ignore")) + 1

    def text(self, node: ast.AST) -> str:
        """Return the first source line of `node`, stripped."""
        line = getattr(node, "lineno", 1)
        return self.lines[line - 1].strip() if line <= len(self.lines) else ""


def is_inlinable(value: object) -> bool:
    """Whether `value` is a Python function, or a kernel around one."""
    return isinstance(plain_function(value), types.FunctionType)


def is_installed(file: str) -> bool:
    """Whether a source file belongs to Python or to an installed package."""
    folders = (sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    return any(file.startswith(f"{folder}/") for folder in folders)


def read_function(func: Callable[..., object], recording: Recording | None = None) -> PyFunction:
    """Return the syntax tree of `func`; what its names mean is read through `recording`."""
    plain = plain_function(func)
    if isinstance(plain, types.MethodType):
        name = plain.__func__.__qualname__
        refuse(
            "PO0102",
            f"`{name}` is bound to an object",
            None,
            f"give `{name}`; pass the object to it",
        )
    if not isinstance(plain, types.FunctionType):
        refuse(
            "PO0102", f"{func!r} is not a Python function", None, "pass a function made by `def`"
        )
    _refuse_other(plain)
    found = _parse(plain, recording or Recording(plain))
    tree = with_ranges(found.tree, partial(_object, found.globals))
    tree = Rewriter(found.loc).function(without_settings(tree, found.globals))
    return replace(found, tree=tree, live=analyse(tree.body), locals=assigned(tree.body))


def _refuse_other(func: types.FunctionType) -> None:
    """Refuse lambdas, generator functions and coroutines."""
    code = func.__code__
    loc = Loc(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1)
    if func.__name__ == "<lambda>":
        reason = "a lambda cannot be compiled"
        refuse("PO0102", reason, loc, "write it as `def name(...): return ...`")
    if inspect.isgeneratorfunction(func) or inspect.iscoroutinefunction(func):
        refuse(
            "PO0113",
            f"`{func.__name__}` is a generator or coroutine, and its body runs in pieces",
            loc,
            "write the results into an array and return it",
        )


def _parse(func: types.FunctionType, recording: Recording) -> PyFunction:
    name = func.__name__
    text = _text(func, recording)
    tree = text.tree()
    if not isinstance(tree, ast.FunctionDef):
        refuse("PO0102", f"`{name}` is not defined by a plain `def`", None, "define it with `def`")
    lines = tuple(line.rstrip("\r\n") for line in text.lines)
    signature = inspect.signature(func, follow_wrapped=False)
    return PyFunction(
        name, tree, text.file, text.first, lines, recording.scope(func), signature,
        annotations_of(func), func, Liveness(), frozenset(),
    )  # fmt: skip


def _text(func: types.FunctionType, recording: Recording) -> FunctionText:
    name = func.__name__
    try:
        return recording.text(func)
    except NoText as error:
        if error.is_there:
            refuse(
                "PO0101",
                f"the source text of `{name}` cannot be parsed on its own",
                None,
                "do not continue its lines with backslashes or strings that break indentation",
            )
        refuse(
            "PO0101",
            f"the source text of `{name}` is not available",
            None,
            "define it in a file, not with exec or at an interactive prompt",
        )
    except Changed:
        _changed(func)


def refuse_changed(func: Callable[..., object]) -> None:
    """Refuse a function whose file holds another text than it was made from, or no `def` of it."""
    plain = plain_function(func)
    if isinstance(plain, types.FunctionType):
        _refuse_other(plain)
        try:
            verified_text(plain)
        except NoText:
            return
        except Changed:
            _changed(plain)


def _changed(func: types.FunctionType) -> NoReturn:
    code = func.__code__
    refuse(
        "PO0104",
        f"the file does not hold the text that `{func.__name__}` was made from",
        Loc(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1),
        "the file changed since it was imported: reload the module, or start Python again",
    )


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
        return isinstance(call, ast.Call) and _object(self.scope, call.func) in _QUIET


def _object(scope: Scope, node: ast.expr) -> object:
    """Return what a name of the scope, or of a module in it, stands for; None for other nodes."""
    match node:
        case ast.Name(id=name):
            return scope.get(name)
        case ast.Attribute(value=value, attr=attr):
            owner = _object(scope, value)
            if not isinstance(owner, ModuleType) or not hasattr(owner, attr):
                return None
            return scope.attribute(owner, attr)
        case _:
            return None
