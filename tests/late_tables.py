"""The tables of names that packages import on use, read from their text.

In: a package's full name.  Out: its names, by the module that has them.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Homes = dict[str, set[str]]


@cache
def tree(package: str) -> ast.Module:
    """Return the syntax tree of a package's `__init__`."""
    path = ROOT.joinpath(*package.split("."), "__init__.py")
    return ast.parse(path.read_text("utf-8"))


@cache
def table(package: str) -> Homes:
    """Return the table of a package, empty where all of its names are imported at once."""
    found: Homes = {}
    for block in tree(package).body:
        if not isinstance(block, ast.If):
            continue
        for node in block.body:
            assert isinstance(node, ast.ImportFrom)
            names = {alias.name for alias in node.names}
            assert node.module is not None
            if node.module == package:
                found.update({name: set() for name in names})
            else:
                home = node.module.removeprefix(f"{package}.")
                found[home] = found.get(home, set()) | names
    return found
