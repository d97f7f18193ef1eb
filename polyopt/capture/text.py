"""The source text that a function object was compiled from; functions of texts that are made.

In: a function.  Out: `FunctionText`, found by line number and compiled again to compare code.
Refuses: functions without a text (`NoText`), texts that give other code (`Changed`).
A file may change while its functions run: the lines of a kernel's file are kept when it is made.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import linecache
import sys
import tokenize
import types
import weakref
from collections.abc import Iterable, Iterator

from polyopt.dataclass import dataclass, field

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag
_VERSIONS = 8  # of one file that are kept


class NoText(Exception):
    """A function has no source text, or (`is_there`) one that cannot be parsed on its own."""

    def __init__(self, is_there: bool) -> None:
        super().__init__("no text")
        self.is_there = is_there


class Changed(Exception):
    """The text at a function's place gives other code than the function has."""


@dataclass(frozen=True, slots=True)
class FunctionText:
    """The lines of a function with its decorators; `first` is the number of the first one.

    `module` are the lines of the whole file.
    """

    file: str
    first: int
    lines: tuple[str, ...]
    module: list[str] = field(repr=False, compare=False)

    @property
    def whole(self) -> str:
        """The lines as one text."""
        return "".join(self.lines)

    def tree(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the function's tree; its lines count from 1, its columns are the file's."""
        indented = self.whole[:1].isspace()
        try:
            module = ast.parse(f"if 1:\n{self.whole}" if indented else self.whole)
        except (SyntaxError, ValueError):
            return None
        if indented:
            ast.increment_lineno(module, -1)
        body = module.body
        if indented and isinstance(body[0], ast.If):
            body = body[0].body
        found = body[0] if body else None
        return found if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef) else None


def function_of_text(
    text: str, name: str, file: str, scope: dict[str, object]
) -> types.FunctionType:
    """Return the function `name` that `text` defines, with `scope` as its globals.

    `file` is the name that its places have: `inspect` and messages show lines of `text` there.
    """
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(builtins.compile(text, file, "exec"), scope)
    made = scope[name]
    assert isinstance(made, types.FunctionType)
    return made


_KEPT: dict[str, list[list[str]]] = {}  # lines of files as they were, by name, as in `linecache`


def keep_lines(function: types.FunctionType) -> None:
    """Remember the file of `function` as it is now, for when its text is asked for."""
    file, lines = function.__code__.co_filename, _lines(function)
    versions = _KEPT.setdefault(file, [])
    if lines and not any(lines is kept or lines == kept for kept in versions):
        versions.append(lines)
        del versions[:-_VERSIONS]


def text_of(function: types.FunctionType) -> FunctionText:
    """Return the text at the function's place, whether it gives the function's code or not."""
    return _matching(function) or _candidates(function)[0]


def verified_text(function: types.FunctionType) -> FunctionText:
    """Return the text that `function` was compiled from; raises `NoText`, `Changed`.

    What `exec` makes has no text, though since Python 3.13 that of `python -c` is found there.
    """
    text = _matching(function)
    if text is not None:
        return text
    found = _candidates(function)
    if function.__code__.co_filename == "<string>":
        raise NoText(is_there=False)
    heads = [text.lines[0].lstrip() for text in found if text.tree() is None]
    if len(heads) == len(found) and all(head.startswith(("def ", "@", "async ")) for head in heads):
        raise NoText(is_there=True)
    raise Changed


def _matching(function: types.FunctionType) -> FunctionText | None:
    """Return the text at the function's place that gives its code, the earliest of several."""
    code, lines = function.__code__, _lines(function)
    known = _FOUND.get(function)
    if known is not None and known[0] is code and known[1] is lines:
        return known[2]
    quick = _up_to_the_end(function)
    if is_text_of(quick, function):
        _FOUND[function] = code, lines, quick
        return quick
    return next((text for text in _candidates(function) if is_text_of(text, function)), None)


_FOUND: weakref.WeakKeyDictionary[
    types.FunctionType, tuple[types.CodeType, list[str], FunctionText]
] = weakref.WeakKeyDictionary()
"""Texts that gave the code of functions, with the code and the lines of the file; a first call asks
several times."""


def _up_to_the_end(function: types.FunctionType) -> FunctionText:
    """Return the text up to the last line that the code names, found without reading the block.

    It may lack lines that have no code.  Code of Python 3.10 names no such line.
    """
    code = function.__code__
    first, lines = code.co_firstlineno, _lines(function)
    block = tuple(lines[first - 1 : _last_line(code)]) if first > 0 else ()
    return FunctionText(code.co_filename, first, block, lines)


def _last_line(code: types.CodeType) -> int:
    """Return the last line of a code and of those in it; 0 where it does not say."""
    ends: list[int] = []
    if sys.version_info >= (3, 11):
        ends = [end for _, end, _, _ in code.co_positions() if end is not None]
    inner = (_last_line(part) for part in code.co_consts if isinstance(part, types.CodeType))
    return max((*ends, *inner), default=0)


def _candidates(function: types.FunctionType) -> list[FunctionText]:
    """Return the texts that stand or stood at the function's place, the earliest first.

    Raises `NoText` where there is none.
    """
    code = function.__code__
    file, first = code.co_filename, code.co_firstlineno
    versions = [*_KEPT.get(file, ()), _lines(function)]
    texts = (FunctionText(file, first, _block(lines, first), lines) for lines in versions)
    found = list({text.lines: text for text in texts if text.lines}.values())
    if not found:
        raise NoText(is_there=False)
    return found


def _lines(function: types.FunctionType) -> list[str]:
    file = function.__code__.co_filename
    linecache.checkcache(file)
    return linecache.getlines(file, function.__globals__)


def _block(lines: list[str], first: int) -> tuple[str, ...]:
    """Return the lines of the block that begins at line `first`."""
    if not 0 < first <= len(lines):
        return ()
    rest = lines[first - 1 :]
    try:
        return tuple(inspect.getblock(rest))
    except (SyntaxError, tokenize.TokenError):
        return tuple(rest)


# -- comparison -------------------------------------------------------------------------------


def is_text_of(text: FunctionText, function: types.FunctionType) -> bool:
    """Whether compiling `text` gives the function's code; places in the file do not count."""
    tree = text.tree()
    code = function.__code__
    if tree is None or tree.name != code.co_name:
        return False
    # classes in the function hold the numbers of their lines since Python 3.13
    ast.increment_lineno(tree, code.co_firstlineno - _first(tree))
    same = _agrees if _is_rewritten(code) else _is_same
    modules = [name for name in _identifiers(code) if _is_module(function, name)]
    guess = _compiled(tree, function, modules)
    if guess is None or same(guess, code):
        return guess is not None
    made = _compiled(tree, function, _imported(text.module))
    return made is not None and same(made, code)


def _identifiers(code: types.CodeType) -> Iterator[str]:
    for part in (code, *_codes(code)):
        yield from (*part.co_names, *part.co_varnames, *part.co_freevars)


def _is_module(function: types.FunctionType, name: str) -> bool:
    return isinstance(function.__globals__.get(name), types.ModuleType)


def _imported(lines: list[str]) -> list[str]:
    """Return the names that a file imports; calls of their attributes are compiled otherwise."""
    try:
        module = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return []
    imports = [n for n in ast.walk(module) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = (alias.asname or alias.name.split(".")[0] for node in imports for alias in node.names)
    return [name for name in names if name.isidentifier()]


def _compiled(
    tree: ast.FunctionDef | ast.AsyncFunctionDef,
    function: types.FunctionType,
    imported: Iterable[str],
) -> types.CodeType | None:
    """Compile a function in scopes that give its free variables, its class and its imports."""
    code = function.__code__
    body: list[ast.stmt] = [tree]
    scopes = getattr(code, "co_qualname", function.__qualname__).split(".")[:-1]
    if code.co_freevars and "<locals>" not in scopes and "__class__" not in code.co_freevars:
        scopes = ["", "<locals>"]  # a wrapper under another function's name, before Python 3.11
    free = [name for name in code.co_freevars if name.isidentifier() and name != "__class__"]
    while scopes:
        name = scopes.pop()
        if name == "<locals>":
            name = f"<{scopes.pop()}>"
            outer: ast.stmt = ast.parse(f"def scope({', '.join(free)}): pass").body[0]
        else:
            outer = ast.parse("class Scope: pass").body[0]
        assert isinstance(outer, ast.FunctionDef | ast.ClassDef)
        outer.name, outer.body = name, body
        body = [outer]
    imports = [ast.alias(name) for name in sorted(set(imported))]
    head: list[ast.stmt] = [ast.fix_missing_locations(ast.Import(imports))] if imports else []
    try:
        module = compile(
            ast.Module([*head, *body], []),
            code.co_filename,
            "exec",
            flags=code.co_flags & _FUTURE,
            dont_inherit=True,
        )
    except (SyntaxError, ValueError):
        return None
    inside = (made for made in _codes(module) if made.co_firstlineno == _first(tree))
    return next((made for made in inside if made.co_name == tree.name), None)


def _first(tree: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([tree.lineno, *(decorator.lineno for decorator in tree.decorator_list)])


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


_FIELDS = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount",
)  # fmt: skip


_UNMARKED = str.maketrans("", "", "<>")


def _is_same(first: types.CodeType, second: types.CodeType) -> bool:
    if any(getattr(first, name) != getattr(second, name) for name in _FIELDS):
        return False
    return _is_same_constant(first.co_consts, second.co_consts)


def _is_same_constant(first: object, second: object) -> bool:
    if type(first) is not type(second):
        return False
    if isinstance(first, types.CodeType) and isinstance(second, types.CodeType):
        return first.co_name == second.co_name and _is_same(first, second)
    if isinstance(first, tuple) and isinstance(second, tuple):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(_is_same_constant(*pair) for pair in pairs)
    if isinstance(first, frozenset) and isinstance(second, frozenset):
        return sorted(map(repr, first)) == sorted(map(repr, second))
    if isinstance(first, str) and isinstance(second, str) and ".<locals>." in first:
        # Python 3.10 keeps the names of functions among the constants; `_compiled` marks scopes
        return first.translate(_UNMARKED) == second.translate(_UNMARKED)
    if isinstance(first, int | str | bytes):
        return first == second
    return repr(first) == repr(second)  # -0.0 is not 0.0, and nan is nan


# -- rewritten assertions ---------------------------------------------------------------------


def _is_rewritten(code: types.CodeType) -> bool:
    """Whether pytest made other code of the `assert`s of a test module."""
    names = (*code.co_names, *code.co_varnames)
    return any(name.startswith("@py") for name in names)


def _agrees(made: types.CodeType, code: types.CodeType) -> bool:
    """Whether all names and constants of a text are in the code, whose assertions are longer."""
    ours, theirs = _contents(made), _contents(code)
    return (
        ours <= theirs
        and made.co_varnames[: made.co_argcount] == (code.co_varnames[: code.co_argcount])
    )


def _contents(code: types.CodeType) -> frozenset[str]:
    found = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    for part in (code, *_codes(code)):
        found |= {*part.co_names, *part.co_varnames}
        found |= {repr(c) for c in part.co_consts if not isinstance(c, types.CodeType)}
    return frozenset(found)
