"""Check that names mean in the loops what they mean in the program.

In: the program, the loops without shadowed names.  Out: one claim: the same signature, sizes and
arrays of the caller; every access has its array's type and rank, every local its declared type.
Only storage that the loops declare themselves may differ from the program's.
Shadowed iterators, and names that are declared twice, are renamed first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.expr import Expr, Iter, Load, Param, Symbol, VectorLoad, rewrite, walk
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    Declare,
    DeclareArray,
    DeclareView,
    For,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    updated,
)
from polyopt.ir.nodes import (
    all_nodes,
    bodies,
    map_bodies,
    own_changed,
    own_expressions,
)
from polyopt.ir.program import Program, all_parts
from polyopt.ir.scop import Array, Role, Scop
from polyopt.ir.source import ScalarArg
from polyopt.ir.types import DType
from polyopt.proof.certificate import Claim, ClaimKind, Unclaimable, Verdict


class _Differs(Unclaimable):
    """A name means something else; `subject` is the name."""


@dataclass(frozen=True)
class _Scope:
    """The names at a place: arrays, locals with type and lanes, sizes and iterators."""

    arrays: dict[str, Array]
    locals: dict[str, tuple[DType, int]]
    scalars: dict[str, DType]
    integers: frozenset[str]

    def with_array(self, array: Array) -> _Scope:
        """Return the scope after an array was declared."""
        if array.name in self.arrays:
            raise _Differs(array.name, "an array hides another one")
        return replace(self, arrays={**self.arrays, array.name: array})

    def sized(self, array: Array) -> _Scope:
        """Return the scope after an array was given memory."""
        if array.name not in self.arrays:
            raise _Differs(array.name, "memory is given to no array")
        return replace(self, arrays={**self.arrays, array.name: array})

    def with_local(self, node: Declare) -> _Scope:
        """Return the scope after a local was declared."""
        if node.name in self.scalars:
            raise _Differs(node.name, "a local hides an argument")
        kind = {**self.locals, node.name: (node.dtype, node.lanes)}
        return replace(self, locals=kind, integers=self.integers | {node.name})

    def with_iterator(self, name: str) -> _Scope:
        """Return the scope inside a loop."""
        return replace(self, integers=self.integers | {name})


def scalars_of(program: Program) -> dict[str, DType]:
    """Return the numbers, other than sizes, that a call passes, by their names in the loops."""
    arguments = program.signature.arguments
    return {a.symbol: a.dtype for a in arguments if isinstance(a, ScalarArg) and not a.is_param}


def check_declarations(program: Program, function: LoopFunction) -> Claim:
    """Return whether names mean the same in `function`, which has no shadowed names."""
    subject = "names and types"
    try:
        _check_interface(program, function)
        arrays = {array.name: array for array in function.arrays}
        start = _Scope(arrays, {}, scalars_of(program), frozenset(function.params))
        _body(function.body, start)
    except _Differs as error:
        return Claim(ClaimKind.CONTROL, error.subject, Verdict.REFUTED, "", error.reason)
    return Claim(ClaimKind.CONTROL, subject, Verdict.PROVEN, "")


def _check_interface(program: Program, function: LoopFunction) -> None:
    signature = program.signature
    if function.signature != signature:
        raise _Differs(function.name, "it has another signature")
    sizes = {s.param for s in (*signature.sizes, *signature.computed, *signature.starts)}
    if not set(function.params) <= sizes:
        raise _Differs(", ".join(sorted(set(function.params) - sizes)), "no call gives this size")
    parts = (part for part in all_parts(program.parts) if isinstance(part, Scop))
    free = {s.name for part in parts for s in part.statements if s.is_reassociable}
    if not function.reassociable <= free:
        raise _Differs(", ".join(sorted(function.reassociable - free)), "its order is not open")
    if function.contract:
        raise _Differs(function.name, "its arithmetic may be contracted everywhere")
    _check_arrays(program, function)


def _check_arrays(program: Program, function: LoopFunction) -> None:
    found = {array.name: array for array in function.arrays}
    if len(found) != len(function.arrays):
        raise _Differs(function.name, "two arrays have one name")
    wanted = {array.name: array for array in program.arrays}
    for name, array in wanted.items():
        if array.role is not Role.TEMP and found.get(name) != array:
            raise _Differs(name, "the program has another array of this name")
    for name, array in found.items():
        if array.role is not Role.TEMP and name not in wanted:
            raise _Differs(name, "the program has no such array")
    if _visible_arrays(function.arrays) != _visible_arrays(program.arrays):
        raise _Differs(function.name, "its arrays are in another order")


def _visible_arrays(arrays: tuple[Array, ...]) -> list[str]:
    """Return the arrays visible outside of the loops, in order."""
    return [array.name for array in arrays if array.role is not Role.TEMP]


def _body(body: Body, scope: _Scope) -> None:
    for node in body:
        for expr in (*own_expressions(node), *_set(node)):
            for part in walk(expr):
                _check(part, scope)
        _check_set(node, scope)
        inner = scope = _declared(node, scope)
        if isinstance(node, For):
            for _, symbol in node.reductions if node.kind is not LoopKind.THREAD else ():
                _check(symbol, scope)
            inner = scope.with_iterator(node.iter)
        for below in bodies(node):
            _body(below, inner)


def _declared(node: Node, scope: _Scope) -> _Scope:
    """Return the scope after a node."""
    match node:
        case Declare():
            return scope.with_local(node)
        case DeclareArray() | DeclareView():
            return scope.with_array(node.array)
        case AllocateArray():
            return scope.sized(node.array)
        case _:
            return scope


def _set(node: Node) -> Iterator[Expr]:
    """Yield the targets of a node, as expressions."""
    match node:
        case Assign():
            yield node.target
        case SetLocal():
            yield Symbol(node.name, node.dtype, node.lanes)
        case _:
            pass


def _check_set(node: Node, scope: _Scope) -> None:
    """Check that a target can hold its value: a local or an element of the value's type."""
    match node:
        case SetLocal() if node.name not in scope.locals:
            raise _Differs(node.name, "it is set, but it is no local")
        case SetLocal() | Declare() if node.value.dtype is not node.dtype:
            raise _Differs(node.name, "its value has another type")
        case Assign() if node.value.dtype is not node.target.dtype:
            raise _Differs(node.target.array, "its value has another type")
        case _:
            pass


def _check(part: Expr, scope: _Scope) -> None:
    match part:
        case Load() | VectorLoad():
            array = scope.arrays.get(part.array)
            if array is None:
                raise _Differs(part.array, "there is no such array here")
            if array.dtype is not part.dtype or len(array.shape) != len(part.index):
                raise _Differs(part.array, "an access has another type or rank")
        case Symbol():
            declared = scope.locals.get(part.name)
            known = declared or (scope.scalars.get(part.name), 1)
            if known != (part.dtype, part.lanes):
                raise _Differs(part.name, "there is no such local here, or of another type")
        case Iter() | Param():
            if part.name not in scope.integers:
                raise _Differs(part.name, "there is no such number here")
        case _:
            pass


def unhidden(body: Body, taken: frozenset[str], names: Iterator[str]) -> Body:
    """Return `body` without shadowed iterators, all declared names unique."""
    return _Renaming(names, set()).body(body, taken, _Names())


def renamed_alike(one: Body, two: Body) -> tuple[Body, Body]:
    """Return two bodies whose iterators, locals and arrays are named in their order."""
    nodes = (*all_nodes(one), *all_nodes(two))
    taken = {name for node in nodes for name in _own_names(node)}
    first, second = (
        _Renaming((f"$v{n}" for n in count()), set(taken)).body(body, frozenset(taken), _Names())
        for body in (one, two)
    )
    return first, second


def _own_names(node: Node) -> tuple[str, ...]:
    match node:
        case For():
            return (node.iter,)
        case Declare():
            return (node.name,)
        case DeclareArray():
            return (node.array.name,)
        case _:
            return ()


@dataclass(frozen=True, slots=True)
class _Names:
    """The names in a scope that have others now: of iterators, locals and arrays."""

    iterators: Mapping[str, str] = field(default_factory=dict)
    locals: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, str] = field(default_factory=dict)

    def in_loop(self, old: str, fresh: str) -> _Names:
        """Return the names in a loop over `old`."""
        return replace(self, iterators={**self.iterators, old: fresh})

    def after_local(self, old: str, fresh: str) -> _Names:
        """Return the names after the declaration of a local, which hides an iterator."""
        iterators = {name: new for name, new in self.iterators.items() if name != old}
        found = self.locals if fresh == old else {**self.locals, old: fresh}
        return replace(self, iterators=iterators, locals=found)

    def after_array(self, old: str, fresh: str) -> _Names:
        """Return the names after the declaration of an array."""
        return replace(self, arrays={**self.arrays, old: fresh})

    def node(self, node: Node) -> Node:
        """Return a node with the new names in its own expressions and targets."""
        if not (self.iterators or self.locals or self.arrays):
            return node
        node = own_changed(node, self._part)
        if isinstance(node, SetLocal):
            return updated(node, name=self.locals.get(node.name, node.name))
        if isinstance(node, For) and node.reductions:
            names = {**(self.arrays if node.kind is LoopKind.THREAD else {}), **self.locals}
            own = ((op, replace(s, name=names.get(s.name, s.name))) for op, s in node.reductions)
            return node.annotated(reductions=tuple(own))
        return node

    def _part(self, part: Expr) -> Expr | None:
        match part:
            case Iter(name=name) | Param(name=name) if name in self.iterators:
                return Iter(self.iterators[name])
            case Symbol(name=name) if name in self.locals or name in self.iterators:
                return replace(part, name=self.locals.get(name) or self.iterators[name])
            case Load(array=name) | VectorLoad(array=name) if name in self.arrays:
                index = tuple(rewrite(i, self._part) for i in part.index)
                return replace(part, array=self.arrays[name], index=index)
            case _:
                return None


@dataclass(frozen=True, slots=True)
class _Renaming:
    """`names` are fresh ones, `declared` those that locals and arrays have already."""

    names: Iterator[str]
    declared: set[str]

    def body(self, body: Body, taken: frozenset[str], new: _Names) -> Body:
        """Return a body in a scope where names are `taken` and some have `new` ones."""
        found: list[Node] = []
        for node in body:
            node = new.node(node)
            match node:
                case For(iter=name):
                    inner = new
                    if name in taken:
                        node = replace(node, iter=next(self.names))
                        inner = new.in_loop(name, node.iter)
                    within = self.body(node.body, taken | {node.iter}, inner)
                    found.append(updated(node, body=within))
                    continue
                case Declare(name=name):
                    own = new.locals.get(name, name)
                    if own in taken or own in self.declared:
                        own = next(self.names)
                    new = new.after_local(name, own)
                    node = updated(node, name=own)
                    taken = taken | {own}
                    self.declared.add(own)
                case DeclareArray(array=array) | DeclareView(array=array):
                    if array.name in self.declared:
                        own = next(self.names)
                        node = replace(node, array=replace(array, name=own))
                        new = new.after_array(array.name, own)
                    self.declared.add(node.array.name)
                case _:
                    pass
            found.append(map_bodies(node, self.body, taken, new))
        return tuple(found)
