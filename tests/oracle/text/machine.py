"""Emitted C, run statement by statement; iterations of parallel loops in an order of their own.

In: a `Unit`, the entry's arguments.  Out: `Outcome`.  Parallel iterations and lanes run backwards,
and what two of them touch without an order is a fault, as is all that C does not define.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pycparser import c_ast

from tests.oracle.text.expressions import Expressions, Variable
from tests.oracle.text.kinds import (
    LONG,
    NAMED,
    NOTHING,
    VOID,
    Kind,
    Number,
    Ptr,
    Rows,
    Trouble,
    Vector,
    arithmetic,
    base,
    convert,
    count,
    known,
)
from tests.oracle.text.library import Valued
from tests.oracle.text.memory import Block, Pointer, Team, variable
from tests.oracle.text.reading import Unit


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a run: the entry's status and arrays, or what is wrong."""

    status: int
    arrays: Mapping[str, np.ndarray[Any, Any]]
    trouble: str = ""


class _Leave(Exception):
    """A jump: `break`, `continue`, `return` with its value, or `goto` with its label."""

    def __init__(self, way: str, value: Any = None) -> None:
        super().__init__(way)
        self.way = way
        self.value = value


_CLAUSE = re.compile(r"reduction\(([^:)]+) : ([^)]+)\)")
_KNOWN = re.compile(
    r"\b(omp|parallel|for|simd|nowait|barrier|schedule\([^)]*\)|collapse\(\d+\)"
    r"|reduction\([^)]*\)|if \(.*\))"
)
_START: dict[str, Any] = {"+": 0, "*": 1, "&": -1, "|": 0, "^": 0, "&&": 1, "||": 0}


class Machine(Expressions):
    """Runs the functions of a file."""

    def run(self, name: str, args: list[Valued]) -> Valued:
        """Return what a function of the file returns."""
        function = self.unit.functions[name]
        kind = self.kind_of(function.decl.type.type)
        params = function.decl.type.args
        frame: dict[str, Variable] = {}
        named = [decl for decl in params.params if decl.name] if params else []  # `void` has none
        for decl, (given, value) in zip(named, args, strict=True):
            to = self.kind_of(decl)
            frame[decl.name] = self._made(decl.name, to, self.converted(given, value, to))
        before, self.scopes = self.scopes, [frame]
        try:
            self._block(function.body)
            result: Any = None
        except _Leave as leave:
            if leave.way != "return":
                raise
            result = leave.value
        finally:
            self.scopes = before
        if kind is VOID or result is None:
            return VOID, None
        return kind, self.converted(*result, kind)

    def _made(self, name: str, kind: Kind, value: Any = NOTHING) -> Variable:
        inner = kind if isinstance(kind, Ptr) else base(kind)
        block = variable(name, inner, count(kind))
        if value is not NOTHING:
            block.cells = list(value) if isinstance(kind, Vector | Rows) else [value]
        return Variable(kind, block)

    # -- statements -------------------------------------------------------------------------

    def _block(self, node: Any) -> None:
        self.scopes.append({})
        try:
            self._items(node.block_items or [])
        finally:
            self.scopes.pop()

    def _items(self, items: list[Any]) -> None:
        number = 0
        while number < len(items):
            item = items[number]
            try:
                if isinstance(item, c_ast.Pragma):
                    number += self._pragma(item.string, items[number + 1 : number + 2])
                else:
                    self._statement(item)
            except _Leave as leave:
                places = [
                    n for n, i in enumerate(items)
                    if leave.way == "goto" and isinstance(i, c_ast.Label) and i.name == leave.value
                ]  # fmt: skip
                if not places:
                    raise
                number = places[0]
                continue
            number += 1

    def _statement(self, node: Any) -> None:  # noqa: C901 - one case per node
        match node:
            case c_ast.Compound():
                self._block(node)
            case c_ast.DeclList():
                for decl in node.decls:
                    self._declare(decl)
            case c_ast.Decl():
                self._declare(node)
            case c_ast.If():
                arm = node.iftrue if self.truth(node.cond) else node.iffalse
                if arm is not None:
                    self._inside([arm])
            case c_ast.For():
                self._for(node)
            case c_ast.While():
                while self.truth(node.cond) and self._goes_on(node.stmt):
                    pass
            case c_ast.Return():
                raise _Leave("return", None if node.expr is None else self.value(node.expr))
            case c_ast.Break():
                raise _Leave("break")
            case c_ast.Continue():
                raise _Leave("continue")
            case c_ast.Goto():
                raise _Leave("goto", node.name)
            case c_ast.Label():
                self._statement(node.stmt)
            case c_ast.EmptyStatement():
                pass
            case c_ast.Cast(to_type=to) if self.kind_of(to) == VOID:
                pass
            case _:
                self.value(node)

    def _inside(self, items: list[Any]) -> None:
        self.scopes.append({})
        try:
            self._items(items)
        finally:
            self.scopes.pop()

    def _declare(self, node: Any) -> None:
        kind = self.kind_of(node)
        found: Any = NOTHING
        if isinstance(node.init, c_ast.InitList):
            found = self.listed(node.init, kind)
        elif node.init is not None:
            found = self.converted(*self.value(node.init), kind)
        self.scopes[-1][node.name] = self._made(node.name, kind, found)

    def _goes_on(self, body: Any) -> bool:
        """Run a loop's body; tell whether the loop goes on."""
        try:
            self._inside([body])
        except _Leave as leave:
            if leave.way in ("return", "goto"):
                raise
            return leave.way == "continue"
        return True

    def _for(self, node: Any) -> None:
        self.scopes.append({})
        try:
            if node.init is not None:
                self._statement(node.init)
            while node.cond is None or self.truth(node.cond):
                if not self._goes_on(node.stmt):
                    break
                if node.next is not None:
                    self.value(node.next)
        finally:
            self.scopes.pop()

    # -- OpenMP -----------------------------------------------------------------------------

    def _pragma(self, text: str, following: list[Any]) -> int:
        """Run what a pragma is about; return how many items that was."""
        rest = _KNOWN.sub("", text).strip()
        if rest:
            raise NotImplementedError(f"#pragma {text}")
        directive = _words(text)[1:]
        if directive[0] == "barrier":
            self._barrier()
            return 0
        (node,) = following
        team = Team(text)
        if "for" in directive or "simd" in directive:
            if "for" in directive and "parallel" not in directive:
                self._shared(node, text, is_open="nowait" in directive)
            else:
                self._at_once(node, text, team)
            return 1
        self.memory.teams.append(team)  # a region: its loops share their iterations out
        try:
            self._statement(node)
        finally:
            self.memory.teams.pop()
        return 1

    def _barrier(self) -> None:
        if not self.memory.teams or self.memory.teams[-1].who is not None:
            raise Trouble("a barrier that not all threads come to")
        self.memory.teams[-1].touched.clear()

    def _shared(self, node: Any, text: str, *, is_open: bool) -> None:
        """Run a loop whose iterations the threads of a region share."""
        team = self.memory.teams.pop()
        if team.who is not None:
            raise Trouble("a shared loop that not all threads come to")
        try:
            self._at_once(node, text, team)
        finally:
            self.memory.teams.append(team)
        team.who = None
        if not is_open:
            team.touched.clear()

    def _at_once(self, node: Any, text: str, team: Team) -> None:
        """Run all iterations as though at the same time."""
        joins = [
            (op.strip(), name.strip())
            for op, names in _CLAUSE.findall(text)
            for name in names.split(",")
        ]
        collapsed = _loops(text) - 1
        (decl,) = node.init.decls
        kind = self.kind_of(decl)
        self.scopes.append({})
        self._declare(decl)
        steps = []
        while self.truth(node.cond):
            steps.append(self.value(c_ast.ID(decl.name))[1])
            self.value(node.next)
        self.scopes.pop()
        parts: list[dict[str, Variable]] = []
        team.loops += 1
        self.memory.teams.append(team)
        try:
            for step in reversed(steps):
                team.who = f"{decl.name}={step} of loop {team.loops}"
                own = {name: self._private(op, name) for op, name in joins}
                self.scopes.append({**own, decl.name: self._made(decl.name, kind, step)})
                try:
                    if collapsed:
                        self._at_once(_only(node.stmt), _with_loops(text, collapsed), Team(text))
                    elif not self._goes_on(node.stmt):
                        raise Trouble("a parallel loop is left by break")
                finally:
                    self.scopes.pop()
                parts.append(own)
        finally:
            self.memory.teams.pop()
        for own in parts:
            for op, name in joins:
                self._join(op, name, own[name])

    def _private(self, op: str, name: str) -> Variable:
        found = self.variable(name)
        assert found is not None, name
        kind = found.kind
        if op in self.unit.declared:
            start: Any = self.unit.declared[op].start
        elif op in ("min", "max"):
            assert isinstance(kind, Number)
            ends = np.iinfo(f"{kind.family}{kind.bits}")
            start = int(ends.max if op == "min" else ends.min)
        else:
            start = _START[op]
        return self._made(name, kind, convert(start, kind))

    def _join(self, op: str, name: str, part: Variable) -> None:
        whole = self.place(c_ast.ID(name))
        kind, before = self.load(whole)
        (own,) = part.block.cells
        if op in self.unit.declared:
            result = self.run(self.unit.declared[op].join, [(kind, before), (kind, own)])
            self.store(whole, *result)
            return
        assert isinstance(kind, Number)
        if op in ("min", "max"):
            self.store(whole, kind, (min if op == "min" else max)(before, own))
        else:
            self.store(whole, kind, arithmetic(op, before, own, kind))


_TOGETHER = re.compile(r"\bcollapse\((\d+)\)")


def _loops(text: str) -> int:
    """Return how many nested loops a pragma is about."""
    found = _TOGETHER.search(text)
    return int(found[1]) if found else 1


def _with_loops(text: str, count: int) -> str:
    return _TOGETHER.sub(f"collapse({count})", text)


def _only(body: Any) -> Any:
    """Return the one statement of a body, as `collapse` asks for."""
    items = body.block_items if isinstance(body, c_ast.Compound) else [body]
    if len(items) != 1 or not isinstance(items[0], c_ast.For):
        raise Trouble("loops that are shared out together have something between them")
    return items[0]


def _words(text: str) -> list[str]:
    """Return the words of a pragma that are not in parentheses."""
    while (shorter := re.sub(r"\([^()]*\)", " ", text)) != text:
        text = shorter
    return text.split()


def run_text(
    unit: Unit,
    entry: str,
    arguments: Sequence[tuple[str, Any]],
) -> Outcome:
    """Run a function; arrays in memory order become what it left in them.

    An array is given with its flat elements and the position of its first, `(values, offset)`.
    """
    machine = Machine(unit)
    args: list[Valued] = []
    blocks: dict[str, tuple[Block, Any]] = {}
    for name, value in arguments:
        if isinstance(value, tuple):
            flat, offset = value
            kind = _kind(flat.dtype)
            block = Block(name, kind, [convert(_plain(v), kind) for v in flat])
            blocks[name] = (block, flat)
            args.append((Ptr(kind), Pointer(block, offset)))
        elif isinstance(value, int):
            args.append((LONG, value))
        else:
            args.append((_kind(value.dtype), _plain(value)))
    try:
        _, status = machine.run(entry, args)
        for block, _ in blocks.values():
            known(*block.cells)
    except Trouble as trouble:
        return Outcome(-1, {}, str(trouble))
    arrays = {name: np.array(block.cells, flat.dtype) for name, (block, flat) in blocks.items()}
    return Outcome(status, arrays)


def _plain(value: Any) -> Any:
    return int(value) if value.dtype.kind in "iub" else value


def _kind(dtype: np.dtype[Any]) -> Number:
    match dtype.kind:
        case "b":
            kind = NAMED["_Bool"]
        case "i" | "u":
            kind = NAMED[f"{dtype.name}_t"]
        case "f":
            kind = NAMED["float" if dtype.itemsize == 4 else "double"]
        case _:
            kind = Number("complex", 8 * dtype.itemsize)
    assert isinstance(kind, Number)
    return kind
