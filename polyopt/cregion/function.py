"""A region as a Python function.

In: a `Region`, the macros of its file.  Out: `Translated`: the function's text, which statement of
C each line comes from, and the arguments, with what C passes for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from polyopt.cregion.declarations import INDEX, Declared, Number, Region, Scope
from polyopt.cregion.expressions import Expressions, python_name
from polyopt.cregion.statements import Line, Statements
from polyopt.cregion.syntax import Unit, is_inside
from polyopt.cregion.variables import INTEGERS, Variables
from polyopt.dataclass import dataclass
from polyopt.ir.types import DType

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the function: `name` in Python, `extents` the names of an array's sizes.

    `passed` is what C passes for it, `sizes` for the extents.  `is_result`: one element, which
    holds the last value of a variable.
    """

    name: str
    number: Number
    passed: str
    extents: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    is_result: bool = False


@dataclass(frozen=True, eq=False)
class Translated:
    """A region as a Python function; `nodes[k]` is the statement of line `k`.

    `fixed` are constant conditions of C that the translation relies on, `unused` the variables of C
    that nothing but the region uses, `narrow` those that are integers of 32 bits or fewer.
    """

    name: str
    lines: tuple[str, ...]
    nodes: tuple[Node, ...]
    arguments: tuple[Argument, ...]
    fixed: tuple[str, ...]
    unused: tuple[str, ...]
    narrow: frozenset[str]

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n".join(self.lines) + "\n"


UNKNOWN = "(INT64_C(1) << 40)"
"""What C passes for an extent that it does not declare."""


def translate(unit: Unit, region: Region, macros: Mapping[str, str]) -> Translated:
    """Return the region as a Python function; `macros` are those of the file, by name."""
    return _Translator(unit, region, macros).translated()


class _Translator:
    def __init__(self, unit: Unit, region: Region, macros: Mapping[str, str]) -> None:
        self.unit, self.region, self.macros = unit, region, macros
        scope = Scope(unit, region)
        self.variables = Variables(unit, region, scope)
        self.read = Expressions(unit, scope, self.variables.own, self.variables.counters)
        self.read.affine |= self.variables.counters | self.variables.constants
        self.sizes: dict[str, str] = {}
        self.head: list[str] = []

    def translated(self) -> Translated:
        """Return the function."""
        self.variables.refuse_shadows()
        self._settle_integers()
        body = Statements(self.unit, self.variables, self.read).lines(self.region.statements)
        self.variables.refuse_left()
        return self._function(body)

    def _settle_integers(self) -> None:
        """Let integers that are set once, where they are declared, stay affine."""
        for name, declared in self.variables.own.items():
            is_integer = declared.number.dtype.value in INTEGERS and not declared.is_array
            if not is_integer or declared.value is None or name in self.variables.counters:
                continue
            self.read.running[:] = self.variables.counters
            value = self.read.number(declared.value)
            is_kept = value.literal is not None or declared.number.bits >= value.number.bits
            if name not in self.variables.assigned and value.number.is_index and is_kept:
                self.read.affine.add(name)
        self.read.running.clear()
        self.read.used.clear()

    def _function(self, body: list[Line]) -> Translated:
        variables, region = self.variables, self.region
        used = self.read.used
        arguments: list[Argument] = []
        fixed: list[str] = []
        for declared in list(used.values()):
            if declared.is_array:
                fixed.append(_is_of_type(declared))
                arguments.append(self._array(declared))
        tail: list[str] = []
        for name, declared in used.items():
            mine = python_name(name)
            if declared.is_array or name in variables.counters or mine in self.sizes:
                continue
            if name not in variables.assigned:
                number = INDEX if name in self.read.affine else declared.number
                arguments.append(Argument(mine, number, name))
                continue
            if variables.is_known_before(name, declared):
                arguments.append(Argument(f"{mine}_before", declared.number, name))
                self.head.append(f"{mine} = {mine}_before")
            if variables.after(name) or variables.is_global(declared):
                passed, one = f"({declared.number.dtype.ctype} *)&{name}", ("1",)
                last = Argument(f"{mine}_after", declared.number, passed, one, one, is_result=True)
                arguments.append(last)
                tail.append(f"{mine}_after[0] = {mine}")
        function = f"{region.name}_{region.number}"
        names = ", ".join(argument.name for argument in arguments)
        lines: list[Line] = [(f"def {function}({names}):", region.begin)]
        lines += [(f"    {line}", region.begin) for line in self.head]
        lines += body or [("    pass", region.begin)]
        lines += [(f"    {line}", region.end) for line in tail]
        texts, nodes = (tuple(part) for part in zip(*lines, strict=True))
        passed_names = {a.passed.rpartition("&")[2] for a in arguments} | {*self.sizes.values()}
        unused = tuple(n for n, d in used.items() if not d.is_array and n not in passed_names)
        fixed += self._macros_used()
        narrow = frozenset(
            name
            for name in passed_names
            if name in used
            and used[name].number.dtype.is_integer
            and used[name].number.dtype.size < 8
            and used[name].number.dtype.value != "uint32"
        )
        return Translated(function, texts, nodes, tuple(arguments), tuple(fixed), unused, narrow)

    def _array(self, declared: Declared) -> Argument:
        """Return an array as an argument."""
        found = [self._extent(declared, dim) for dim in range(len(declared.extents))]
        names, sizes = zip(*found, strict=True)
        passed = f"({declared.number.dtype.ctype} *){declared.name}"
        return Argument(python_name(declared.name), declared.number, passed, names, sizes)

    def _size(self, declared: Declared, dim: int, text: str) -> str:
        """Return the name of an extent that is a variable, which stands for the size from now."""
        name = python_name(text)
        self.read.declared(text, declared.node)
        if name not in self.sizes:
            self.sizes[name] = text
            self.head.append(f"{name} = {python_name(declared.name)}.shape[{dim}]")
        return name

    def _extent(self, declared: Declared, dim: int) -> tuple[str, str]:
        """Return the name of an extent, and what C passes for it."""
        node, name = declared.extents[dim], f"{python_name(declared.name)}_{dim}"
        if node is None:
            return name, UNKNOWN
        text = self.unit.source(node)
        if node.type == "identifier" and not self.variables.is_reset(text):
            found = self.read.scope.get(text, node)
            if not found.is_array and found.number.dtype.value in INTEGERS:
                return self._size(declared, dim, text), text
        if dim == 0 and is_inside(declared.node, "parameter_declaration"):
            return name, f"({text})"
        part = f"{declared.name}{'[0]' * dim}"
        return name, f"(sizeof {part} / sizeof {part}[0])"

    def _macros_used(self) -> list[str]:
        """Return that the integers that macros stand for in the region are the same again."""
        unit, found = self.unit, {}
        first, last = unit.line(self.region.begin), unit.line(self.region.end)
        for line in range(first, last):
            for word in re.findall(r"[A-Za-z_]\w*", unit.line_of(self.region.begin, line)):
                value = self._integer(word)
                if value is not None:
                    found[word] = f"{word} == {value}"
        return list(found.values())

    def _integer(self, word: str) -> int | None:
        """Return the integer that a macro stands for, through others."""
        for _ in range(len(self.macros)):
            if word not in self.macros:
                break
            word = self.macros[word].strip("() \t")
        else:
            return None
        return int(word) if word.isdecimal() and (word == "0" or word[0] != "0") else None


def _is_of_type(declared: Declared) -> str:
    """Return that an array has the elements that the translation read it with."""
    element = f"{declared.name}{'[0]' * len(declared.extents)}"
    if declared.number.is_float:
        return f"_Generic({element}, {declared.number.dtype.ctype}: 1, default: 0)"
    if declared.number.dtype is DType.INT8:
        return f"_Generic({element}, signed char: 1, char: (char)-1 < 0, default: 0)"
    return f"sizeof {element} == {declared.number.dtype.size}"
