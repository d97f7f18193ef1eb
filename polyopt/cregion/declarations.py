"""What the names of a region stand for: the declarations that it sees.

In: a `Unit`, a `Region`.  Out: `Declared`, by name.
Refuses (PO0192): what is no number and no array of numbers in one piece of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyopt.cregion.regions import Region
from polyopt.cregion.syntax import Unit, field, walk
from polyopt.cregion.types import Number, number_of
from polyopt.dataclass import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, eq=False)
class Declared:
    """A variable: a number, or an array with an extent per dimension.

    The first extent is None where only a pointer is declared; `node` is the declarator, `value`
    the initializer.
    """

    name: str
    number: Number
    extents: tuple[Node | None, ...]
    node: Node
    value: Node | None = None

    @property
    def is_array(self) -> bool:
        """Whether it is subscripted."""
        return bool(self.extents)


class Scope:
    """The declarations that a region sees; what it cannot use is refused where it is used."""

    def __init__(self, unit: Unit, region: Region) -> None:
        self.unit = unit
        self._types: dict[str, list[str]] = {}
        self._others: dict[str, str] = {}
        self._found: dict[str, Declared] = {}
        for node in unit.root.children:
            self._outside(node)
        for parameter in _parameters(region.function):
            self._declaration(parameter)
        for block in _around(region):
            for node in block.children:
                if node.start_byte >= region.begin.start_byte:
                    break
                if node.type == "declaration":
                    self._declaration(node)

    def get(self, name: str, node: Node) -> Declared:
        """Return the declaration of `name`, used at `node`; raises PO0192."""
        found = self._found.get(name)
        if found is not None:
            return found
        reason = self._others.get(name)
        if reason is None:
            hint = "declare it in this file or in one that it includes"
            self.unit.refuse("PO0192", f"`{name}` is not declared", node, hint)
        hint = "use a number, or an array or pointer of numbers: `double A[n][m]`, `double *x`"
        self.unit.refuse("PO0192", f"`{name}` is {reason}", node, hint)

    def declared_in(self, node: Node) -> Iterator[Declared]:
        """Yield what a declaration inside the region declares; raises PO0192."""
        number = self._number(node)
        for declarator in node.children_by_field_name("declarator"):
            found = None if number is None else self._variable(declarator, number)
            if found is None:
                message = f"`{self.unit.source(node)}` declares no number and no array of numbers"
                self.unit.refuse("PO0192", message, node, "declare it outside of the region")
            yield found

    def number_named(self, node: Node) -> Number | None:
        """Return the number that the type of a cast names."""
        if any(part.type.startswith("abstract_") for part in walk(node)):
            return None
        return number_of(self._words(self.unit.source(node).split()))

    def _outside(self, node: Node) -> None:
        match node.type:
            case "declaration":
                self._declaration(node)
            case "type_definition":
                words = self.unit.source(field(node, "type")).split()
                for declarator in node.children_by_field_name("declarator"):
                    if declarator.type == "type_identifier":
                        self._types[self.unit.source(declarator)] = self._words(words)
            case "linkage_specification" | "declaration_list":
                for child in node.children:
                    self._outside(child)
            case _:
                pass

    def _declaration(self, node: Node) -> None:
        number = self._number(node)
        for declarator in node.children_by_field_name("declarator"):
            name = _name(declarator, self.unit)
            if name is None:
                continue
            found = None if number is None else self._variable(declarator, number)
            self._found.pop(name, None)
            if found is not None:
                self._found[name] = found
            elif any(part.type == "function_declarator" for part in walk(declarator)):
                self._others[name] = "a function"
            elif number is None:
                kind = self.unit.source(field(node, "type"))
                self._others[name] = f"of type `{kind}`, which is no number"
            else:
                self._others[name] = "an array of pointers: its rows may overlap"

    def _number(self, node: Node) -> Number | None:
        kind = node.child_by_field_name("type")
        return None if kind is None else number_of(self._words(self.unit.source(kind).split()))

    def _words(self, words: list[str]) -> list[str]:
        return [part for word in words for part in self._types.get(word, [word])]

    def _variable(self, declarator: Node, number: Number) -> Declared | None:
        value = declarator.child_by_field_name("value")
        extents: list[Node | None] = []
        part = declarator
        while part.type != "identifier":
            match part.type:
                case "array_declarator":
                    size = part.child_by_field_name("size")
                    extents.append(None if size is None or size.type == "*" else size)
                case "pointer_declarator":
                    extents.append(None)
                case "init_declarator" | "parenthesized_declarator":
                    pass
                case _:
                    return None
            inner = part.child_by_field_name("declarator")
            if inner is None:
                inner = next((c for c in part.children if c.is_named), None)
            if inner is None:
                return None
            part = inner
        shape = tuple(reversed(extents))
        if None in shape[1:]:
            return None
        return Declared(self.unit.source(part), number, shape, part, value)


def _name(declarator: Node, unit: Unit) -> str | None:
    return next((unit.source(n) for n in walk(declarator) if n.type == "identifier"), None)


def _parameters(function: Node) -> Iterator[Node]:
    for node in walk(field(function, "declarator")):
        if node.type == "parameter_declaration":
            yield node


def _around(region: Region) -> list[Node]:
    """Return the blocks around a region, outermost first."""
    found: list[Node] = []
    node = region.begin.parent
    while node is not None and node.id != region.function.id:
        if node.type == "compound_statement":
            found.append(node)
        node = node.parent
    return found[::-1]
