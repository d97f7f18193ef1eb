"""Variables that a loop's clauses copy: each iteration sets its copy, and copies are combined.

In: a function, one of its parallel loops, the sets of iterations.  Out: reasons why a copy may hold
another value than the variable in one thread: one that an iteration reads before it sets it, or
that is read behind the loop; one of a reduction that is set by more than its operator (OpenMP 5.2,
sections 5.4 and 5.5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import islpy as isl

from polyopt.cregion.syntax import walk
from polyopt.ir.affine import index_map
from polyopt.textcheck.scope import (
    Access,
    Copy,
    Function,
    Known,
    Loop,
    LoopContext,
    Memory,
    part,
    text_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

Domain = Callable[[LoopContext], isl.Set]

_BRANCHES = ("if_statement", "conditional_expression", "binary_expression")
_JOINED = {
    "+": ("+", "-"), "-": ("+", "-"), "*": ("*",), "&": ("&",), "|": ("|",), "^": ("^",),
    "&&": ("&&",), "||": ("||",),
}  # fmt: skip
"""Operators by which a reduction sets its variable."""


def private_of(
    copies: Sequence[Copy], names: Mapping[str, Known | Memory], counter: str
) -> tuple[frozenset[str], list[str]]:
    """Return the arrays and variables that iterations do not share, and what clauses get wrong."""
    found, wrong = {counter}, []
    for copy in copies:
        known = names.get(copy.name)
        if isinstance(known, Memory) and known.is_address:
            if copy.kind == "firstprivate":  # addresses of one array
                continue
            if copy.kind != "reduction":
                wrong.append(f"copies of `{copy.name}` point nowhere")
        elif known is None or (isinstance(known, Known) and copy.kind != "firstprivate"):
            wrong += [f"nothing sets copies of `{copy.name}`"] * (copy.name != counter)
        found.add(known.key if isinstance(known, Memory) else copy.name)
    return frozenset(found), wrong


def wrong_copies(function: Function, loop: Loop, domain: Domain) -> Iterator[tuple[Node, str]]:
    """Yield where a copy may be another value than the variable; raises `NotAffine`."""
    for copy in loop.copies:
        inside = [a for a in function.accesses if _is_of(a, copy, loop)]
        if copy.kind == "reduction":
            bad = (a for a in inside if not _combines(a.node, copy))
            yield from (
                (a.node, f"`{copy.name}` is combined by more than `{copy.operator}`") for a in bad
            )
        elif copy.kind != "firstprivate" or any(a.is_write for a in inside):
            yield from _not_set(function, loop, copy, inside, domain)


def _is_of(access: Access, copy: Copy, loop: Loop) -> bool:
    loops = access.place.loops
    return (
        access.array.rstrip("'") == copy.name
        and loop in loops
        and access.depth <= loops.index(loop)
        and copy.name != loop.iter
    )


# -- private copies -----------------------------------------------------------------------------


def _not_set(
    function: Function, loop: Loop, copy: Copy, inside: list[Access], domain: Domain
) -> Iterator[tuple[Node, str]]:
    order = {id(access): place for place, access in enumerate(function.accesses)}
    writes = [access for access in inside if access.is_write]
    for read in inside:
        before = [w for w in writes if order[id(w)] < order[id(read)]]
        if not read.is_write and _is_open(read, before, loop, domain):
            yield read.node, f"an iteration may read `{copy.name}` before it sets it"
            return
    if not writes:
        return
    # the last iteration, if there is one, sets the variable of `lastprivate`
    kept = [w for w in writes if w.place.loops[-1] is loop and not any(_branches(w.node, loop))]
    around = writes[0].place.loops[: writes[0].place.loops.index(loop)]
    end = max(order[id(a)] for a in function.accesses if loop in a.place.loops)
    others = [a for a in function.accesses if a.array == writes[0].array]
    for read in others:
        if read.is_write or loop in read.place.loops:
            continue
        behind = order[id(read)] > end
        later = [
            w
            for w in others
            if w.is_write and loop not in w.place.loops
            and (end if behind else -1) < order[id(w)] < order[id(read)]
        ]  # fmt: skip
        later += kept if behind and copy.kind == "lastprivate" else []
        again = any(a is b for a, b in zip(read.place.loops, around, strict=False))
        if (behind or again) and _is_open(read, later, None, domain):
            yield read.node, f"`{copy.name}` is read behind the loop that sets copies of it"
            return


def _branches(node: Node, loop: Loop | None) -> Iterator[tuple[int, int]]:
    """Yield the branches around a piece of text, up to a loop: starts and ends."""
    inner, around = node, node.parent
    while around is not None and (loop is None or around.id != loop.node.id):
        if around.type in _BRANCHES and inner.id not in _conditions(around):
            yield inner.start_byte, inner.end_byte
        inner, around = around, around.parent


def _conditions(node: Node) -> tuple[int, ...]:
    """Return the parts of a branch that run in any case."""
    if node.type == "binary_expression":
        is_join = text_of(part(node, "operator")) in ("&&", "||")
        return (part(node, "left").id, *(() if is_join else (part(node, "right").id,)))
    return (part(node, "condition").id,)


def _is_open(read: Access, writes: Sequence[Access], loop: Loop | None, domain: Domain) -> bool:
    """Tell whether an element may be read that none of these wrote in the same iterations."""
    if read.index is None:
        return True
    rest = domain(read.place)
    element = index_map(rest, "", read.index).intersect_domain(rest)
    branches = set(_branches(read.node, loop))
    for write in writes:
        if write.index is None or len(write.index) != len(read.index):
            continue
        if not write.place.exact and not branches.issuperset(_branches(write.node, loop)):
            continue
        done = domain(write.place)
        pairs = element.apply_range(
            index_map(done, "", write.index).intersect_domain(done).reverse()
        )
        for level, (one, two) in enumerate(zip(read.place.loops, write.place.loops, strict=False)):
            if one is not two:
                break
            pairs = pairs.equate(isl.dim_type.in_, level, isl.dim_type.out, level)
        rest = rest.subtract(pairs.domain())
    return not rest.is_empty()


# -- reductions ---------------------------------------------------------------------------------


def _plain(node: Node) -> str:
    """Return the text of an expression without blanks and parentheses around it."""
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    return "".join(text_of(node).split())


def _names(node: Node, name: str) -> bool:
    return any(n.type == "identifier" and text_of(n) == name for n in walk(node))


def _combines(node: Node, copy: Copy) -> bool:
    """Tell whether the statement of an access sets a variable by the operator of its clause."""
    target = _plain(node)
    while node.parent is not None and node.parent.type != "expression_statement":
        if node.parent.type == "if_statement":
            return _picks(node.parent, target, copy)
        node = node.parent
    if node.type == "update_expression":
        return copy.operator in ("+", "-") and _plain(part(node, "argument")) == target
    if node.type != "assignment_expression" or _plain(part(node, "left")) != target:
        return False
    operator, right = text_of(part(node, "operator")), part(node, "right")
    if operator != "=":
        return operator[:-1] in _JOINED.get(copy.operator, ()) and not _names(right, copy.name)
    around = None if node.parent is None else node.parent.parent
    while (
        around is not None and around.type == "compound_statement" and around.named_child_count == 1
    ):
        around = around.parent
    if around is not None and around.type == "if_statement" and _picks(around, target, copy):
        return True
    return _joins(right, target, copy) or _chooses(right, target, copy)


def _joins(right: Node, target: str, copy: Copy) -> bool:
    """Tell whether a value is the variable and other terms, joined by the operator."""
    operator, rest = copy.operator, right
    joined = _JOINED.get(operator, ())
    while rest.type == "parenthesized_expression" and rest.named_child_count == 1:
        rest = rest.named_children[0]
    if rest.type != "binary_expression" or text_of(part(rest, "operator")) not in joined:
        return False
    left, other = part(rest, "left"), part(rest, "right")
    if not _names(other, copy.name):
        return _plain(left) == target or _joins(left, target, copy)
    turns = text_of(part(rest, "operator")) == operator and not _names(left, copy.name)
    return turns and (_plain(other) == target or _joins(other, target, copy))


def _chooses(right: Node, target: str, copy: Copy) -> bool:
    """Tell whether a value is the greater or the lesser of the variable and another."""
    if copy.operator not in ("max", "min"):
        return False
    while right.type == "parenthesized_expression" and right.named_child_count == 1:
        right = right.named_children[0]
    if right.type == "call_expression":
        given = part(right, "arguments").named_children
        called = re.fullmatch(r"f(max|min)[fl]?", text_of(part(right, "function")))
        texts = [_plain(one) for one in given]
        if called is None or called[1] != copy.operator or texts.count(target) != 1:
            return False
        return sum(_names(one, copy.name) for one in given) == 1
    if right.type != "conditional_expression":
        return False
    one, two = _plain(part(right, "consequence")), _plain(part(right, "alternative"))
    greater = _greater(part(right, "condition"), one, two)
    other = part(right, "alternative" if one == target else "consequence")
    return target in (one, two) and not _names(other, copy.name) and greater == copy.operator


def _picks(branch: Node, target: str, copy: Copy) -> bool:
    """Tell whether a branch sets the variable to what is beyond it: `if (t < x) t = x;`."""
    then = part(branch, "consequence")
    while then.type == "compound_statement" and then.named_child_count == 1:
        then = then.named_children[0]
    inner = then.named_children[0] if then.type == "expression_statement" else then
    if (
        inner.type != "assignment_expression"
        or branch.child_by_field_name("alternative") is not None
    ):
        return False
    right = part(inner, "right")
    is_plain = _plain(part(inner, "left")) == target and text_of(part(inner, "operator")) == "="
    greater = _greater(part(branch, "condition"), _plain(right), target)
    return is_plain and not _names(right, copy.name) and greater == copy.operator


def _greater(condition: Node, one: str, two: str) -> str:
    """Return whether the first of two values is the max or the min where a comparison holds."""
    while condition.type == "parenthesized_expression" and condition.named_child_count == 1:
        condition = condition.named_children[0]
    if condition.type != "binary_expression":
        return ""
    sides = _plain(part(condition, "left")), _plain(part(condition, "right"))
    operator = text_of(part(condition, "operator"))
    if operator not in ("<", "<=", ">", ">=") or sides not in ((one, two), (two, one)):
        return ""
    return "max" if (operator[0] == ">") == (sides == (one, two)) else "min"
