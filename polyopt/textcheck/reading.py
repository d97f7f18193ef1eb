"""C functions read from text: loops, conditions, accesses, parallel loops.

In: a parsed file.  Out: `Function`s.  What is not understood is listed in them, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyopt.cregion.syntax import walk
from polyopt.dataclass import dataclass, field
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Expr, Iter, Param
from polyopt.ir.expr import integer as number
from polyopt.ir.types import DType
from polyopt.textcheck.clauses import private_of
from polyopt.textcheck.counting import last_of, step_of, widths_in
from polyopt.textcheck.directives import integers_of
from polyopt.textcheck.expressions import Expressions, Names
from polyopt.textcheck.pragmas import (
    IGNORED,
    PARALLEL,
    SIMD,
    assigned,
    collapsed,
    copies_of,
    few_iterations,
    guard_of,
    together,
    without_comments,
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
    common,
    declared,
    holds,
    part,
    text_of,
    width_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_CALLS = 16
"""Places where a function may be called that is read where it is called."""


def functions_of(root: Node, *, unrolled: bool = False) -> Iterator[Function]:
    """Yield the functions that have loops, from first to last.

    `unrolled`: loops of few iterations that an `int` counts are read as these, one by one.
    """
    found = definitions(root)
    for name, node in found.items():
        inside = list(walk(node))
        called = {text_of(part(n, "function")) for n in inside if n.type == "call_expression"}
        loops = ("for_statement", "while_statement")
        if any(n.type in loops for n in inside) or called & found.keys() - {name}:
            yield Reader(name, node, found, dict(integers_of(root)), unrolled).function()


def definitions(root: Node) -> dict[str, Node]:
    """Return the functions of a file, by name."""
    return {text_of(_name(n)): n for n in walk(root) if n.type == "function_definition"}


def _name(function: Node) -> Node:
    node = function
    while node.type != "identifier":
        node = part(node, "declarator")
    return node


def _depth_of(declaration: Node) -> int | None:
    """Return the depth of what iterations of all loops share; None: that of its place."""
    parts = declaration.named_children
    storage = {text_of(c) for c in parts if c.type == "storage_class_specifier"}
    if storage - {"auto", "register", "static"}:
        raise Unread(declaration, "storage outside of the function")
    return 0 if "static" in storage else None


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads one function."""

    name: str
    node: Node
    functions: dict[str, Node]
    macros: Names
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
        names = dict(self.macros)
        self._parameters(top, names)
        self.block(part(self.node, "body"), top, names)
        arrays = [name for name, _ in self.renamed]
        used = [*arrays, *{access.array for access in self.accesses}]
        for name in {name for name in arrays if used.count(name) > 1}:
            self.unread.append((_name(self.node), f"`{name}` is used by several names"))
        return Function(
            self.name, self.params, self.extents, tuple(self.accesses), tuple(self.arithmetic),
            tuple(self.unread), frozenset(self.calls), self.node,
        )  # fmt: skip

    @property
    def expressions(self) -> Expressions:
        """What reads expressions into the lists of this function."""
        return Expressions(
            self.functions, self.unrolled, self.accesses, self.arithmetic, self._inside
        )

    def _parameters(self, place: LoopContext, names: Names) -> None:
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
                names[found.name] = Known(Param(found.name), width)
            else:
                self._memory(found.name, found.dims, place, names, len(found.dims) > 0)

    def _memory(
        self,
        name: str,
        dims: tuple[Node | None, ...],
        place: LoopContext,
        names: Names,
        is_address: bool,
        depth: int | None = None,
    ) -> None:
        read = self.expressions.integers(place, names, note=False)
        sizes: list[Expr | None] = []
        for dim in dims:
            try:
                sizes.append(None if dim is None else read.read(dim)[0])
            except Unread:
                sizes.append(None)
        key = name
        while key in self.extents and self.extents[key] != tuple(sizes):
            key += "'"
        depth = len(place.loops) if depth is None else depth
        names[name] = Memory(tuple(sizes), depth, key, is_address)
        self.extents[key] = tuple(sizes)

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
            if child.type == "if_statement" and not place.loops and self._returns(child):
                place = self.expressions.sides(part(child, "condition"), place, names)[1]
            pragma = ""

    def _pragma(self, node: Node, before: str) -> str:
        directive = node.child_by_field_name("directive")
        argument = node.child_by_field_name("argument")
        if directive is None or text_of(directive) != "#pragma" or argument is None:
            self.unread.append((node, "the preprocessor decides what is here"))
            return before
        text = without_comments(text_of(argument).replace("\\\n", " "))
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
                            self.expressions.effects(child, place, names, guard)
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
                    self.expressions.effects(child, place, names, guard)
            case "return_statement" if not place.loops:
                for child in node.named_children:
                    self.expressions.effects(child, place, names, "")
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
        depth = _depth_of(node)
        written = assigned(part(self.node, "body"))
        for child in node.children_by_field_name("declarator"):
            found = declared(child)
            if found is None:
                raise Unread(child, "a declaration that is not understood")
            if found.value is not None and not found.dims and width is not None:
                self.expressions.effects(found.value, place, names, "")
                if found.name not in written:
                    try:
                        value, own = self.expressions.integers(place, names).read(found.value)
                    except Unread:
                        pass
                    else:
                        if not holds(width, own):
                            self.arithmetic.append(Arithmetic(value, width, place, found.node))
                        names[found.name] = Known(value, width)
                        continue
            elif found.value is not None and found.value.type == "cast_expression":
                inside = [text_of(n) for n in walk(part(found.value, "value"))]
                self.renamed.update(
                    (n, found.name) for n in inside if isinstance(names.get(n), Memory)
                )
            elif found.value is not None:
                self.expressions.effects(found.value, place, names, "")
            cast = found.value is not None and found.value.type == "cast_expression"
            is_address = len(found.dims) > 0 and (cast or found.dims[0] is None)
            self._memory(found.name, found.dims, place, names, is_address, depth)

    def _branches(self, node: Node, place: LoopContext, names: Names) -> None:
        condition = part(node, "condition")
        self.expressions.effects(condition, place, names, "")
        here, there = self.expressions.sides(condition, place, names)
        self.statement(part(node, "consequence"), here, dict(names))
        alternative = node.child_by_field_name("alternative")
        for child in () if alternative is None else alternative.named_children:
            if child.type != "comment":
                self.statement(child, there, dict(names))

    def _returns(self, branch: Node) -> bool:
        """Tell whether nothing runs behind an `if` whose condition holds."""
        then = part(branch, "consequence")
        while then.type == "compound_statement" and then.named_children:
            then = then.named_children[-1]
        return then.type == "return_statement" and not self.unrolled

    def _loop(self, node: Node, place: LoopContext, names: Names, pragma: str) -> None:
        outer, names = names, dict(names)
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
        step = step_of(node, name)
        last, bound = last_of(node, name, step, self.expressions.integers(place, names))
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
        if "collapse" in pragma and not re.search(r"collapse\s*\(\s*\d+[uUlL]*\s*\)", pragma):
            raise Unread(node, "`collapse` of a number of loops that is not written out")
        if below and body.type == "compound_statement" and body.named_child_count == 1:
            body = body.named_children[0]
        if below and body.type != "for_statement":
            raise Unread(node, "`collapse` of what is not one loop in another")
        if name in assigned(body):
            raise Unread(node, f"the loop sets its counter `{name}`")
        copies = copies_of(pragma) if shared or lanes else ()
        private, gaps = private_of(copies, outer, name)
        self.unread.extend((node, why) for why in gaps)
        combined = tuple(sorted(copy.operator for copy in copies if copy.kind == "reduction"))
        most = together(pragma)
        loop = Loop(own, conditions, step, shared, lanes, private, node, combined, most, copies)
        inside = LoopContext((*place.loops, loop), place.conditions, place.exact)
        passed = Binary(BinaryOp.ADD, counter, number(step), DType.INT64)
        self.arithmetic.append(Arithmetic(passed, width, inside, part(node, "update")))
        compared = common(width, bound)
        for type_, tested, where in (
            (width, first, place),
            (width, passed, inside),
            (bound, last, place),
        ):
            if not holds(compared, type_):
                self.arithmetic.append(Arithmetic(tested, compared, where, part(node, "condition")))
        self.statement(body, inside, names, below)

    def _start(self, node: Node, place: LoopContext, names: Names) -> tuple[str, Expr, Width]:
        start = part(node, "initializer")
        read = self.expressions.integers(place, names)
        if start.type == "declaration":
            width = width_of(text_of(part(start, "type")).split())
            children = start.children_by_field_name("declarator")
            found = declared(children[0]) if len(children) == 1 else None
            if found is None or width is None or found.value is None or found.dims:
                raise Unread(start, "a loop counts one integer")
            return found.name, self._counted(read, found.value, width, place), width
        if start.type == "assignment_expression" and text_of(part(start, "operator")) == "=":
            name = text_of(part(start, "left"))
            memory = names.get(name)
            if isinstance(memory, Memory) and not memory.dims:
                access = Access(memory.key, (), True, memory.depth, "", place, start)
                self.accesses.append(access)
                width = widths_in(self.node).get(name, Width(32))
                return name, self._counted(read, part(start, "right"), width, place), width
        raise Unread(start, "a loop counts one integer")

    def _counted(self, read: Integers, node: Node, width: Width, place: LoopContext) -> Expr:
        value, own = read.read(node)
        if not holds(width, own):
            self.arithmetic.append(Arithmetic(value, width, place, node))
        return value

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
        own: Names = dict(self.macros)
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
                number_, passed = self.expressions.integers(place, names).read(value)
                if passed.bits > width.bits or passed.signed != width.signed:
                    self.arithmetic.append(Arithmetic(number_, width, place, value))
                own[found.name] = Known(number_, width)
            else:
                memory = names.get(text_of(value))
                if not isinstance(memory, Memory) or text_of(value) != found.name:
                    raise Unread(value, f"`{name}` has another name for an array")
                own[found.name] = memory
        self.block(part(definition, "body"), place, own)
