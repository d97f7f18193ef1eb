"""The statements of a region as those of a Python function.

In: statements of C.  Out: lines of Python, each with the statement that it comes from.
Refuses: assignments to variables that count loops (PO0193, PO0194), jumps out of the region and
other statements (PO0190).
Loops that count are Python's `range`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from polyopt.cregion.declarations import INT, Number, common, promoted
from polyopt.cregion.expressions import Expressions, Value, python_name
from polyopt.cregion.syntax import Unit, field, is_word, walk
from polyopt.cregion.variables import Variables
from polyopt.dataclass import replace

if TYPE_CHECKING:
    from tree_sitter import Node


Line: TypeAlias = "tuple[str, Node]"


class Statements:
    """Writes statements, line by line."""

    def __init__(self, unit: Unit, variables: Variables, read: Expressions) -> None:
        self.unit, self.variables, self.read = unit, variables, read
        self.scope = variables.scope
        self._counting = Counting(unit, variables, read)
        self._lines: list[Line] = []

    def lines(self, statements: Sequence[Node]) -> list[Line]:
        """Return the statements' lines, inside a function."""
        for node in statements:
            self._statement(node, 1)
        return self._lines

    def _put(self, depth: int, text: str, node: Node) -> None:
        self._lines.append((f"{'    ' * depth}{text}", node))

    def _statement(self, node: Node, depth: int) -> None:  # noqa: C901 - one case per statement
        match node.type:
            case "comment" | "preproc_call" | ";" | "{" | "}":
                return
            case "compound_statement":
                for child in node.children:
                    self._statement(child, depth)
            case "declaration":
                self._declaration(node, depth)
            case "expression_statement":
                for child in node.children:
                    if is_word(child):
                        self._expression(child, depth)
            case "for_statement":
                self._for(node, depth)
            case "if_statement":
                self._put(depth, f"if {self.read.test(field(node, 'condition'))}:", node)
                self._block(field(node, "consequence"), depth + 1)
                other = node.child_by_field_name("alternative")
                if other is not None:
                    self._put(depth, "else:", other)
                    self._block(other, depth + 1)
            case "else_clause":
                for child in node.children:
                    if is_word(child):
                        self._statement(child, depth)
            case "while_statement":
                self._put(depth, f"while {self.read.test(field(node, 'condition'))}:", node)
                self._block(field(node, "body"), depth + 1)
            case "break_statement" | "continue_statement":
                self._put(depth, node.type.removesuffix("_statement"), node)
            case "ERROR":
                text = self.unit.source(node).split("\n")[0]
                self.unit.refuse("PO0190", f"`{text}` cannot be parsed as C", node)
            case _:
                text = self.unit.source(node).split("\n")[0]
                hint = "keep loops, conditions and assignments in the region"
                self.unit.refuse("PO0190", f"`{text}` is not supported in a region", node, hint)

    def _block(self, node: Node, depth: int) -> None:
        before = len(self._lines)
        self._statement(node, depth)
        if len(self._lines) == before:
            self._put(depth, "pass", node)

    def _declaration(self, node: Node, depth: int) -> None:
        for declared in self.scope.declared_in(node):
            name = python_name(declared.name)
            if declared.is_array:
                if None in declared.extents:
                    hint = "subscript the array that it points into, or set it before the region"
                    self.unit.refuse("PO0190", f"`{name}` is a pointer of the region", node, hint)
                if declared.value is not None:
                    hint = "set the elements by statements"
                    self.unit.refuse("PO0190", f"`{name}` has an initializer", node, hint)
                shape = ", ".join(
                    self.read.integer(extent).text for extent in declared.extents if extent
                )
                self._put(depth, f"{name} = np.empty(({shape},), {declared.number.numpy})", node)
            elif declared.value is not None:
                self._assign(
                    declared.name, declared.number, self.read.read(declared.value), depth, node
                )

    def _assign(self, name: str, number: Number, value: Value, depth: int, node: Node) -> None:
        if name in self.read.affine:
            number = replace(number, is_index=True)
        text = self.read.converted(value, number)
        if number.is_float and not text.startswith("np."):
            text = f"{number.numpy}({text})"  # a number of Python's would follow other rules
        self._put(depth, f"{python_name(name)} = {text}", node)

    def _expression(self, node: Node, depth: int) -> None:
        match node.type:
            case "assignment_expression":
                self._assignment(node, depth)
            case "update_expression":
                operator = self.unit.source(field(node, "operator"))
                one = Value("1", replace(INT, is_index=True), literal=1)
                self._update(field(node, "argument"), operator[0], one, depth, node)
            case "comma_expression":
                for child in node.children:
                    if is_word(child):
                        self._expression(child, depth)
            case "parenthesized_expression":
                for child in node.children:
                    if is_word(child):
                        self._expression(child, depth)
            case _:
                hint = "keep loops, conditions and assignments in the region"
                text = self.unit.source(node)
                self.unit.refuse("PO0190", f"`{text}` is not supported in a region", node, hint)

    def _assignment(self, node: Node, depth: int) -> None:
        operator = self.unit.source(field(node, "operator"))
        left, right = field(node, "left"), field(node, "right")
        if right.type == "assignment_expression":  # a = b = c
            self._assignment(right, depth)
            right = field(right, "left")
        value = self.read.read(right)
        if operator != "=":
            self._update(left, operator[:-1], value, depth, node)
            return
        if left.type == "identifier":
            declared = self.read.declared(self.unit.source(left), left)
            if not declared.is_array:
                self._refuse_counter(left)
                self._assign(declared.name, declared.number, value, depth, node)
                return
        place, number = self._place(left)
        self._put(depth, f"{place} = {self.read.converted(value, number)}", node)

    def _update(self, left: Node, operator: str, value: Value, depth: int, node: Node) -> None:
        """Put `left = left operator value`, computed in the type that C computes it in."""
        if left.type == "identifier":
            self._refuse_counter(left)
            declared = self.read.declared(self.unit.source(left), left)
            old = self.read.read(left)
            new = self.read.combined(operator, old, value, node)
            self._assign(declared.name, declared.number, new, depth, node)
            return
        place, number = self._place(left)
        new = self.read.combined(operator, Value(place, number), value, node)
        if new.number == number and operator in ("+", "-", "*", "/") and number.is_float:
            text = self.read.converted(value, number)
            self._put(depth, f"{place} {operator}= {text}", node)
            return
        self._put(depth, f"{place} = {self.read.converted(new, number)}", node)

    def _place(self, node: Node) -> tuple[str, Number]:
        found = self.read.place(node)
        if found is None:
            value = self.read.read(node)
            if node.type != "pointer_expression":
                hint = "assign to a variable or to an element of an array"
                message = f"`{self.unit.source(node)}` cannot be assigned to"
                self.unit.refuse("PO0190", message, node, hint)
            return value.text, value.number
        return found

    def _refuse_counter(self, node: Node) -> None:
        name = self.unit.source(node)
        if name in self.read.running:
            message = f"`{name}` counts the loop around, which changes it by one step an iteration"
            self.unit.refuse("PO0193", message, node, "use another variable")
        if name in self.variables.counters:
            message = f"`{name}` counts loops, and is set outside of them"
            self.unit.refuse("PO0194", message, node, "use another variable")

    def _for(self, node: Node, depth: int) -> None:
        name = self.variables.counter(node)
        header = f"for {python_name(name)} in {self._counting.range(node, name)}:"
        self._put(depth, header, node)
        self.read.running.append(name)
        self._block(field(node, "body"), depth + 1)
        self.read.running.pop()


class Counting:
    """Reads the headers of loops."""

    def __init__(self, unit: Unit, variables: Variables, read: Expressions) -> None:
        self.unit, self.variables, self.read = unit, variables, read

    def range(self, node: Node, name: str) -> str:
        """Return the range that the loop counts `name` through."""
        start, step = self._first(node, name), self._step(node, name)
        declared = self.read.declared(name, node)
        lower = self.read.integer(start)
        first = self.read.converted(lower, replace(declared.number, is_index=True))
        last = self._last(node, name, start, step)
        return f"range({first}, {last}{'' if step == 1 else f', {step}'})"

    def _first(self, node: Node, name: str) -> Node:
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
        return value

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

    def _last(self, node: Node, name: str, start: Node, step: int) -> str:
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
        self._settle_signs(condition, name, start if step > 0 else right, right, step)
        bound = self.read.integer(right).text
        if operator == "<=":
            return f"{bound} + 1"
        return f"{bound} - 1" if operator == ">=" else bound

    def _settle_signs(
        self, condition: Node, name: str, least: Node, bound: Node, step: int
    ) -> None:
        """Note whether the counter is 0 or more; refuse comparisons that read it as another number.

        `least` is the smallest value.  C compares a negative number with an unsigned one as a
        large number.
        """
        number = self.read.declared(name, condition).number
        is_not_negative = number.is_unsigned or self.read.is_not_negative(least)
        self.read.not_negative.discard(name)
        if is_not_negative:
            self.read.not_negative.add(name)
        own, other = promoted(number), self.read.read(bound).number
        is_unsigned = common(own, other).is_unsigned
        if (
            step < 0
            and own.is_unsigned
            and self.unit.source(bound).strip("()") == "0"
            and ("=" in self.unit.source(field(condition, "operator")))
        ):
            self._uncounted(condition, f"never ends: `{name}` is unsigned, and never below 0")
        if is_unsigned and not own.is_unsigned and not is_not_negative:
            self._mixed(condition, name, "signed", "unsigned")
        if is_unsigned and step < 0 and not self.read.is_not_negative(bound):
            self._mixed(condition, name, "unsigned", "signed")

    def _mixed(self, condition: Node, name: str, own: str, other: str) -> NoReturn:
        message = f"the loop compares `{name}`, which is {own}, with a bound that is {other}"
        self.unit.refuse("PO0193", message, condition, "cast one: C reads -1 as a large number")

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
