"""What the preprocessor makes of a C text, which a parser of C does not see.

In: the root of a file.  Out: names of integers; where a compiler may see another text.
Taken for granted: files that are included define no name that the file uses otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING

from polyopt.cregion.syntax import walk
from polyopt.ir.expr import integer
from polyopt.textcheck.scope import NAMED, Known, Width, part, text_of
from polyopt.textcheck.tokens import tokens

if TYPE_CHECKING:
    from tree_sitter import Node

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,8})")
_NUMBER = re.compile(r"[-+]?\.?\d(?:[eEpP][+-]|[\w.])*|\"[^\"\\]*\"")
_QUALIFIER = re.compile(r"(?:(?:__)?(?:restrict|inline|const)(?:__)?\s*)*")
_KEYWORD = re.compile(
    "break|case|continue|default|do|double|else|float|for|goto|if|int|long|return|short|signed|"
    "sizeof|static|switch|unsigned|void|while"
)
_BRANCHES = ("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else")
_FOR_CPP = re.compile(r"^[ \t]*#[ \t]*ifdef[ \t]+__cplusplus\b[^#]*?^[ \t]*#[ \t]*endif\b.*$", re.M)


def without_cpp(text: str) -> str:
    """Return C text with blanks for what C++ compilers alone read; places stay the same."""
    return _FOR_CPP.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def integers_of(root: Node) -> dict[str, Known]:
    """Return the names that are defined as integers."""
    found = {}
    for node in walk(root):
        if node.type == "preproc_def":
            text = _value(node).strip("()")
            if _INTEGER.fullmatch(text):
                found[text_of(part(node, "name"))] = Known(integer(int(text)), Width(32))
    return found


def hidden_in(
    node: Node, functions: Mapping[str, Node], unknown: Set[str]
) -> Iterator[tuple[Node, str]]:
    """Yield why a compiler may see another text than that of a function and those it calls."""
    for one in _reached(node, functions):
        branch = _branch(one)
        if branch is not None:
            yield branch, "the preprocessor decides whether this is compiled"
        used = unknown & {word for word, _ in tokens(text_of(one))}
        for name in sorted(used):
            yield one, f"the preprocessor decides what `{name}` is"


def _reached(node: Node, functions: Mapping[str, Node]) -> list[Node]:
    """Return a function and those of the file that it names, and so on."""
    found, waiting = [node], [node]
    while waiting:
        inside = {text_of(n) for n in walk(waiting.pop()) if n.type == "identifier"}
        new = [n for name, n in functions.items() if name in inside and n not in found]
        found += new
        waiting += new
    return found


def unknown_in(root: Node) -> Iterator[str]:
    """Yield names that stand for more than a number, or not everywhere for the same."""
    values: dict[str, str] = {}
    for node in walk(root):
        match node.type:
            case "preproc_def":
                name, value = text_of(part(node, "name")), _value(node)
                plain = _NUMBER.fullmatch(value.strip("()")) or _QUALIFIER.fullmatch(value)
                same = values.setdefault(name, value) == value
                if not plain or not same or _KEYWORD.fullmatch(name) or _branch(node) is not None:
                    yield name
            case "preproc_function_def":
                yield text_of(part(node, "name"))
            case "preproc_call" if text_of(part(node, "directive")).endswith("undef"):
                argument = node.child_by_field_name("argument")
                yield "" if argument is None else text_of(argument).strip()
            case "type_definition":
                names = (text_of(n) for n in node.children_by_field_name("declarator"))
                yield from (name for name in names if name in NAMED)
            case _:
                pass


def _value(node: Node) -> str:
    value = node.child_by_field_name("value")
    return "" if value is None else re.sub(r"//.*|/\*.*?\*/", "", text_of(value)).strip()


def _branch(node: Node) -> Node | None:
    """Return the directive that decides whether a part is compiled; include guards do not."""
    around = node.parent
    while around is not None:
        if around.type in _BRANCHES and not _is_guard(around):
            return around
        around = around.parent
    return None


def _is_guard(node: Node) -> bool:
    """Tell whether a branch begins with `#ifndef NAME` and `#define NAME`, and has no other."""
    name = node.child_by_field_name("name")
    inside = [child for child in node.named_children if child.type != "comment"]
    if name is None or len(inside) < 2 or not text_of(node).lstrip("# \t").startswith("ifndef"):
        return False
    first = inside[1]
    return (
        node.child_by_field_name("alternative") is None
        and first.type == "preproc_def"
        and text_of(part(first, "name")) == text_of(name)
    )
