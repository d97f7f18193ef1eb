"""Declarations of C: integer types, and names with their dimensions.

In: nodes of a declaration.  Out: widths; `Declared`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass
from polyopt.textcheck.nest import INT, LONG, Width

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMED = {
    "int8_t": Width(8), "int16_t": Width(16), "int32_t": INT, "int64_t": LONG,
    "uint8_t": Width(8, False), "uint16_t": Width(16, False), "uint32_t": Width(32, False),
    "uint64_t": Width(64, False), "size_t": Width(64, False), "ptrdiff_t": LONG,
    "ssize_t": LONG, "intptr_t": LONG, "uintptr_t": Width(64, False), "char": Width(8),
    "bool": Width(8, False), "_Bool": Width(8, False),
}  # fmt: skip
_REALS = frozenset(("float", "double", "_Float16", "complex", "_Complex"))


def width_of(words: list[str]) -> Width | None:
    """Return the integer type that the words of a declaration name; None for others."""
    if _REALS & set(words):
        return None
    for word in words:
        if word in _NAMED and not {"unsigned", "signed"} & set(words):
            return _NAMED[word]
    if not {"int", "long", "short", "char", "unsigned", "signed"} & set(words):
        return None
    bits = 64 if "long" in words else 16 if "short" in words else 8 if "char" in words else 32
    return Width(bits, "unsigned" not in words)


def common(one: Width, two: Width) -> Width:
    """Return the type that an operation of two types computes in (C11 6.3.1.8)."""
    bits = max(32, one.bits, two.bits)
    return Width(bits, all(w.signed or w.bits < bits for w in (one, two)))


@dataclass(frozen=True, eq=False)
class Declared:
    """A declarator: `dims` are nodes of extents, None where there is none."""

    name: str
    dims: tuple[Node | None, ...]
    value: Node | None
    node: Node


def declared(node: Node, value: Node | None = None) -> Declared | None:
    """Return what a declarator declares; None for what is neither a number nor an array."""
    dims: list[Node | None] = []
    while True:
        match node.type:
            case "init_declarator":
                value = node.child_by_field_name("value")
                node = _inner(node)
            case "array_declarator":
                size = node.child_by_field_name("size")
                dims.insert(0, size)
                node = _inner(node)
            case "pointer_declarator":
                dims.insert(0, None)
                node = _inner(node)
            case "parenthesized_declarator":
                node = next(child for child in node.named_children)
            case "identifier":
                assert node.text is not None
                return Declared(node.text.decode(), tuple(dims), value, node)
            case _:
                return None


def _inner(node: Node) -> Node:
    found = node.child_by_field_name("declarator")
    assert found is not None
    return found
