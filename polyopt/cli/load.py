"""The function a command line names: `FILE.py:FUNC` or `FILE.py::FUNC`.

In: the text; `-`, or `/dev/stdin:FUNC`, is a file on standard input.
Out: `Target`, the undecorated function and its file.
Refuses: missing files and functions, files with syntax errors, files that fail when they run.
"""

from __future__ import annotations

import atexit
import contextlib
import difflib
import importlib.util
import inspect
import io
import shutil
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.digest import hex_digest
from polyopt.errors import FrontendError, Loc, UsageError
from polyopt.files import read_regular

MOST_BYTES = 1 << 26  # of a Python file
STDIN = ("-", "/dev/stdin")


@dataclass(frozen=True, slots=True)
class Target:
    """A function of a file; `kernel` is the object the file defines under that name."""

    path: Path
    name: str
    func: Callable[..., Any]
    kernel: object


def load_target(text: str) -> Target:
    """Return the function `text` names; raises PO0601 to PO0607."""
    path, name = _split(text)
    read_source(path)
    module = load_module(path)
    if not name:
        name = _only_function(path, module)
    return _find(path, module, name)


def read_source(path: Path) -> str:
    """Return a file's text; raises PO0601 to PO0603."""
    source = _read(path)
    _check_syntax(path, source)
    return source


def _split(text: str) -> tuple[Path, str]:
    file, _, name = text.partition("::") if "::" in text else text.rpartition(":")
    if not file:
        file, name = name, ""
    if file in STDIN:
        return _of_stdin(), name
    if not file.endswith(".py"):
        raise UsageError(
            "PO0607",
            f"`{text}` does not name a function of a Python file",
            hint="write FILE.py:FUNCTION",
        )
    return Path(file), name


def _of_stdin() -> Path:
    """Return a file with the text of standard input, which is removed when the command ends."""
    folder = tempfile.mkdtemp(prefix="polyopt-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "stdin.py")
    path.write_bytes(sys.stdin.buffer.read(MOST_BYTES))
    return path


def _read(path: Path) -> str:
    if not path.exists():
        raise UsageError("PO0601", f"there is no file `{path}`", hint=_near_file(path))
    try:
        data = read_regular(path, MOST_BYTES)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except OSError as error:
        reason = f"`{path}` cannot be read as Python text: {error.strerror}"
        raise UsageError("PO0602", reason, hint="name a Python file that you may read") from None
    except (UnicodeDecodeError, SyntaxError) as error:
        loc = None
        if isinstance(error, UnicodeDecodeError):
            loc = _place(path, error.object[: error.start])
        raise UsageError(
            "PO0602",
            f"`{path}` cannot be read as Python text: {error}",
            loc=loc,
            hint="save it as UTF-8, or name its encoding in its first line: # coding: latin-1",
        ) from None


def _place(path: Path, before: bytes) -> Loc:
    """Return the place behind the bytes `before` of a file."""
    line, col = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    return Loc(str(path), line, col, line, col + 1)


def _near_file(path: Path) -> str:
    if path.is_symlink():
        return f"it is a link to `{path.readlink()}`, which leads to no file"
    folder = path.parent
    names = sorted(p.name for p in folder.glob("*.py")) if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1)
    if near:
        return f"there is `{folder / near[0]}`"
    return "paths are relative to the current directory"


def _check_syntax(path: Path, source: str) -> None:
    try:
        compile(source, str(path), "exec")
    except SyntaxError as error:
        raise FrontendError(
            "PO0603",
            f"`{path.name}` is not valid Python: {error.msg}",
            loc=_syntax_loc(path, error),
        ) from None
    except ValueError as error:
        raise UsageError("PO0602", f"`{path}` cannot be read as Python text: {error}") from None


def _syntax_loc(path: Path, error: SyntaxError) -> Loc:
    line, col = error.lineno or 1, max(1, error.offset or 1)
    end_line, end_col = error.end_lineno or line, error.end_offset or col + 1
    if (end_line, end_col) <= (line, col):
        end_line, end_col = line, col + 1
    return Loc(str(path), line, col, end_line, end_col)


def load_module(path: Path) -> ModuleType:
    """Run the file as a module; what it prints is talk, not a result.  Raises PO0604.

    A file of a package is imported under its full name, so that its relative imports work.
    """
    root, name = _home(path)
    sys.path.insert(0, str(root))
    before, sys.dont_write_bytecode = (
        sys.dont_write_bytecode,
        True,
    )  # nothing beside the user's file
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return _run(root, path, name)
    except KeyboardInterrupt:
        raise
    except FrontendError:
        raise
    except BaseException as error:
        raise FrontendError(
            "PO0604",
            f"running `{path.name}` failed: {type(error).__name__}: {error}",
            loc=_failing_line(path, error),
            hint="the file is run as a module to find its functions; "
            'guard scripts with `if __name__ == "__main__":`',
        ) from None
    finally:
        sys.dont_write_bytecode = before
        if str(root) in sys.path:
            sys.path.remove(str(root))


def _home(path: Path) -> tuple[Path, str]:
    """Return the folder that imports start from, and the file's name as a module."""
    folder = path.parent.resolve()
    if not (folder / "__init__.py").is_file():
        return folder, f"polyopt_target_{path.stem}"
    parts = [] if path.stem == "__init__" else [path.stem]
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _run(root: Path, path: Path, name: str) -> ModuleType:
    top, dot, rest = name.partition(".")
    if not dot and path.stem != "__init__":
        return _from_file(name, path)
    module = importlib.import_module(name)
    if module.__file__ is not None and Path(module.__file__).resolve() == path.resolve():
        return module
    # another package of that name came first: import this one under a name of its own
    digest = hex_digest(str(root).encode(), 6)
    alias = f"polyopt_target_{top}_{digest}"
    if alias not in sys.modules:
        _from_file(alias, root / top / "__init__.py", [str(root / top)])
    return importlib.import_module(f"{alias}{dot}{rest}")


def _from_file(name: str, path: Path, inside: list[str] | None = None) -> ModuleType:
    """Run a file as the module `name`; `inside`: where a package's modules are."""
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=inside)
    assert spec is not None, "a .py file has a loader"
    assert spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _failing_line(path: Path, error: BaseException) -> Loc | None:
    place, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in (str(path), str(path.resolve())):
            place = trace.tb_lineno
        trace = trace.tb_next
    if place is None:
        return None
    text = path.read_text(encoding="utf-8", errors="replace").splitlines()[place - 1]
    first = len(text) - len(text.lstrip()) + 1
    return Loc(str(path), place, first, place, len(text) + 1)


def plain(value: object) -> Callable[..., Any] | None:
    """Return the Python function behind `value`, a function or a kernel, or None."""
    func = getattr(value, "py_func", value)
    return func if inspect.isfunction(func) else None


def functions_of(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any], object]]:
    """Yield the functions the file itself defines: name, function, and what has the name."""
    for name, value in list(vars(module).items()):
        func = plain(value)
        if func is not None and func.__module__ == module.__name__:
            yield name, func, value


def _own_functions(module: ModuleType) -> list[str]:
    """Names of the functions the file itself defines by `def`, in textual order."""
    return [
        name
        for name, function, _ in functions_of(module)
        if not name.startswith("_") and function.__name__ != "<lambda>"
    ]


def _only_function(path: Path, module: ModuleType) -> str:
    names = _own_functions(module)
    if len(names) == 1:
        return names[0]
    what = f"has {len(names)} functions" if names else "has no function"
    raise UsageError("PO0607", f"`{path}` {what}; none was named", hint=_name_hint(path, names))


def _name_hint(path: Path, names: list[str]) -> str:
    if not names:
        return "define one in it: `def name(...): ...`"
    return f"write {path}:{names[0]}" + (f"; functions: {', '.join(names)}" if names[1:] else "")


def _find(path: Path, module: ModuleType, name: str) -> Target:
    value = vars(module).get(name)
    if name not in vars(module):
        names = _own_functions(module)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"there is `{near[0]}`" if near else f"functions: {', '.join(names) or 'none'}"
        raise UsageError("PO0605", f"`{path}` has no function `{name}`", hint=hint)
    func = plain(value)
    if func is None:
        raise UsageError(
            "PO0606",
            f"`{name}` in `{path}` is not a Python function but {_kind(value)}",
            hint=_name_hint(path, _own_functions(module)),
        )
    return Target(path, name, func, value)


def _kind(value: object) -> str:
    match value:
        case type():
            return "a class"
        case ModuleType():
            return "a module"
        case _:
            return f"of type {type(value).__name__}"
