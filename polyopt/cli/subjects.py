"""The functions that `polyopt check` is asked about: of a file, of a folder, or one by name.

In: `FILE.py:FUNC`, `FILE.py` or a folder.  Out: `Target`s; what could not be loaded, and why.
A folder's file is run only where a function in it is a kernel or says something of its loops.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

from polyopt.cli.load import Target, functions_of, load_module, load_target, read_source
from polyopt.dataclass import dataclass
from polyopt.errors import PolyoptError, UsageError
from polyopt.report.findings import Skipped

_SAYS = re.compile(r"#\s*polyopt\s*:")
_MARKERS = {"prange", "parallel"}
_HIDDEN = ("__pycache__", "node_modules", "site-packages")


@dataclass(frozen=True, eq=False)
class Chosen:
    """The functions to check; `named`: the user gave each by name."""

    targets: tuple[Target, ...]
    skipped: tuple[Skipped, ...] = ()
    named: bool = True


def choose(text: str, everything: bool) -> Chosen:
    """Return the functions that `text` names; `everything`: those that claim nothing as well."""
    path = Path(text)
    if path.is_dir():
        return _folder(path, everything)
    if text.endswith(".py") and not path.exists() and "::" not in text:
        read_source(path)  # raises: there is no such file
    if not text.endswith(".py"):
        return Chosen((load_target(text),))
    return _file(path, everything=True)


def _folder(folder: Path, everything: bool) -> Chosen:
    targets: list[Target] = []
    skipped: list[Skipped] = []
    files = list(_python_files(folder))
    if not files:
        raise UsageError(
            "PO0601",
            f"there is no Python file and no certificate below `{folder}`",
            hint="name a folder with .py files, a file, or a function: FILE.py:FUNC",
        )
    for file in files:
        try:
            found = _file(file, everything)
        except PolyoptError as error:
            skipped.append(Skipped(str(file), error))
            continue
        targets += found.targets
        skipped += found.skipped
    return Chosen(tuple(targets), tuple(skipped), named=False)


def _python_files(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _HIDDEN)
        yield from (Path(root) / file for file in sorted(files) if file.endswith(".py"))


def _file(path: Path, everything: bool) -> Chosen:
    """Return a file's functions; the file is run only if some are wanted."""
    text = read_source(path)
    claiming = _claiming(text, everything)
    if not claiming:
        return Chosen((), named=False)
    module = load_module(path)
    targets = [Target(path, name, func, value) for name, func, value in functions_of(module)]
    return Chosen(tuple(t for t in targets if t.name in claiming), named=False)


def _claiming(text: str, everything: bool) -> set[str]:
    """Return the functions of a file's text that are kernels or say something of their loops."""
    tree = ast.parse(text)
    lines = text.splitlines()
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        public = everything and not node.name.startswith("_")
        if public or _is_kernel(node) or _says(node, lines):
            found.add(node.name)
    return found


def _is_kernel(node: ast.FunctionDef) -> bool:
    """Whether a decorator is called `kernel`: `@po.kernel`, `@kernel(threads=2)`."""
    heads = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
    return any(ast.unparse(head).split(".")[-1] == "kernel" for head in heads)


def _says(node: ast.FunctionDef, lines: list[str]) -> bool:
    """Whether a loop of the function is marked, or a comment speaks to polyopt."""
    for part in ast.walk(node):
        if isinstance(part, ast.For) and isinstance(part.iter, ast.Call):
            name = ast.unparse(part.iter.func).split(".")[-1]
            if name in _MARKERS:
                return True
    return any(_SAYS.search(line) for line in lines[node.lineno - 1 : node.end_lineno])
