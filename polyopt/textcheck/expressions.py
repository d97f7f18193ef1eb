"""Expressions of C functions: the elements that they read and write, their integer arithmetic.

In: nodes.  Out: `Access`es and `Arithmetic` in the order of the text.
Refuses: memory by an address, calls of unknown functions, all that is not listed (`Unread`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import Expr, Unary, UnaryOp
from polyopt.ir.types import DType
from polyopt.textcheck.pragmas import PURE
from polyopt.textcheck.scope import (
    Access,
    Arithmetic,
    Integers,
    Known,
    LoopContext,
    Memory,
    Unread,
    Width,
    part,
    text_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

Names: TypeAlias = dict[str, Known | Memory]
_PLAIN = re.compile(
    "(?:binary|unary|parenthesized|comma|conditional)_expression|(?:number|char|string)_literal|true|false|null|"
    "initializer_list"
)
"""Expressions that read and write what their parts do."""
_GUARDED = re.compile(
    "(?:expression|if|compound)_statement|else_clause|declaration|init_declarator|"
    "(?:primitive|sized)_type(?:_specifier)?|type_(?:identifier|qualifier)"
)
"""Statements of a critical block."""


@dataclass(frozen=True, eq=False)
class Expressions:
    """Reads expressions into lists; `enter` reads the body of a function that one calls.

    `unrolled`: conditions inside of expressions are left out, as certified loops have them.
    """

    functions: dict[str, Node]
    unrolled: bool
    accesses: list[Access]
    arithmetic: list[Arithmetic]
    enter: Callable[[str, Node, list[Node], LoopContext, Names], None]

    def integers(self, place: LoopContext, names: Names, *, note: bool = True) -> Integers:
        """Return a reader of integer expressions at a place."""

        def noted(node: Node, value: Expr, width: Width) -> None:
            if note:
                self.arithmetic.append(Arithmetic(value, width, place, node))

        return Integers(names, self.functions, noted)

    def sides(
        self, condition: Node, place: LoopContext, names: Names
    ) -> tuple[LoopContext, LoopContext]:
        """Return where code runs if a condition holds, and where it runs otherwise."""
        try:
            known = self.integers(place, names).condition(condition)
        except Unread:
            inexact = LoopContext(place.loops, place.conditions, False)
            return inexact, inexact
        otherwise = Unary(UnaryOp.INVERT, known, DType.BOOL)
        return (
            LoopContext(place.loops, (*place.conditions, known), place.exact),
            LoopContext(place.loops, (*place.conditions, otherwise), place.exact),
        )

    def effects(  # noqa: C901 - one case per kind of expression
        self, node: Node, place: LoopContext, names: Names, guard: str
    ) -> None:
        """Note what an expression reads and writes."""
        match node.type:
            case "assignment_expression":
                target = part(node, "left")
                self._updated(part(node, "right"), target, place, names, guard)
                if text_of(part(node, "operator")) != "=":
                    self._element(target, place, names, guard, write=False)
                self._element(target, place, names, guard, write=True)
            case "update_expression":
                for write in (False, True):
                    self._element(part(node, "argument"), place, names, guard, write=write)
            case "subscript_expression" | "identifier":
                self._element(node, place, names, guard, write=False)
            case "call_expression":
                self._called(node, place, names, guard)
            case "pointer_expression" | "field_expression":
                raise Unread(node, "memory by an address is not understood")
            case "cast_expression":
                self.effects(part(node, "value"), place, names, guard)
            case "conditional_expression" if not self.unrolled:
                condition = part(node, "condition")
                self.effects(condition, place, names, guard)
                here, there = self.sides(condition, place, names)
                self.effects(part(node, "consequence"), here, names, guard)
                self.effects(part(node, "alternative"), there, names, guard)
            case "binary_expression" if text_of(part(node, "operator")) in ("&&", "||"):
                left, right = part(node, "left"), part(node, "right")
                self.effects(left, place, names, guard)
                if not self.unrolled:
                    here, there = self.sides(left, place, names)
                    place = here if text_of(part(node, "operator")) == "&&" else there
                self.effects(right, place, names, guard)
            case kind if _PLAIN.fullmatch(kind) or (guard and _GUARDED.fullmatch(kind)):
                for child in node.named_children:
                    if child.type not in ("comment", "type_descriptor"):
                        self.effects(child, place, names, guard)
            case kind:
                raise Unread(node, f"a {kind.replace('_', ' ')} is not understood")

    def _updated(
        self, node: Node, target: Node, place: LoopContext, names: Names, guard: str
    ) -> None:
        """Note what the right side of an assignment reads; `atomic` guards the target alone."""
        if not guard.startswith("atomic"):
            self.effects(node, place, names, guard)
            return
        read = len(self.accesses)
        self.effects(node, place, names, "")
        same = text_of(target)
        self.accesses[read:] = [
            replace(one, guard=guard) if text_of(one.node) == same else one
            for one in self.accesses[read:]
        ]

    def _called(self, node: Node, place: LoopContext, names: Names, guard: str) -> None:
        name = text_of(part(node, "function"))
        given = part(node, "arguments").named_children
        definition = self.functions.get(name)
        if definition is not None and text_of(part(definition, "type")) == "void":
            self.enter(name, definition, given, place, names)
            return
        try:
            self.integers(place, names, note=False).read(node)
        except Unread:
            if not PURE.fullmatch(name):
                raise Unread(node, f"`{name}` may read and write anything") from None
        for one in given:
            self.effects(one, place, names, guard)

    def _element(
        self,
        node: Node,
        place: LoopContext,
        names: Names,
        guard: str,
        *,
        write: bool,
    ) -> None:
        at = node
        subscripts: list[Node] = []
        while at.type in ("subscript_expression", "parenthesized_expression"):
            if at.type == "subscript_expression":
                subscripts.insert(0, part(at, "index"))
                at = part(at, "argument")
            else:
                at = at.named_children[0]
        name = text_of(at)
        known = names.get(name)
        if at.type != "identifier" or (known is None and write):
            raise Unread(node, "memory by an address is not understood")
        if not isinstance(known, Memory):
            if write or subscripts:
                raise Unread(node, f"`{name}` is not declared here")
            return
        if len(subscripts) != len(known.dims):
            raise Unread(node, f"`{name}` has {len(known.dims)} dimensions")
        index: tuple[Expr, ...] | None = None
        for one in subscripts:
            self.effects(one, place, names, "" if guard.startswith("atomic") else guard)
        try:
            index = tuple(self.integers(place, names).read(one)[0] for one in subscripts)
        except Unread:
            index = None
        self.accesses.append(Access(known.key, index, write, known.depth, guard, place, node))
