"""Names of a C function, and integer expressions over them.

In: nodes of expressions.  Out: `Expr` with the type that C computes them in.
Refuses: what is not made of sizes, counters and integer operators (`Unread`).
A function as statements in loops; declarations: integer types, names with dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass, field
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Select,
    Unary,
    UnaryOp,
    integer,
)
from polyopt.ir.types import DType

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Width:
    """An integer type of C."""

    bits: int
    signed: bool = True

    @property
    def least(self) -> int:
        """The least number."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def most(self) -> int:
        """The greatest number."""
        return (1 << (self.bits - self.signed)) - 1


INT, LONG = Width(32), Width(64)


@dataclass(frozen=True, slots=True)
class Copy:
    """A variable of which each thread or lane has a copy: the words of its clause, its name."""

    kind: str
    name: str
    operator: str = ""


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop; `conditions` hold of the iterator in the body, which goes up or down by `step`.

    `shared_out`: iterations may run at the same time, but for the names in `private`; `lanes`: as
    lanes of a vector, at most `together` (None: all).  `reductions` are the operators of variables
    that are combined at the end.
    """

    iter: str
    conditions: tuple[Expr, ...]
    step: int
    shared_out: bool
    lanes: bool
    private: frozenset[str]
    node: Node
    reductions: tuple[str, ...] = ()
    together: int | None = None
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True, eq=False)
class LoopContext:
    """Where code runs: loops, outermost first, and conditions; `exact` if wherever they hold."""

    loops: tuple[Loop, ...]
    conditions: tuple[Expr, ...]
    exact: bool


@dataclass(frozen=True, eq=False)
class Access:
    """An element that is read or written; `index` is None where it is not known.

    `depth`: loops around the declaration of the array.  `guard` names what excludes others.
    """

    array: str
    index: tuple[Expr, ...] | None
    is_write: bool
    depth: int
    guard: str
    place: LoopContext
    node: Node


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """An integer operation, and the type that its result has to fit."""

    value: Expr
    width: Width
    place: LoopContext
    node: Node


@dataclass(frozen=True, eq=False)
class Function:
    """What a function does; `unread` are pieces that nothing is known of, and why.

    `calls` are the functions of the file that are read where they are called.
    """

    name: str
    params: dict[str, Width]
    extents: dict[str, tuple[Expr | None, ...]]
    accesses: tuple[Access, ...]
    arithmetic: tuple[Arithmetic, ...]
    unread: tuple[tuple[Node, str], ...]
    calls: frozenset[str]
    node: Node


NAMED = {
    "int8_t": Width(8), "int16_t": Width(16), "int32_t": INT, "int64_t": LONG,
    "uint8_t": Width(8, False), "uint16_t": Width(16, False), "uint32_t": Width(32, False),
    "uint64_t": Width(64, False), "size_t": Width(64, False), "ptrdiff_t": LONG,
    "ssize_t": LONG, "intptr_t": LONG, "uintptr_t": Width(64, False), "char": Width(8),
    "bool": Width(1, False), "_Bool": Width(1, False),
}  # fmt: skip
_REALS = frozenset(("float", "double", "_Float16", "complex", "_Complex"))


def width_of(words: list[str]) -> Width | None:
    """Return the integer type that the words of a declaration name; None for others."""
    if _REALS & set(words):
        return None
    for word in words:
        if word in NAMED and not {"unsigned", "signed"} & set(words):
            return NAMED[word]
    if not {"int", "long", "short", "char", "unsigned", "signed"} & set(words):
        return None
    bits = 64 if "long" in words else 16 if "short" in words else 8 if "char" in words else 32
    return Width(bits, "unsigned" not in words)


def holds(width: Width, other: Width) -> bool:
    """Tell whether a type holds all values of another."""
    return width.least <= other.least and other.most <= width.most


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


class Unread(Exception):
    """A piece of text that is not understood; `node` is where."""

    def __init__(self, node: Node, why: str) -> None:
        super().__init__(why)
        self.node, self.why = node, why


@dataclass(frozen=True, eq=False)
class Known:
    """A name that stands for an integer expression: a size, a counter, a constant."""

    value: Expr
    width: Width


@dataclass(frozen=True, eq=False)
class Memory:
    """A name that stands for a variable or an array, declared inside of `depth` loops.

    `key` tells arrays of one name apart; `is_address`: copies of it are addresses of one array.
    """

    dims: tuple[Expr | None, ...]
    depth: int
    key: str
    is_address: bool


Typed = tuple[Expr, Width]
_ARITHMETIC = {"+": BinaryOp.ADD, "-": BinaryOp.SUB, "*": BinaryOp.MUL}
_COMPARE = {op.value: op for op in CompareOp}
_JOIN = {"&&": BinaryOp.AND, "||": BinaryOp.OR}
_ZERO = integer(0)


def text_of(node: Node) -> str:
    """Return the text of a node."""
    assert node.text is not None
    return node.text.decode(errors="replace")


def part(node: Node, name: str) -> Node:
    """Return a field that the grammar says is there."""
    found = node.child_by_field_name(name)
    if found is None:
        raise Unread(node, f"a {node.type} without {name}")
    return found


@dataclass(frozen=True, eq=False)
class Integers:
    """Reads integer expressions; `note` is told each operation and its type."""

    names: dict[str, Known | Memory]
    functions: dict[str, Node]
    note: Callable[[Node, Expr, Width], None]
    open: tuple[str, ...] = field(default=())

    def read(self, node: Node) -> Typed:  # noqa: C901 - one case per kind of expression
        """Return an expression and its type; raises `Unread`."""
        match node.type:
            case "number_literal":
                return _literal(node)
            case "identifier":
                known = self.names.get(text_of(node))
                if isinstance(known, Known):
                    return known.value, known.width
                raise Unread(node, f"`{text_of(node)}` is found while the program runs")
            case "parenthesized_expression":
                return self.read(_only(node))
            case "unary_expression":
                return self._unary(node)
            case "binary_expression":
                return self._binary(node)
            case "conditional_expression":
                condition = self.condition(part(node, "condition"))
                one, first = self.read(part(node, "consequence"))
                two, second = self.read(part(node, "alternative"))
                return Select(condition, one, two, DType.INT64), common(first, second)
            case "cast_expression":
                width = width_of(text_of(part(node, "type")).split())
                if width is None:
                    raise Unread(node, "a cast to another type than an integer's")
                value, own = self.read(part(node, "value"))
                if not holds(width, own):
                    self.note(node, value, width)
                return value, width
            case "call_expression":
                return self._call(node)
            case _:
                raise Unread(node, f"`{text_of(node)[:40]}` is no integer of sizes and counters")

    def _unary(self, node: Node) -> Typed:
        operator = text_of(part(node, "operator"))
        if operator == "!":
            holds = self.condition(part(node, "argument"))
            return Select(holds, _ZERO, integer(1), DType.INT64), INT
        value, width = self.read(part(node, "argument"))
        width = common(width, width)
        match operator:
            case "-":
                value = Unary(UnaryOp.NEG, value, DType.INT64)
                self.note(node, value, width)
                return value, width
            case "+":
                return value, width
            case _:
                raise Unread(node, f"`{operator}` of an integer")

    def _binary(self, node: Node) -> Typed:
        operator = text_of(part(node, "operator"))
        if operator in _COMPARE or operator in _JOIN:
            return Select(self.condition(node), integer(1), _ZERO, DType.INT64), INT
        (a, one), (b, two) = (self.read(part(node, side)) for side in ("left", "right"))
        width = common(one, two)
        if operator in _ARITHMETIC:
            value: Expr = Binary(_ARITHMETIC[operator], a, b, DType.INT64)
            self.note(node, value, width)
            return value, width
        if operator in ("/", "%") and isinstance(b, Const) and int(str(b.value)) > 0:
            return _divided(operator, a, b), width
        if operator in (">>", "&") and isinstance(b, Const) and one.signed:
            bits = int(str(b.value))
            if operator == ">>" and 0 <= bits < one.bits:
                return Binary(BinaryOp.FLOORDIV, a, integer(2**bits), DType.INT64), common(one, one)
            if operator == "&" and bits >= 0 and not bits & (bits + 1):
                return Binary(BinaryOp.MOD, a, integer(bits + 1), DType.INT64), width
        raise Unread(node, f"`{operator}` of integers")

    def condition(self, node: Node) -> Expr:
        """Return a condition as a BOOL expression; raises `Unread`."""
        if node.type == "parenthesized_expression":
            return self.condition(_only(node))
        if node.type == "unary_expression" and text_of(part(node, "operator")) == "!":
            inner = self.condition(part(node, "argument"))
            return Unary(UnaryOp.INVERT, inner, DType.BOOL)
        if node.type == "binary_expression":
            operator = text_of(part(node, "operator"))
            left, right = part(node, "left"), part(node, "right")
            if operator in _JOIN:
                both = self.condition(left), self.condition(right)
                return Binary(_JOIN[operator], *both, DType.BOOL)
            if operator in _COMPARE:
                (a, one), (b, two) = self.read(left), self.read(right)
                width = common(one, two)
                for side, value, own in ((left, a, one), (right, b, two)):
                    if not holds(width, own):
                        self.note(side, value, width)
                return Compare(_COMPARE[operator], a, b)
        if node.type in ("true", "false"):
            return Const(node.type == "true", DType.BOOL)
        value, _ = self.read(node)
        return Compare(CompareOp.NE, value, _ZERO)

    def _call(self, node: Node) -> Typed:
        """Return what a function of the file computes that is one `return`."""
        name = text_of(part(node, "function"))
        definition = self.functions.get(name)
        if definition is None or name in self.open:
            raise Unread(node, f"`{name}` may return any integer")
        given = [self.read(one) for one in part(node, "arguments").named_children]
        head, result = one_return(definition)
        width = width_of(text_of(part(definition, "type")).split())
        if result is None or width is None or len(head) != len(given):
            raise Unread(node, f"`{name}` is more than one `return` of an integer")
        names: dict[str, Known | Memory] = {}
        for (parameter, own), (value, passed) in zip(head, given, strict=True):
            if not holds(own, passed):
                self.note(node, value, own)
            names[parameter] = Known(value, own)
        inner = Integers(names, self.functions, lambda *_: None, (*self.open, name))
        return inner.read(result)[0], width


def one_return(function: Node) -> tuple[list[tuple[str, Width]], Node | None]:
    """Return the integer parameters of a function that is one `return`, and what it returns."""
    head = []
    for parameter in part(part(function, "declarator"), "parameters").named_children:
        words = text_of(parameter).split()
        width = width_of(words[:-1])
        if width is None or not words[-1].isidentifier():
            return [], None
        head.append((words[-1], width))
    body = [child for child in part(function, "body").named_children if child.type != "comment"]
    if len(body) != 1 or body[0].type != "return_statement" or not body[0].named_children:
        return [], None
    return head, body[0].named_children[0]


def _only(node: Node) -> Node:
    inside = [child for child in node.named_children if child.type != "comment"]
    if len(inside) != 1:
        raise Unread(node, "parentheses around more than one expression")
    return inside[0]


def _literal(node: Node) -> Typed:
    text = text_of(node).lower()
    digits = text.rstrip("ul")
    try:
        value = int(digits, 8 if digits.startswith("0") and digits.isdecimal() else 0)
    except ValueError:
        raise Unread(node, "no integer") from None
    suffix = text[len(digits) :]
    signed = "u" not in suffix
    fits = Width(32, signed)
    return integer(value), fits if "l" not in suffix and value <= fits.most else Width(64, signed)


def _divided(operator: str, a: Expr, b: Const) -> Expr:
    """Return C's quotient or remainder, which round towards zero."""
    op = BinaryOp.FLOORDIV if operator == "/" else BinaryOp.MOD
    away = Unary(UnaryOp.NEG, a, DType.INT64)
    below = Unary(UnaryOp.NEG, Binary(op, away, b, DType.INT64), DType.INT64)
    whole = Binary(op, a, b, DType.INT64)
    return Select(Compare(CompareOp.GE, a, _ZERO), whole, below, DType.INT64)
