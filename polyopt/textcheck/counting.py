"""Heads of `for` loops: what they count to, by which step, in which type.

In: nodes.  Out: steps, bounds as integer expressions.  Refuses: loops that do not count (`Unread`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polyopt.cregion.syntax import walk
from polyopt.ir.expr import Binary, BinaryOp, Expr
from polyopt.ir.expr import integer as number
from polyopt.ir.types import DType
from polyopt.textcheck.scope import Integers, Unread, Width, declared, part, text_of, width_of

if TYPE_CHECKING:
    from tree_sitter import Node


def widths_in(function: Node) -> dict[str, Width]:
    """Return the types of the integer variables that a function declares."""
    found = {}
    for node in walk(function):
        if node.type == "declaration":
            width = width_of(text_of(part(node, "type")).split())
            for child in node.children_by_field_name("declarator"):
                one = declared(child)
                if one is not None and width is not None:
                    found[one.name] = width
    return found


def step_of(node: Node, name: str) -> int:
    """Return what a loop adds to its counter."""
    text = "".join(text_of(part(node, "update")).split())
    if text in (f"{name}++", f"++{name}"):
        return 1
    if text in (f"{name}--", f"--{name}"):
        return -1
    match = re.fullmatch(rf"{name}(?:={name}([+-])|([+-])=)([1-9]\d*)", text)
    if match is None:
        raise Unread(part(node, "update"), f"the loop does not step `{name}` by a constant")
    return int((match[1] or match[2]) + match[3])


def last_of(node: Node, name: str, step: int, read: Integers) -> tuple[Expr, Width]:
    """Return the last value that a loop's condition lets pass, and the type of its bound."""
    condition = part(node, "condition")
    if condition.type != "binary_expression":
        raise Unread(condition, f"the loop does not compare `{name}` with a bound")
    operator = text_of(part(condition, "operator"))
    left, right = part(condition, "left"), part(condition, "right")
    if text_of(left) != name:
        left, right = right, left
        operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    wanted = ("<", "<=") if step > 0 else (">", ">=")
    words = {text_of(inner) for inner in walk(right) if inner.type == "identifier"}
    if text_of(left) != name or operator not in wanted or name in words:
        raise Unread(condition, f"the loop does not compare `{name}` with a bound")
    bound, width = read.read(right)
    beside = {"<": BinaryOp.SUB, ">": BinaryOp.ADD}.get(operator)
    if beside is not None:
        bound = Binary(beside, bound, number(1), DType.INT64)
    return bound, width
