"""Loops that count, as Python's `range`.

In: a `for` statement.  Out: the text of its range.
Refuses (PO0193): other loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from polyopt.cregion.expressions import Expressions
from polyopt.cregion.syntax import Unit, field, walk
from polyopt.cregion.variables import Variables

if TYPE_CHECKING:
    from tree_sitter import Node


class Counting:
    """Reads the headers of loops."""

    def __init__(self, unit: Unit, variables: Variables, read: Expressions) -> None:
        self.unit, self.variables, self.read = unit, variables, read

    def range(self, node: Node, name: str) -> str:
        """Return the range that the loop counts `name` through."""
        lower, step = self._first(node, name), self._step(node, name)
        last = self._last(node, name, step)
        return f"range({lower}, {last}{'' if step == 1 else f', {step}'})"

    def _first(self, node: Node, name: str) -> str:
        start = field(node, "initializer")
        values = [
            part
            for part in walk(start)
            if part.type in ("init_declarator", "assignment_expression")
        ]
        if len(values) != 1 or (
            values[0].type == "assignment_expression"
            and self.unit.source(field(values[0], "operator")) != "="
        ):
            self._uncounted(start, "sets more than one variable, or none")
        value = values[0].child_by_field_name("value") or field(values[0], "right")
        declared = self.read.declared(name, start)
        if declared.is_array or declared.number.is_float:
            self._uncounted(start, f"counts `{name}`, which is no integer")
        return self.read.integer(value).text

    def _step(self, node: Node, name: str) -> int:
        update = node.child_by_field_name("update")
        if update is not None:
            text = "".join(self.unit.source(update).split())
            if text in (f"{name}++", f"++{name}"):
                return 1
            if text in (f"{name}--", f"--{name}"):
                return -1
            for head, sign in (
                (f"{name}+=", 1), (f"{name}-=", -1), (f"{name}={name}+", 1), (f"{name}={name}-", -1)
            ):  # fmt: skip
                rest = text.removeprefix(head)
                if rest != text and rest.isdecimal() and int(rest) > 0:
                    return sign * int(rest)
        self._uncounted(update or node, f"does not step `{name}` by a constant")

    def _last(self, node: Node, name: str, step: int) -> str:
        condition = node.child_by_field_name("condition")
        if condition is None or condition.type != "binary_expression":
            self._uncounted(condition or node, f"has no condition such as `{name} < n`")
        operator = self.unit.source(field(condition, "operator"))
        left, right = field(condition, "left"), field(condition, "right")
        if self.unit.source(left) != name:
            left, right = right, left
            operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        words = {self.unit.source(part) for part in walk(right) if part.type == "identifier"}
        if self.unit.source(left) != name or name in words:
            self._uncounted(condition, f"does not compare `{name}` with a bound")
        wanted = ("<", "<=") if step > 0 else (">", ">=")
        if operator not in wanted:
            self._uncounted(condition, f"does not end at a bound by `{wanted[0]}`")
        changed = words & (set(self.variables.assigned) | self._written(field(node, "body")))
        if changed:
            self._uncounted(condition, f"may change its bound: it sets `{sorted(changed)[0]}`")
        bound = self.read.integer(right).text
        if operator == "<=":
            return f"{bound} + 1"
        return f"{bound} - 1" if operator == ">=" else bound

    def _written(self, body: Node) -> set[str]:
        """Return the arrays that statements of `body` write."""
        found = set()
        for node in walk(body):
            if node.type in ("assignment_expression", "update_expression"):
                target = node.child_by_field_name("left") or field(node, "argument")
                first = next((n for n in walk(target) if n.type == "identifier"), None)
                if first is not None and target.type != "identifier":
                    found.add(self.unit.source(first))
        return found

    def _uncounted(self, node: Node, why: str) -> NoReturn:
        hint = "write `for (int i = first; i < last; i++)`, or a `while` loop"
        self.unit.refuse("PO0193", f"the loop {why}", node, hint)
