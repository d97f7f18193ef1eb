"""A graph as a Python function: straight-line NumPy code, a line for each value used twice.

In: inputs and outputs of a graph.  Out: `Program`: text, places of the user's lines.
Refuses: sizes that no input tells (PO0805).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.ir.types import dtype_of
from polyopt.tracing import writing
from polyopt.tracing.nodes import (
    MOVES,
    Call,
    Captured,
    Kind,
    Loops,
    Method,
    Node,
    Operator,
    Part,
    Placeholder,
    SizeValue,
    Store,
    Subscript,
    leaves,
    sources,
)
from polyopt.tracing.places import refuse
from polyopt.tracing.sizes import Extent, Name, Size, atoms, minus, named
from polyopt.tracing.subscripting import is_plain

DEEPEST = 8  # operations in one expression, one inside the other

_INLINED = MOVES | {np.where, np.clip, np.roll, np.pad, np.real, np.imag}
_TAKEN = frozenset(
    ("np", "po", "ml_dtypes", "abs", "min", "max", "float", "int", "bool", "complex")
)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the text, and the user's line that it comes from."""

    line: int
    start: int
    end: int
    loc: Loc


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The text of a function; functions it uses that are no NumPy's are in `others` by name."""

    name: str
    text: str
    parameters: tuple[Node, ...]
    outputs: tuple[Node, ...]
    spans: tuple[Span, ...]
    others: Mapping[str, Callable[..., object]]


def write(
    name: str,
    parameters: Sequence[Node],
    outputs: Sequence[Node],
    order: Sequence[Node],
    numbered: bool = False,
) -> Program:
    """Return the function that computes the nodes of `order`; `numbered` names its parameters
    alike wherever the same computation stands in a graph."""
    writer = _Writer(name, tuple(parameters), tuple(outputs), tuple(order))
    return writer.program(numbered)


@dataclass(eq=False)
class _Writer:
    name: str
    parameters: tuple[Node, ...]
    outputs: tuple[Node, ...]
    order: tuple[Node, ...]
    names: dict[int, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    uses: Counter[int] = field(default_factory=Counter)
    users: dict[int, list[Node]] = field(default_factory=dict)
    depths: dict[int, int] = field(default_factory=dict)
    sizes: dict[str, Callable[[], ast.expr]] = field(default_factory=dict)
    body: list[ast.stmt] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    others: dict[str, Callable[..., object]] = field(default_factory=dict)
    places: dict[int, Loc] = field(default_factory=dict)
    kept: list[ast.expr] = field(default_factory=list)  # so that ids in `places` stay theirs

    def program(self, numbered: bool) -> Program:
        self.taken |= _TAKEN | {self.name}
        for node in self.parameters:
            if isinstance(node.op, Placeholder) and not numbered:
                self.names[id(node)] = node.op.name
                self.taken.add(node.op.name)
        for node in self.parameters:
            if id(node) not in self.names:
                own = node.op.name if isinstance(node.op, Captured) and not numbered else None
                self.names[id(node)] = self._fresh(own or ("a" if numbered else "c"))
        self._learn_sizes()
        for node in self.order:
            for source in sources(node):
                self.uses[id(source)] += 1
                self.users.setdefault(id(source), []).append(node)
        self.uses.update(id(node) for node in self.outputs)
        for node in self.order:
            if id(node) not in self.names and not isinstance(node.op, Part):
                self._statement(node)
        values = [self._node(node) for node in self.outputs]
        result = values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
        self.body.append(ast.Return(result))
        head = ", ".join(
            f"{self.names[id(node)]}: {_annotation(node.kind)}" for node in self.parameters
        )
        return self._assemble(head)

    def _assemble(self, head: str) -> Program:
        lines = [line for helper in self.helpers for line in (*helper.splitlines(), "", "")]
        lines.append(f"def {self.name}({head}):")
        spans: list[Span] = []
        for statement in self.body:
            text = ast.unparse(ast.fix_missing_locations(statement))
            spans += self._spans(statement, text, len(lines) + 1)
            lines.append(f"    {text}")
        return Program(
            self.name, "\n".join(lines) + "\n", self.parameters, self.outputs, tuple(spans),
            self.others,
        )  # fmt: skip

    def _spans(self, statement: ast.stmt, text: str, line: int) -> Iterator[Span]:
        """Yield where each node's expression stands: the text read again has the same shape."""
        again = ast.parse(text).body[0] if not isinstance(statement, ast.Return) else None
        if again is None:
            again = ast.parse(f"def f():\n {text}").body[0].body[0]  # type: ignore[attr-defined]
            shift = 3
        else:
            shift = 4
        for mine, found in zip(ast.walk(statement), ast.walk(again), strict=False):
            loc = self.places.get(id(mine))
            if loc is not None and isinstance(found, ast.expr):
                end = found.end_col_offset or found.col_offset
                yield Span(line, found.col_offset + shift + 1, end + shift + 1, loc)

    def _fresh(self, base: str) -> str:
        number = 0
        found = base
        while found in self.taken or (found == base and base in ("a", "c", "v")):
            number += 1
            found = f"{base}{number}"
        self.taken.add(found)
        return found

    # -- sizes --------------------------------------------------------------------------------

    def _learn_sizes(self) -> None:
        """Find a dimension that tells each name: `N` itself, or `N + 1`."""
        for plain in (True, False):
            for node in self.parameters:
                for dim, extent in enumerate(node.shape):
                    self._learn(node, dim, extent, plain)

    def _learn(self, node: Node, dim: int, extent: Extent, plain: bool) -> None:
        for text, rest in told(extent):
            if text in self.sizes or (plain and rest):
                continue

            def expression(rest: int = rest) -> ast.expr:
                whole = writing.shape_part(self._node(node), dim)
                if rest == 0:
                    return whole
                op: ast.operator = ast.Sub() if rest > 0 else ast.Add()
                return ast.BinOp(whole, op, ast.Constant(abs(rest)))

            self.sizes[text] = expression

    def _size(self, text: str) -> ast.expr:
        found = self.sizes.get(text)
        if found is None:
            refuse("PO0805", f"no input tells the size `{text}`",
                   hint="list an input with that dimension: po.compile(y, inputs=[x])")  # fmt: skip
        return found()

    # -- statements ---------------------------------------------------------------------------

    def _statement(self, node: Node) -> None:
        if node.kinds:
            self._several(node)
            return
        if isinstance(node.op, Store):
            self._store(node)
            return
        depth = 1 + max((self.depths.get(id(source), 0) for source in sources(node)), default=0)
        if depth < DEEPEST and self._is_inlined(node):
            self.depths[id(node)] = depth
            return
        self._assign(node, self._built(node))

    def _assign(self, node: Node, value: ast.expr) -> None:
        self.names[id(node)] = self._fresh("v")
        target = ast.Name(self.names[id(node)], ast.Store())
        self.body.append(ast.Assign([target], value))

    def _several(self, node: Node) -> None:
        parts = {
            part.op.position: part
            for part in self.order
            if isinstance(part.op, Part) and part.operands[0] is node
        }
        targets: list[ast.expr] = []
        for number in range(len(node.kinds)):
            text = self._fresh("v")
            targets.append(ast.Name(text, ast.Store()))
            if number in parts:
                self.names[id(parts[number])] = text
        self.body.append(ast.Assign([ast.Tuple(targets, ast.Store())], self._built(node)))

    def _store(self, node: Node) -> None:
        base, key, value = node.operands
        assert isinstance(base, Node)
        own = id(base) in self.names and not any(base is node for node in self.parameters)
        if own and _is_fresh(base) and self._is_last_use(base, node):
            self.names[id(node)] = self.names[id(base)]
        else:
            copy = writing.call(ast.Attribute(self._node(base), "copy", ast.Load()))
            self._assign(node, copy)
        array = writing.name(self.names[id(node)])
        target = ast.Subscript(array, self._operand(key), ast.Store())
        self._mark(target, node)
        self.body.append(ast.Assign([target], self._operand(value)))

    def _is_last_use(self, base: Node, store: Node) -> bool:
        """Whether nothing reads the old elements of `base` after the store."""
        if self.uses[id(base)] != len(self.users[id(base)]):
            return False  # it is an output
        return all(
            user is store or self._is_read_before(user, store) for user in self.users[id(base)]
        )

    def _is_read_before(self, user: Node, store: Node) -> bool:
        while id(user) in self.depths and id(user) not in self.names:  # inside a larger expression
            if len(self.users.get(id(user), ())) != 1:
                return False
            (user,) = self.users[id(user)]
        if user is store:
            return True
        is_view = isinstance(user.op, Subscript) or not _is_fresh(user)
        return id(user) in self.names and not is_view

    def _is_inlined(self, node: Node) -> bool:
        match node.op:
            case SizeValue():
                return True
            case Operator(text=text):
                return text != "@" and self.uses[id(node)] == 1
            case Call(function=np.ufunc() as function):
                return function is not np.matmul and self.uses[id(node)] == 1
            case Call(function=function):
                return function in _INLINED and self.uses[id(node)] == 1
            case Method():
                return self.uses[id(node)] == 1
            case Subscript():
                return is_plain(node.operands[1]) and self.uses[id(node)] == 1
            case _:
                return False

    # -- expressions --------------------------------------------------------------------------

    def _node(self, node: Node) -> ast.expr:
        text = self.names.get(id(node))
        return self._built(node) if text is None else writing.name(text)

    def _operand(self, value: object) -> ast.expr:
        return writing.operand(value, self._node, self._size)

    def _mark(self, found: ast.expr, node: Node) -> None:
        if node.loc is not None:
            self.places[id(found)] = node.loc
            self.kept.append(found)

    def _built(self, node: Node) -> ast.expr:
        found = self._expression(node)
        self._mark(found, node)
        return found

    def _expression(self, node: Node) -> ast.expr:
        operands = node.operands
        match node.op:
            case Operator(text=text):
                return writing.operation(text, [self._operand(value) for value in operands])
            case Subscript():
                array, key = (self._operand(value) for value in operands)
                return ast.Subscript(array, key, ast.Load())
            case Method(name=name):
                array, *rest = (self._operand(value) for value in operands)
                return writing.call(ast.Attribute(array, name, ast.Load()), *rest)
            case SizeValue(size=size):
                return writing.extent(size, self._node, self._size)
            case Call(function=function):
                return self._call(function, node)
            case Loops(nest=nest):
                name = self._fresh("comprehension")
                self.helpers.append("\n".join(nest.define(name)))
                parts = [self._operand(value) for value in operands]
                return writing.call(writing.name(name), *parts)
            case _:
                raise AssertionError(node.op)

    def _call(self, function: Callable[..., object], node: Node) -> ast.expr:
        text = writing.function_name(function)
        if text is None:
            text = self._fresh(function.__name__)
            self.others[text] = function
        operands = [self._operand(value) for value in node.operands]
        keywords = [ast.keyword(key, self._operand(value)) for key, value in node.keywords]
        return ast.Call(writing.dotted(text), operands, keywords)


def _is_fresh(node: Node) -> bool:
    """Whether the value is an array of its own."""
    match node.op:
        case Store() | Operator() | Loops() | Method():
            return True
        case Call(function=function):
            return function not in MOVES and function not in (np.real, np.imag)
        case _:
            return False


def _annotation(kind: Kind) -> str:
    short = dtype_of(kind.dtype).short_name
    text = f"po.{'bool_' if short == 'bool' else short}"
    if not kind.shape:
        return text
    return f'{text}["{", ".join(str(extent) for extent in kind.shape)}"]'


def told(extent: Extent) -> Iterator[tuple[str, int]]:
    """Yield the names that an extent tells: `N` itself, `N + 1`."""
    for monomial, coefficient in () if isinstance(extent, int) else extent.terms:
        if len(monomial) == 1 and coefficient == 1 and isinstance(monomial[0], Name):
            rest = minus(extent, named(monomial[0].text))
            if isinstance(rest, int):
                yield monomial[0].text, rest


def names_told(nodes: Iterable[Node]) -> set[str]:
    """Return the names of sizes that the shapes of arrays tell."""
    return {text for node in nodes for extent in node.shape for text, _ in told(extent)}


def names_needed(nodes: Iterable[Node]) -> set[str]:
    """Return the names of sizes that operations mention."""
    found: set[str] = set()
    for node in nodes:
        own = (node.op.size,) if isinstance(node.op, SizeValue) else ()
        for leaf in leaves((*own, node.operands, dict(node.keywords))):
            if isinstance(leaf, Size):
                found |= {part.text for part in atoms(leaf) if isinstance(part, Name)}
    return found
