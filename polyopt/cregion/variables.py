"""The variables of a region: what it declares, counts and assigns, and who reads them outside.

In: a `Unit`, a `Region`, its scope.  Out: `Variables`.
Refuses: loops without a variable (PO0193), variables that are read where only C has their value
(PO0194).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.cregion.declarations import Declared, Region, Scope
from polyopt.cregion.syntax import Unit, field, is_inside, walk

if TYPE_CHECKING:
    from tree_sitter import Node

INTEGERS = frozenset(("int32", "int64", "uint32", "uint64"))
"""Types of sizes and counters."""


class Variables:
    """What a region does with variables; nothing of it depends on their values."""

    def __init__(self, unit: Unit, region: Region, scope: Scope) -> None:
        self.unit, self.region, self.scope = unit, region, scope
        self.inside = [part for node in region.statements for part in walk(node)]

    @cached_property
    def counters(self) -> frozenset[str]:
        """The variables that loops count."""
        headers = [node for node in self.inside if node.type == "for_statement"]
        return frozenset(map(self.counter, headers))

    def counter(self, header: Node) -> str:
        """Return the variable that a loop counts."""
        start = header.child_by_field_name("initializer")
        if start is not None:
            for part in walk(start):
                if part.type == "identifier":
                    return self.unit.source(part)
        hint = "write `for (int i = first; i < last; i++)`"
        self.unit.refuse("PO0193", "the loop sets no variable to count", header, hint)

    @cached_property
    def own(self) -> Mapping[str, Declared]:
        """The declarations inside the region."""
        found: dict[str, Declared] = {}
        for node in self.inside:
            if node.type == "declaration":
                for one in self.scope.declared_in(node):
                    before = found.get(one.name)
                    if before is not None and before.number != one.number:
                        message = f"`{one.name}` is declared twice, with different types"
                        self.unit.refuse("PO0190", message, node, "give one of them another name")
                    found[one.name] = one
        return found

    @cached_property
    def assigned(self) -> Mapping[str, Node]:
        """The numbers that statements assign, loops aside, and where they do first."""
        found: dict[str, Node] = {}
        for node in self.inside:
            target = None
            if node.type == "assignment_expression":
                target = field(node, "left")
            elif node.type == "update_expression":
                target = field(node, "argument")
            parent = node.parent
            if target is None or target.type != "identifier":
                continue
            if parent is not None and parent.type == "for_statement":
                continue
            found.setdefault(self.unit.source(target), node)
        return found

    @cached_property
    def constants(self) -> frozenset[str]:
        """The integers from outside of the region that it does not assign."""
        found: set[str] = set()
        for node in self.inside:
            if node.type != "identifier":
                continue
            name = self.unit.source(node)
            if name in self.own or name in self.assigned or name in self.counters:
                continue
            parent = node.parent
            if (
                parent is not None
                and parent.type == "call_expression"
                and (field(parent, "function").id == node.id)
            ):
                continue
            declared = self.scope.get(name, node)
            if not declared.is_array and declared.number.dtype.value in INTEGERS:
                found.add(name)
        return frozenset(found)

    def refuse_shadows(self) -> None:
        """Refuse names that stand for several variables, one visible where another one is."""
        scopes: dict[str, list[Node]] = {}
        for node in self.inside:
            if node.type != "declaration":
                continue
            around = node.parent
            assert around is not None
            for declared in self.scope.declared_in(node):
                for other in scopes.setdefault(declared.name, []):
                    if _contains(other, around) or _contains(around, other):
                        self._refuse_name(declared.name, declared.node)
                scopes[declared.name].append(around)
        for node in self.inside:
            if node.type == "identifier":
                known = scopes.get(self.unit.source(node))
                if known and not any(_contains(scope, node) for scope in known):
                    self._refuse_name(self.unit.source(node), node)

    def _refuse_name(self, name: str, node: Node) -> None:
        message = f"`{name}` is the name of several variables, of which this is another one"
        self.unit.refuse("PO0190", message, node, "give each variable a name of its own")

    def refuse_left(self) -> None:
        """Refuse variables of the region and of its loops that anybody reads behind it."""
        for node in self.region.statements:
            for declared in self.scope.declared_in(node) if node.type == "declaration" else ():
                for use in self.after(declared.name, is_own=True):
                    message = f"`{declared.name}` is declared in the region, and used behind it"
                    self.unit.refuse("PO0194", message, use, "declare it before the region")
        for name in sorted(self.counters):
            for node in self.after(name):
                message = f"`{name}` counts a loop of the region, and is read behind the region"
                self.unit.refuse("PO0194", message, node, "set it again behind the region")

    def after(self, name: str, is_own: bool = False) -> list[Node]:
        """Return a use of `name` behind the region, where it may read the region's value.

        What stands before the region in a loop around it runs behind it, too, and so does the
        region itself.
        """
        if name in self.own and not is_own:
            return []
        uses = [
            node
            for node in walk(self.region.function)
            if node.type == "identifier" and self.unit.source(node) == name
        ]
        pointed = [node for node in uses if self._is_pointed_to(node)]
        if pointed and not is_own and name not in self.counters:
            return pointed[:1]
        behind = [node for node in uses if node.start_byte >= self.region.end.end_byte]
        runs = [behind]
        loop = self._loop
        if loop is not None and not is_own:
            declared = self.scope.get(name, self.region.begin).node
            counting = self._counting(declared)
            if counting is not None:  # its header reads it behind the region
                return [n for n in uses if n.id != declared.id and _contains(counting, n)][:1]
            start, first = loop.start_byte, self.region.begin.start_byte
            if name not in self.counters and not self._declares(loop, name):
                runs.append([node for node in uses if start <= node.start_byte < loop.end_byte])
            runs.append([node for node in behind if node.start_byte >= loop.end_byte])
            runs.append([node for node in uses if start <= node.start_byte < first])
        for run in runs:
            if run:
                is_set = self._is_declared(run[0]) if is_own else self._is_set(run[0])
                if not is_set:
                    return run[:1]
        return []

    @cached_property
    def _loop(self) -> Node | None:
        """The outermost loop around the region."""
        found, node = None, self.region.begin.parent
        while node is not None and node.id != self.region.function.id:
            if node.type in ("for_statement", "while_statement", "do_statement"):
                found = node
            node = node.parent
        return found

    def _counting(self, declared: Node) -> Node | None:
        """Return the loop around the region whose header declares a variable, if one does."""
        node = declared
        while node.parent is not None and node.type != "declaration":
            node = node.parent
        loop = node.parent
        if loop is None or loop.type != "for_statement" or not _contains(loop, self.region.begin):
            return None
        return loop

    def _declares(self, loop: Node, name: str) -> bool:
        """Tell whether a variable of the region's scope lives in an iteration of `loop` only."""
        declared = self.scope.get(name, self.region.begin).node
        return loop.start_byte < declared.start_byte < loop.end_byte

    def _is_pointed_to(self, node: Node) -> bool:
        parent = node.parent
        if parent is None or parent.type != "pointer_expression":
            return False
        return self.unit.source(parent).startswith("&")

    def _is_declared(self, node: Node) -> bool:
        parent = node.parent
        return parent is not None and parent.type in ("init_declarator", "declaration")

    def _is_set(self, node: Node) -> bool:
        """Tell whether a use of a variable sets it."""
        parent = node.parent
        if parent is None:
            return False
        if parent.type == "assignment_expression":
            plain = self.unit.source(field(parent, "operator")) == "="
            is_target = plain and field(parent, "left").id == node.id
            return is_target and self._is_always_run(parent)
        return self._is_declared(node)

    def _is_always_run(self, node: Node) -> bool:
        """Tell whether an assignment is a statement or begins a loop in a block around."""
        statement = node.parent
        if statement is None or statement.type not in ("expression_statement", "for_statement"):
            return False
        around = self.region.begin.parent
        while around is not None:
            if statement.parent is not None and statement.parent.id == around.id:
                return True
            around = around.parent
        return False

    def is_reset(self, name: str) -> bool:
        """Tell whether the function sets a variable after arrays may have taken it as extent."""
        return any(
            node.type == "identifier"
            and self.unit.source(node) == name
            and node.parent is not None
            and node.parent.type in ("assignment_expression", "update_expression")
            and node.parent.children[0].id == node.id
            for node in walk(self.region.function)
        )

    def is_known_before(self, name: str, declared: Declared) -> bool:
        """Tell whether a variable may have a value when the region begins."""
        if self.is_global(declared) or declared.value is not None:
            return True
        if is_inside(declared.node, "parameter_declaration"):
            return True
        if self._loop is not None and not self._declares(self._loop, name):
            return True  # an iteration before may have set it
        return any(
            node.type == "identifier"
            and self.unit.source(node) == name
            and declared.node.end_byte <= node.start_byte < self.region.begin.start_byte
            for node in walk(self.region.function)
        )

    def is_global(self, declared: Declared) -> bool:
        """Tell whether a variable lives longer than a call of its function."""
        node: Node | None = declared.node
        while node is not None:
            if node.type == "function_definition":
                return False
            if node.type == "declaration" and "static" in self.unit.source(node).split():
                return True
            node = node.parent
        return True


def _contains(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte
