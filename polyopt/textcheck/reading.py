"""C functions read from text: loops, conditions, accesses, parallel loops.

In: a parsed file.  Out: `Function`s.  What is not understood is listed in them, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from polyopt.cregion.syntax import walk
from polyopt.dataclass import dataclass, field
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Expr, Iter, Param, Unary, UnaryOp
from polyopt.ir.expr import integer as number
from polyopt.ir.types import DType
from polyopt.textcheck.pragmas import (
    IGNORED,
    PARALLEL,
    PURE,
    SIMD,
    assigned,
    collapsed,
    few_iterations,
    guard_of,
    private_of,
    reductions_of,
    together,
)
from polyopt.textcheck.scope import (
    Access,
    Arithmetic,
    Function,
    Integers,
    Known,
    Loop,
    LoopContext,
    Memory,
    Unread,
    Width,
    declared,
    part,
    text_of,
    width_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

Names: TypeAlias = dict[str, Known | Memory]
MOST_CALLS = 16
"""Places where a function may be called that is read where it is called."""


def functions_of(root: Node, *, unrolled: bool = False) -> Iterator[Function]:
    """Yield the functions that have loops, from first to last.

    `unrolled`: loops of few iterations that an `int` counts are read as these, one by one.
    """
    found = {text_of(_name(n)): n for n in walk(root) if n.type == "function_definition"}
    for name, node in found.items():
        inside = list(walk(node))
        called = {text_of(part(n, "function")) for n in inside if n.type == "call_expression"}
        loops = ("for_statement", "while_statement")
        if any(n.type in loops for n in inside) or called & found.keys() - {name}:
            yield Reader(name, node, found, _macros(root), unrolled).function()


def _name(function: Node) -> Node:
    node = function
    while node.type != "identifier":
        node = part(node, "declarator")
    return node


def _macros(root: Node) -> Names:
    """Return the names that are defined as integers."""
    found: Names = {}
    for node in walk(root):
        if node.type == "preproc_def":
            value = node.child_by_field_name("value")
            text = "" if value is None else text_of(value).strip().strip("()")
            if re.fullmatch(r"-?\d{1,18}", text):
                found[text_of(part(node, "name"))] = Known(number(int(text)), Width(32))
    return found


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads one function."""

    name: str
    node: Node
    functions: dict[str, Node]
    names: Names
    unrolled: bool = False
    params: dict[str, Width] = field(default_factory=dict)
    extents: dict[str, tuple[Expr | None, ...]] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)
    arithmetic: list[Arithmetic] = field(default_factory=list)
    unread: list[tuple[Node, str]] = field(default_factory=list)
    renamed: set[tuple[str, str]] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)

    def function(self) -> Function:
        """Return what the function does."""
        top = LoopContext((), (), True)
        self._parameters(top)
        self.block(part(self.node, "body"), top, self.names)
        arrays = [name for name, _ in self.renamed]
        used = [*arrays, *{access.array for access in self.accesses}]
        for name in {name for name in arrays if used.count(name) > 1}:
            self.unread.append((_name(self.node), f"`{name}` is used by several names"))
        return Function(
            self.name, self.params, self.extents, tuple(self.accesses), tuple(self.arithmetic),
            tuple(self.unread), frozenset(self.calls), self.node,
        )  # fmt: skip

    def _parameters(self, place: LoopContext) -> None:
        node = part(self.node, "declarator")
        while node.type != "function_declarator":
            node = part(node, "declarator")
        written = assigned(part(self.node, "body"))
        for one in part(node, "parameters").named_children:
            inner = one.child_by_field_name("declarator")
            found = None if inner is None else declared(inner)
            if found is None:
                continue
            width = width_of(text_of(one).replace("*", " ").split())
            if not found.dims and width is not None and found.name not in written:
                self.params[found.name] = width
                self.names[found.name] = Known(Param(found.name), width)
            else:
                self._memory(found.name, found.dims, place, self.names)

    def _memory(
        self,
        name: str,
        dims: tuple[Node | None, ...],
        place: LoopContext,
        names: Names,
    ) -> None:
        read = self._integers(place, names, note=False)
        sizes: list[Expr | None] = []
        for dim in dims:
            try:
                sizes.append(None if dim is None else read.read(dim)[0])
            except Unread:
                sizes.append(None)
        known = Memory(tuple(sizes), len(place.loops))
        key = name
        while key in self.extents and self.extents[key] != known.dims:
            key += "'"
        names[name] = known
        self.extents[name] = known.dims

    def _integers(self, place: LoopContext, names: Names, *, note: bool = True) -> Integers:
        def noted(node: Node, value: Expr, width: Width) -> None:
            if note:
                self.arithmetic.append(Arithmetic(value, width, place, node))

        return Integers(names, self.functions, noted)

    def block(self, node: Node, place: LoopContext, outer: Names) -> None:
        """Read the statements of a block; a pragma is about the one behind it."""
        names = dict(outer)
        pragma = ""
        for child in node.named_children:
            if child.type == "comment":
                continue
            if child.type.startswith("preproc"):
                pragma = self._pragma(child, pragma)
                continue
            self.statement(child, place, names, pragma)
            pragma = ""

    def _pragma(self, node: Node, before: str) -> str:
        directive = node.child_by_field_name("directive")
        argument = node.child_by_field_name("argument")
        if directive is None or text_of(directive) != "#pragma" or argument is None:
            self.unread.append((node, "the preprocessor decides what is here"))
            return before
        text = " ".join(text_of(argument).replace("\\\n", " ").split())
        if IGNORED.fullmatch(text):
            return before
        if before:
            self.unread.append((node, "two pragmas of one statement"))
        return text

    def statement(self, node: Node, place: LoopContext, names: Names, pragma: str = "") -> None:
        """Read a statement; what is not understood is noted."""
        try:
            self._statement(node, place, names, pragma)
        except Unread as gap:
            self.unread.append((gap.node, gap.why))

    def _statement(  # noqa: C901 - one case per kind of statement
        self, node: Node, place: LoopContext, names: Names, pragma: str
    ) -> None:
        guard = guard_of(pragma)
        known = PARALLEL.match(pragma) or SIMD.match(pragma)
        if pragma and not guard and not (node.type == "for_statement" and known):
            raise Unread(node, f"`#pragma {pragma[:40]}` is not understood")
        match node.type:
            case "compound_statement":
                if guard:
                    for child in node.named_children:
                        if child.type != "comment":
                            self.effects(child, place, names, guard)
                else:
                    self.block(node, place, names)
            case "for_statement":
                self._loop(node, place, names, pragma)
            case "if_statement":
                self._branches(node, place, names)
            case "declaration":
                self._declaration(node, place, names)
            case "expression_statement":
                for child in node.named_children:
                    self.effects(child, place, names, guard)
            case "return_statement" if not place.loops:
                for child in node.named_children:
                    self.effects(child, place, names, "")
            case "labeled_statement":
                for child in node.named_children[1:]:
                    self.statement(child, place, names)
            case ";":
                pass
            case _:
                raise Unread(node, f"a {node.type.replace('_', ' ')} is not understood")

    def _declaration(self, node: Node, place: LoopContext, names: Names) -> None:
        words = text_of(part(node, "type")).split()
        others = [text_of(c) for c in node.named_children if c.type == "type_qualifier"]
        width = width_of([*words, *others])
        written = assigned(part(self.node, "body"))
        for child in node.children_by_field_name("declarator"):
            found = declared(child)
            if found is None:
                raise Unread(child, "a declaration that is not understood")
            if found.value is not None and not found.dims and width is not None:
                self.effects(found.value, place, names, "")
                if found.name not in written:
                    try:
                        value, own = self._integers(place, names).read(found.value)
                    except Unread:
                        pass
                    else:
                        if own.bits > width.bits:
                            self.arithmetic.append(Arithmetic(value, width, place, found.node))
                        names[found.name] = Known(value, width)
                        continue
            elif found.value is not None and found.value.type == "cast_expression":
                inside = [text_of(n) for n in walk(part(found.value, "value"))]
                self.renamed.update(
                    (n, found.name) for n in inside if isinstance(names.get(n), Memory)
                )
            elif found.value is not None:
                self.effects(found.value, place, names, "")
            self._memory(found.name, found.dims, place, names)

    def _branches(self, node: Node, place: LoopContext, names: Names) -> None:
        condition = part(node, "condition")
        self.effects(condition, place, names, "")
        try:
            holds = self._integers(place, names).condition(condition)
        except Unread:
            here = there = LoopContext(place.loops, place.conditions, False)
        else:
            otherwise = Unary(UnaryOp.INVERT, holds, DType.BOOL)
            here = LoopContext(place.loops, (*place.conditions, holds), place.exact)
            there = LoopContext(place.loops, (*place.conditions, otherwise), place.exact)
        self.statement(part(node, "consequence"), here, dict(names))
        alternative = node.child_by_field_name("alternative")
        for child in () if alternative is None else alternative.named_children:
            if child.type != "comment":
                self.statement(child, there, dict(names))

    def _loop(self, node: Node, place: LoopContext, names: Names, pragma: str) -> None:
        names = dict(names)
        few = few_iterations(node) if self.unrolled and not pragma else None
        if few is not None:
            for value in range(few[1]):
                names[few[0]] = Known(number(value), Width(32))
                self.statement(part(node, "body"), place, names)
            return
        name, first, width = self._start(node, place, names)
        taken = {*self.params, *(loop.iter for loop in place.loops)}
        own = name
        while own in taken:
            own += "_"
        counter = Iter(own)
        names[name] = Known(counter, width)
        step = self._step(node, name)
        last = self._last(node, name, step, self._integers(place, names))
        low, high = (first, last) if step > 0 else (last, first)
        whole = Binary(BinaryOp.SUB, counter, first, DType.INT64)
        rest = Binary(BinaryOp.MOD, whole, number(abs(step)), DType.INT64)
        conditions = (
            Compare(CompareOp.GE, counter, low),
            Compare(CompareOp.LE, counter, high),
            *((Compare(CompareOp.EQ, rest, number(0)),) if abs(step) > 1 else ()),
        )
        shared, lanes = (kind.match(pragma) is not None for kind in (PARALLEL, SIMD))
        body = part(node, "body")
        below = collapsed(pragma)
        if below and body.type == "compound_statement" and body.named_child_count == 1:
            body = body.named_children[0]
        if below and body.type != "for_statement":
            raise Unread(node, "`collapse` of what is not one loop in another")
        if name in assigned(body):
            raise Unread(node, f"the loop sets its counter `{name}`")
        private, combined, most = private_of(pragma), reductions_of(pragma), together(pragma)
        loop = Loop(own, conditions, step, shared, lanes, private | {name}, node, combined, most)
        inside = LoopContext((*place.loops, loop), place.conditions, place.exact)
        passed = Binary(BinaryOp.ADD, counter, number(step), DType.INT64)
        self.arithmetic.append(Arithmetic(passed, width, inside, part(node, "update")))
        self.statement(body, inside, names, below)

    def _start(self, node: Node, place: LoopContext, names: Names) -> tuple[str, Expr, Width]:
        start = part(node, "initializer")
        read = self._integers(place, names)
        if start.type == "declaration":
            width = width_of(text_of(part(start, "type")).split())
            children = start.children_by_field_name("declarator")
            found = declared(children[0]) if len(children) == 1 else None
            if found is None or width is None or found.value is None or found.dims:
                raise Unread(start, "a loop counts one integer")
            return found.name, read.read(found.value)[0], width
        if start.type == "assignment_expression" and text_of(part(start, "operator")) == "=":
            name = text_of(part(start, "left"))
            memory = names.get(name)
            if isinstance(memory, Memory) and not memory.dims:
                access = Access(name, (), True, memory.depth, "", place, start)
                self.accesses.append(access)
                return name, read.read(part(start, "right"))[0], self._widths().get(name, Width(32))
        raise Unread(start, "a loop counts one integer")

    def _widths(self) -> dict[str, Width]:
        """Return the types of the integer variables that the function declares."""
        found = {}
        for node in walk(self.node):
            if node.type == "declaration":
                width = width_of(text_of(part(node, "type")).split())
                for child in node.children_by_field_name("declarator"):
                    one = declared(child)
                    if one is not None and width is not None:
                        found[one.name] = width
        return found

    def _step(self, node: Node, name: str) -> int:
        text = "".join(text_of(part(node, "update")).split())
        if text in (f"{name}++", f"++{name}"):
            return 1
        if text in (f"{name}--", f"--{name}"):
            return -1
        match = re.fullmatch(rf"{name}(?:=|){name}?([+-])=?(\d+)", text)
        if match is None or int(match[2]) == 0:
            raise Unread(part(node, "update"), f"the loop does not step `{name}` by a constant")
        return int(match[1] + match[2])

    def _last(self, node: Node, name: str, step: int, read: Integers) -> Expr:
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
        bound, _ = read.read(right)
        if operator == "<":
            return Binary(BinaryOp.SUB, bound, number(1), DType.INT64)
        return Binary(BinaryOp.ADD, bound, number(1), DType.INT64) if operator == ">" else bound

    def effects(  # noqa: C901 - one case per kind of expression
        self, node: Node, place: LoopContext, names: Names, guard: str
    ) -> None:
        """Note what an expression reads and writes."""
        match node.type:
            case "assignment_expression":
                target = part(node, "left")
                self.effects(part(node, "right"), place, names, guard)
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
            case "expression_statement":
                for child in node.named_children:
                    self.effects(child, place, names, guard)
            case _:
                for child in node.named_children:
                    if child.type not in ("comment", "type_descriptor"):
                        self.effects(child, place, names, guard)

    def _called(self, node: Node, place: LoopContext, names: Names, guard: str) -> None:
        name = text_of(part(node, "function"))
        given = part(node, "arguments").named_children
        definition = self.functions.get(name)
        if definition is not None and text_of(part(definition, "type")) == "void":
            self._inside(name, definition, given, place, names)
            return
        try:
            self._integers(place, names, note=False).read(node)
        except Unread:
            if not PURE.fullmatch(name):
                raise Unread(node, f"`{name}` may read and write anything") from None
        for one in given:
            self.effects(one, place, names, guard)

    def _inside(
        self,
        name: str,
        definition: Node,
        given: list[Node],
        place: LoopContext,
        names: Names,
    ) -> None:
        """Read a function's body where it is called, its parameters standing for what is passed."""
        if self.calls.count(name) >= (MOST_CALLS if self.unrolled else 1):
            raise Unread(definition, f"`{name}` is called in several places")
        self.calls.append(name)
        head = part(definition, "declarator")
        while head.type != "function_declarator":
            head = part(head, "declarator")
        own: Names = dict(self.names)
        parameters = part(head, "parameters").named_children
        written = assigned(part(definition, "body"))
        if len(parameters) != len(given):
            raise Unread(definition, f"`{name}` is called with other arguments than it has")
        for one, value in zip(parameters, given, strict=True):
            inner = one.child_by_field_name("declarator")
            found = None if inner is None else declared(inner)
            width = width_of(text_of(one).replace("*", " ").split())
            if found is None or found.name in written:
                raise Unread(one, f"a parameter of `{name}` is not understood")
            if not found.dims and width is not None:
                number_, passed = self._integers(place, names).read(value)
                if passed.bits > width.bits or passed.signed != width.signed:
                    self.arithmetic.append(Arithmetic(number_, width, place, value))
                own[found.name] = Known(number_, width)
            else:
                memory = names.get(text_of(value))
                if not isinstance(memory, Memory) or text_of(value) != found.name:
                    raise Unread(value, f"`{name}` has another name for an array")
                own[found.name] = memory
        self.block(part(definition, "body"), place, own)

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
            self.effects(one, place, names, guard)
        try:
            index = tuple(self._integers(place, names).read(one)[0] for one in subscripts)
        except Unread:
            index = None
        self.accesses.append(Access(name, index, write, known.depth, guard, place, node))
