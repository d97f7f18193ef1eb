"""Expressions of C, evaluated one after another.

In: syntax trees of pycparser, variables.  Out: values with their kinds; `Trouble`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pycparser import c_ast

from tests.oracle.text.kinds import (
    COMPARE,
    INT,
    LONG,
    NAMED,
    UINT,
    ULONG,
    VOID,
    Kind,
    Member,
    Number,
    Overlay,
    Ptr,
    Rows,
    Trouble,
    Vector,
    arithmetic,
    base,
    common,
    convert,
    count,
    known,
    promoted,
    seen_as,
    shift,
    size,
)
from tests.oracle.text.library import CONSTANTS, Valued, call
from tests.oracle.text.memory import Block, Memory, Pointer, asked
from tests.oracle.text.reading import Unit

LIMIT = 3_000_000


@dataclass(slots=True)
class Place:
    """Memory that an expression stands for."""

    at: Pointer
    kind: Kind


@dataclass(frozen=True, slots=True)
class Variable:
    """A name's memory; an array's is its elements."""

    kind: Kind
    block: Block


@dataclass(slots=True)
class Expressions:
    """The state of a run: memory, and the names of the function that runs, innermost last."""

    unit: Unit
    memory: Memory = field(default_factory=Memory)
    scopes: list[dict[str, Variable]] = field(default_factory=list)
    steps: int = 0

    # -- types ------------------------------------------------------------------------------

    def kind_of(self, node: Any) -> Kind:
        """Return the kind that a declaration or a type name says."""
        match node:
            case c_ast.Typename() | c_ast.Decl():
                return self.kind_of(node.type)
            case c_ast.TypeDecl(type=c_ast.Union(decls=decls)):
                kinds = [(decl.name, self.kind_of(decl)) for decl in decls]
                return Overlay(tuple((n, kind) for n, kind in kinds if isinstance(kind, Number)))
            case c_ast.TypeDecl():
                return self._named(" ".join(node.type.names))
            case c_ast.PtrDecl(type=c_ast.FuncDecl()):
                return Ptr(VOID)
            case c_ast.PtrDecl():
                return Ptr(self.kind_of(node.type))
            case c_ast.ArrayDecl():
                _, length = self.value(node.dim)
                known(length)
                if length <= 0:
                    raise Trouble(f"an array type of length {length}")
                return Rows(self.kind_of(node.type), length)
            case _:
                raise NotImplementedError(type(node).__name__)

    def _named(self, name: str) -> Kind:
        if name in self.unit.vectors:
            return self.unit.vectors[name]
        return NAMED[name]

    # -- places -----------------------------------------------------------------------------

    def variable(self, name: str) -> Variable | None:
        """Return what a name stands for."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def place(self, node: Any) -> Place:
        """Return the memory that an expression stands for."""
        match node:
            case c_ast.ID():
                found = self.variable(node.name)
                if found is None:
                    raise Trouble(f"{node.name} is not declared")
                return Place(Pointer(found.block), found.kind)
            case c_ast.UnaryOp(op="*"):
                return self._followed(*self.value(node.expr))
            case c_ast.ArrayRef():
                return self._subscripted(node)
            case c_ast.StructRef(type="."):
                whole = self.place(node.name)
                assert isinstance(whole.kind, Overlay), whole.kind
                return Place(whole.at, Member(dict(whole.kind.fields)[node.field.name]))
            case _:
                raise NotImplementedError(type(node).__name__)

    def _followed(self, kind: Kind, at: Any) -> Place:
        assert isinstance(kind, Ptr), kind
        return Place(at, kind.to)

    def _subscripted(self, node: Any) -> Place:
        _, index = self.value(node.subscript)
        known(index)
        if isinstance(node.name, c_ast.ID | c_ast.ArrayRef):
            whole = self.place(node.name)
            match whole.kind:
                case Rows(of=of, length=length):
                    if not 0 <= index < length:
                        raise Trouble(f"subscript {index} of {length}")
                    return Place(_moved(whole.at, index * count(of)), of)
                case Vector(of=of, lanes=lanes):
                    if not 0 <= index < lanes:
                        raise Trouble(f"lane {index} of {lanes}")
                    return Place(_moved(whole.at, index), of)
                case _:
                    pass
        kind, at = self.value(node.name)
        assert isinstance(kind, Ptr), kind
        return Place(_moved(at, index * count(kind.to)), kind.to)

    def load(self, place: Place) -> Valued:
        """Return the value in a place; an array's is a pointer to its first element."""
        match place.kind:
            case Rows(of=of):
                return Ptr(of), place.at
            case Member(of=of):
                found = self.memory.read(place.at, of)
                known(found)
                return of, seen_as(found[1], found[0], of)
            case _:
                return place.kind, self.memory.read(place.at, place.kind)

    def store(self, place: Place, kind: Kind, value: Any) -> None:
        """Put a value into a place, converted as an assignment does."""
        to = place.kind.of if isinstance(place.kind, Member) else place.kind
        new = self.converted(kind, value, to)
        self.memory.write(place.at, to, (to, new) if isinstance(place.kind, Member) else new)

    def converted(self, kind: Kind, value: Any, to: Kind) -> Any:
        """Return a value as another kind holds it."""
        if isinstance(to, Ptr):
            if isinstance(value, Pointer) and value.block is not None:
                value.block.give(base(to.to))
            return Pointer(None) if value == 0 else value
        if isinstance(value, Pointer):
            if to == ULONG:
                block = value.block
                return 0 if block is None else block.address + value.offset * size(block.kind)
            if isinstance(to, Number) and to.family == "bool":
                return int(value.block is not None)
        del kind
        return convert(value, to)

    # -- values -----------------------------------------------------------------------------

    def truth(self, node: Any) -> bool:
        """Return whether a condition holds."""
        _, value = self.value(node)
        known(value)
        return value.block is not None if isinstance(value, Pointer) else bool(value)

    def value(self, node: Any) -> Valued:  # noqa: C901 - one case per node
        """Return what an expression is worth."""
        self.steps += 1
        if self.steps > LIMIT:
            raise Trouble("no end")
        match node:
            case c_ast.Constant():
                return _constant(node.value)
            case c_ast.ID():
                if node.name == "NULL":
                    return Ptr(VOID), Pointer(None)
                if node.name in CONSTANTS:
                    return CONSTANTS[node.name]
                return self.load(self.place(node))
            case c_ast.ArrayRef() | c_ast.StructRef():
                return self.load(self.place(node))
            case c_ast.BinaryOp():
                return self._binary(node)
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.TernaryOp():
                return self._choice(node)
            case c_ast.Cast():
                to = self.kind_of(node.to_type)
                return to, self.converted(*self.value(node.expr), to)
            case c_ast.CompoundLiteral():
                to = self.kind_of(node.type)
                return to, self.listed(node.init, to)
            case c_ast.Assignment():
                return self._assignment(node)
            case c_ast.FuncCall():
                return self._call(node)
            case c_ast.ExprList():
                return [self.value(part) for part in node.exprs][-1]
            case _:
                raise NotImplementedError(type(node).__name__)

    def listed(self, node: Any, to: Kind) -> Any:
        """Return the lanes or elements of `{a, b}`; what is not said is zero."""
        found = [self.value(part)[1] for part in node.exprs]
        inner = base(to)
        found += [0] * (count(to) - len(found))
        return tuple(convert(value, inner) for value in found)

    def _choice(self, node: Any) -> Valued:
        arms = (node.iftrue, node.iffalse) if self.truth(node.cond) else (node.iffalse, node.iftrue)
        kind, value = self.value(arms[0])
        other = self._kind(arms[1])
        if isinstance(kind, Number) and isinstance(other, Number):
            kind = common(kind, other)
            value = convert(value, kind)
        return kind, value

    def _kind(self, node: Any) -> Kind | None:  # noqa: C901 - one case per node
        """Return the kind of an expression that is not evaluated; None where it does not matter."""
        match node:
            case c_ast.Constant():
                return _constant(node.value)[0]
            case c_ast.ID() if node.name in CONSTANTS:
                return CONSTANTS[node.name][0]
            case c_ast.ID():
                found = self.variable(node.name)
                return None if found is None else found.kind
            case c_ast.Cast():
                return self.kind_of(node.to_type)
            case c_ast.UnaryOp(op="-" | "+" | "~"):
                inner = self._kind(node.expr)
                return promoted(inner) if isinstance(inner, Number) else inner
            case c_ast.UnaryOp(op="!"):
                return INT
            case c_ast.BinaryOp(op="+" | "-" | "*" | "/" | "%" | "&" | "|" | "^"):
                one, two = self._kind(node.left), self._kind(node.right)
                return (
                    common(one, two)
                    if isinstance(one, Number) and isinstance(two, Number)
                    else None
                )
            case c_ast.BinaryOp(op="<<" | ">>"):
                inner = self._kind(node.left)
                return promoted(inner) if isinstance(inner, Number) else None
            case c_ast.BinaryOp():
                return INT
            case c_ast.TernaryOp():
                one, two = self._kind(node.iftrue), self._kind(node.iffalse)
                return (
                    common(one, two)
                    if isinstance(one, Number) and isinstance(two, Number)
                    else None
                )
            case c_ast.ArrayRef():
                whole = self._kind(node.name)
                match whole:
                    case Ptr(to=to):
                        return to
                    case Rows(of=of) | Vector(of=of):
                        return of
                    case _:
                        return None
            case c_ast.FuncCall(name=c_ast.ID(name=name)):
                function = self.unit.functions.get(name)
                return None if function is None else self.kind_of(function.decl.type.type)
            case _:
                return None

    def _unary(self, node: Any) -> Valued:
        match node.op:
            case "!":
                return INT, int(not self.truth(node.expr))
            case "sizeof":
                return ULONG, size(self.kind_of(node.expr))
            case "*":
                return self.load(self.place(node))
            case "&":
                place = self.place(node.expr)
                return Ptr(place.kind), place.at
            case "++" | "p++" | "--" | "p--":
                place = self.place(node.expr)
                kind, value = self.load(place)
                assert isinstance(kind, Number)
                self.store(place, kind, arithmetic(node.op[-1], value, 1, kind))
                return kind, value
            case _:
                kind, value = self.value(node.expr)
                if isinstance(kind, Vector):
                    return kind, tuple(_signed(node.op, lane, kind.of) for lane in value)
                assert isinstance(kind, Number)
                wide = promoted(kind)
                return wide, _signed(node.op, convert(value, wide), wide)

    def _binary(self, node: Any) -> Valued:
        if node.op in ("&&", "||"):
            left = self.truth(node.left)
            is_known = left == (node.op == "||")
            return INT, int(left if is_known else self.truth(node.right))
        return self.combined(node.op, self.value(node.left), self.value(node.right))

    def combined(self, op: str, left: Valued, right: Valued) -> Valued:
        """Return an operator's result."""
        (one, a), (two, b) = left, right
        if isinstance(one, Ptr) or isinstance(two, Ptr):
            return _on_pointers(op, left, right)
        if isinstance(one, Vector) or isinstance(two, Vector):
            kind = one if isinstance(one, Vector) else two
            assert isinstance(kind, Vector)
            pairs = zip(convert(a, kind), convert(b, kind), strict=True)
            return kind, tuple(arithmetic(op, x, y, kind.of) for x, y in pairs)
        assert isinstance(one, Number), one
        assert isinstance(two, Number), two
        if op in ("<<", ">>"):
            kind = promoted(one)
            return kind, shift(op, convert(a, kind), b, kind)
        kind = common(one, two)
        a, b = convert(a, kind), convert(b, kind)
        if op in COMPARE:
            known(a, b)
            return INT, int(COMPARE[op](a, b))
        return kind, arithmetic(op, a, b, kind)

    def _assignment(self, node: Any) -> Valued:
        place = self.place(node.lvalue)
        if node.op == "=":
            found = self.value(node.rvalue)
        else:
            right = self.value(node.rvalue)
            found = self.combined(node.op[:-1], self.load(place), right)
        self.store(place, *found)
        return found

    def _call(self, node: Any) -> Valued:
        name = node.name.name
        nodes = [] if node.args is None else node.args.exprs
        if name.startswith("__atomic"):
            return self._atomic(name, nodes)
        args = [self.value(argument) for argument in nodes]
        if name in self.unit.functions:
            return self.run(name, args)
        if name == "aligned_alloc":
            return Ptr(VOID), Pointer(asked("memory", args[1][1]))
        if name == "free":
            block = args[0][1].block
            if block is not None:
                if block.is_free:
                    raise Trouble("memory is freed twice")
                block.is_free = True
            return VOID, None
        if name.startswith("omp_"):
            raise Trouble(f"what happens depends on {name}")
        known(*(value for _, value in args))
        found = call(name, args)
        if found is None:
            raise NotImplementedError(name)
        return found

    def _atomic(self, name: str, nodes: list[Any]) -> Valued:
        kind, at = self.value(nodes[0])
        assert isinstance(kind, Ptr)
        if name == "__atomic_load_n":
            return kind.to, self.memory.read(at, kind.to, atomic=True)
        if name == "__atomic_store_n":
            value = self.converted(*self.value(nodes[1]), kind.to)
            self.memory.write(at, kind.to, value, atomic=True)
            return VOID, None
        assert name == "__atomic_compare_exchange_n", name
        _, wanted = self.value(nodes[1])
        here = self.memory.read(at, kind.to, atomic=True)
        is_same = here == self.memory.read(wanted, kind.to)
        if is_same:
            value = self.converted(*self.value(nodes[2]), kind.to)
            self.memory.write(at, kind.to, value, atomic=True)
        else:
            self.memory.write(wanted, kind.to, here)
        return INT, int(is_same)

    def run(self, name: str, args: list[Valued]) -> Valued:
        """Return what a function of the file returns."""
        raise NotImplementedError(name)


def _moved(at: Pointer, numbers: int) -> Pointer:
    return Pointer(at.block, at.offset + numbers)


def _on_pointers(op: str, left: Valued, right: Valued) -> Valued:
    (one, a), (two, b) = left, right
    if op in COMPARE:
        sides = [Pointer(None) if side == 0 else side for side in (a, b)]
        return INT, int(COMPARE[op](*sides))
    if isinstance(one, Ptr):
        return one, _moved(a, (b if op == "+" else -b) * count(one.to))
    assert isinstance(two, Ptr)
    assert op == "+"
    return two, _moved(b, a * count(two.to))


def _signed(op: str, value: Any, kind: Number) -> Any:
    known(value)
    if op == "~":
        return convert(~value, kind)
    if op == "+":
        return value
    return arithmetic("-", 0, value, kind) if kind.is_integer else -value


def _constant(text: str) -> Valued:
    word = text.lower()
    is_hex = word.startswith("0x")
    if any(c in word for c in ".ep") and not (is_hex and "p" not in word):
        number = word.rstrip("fl")
        value = float.fromhex(number) if is_hex else float(number)
        if word.endswith("f"):
            return NAMED["float"], np.float32(value)
        return NAMED["double"], np.float64(value)
    number = int(word.rstrip("ul"), 0)
    suffix = word[len(word.rstrip("ul")) :]
    if "u" in suffix:
        return (ULONG if "l" in suffix or number >= 2**32 else UINT), number
    return (LONG if "l" in suffix or number >= 2**31 else INT), number
