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
    constants = {
        node.targets[0].id: node.value
        for node in tree(package).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    calls = [
        node
        for node in ast.walk(tree(package))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "names_of"
    ]
    if not calls:
        return {}
    (call,) = calls
    homes = call.args[1]
    found = ast.literal_eval(constants[homes.id] if isinstance(homes, ast.Name) else homes)
    return {home: set(names.split()) for home, names in found.items()}
