"""What the names of a region stand for: the declarations that it sees.

In: a `Unit`, a `Region`.  Out: `Declared`, by name.
Refuses (PO0192): what is no number and no array of numbers in one piece of memory.
The regions of a file; C's arithmetic types and their conversions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from polyopt.cregion.syntax import Unit, field, walk
from polyopt.dataclass import dataclass
from polyopt.errors import FrontendError, Loc
from polyopt.ir.types import DType

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, eq=False)
class Declared:
    """A variable: a number, or an array with an extent per dimension.

    The first extent is None where only a pointer is declared; `node` is the declarator, `value`
    the initializer.
    """

    name: str
    number: Number
    extents: tuple[Node | None, ...]
    node: Node
    value: Node | None = None

    @property
    def is_array(self) -> bool:
        """Whether it is subscripted."""
        return bool(self.extents)


class Scope:
    """The declarations that a region sees; what it cannot use is refused where it is used."""

    def __init__(self, unit: Unit, region: Region) -> None:
        self.unit = unit
        self._types: dict[str, list[str]] = {}
        self._others: dict[str, str] = {}
        self._found: dict[str, Declared] = {}
        for node in unit.root.children:
            self._outside(node)
        for parameter in _parameters(region.function):
            self._declaration(parameter)
        for block in _around(region):
            for node in block.children:  # of a loop, too: `for (int t = 0; ...)`
                if node.start_byte >= region.begin.start_byte:
                    break
                if node.type == "declaration":
                    self._declaration(node)

    def get(self, name: str, node: Node) -> Declared:
        """Return the declaration of `name`, used at `node`; raises PO0192."""
        found = self._found.get(name)
        if found is not None:
            return found
        reason = self._others.get(name)
        if reason is None:
            self._refuse_enumerator(name, node)
            hint = "declare it in this file or in one that it includes"
            self.unit.refuse("PO0192", f"`{name}` is not declared", node, hint)
        hint = "use a number, or an array or pointer of numbers: `double A[n][m]`, `double *x`"
        self.unit.refuse("PO0192", f"`{name}` is {reason}", node, hint)

    def _refuse_enumerator(self, name: str, node: Node) -> None:
        for part in walk(self.unit.root):
            if part.type == "enumerator" and self.unit.source(field(part, "name")) == name:
                hint = f"make it a macro, as in `#define {name} 8`"
                self.unit.refuse("PO0192", f"`{name}` is a constant of an enum", node, hint)

    def declared_in(self, node: Node) -> Iterator[Declared]:
        """Yield what a declaration inside the region declares; raises PO0192."""
        number = self._number(node)
        for declarator in node.children_by_field_name("declarator"):
            found = None if number is None else self._variable(declarator, number)
            if found is None:
                message = f"`{self.unit.source(node)}` declares no number and no array of numbers"
                self.unit.refuse("PO0192", message, node, "declare it outside of the region")
            yield found

    def number_named(self, node: Node) -> Number | None:
        """Return the number that the type of a cast names."""
        if any(part.type.startswith("abstract_") for part in walk(node)):
            return None
        return number_of(self._words(self.unit.source(node).split()))

    def _outside(self, node: Node) -> None:
        match node.type:
            case "declaration":
                self._declaration(node)
            case "type_definition":
                words = self.unit.source(field(node, "type")).split()
                for declarator in node.children_by_field_name("declarator"):
                    if declarator.type == "type_identifier":
                        self._types[self.unit.source(declarator)] = self._words(words)
            case "linkage_specification" | "declaration_list":
                for child in node.children:
                    self._outside(child)
            case _:
                pass

    def _declaration(self, node: Node) -> None:
        number = self._number(node)
        for declarator in node.children_by_field_name("declarator"):
            name = _name(declarator, self.unit)
            if name is None:
                continue
            found = None if number is None else self._variable(declarator, number)
            self._found.pop(name, None)
            if found is not None:
                self._found[name] = found
            elif any(part.type == "function_declarator" for part in walk(declarator)):
                self._others[name] = "a function"
            elif number is None:
                kind = self.unit.source(field(node, "type"))
                self._others[name] = f"of type `{kind}`, which is no number"
            else:
                self._others[name] = "an array of pointers: its rows may overlap"

    def _number(self, node: Node) -> Number | None:
        kind = node.child_by_field_name("type")
        return None if kind is None else number_of(self._words(self.unit.source(kind).split()))

    def _words(self, words: list[str]) -> list[str]:
        return [part for word in words for part in self._types.get(word, [word])]

    def _variable(self, declarator: Node, number: Number) -> Declared | None:
        value = declarator.child_by_field_name("value")
        extents: list[Node | None] = []
        part = declarator
        while part.type != "identifier":
            match part.type:
                case "array_declarator":
                    size = part.child_by_field_name("size")
                    extents.append(None if size is None or size.type == "*" else size)
                case "pointer_declarator":
                    extents.append(None)
                case "init_declarator" | "parenthesized_declarator":
                    pass
                case _:
                    return None
            inner = part.child_by_field_name("declarator")
            if inner is None:
                inner = next((c for c in part.children if c.is_named), None)
            if inner is None:
                return None
            part = inner
        shape = tuple(reversed(extents))
        if None in shape[1:]:
            return None
        return Declared(self.unit.source(part), number, shape, part, value)


def _name(declarator: Node, unit: Unit) -> str | None:
    return next((unit.source(n) for n in walk(declarator) if n.type == "identifier"), None)


def _parameters(function: Node) -> Iterator[Node]:
    """Yield the function's own parameters, not those of functions that it is given."""
    for node in walk(field(function, "declarator")):
        if node.type == "parameter_list":
            yield from (n for n in node.children if n.type == "parameter_declaration")
            return


def _around(region: Region) -> list[Node]:
    """Return the blocks and loops around a region, outermost first."""
    found: list[Node] = []
    node = region.begin.parent
    while node is not None and node.id != region.function.id:
        if node.type in ("compound_statement", "for_statement"):
            found.append(node)
        node = node.parent
    return found[::-1]


_PRAGMA = re.compile(r"#\s*pragma\s+(scop|endscop)\s*")


@dataclass(frozen=True, eq=False)
class Region:
    """Statements of a function between the two pragmas; `number` counts those of the function."""

    function: Node
    name: str
    number: int
    begin: Node
    end: Node
    statements: tuple[Node, ...]


def find_regions(unit: Unit, file: str) -> tuple[Region, ...]:
    """Return the regions of the file, not of what it includes."""
    found: list[Region] = []
    seen: set[int] = set()
    for function in walk(unit.root):
        if (
            function.type == "function_definition"
            and unit.places[function.start_point[0]][0] == file
        ):
            found += _regions_of(unit, function)
    for region in found:
        seen |= {region.begin.start_byte, region.end.start_byte}
    for node in walk(unit.root):
        if _pragma(unit, node) and node.start_byte not in seen:
            unit.refuse("PO0191", "a region lies inside one function", node, _HINT)
    if not found:
        hint = "write `#pragma scop` before and `#pragma endscop` behind the loops to optimize"
        raise FrontendError(
            "PO0191", f"`{file}` has no region to compile", loc=Loc(file, 1, 1, 1, 1), hint=hint
        )
    return tuple(found)


_HINT = "put `#pragma scop` and `#pragma endscop` into the same block of one function"


def _pragma(unit: Unit, node: Node) -> str | None:
    if node.type != "preproc_call":
        return None
    match = _PRAGMA.fullmatch(unit.source(node).strip())
    return None if match is None else match[1]


def _regions_of(unit: Unit, function: Node) -> Iterator[Region]:
    name = function_name(unit, function)
    number = 0
    for block in walk(function):
        if block.type != "compound_statement":
            continue
        begin: Node | None = None
        inside: list[Node] = []
        for child in block.children:
            match _pragma(unit, child):
                case "scop":
                    if begin is not None:
                        unit.refuse("PO0191", "a region begins inside a region", child, _HINT)
                    begin, inside = child, []
                case "endscop":
                    if begin is None:
                        unit.refuse("PO0191", "no region begins in this block", child, _HINT)
                    number += 1
                    yield Region(function, name, number, begin, child, tuple(inside))
                    begin = None
                case _:
                    inside.append(child)
        if begin is not None:
            unit.refuse("PO0191", "the region does not end in this block", begin, _HINT)


def function_name(unit: Unit, function: Node) -> str:
    """Return the name of a function that is defined."""
    declarator = field(function, "declarator")
    while declarator.type != "identifier":
        declarator = field(declarator, "declarator")
    return unit.source(declarator)


@dataclass(frozen=True, slots=True)
class Number:
    """An arithmetic type as an element type; `is_index` for integers that stay affine.

    These are Python's integers; `dtype` is the type that C gives them.
    """

    dtype: DType
    is_index: bool = False

    @property
    def is_float(self) -> bool:
        """Whether it is `float` or `double`."""
        return self.dtype.is_float

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type, `_Bool` aside."""
        return self.dtype.is_integer

    @property
    def is_unsigned(self) -> bool:
        """Whether its arithmetic wraps."""
        return self.dtype.value.startswith("u")

    @property
    def numpy(self) -> str:
        """The name of the type in NumPy."""
        return self.dtype.spelled

    @property
    def bits(self) -> int:
        """How many bits hold its values."""
        return 1 if self.dtype is DType.BOOL else self.dtype.size * 8

    def holds(self, other: Number) -> bool:
        """Tell whether an integer type has all values of another one."""
        if other.is_unsigned == self.is_unsigned:
            return self.bits >= other.bits
        return other.is_unsigned and self.bits > other.bits

    def wrapped(self, value: int) -> int:
        """Return an integer as a conversion to this integer type gives it."""
        if self.dtype is DType.BOOL:
            return int(value != 0)
        value &= (1 << self.bits) - 1
        is_negative = not self.is_unsigned and value >> (self.bits - 1)
        return value - (1 << self.bits) if is_negative else value


INDEX = Number(DType.INT64, is_index=True)
INT = Number(DType.INT32)
LONG = Number(DType.INT64)
FLOAT = Number(DType.FLOAT32)
DOUBLE = Number(DType.FLOAT64)

_NAMED = {
    "float": FLOAT,
    "double": DOUBLE,
    "_Bool": Number(DType.BOOL),
    "bool": Number(DType.BOOL),
    "size_t": Number(DType.UINT64),
    "ssize_t": Number(DType.INT64),
    "ptrdiff_t": Number(DType.INT64),
    **{f"int{n}_t": Number(DType(f"int{n}")) for n in (8, 16, 32, 64)},
    **{f"uint{n}_t": Number(DType(f"uint{n}")) for n in (8, 16, 32, 64)},
}
_QUALIFIERS = frozenset(
    ("const", "volatile", "restrict", "__restrict", "__restrict__", "static", "extern", "register")
)


def number_of(words: list[str]) -> Number | None:
    """Return the type that the words of a declaration name, None for one that is no number."""
    kept = [word for word in words if word not in _QUALIFIERS]
    if len(kept) == 1 and kept[0] in _NAMED:
        return _NAMED[kept[0]]
    unsigned = "unsigned" in kept
    rest = sorted(word for word in kept if word not in ("unsigned", "signed", "int"))
    bits = {"char": 8, "short": 16, "": 32, "long": 64, "long long": 64}.get(" ".join(rest))
    if bits is None or not kept:
        return None
    return Number(DType(f"{'u' if unsigned else ''}int{bits}"))


def promoted(kind: Number) -> Number:
    """Return the type after the integer promotions."""
    if kind.is_float or kind.bits >= 32:
        return kind
    return Number(DType.INT32, kind.is_index)


def common(left: Number, right: Number) -> Number:
    """Return the type that the usual arithmetic conversions give both operands."""
    left, right = promoted(left), promoted(right)
    if left.is_float or right.is_float:
        floats = [kind for kind in (left, right) if kind.is_float]
        return max(floats, key=lambda kind: kind.bits)
    wide = max(left, right, key=lambda kind: (kind.bits, kind.is_unsigned))
    return Number(wide.dtype, left.is_index and right.is_index)
