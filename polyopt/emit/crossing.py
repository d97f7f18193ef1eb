"""Loops whose lanes go across rows of memory, as C: squares of registers are turned.

In: such a loop, its `Crossing`, what prints its body.  Out: a loop over squares, with a loop over
their steps inside, and a loop over the steps that are left.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from polyopt.dataclass import dataclass, replace
from polyopt.emit.blocks import Branch, Code, Line, Nest
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.exits import Block
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.nodes import expressions
from polyopt.emit.passes.rewriting import substituted
from polyopt.emit.passes.squares import (
    LANE,
    Crossing,
    Square,
    Written,
    along,
    in_lanes,
    target_along,
)
from polyopt.ir.expr import (
    Iter,
    VectorLoad,
    add,
    integer,
    normalize,
    sub,
    substitute,
    walk,
)
from polyopt.ir.loops import Assign, Body, For, Node, SetLocal

Lines = list[Code]
AHEAD = 4
"""Squares from the asking for a line to its use: rows are more than hardware follows by itself."""


@dataclass(frozen=True, slots=True)
class Printing:
    """Prints one loop; `body` prints statements, given further names, `own` finds names for them.

    Names of C are those of the frame, and of iterators that are made here.
    """

    loop: For
    crossing: Crossing
    printer: ExprPrinter
    body: Callable[[Body, dict[str, str]], Lines]
    own: Callable[[str], str]

    def loops(self, name: str, bounds: tuple[str, str], begins: list[str]) -> Code:
        """Return the loop, called `name` in C; `begins` declares what its bounds name."""
        lower, upper = bounds
        lanes = self.crossing.lanes
        whole = Nest(f"for (; {name} + {lanes} <= {upper}; {name} += {lanes})", self.square())
        rest = Nest(f"for (; {name} < {upper}; {name}++)", self.body(self.loop.body, {}))
        lines: Lines = [Line(f"int64_t {', '.join((f'{name} = {lower}', *begins))};")]
        if any(written.past for written in self.crossing.written):
            start = [line for written in self.crossing.written for line in self.started(written)]
            lines.append(Branch(f"{name} + {lanes} <= {upper}", [*start, whole], []))
        else:
            lines.append(whole)
        return Block([*lines, rest])

    def square(self) -> Lines:
        """Return what is done for each square: read and turned, computed, turned and written."""
        made = [line for square in self.crossing.squares for line in self.read(square)]
        names = [self.place(w.now.name, g) for w in self.crossing.written for g in self.groups]
        made += [Line(f"{self.vector} {name}[{self.crossing.lanes}];") for name in names]
        made.append(self.over(self.step, self.steps()))
        return made + [line for w in self.crossing.written for line in self.stored(w)]

    def read(self, square: Square) -> Lines:
        """Read a square row by row, and turn it."""
        value = along(square, self.loop, self.crossing)
        names = [self.place(square.symbol.name, group) for group in self.groups]
        lines: Lines = [Line(f"{self.vector} {n}[{self.crossing.lanes}];") for n in names]
        inner: Lines = []
        for group, name in enumerate(names):
            whole = SetLocal(square.symbol.name, self.crossing.dtype, self.crossing.lanes, value)
            row = add(Iter(self.lane), integer(group * self.crossing.lanes))
            (node,) = substituted((whole,), {LANE: row})
            inner += self.asked_for(node, falls=square.falls)
            inner += self.body((node,), {square.symbol.name: f"{name}[{self.lane}]"})
        lines.append(self.over(self.lane, inner))
        return [*lines, *(Line(f"{self.turn}({name});") for name in names)]

    def asked_for(self, node: Node, *, falls: bool) -> Lines:
        """Ask for what a row needs some squares later, once for each array."""
        parts = (part for value in expressions(node) for part in walk(value))
        rows = {part.array: part for part in parts if isinstance(part, VectorLoad)}
        places = (self.later(row, falls=falls) for row in rows.values())
        return [Line(f"__builtin_prefetch({place});") for place in places]

    def later(self, row: VectorLoad, *, falls: bool) -> str:
        """Return the address of a row some squares later."""
        away = AHEAD * self.crossing.lanes
        *outer, last = row.index
        index = (*outer, normalize(add(last, integer(-away if falls else away))))
        return self.printer.address(row.array, index)

    def steps(self) -> Lines:
        """Return the statements of one step of a square."""
        later = {self.loop.iter: add(Iter(self.loop.iter), Iter(self.step))}
        lines: Lines = []
        for node in self.crossing.body:
            if not isinstance(node, For):
                lines += self.body(substituted((node,), later), {})
                continue
            for statement in node.body:
                assert isinstance(statement, Assign | SetLocal)
                for group in self.groups:
                    made = in_lanes(statement, self.crossing, group)
                    names = self.names(group)
                    (line,) = self.body(substituted((made,), later), names)
                    lines.append(line)
        for written in self.crossing.written:
            lines += [line for group in self.groups for line in self.moved(written, group)]
        return lines

    def names(self, group: int) -> dict[str, str]:
        """Return what stands for the locals of one register of rows in a step."""
        found: dict[str, str] = {}
        for square in self.crossing.squares:
            name = self.place(square.symbol.name, group)
            found[square.symbol.name] = f"{name}[{self.at(falls=square.falls)}]"
        for written in self.crossing.written:
            name = self.place(written.now.name, group)
            found[written.now.name] = f"{name}[{self.at(falls=written.falls)}]"
            found |= {past.name: self.place(past.name, group) for past in written.past}
        return found

    def at(self, *, falls: bool) -> str:
        """Return the place of a step in a square."""
        return f"{self.crossing.lanes - 1} - {self.step}" if falls else self.step

    def moved(self, written: Written, group: int) -> Lines:
        """Make what was computed what the next step takes."""
        names = self.names(group)
        chain = (*reversed(written.past), written.now)
        pairs = pairwise(names[symbol.name] for symbol in chain)
        return [Line(f"{old} = {new};") for old, new in pairs]

    def stored(self, written: Written) -> Lines:
        """Turn what a square made, and write it row by row."""
        target = target_along(written, self.loop, self.crossing)
        names = [self.place(written.now.name, group) for group in self.groups]
        inner: Lines = []
        for group, name in enumerate(names):
            row = add(Iter(self.lane), integer(group * self.crossing.lanes))
            index = tuple(normalize(substitute(i, {LANE: row})) for i in target.index)
            place = self.printer.address(target.array, index)
            later = self.later(replace(target, index=index), falls=written.falls)
            inner.append(Line(f"__builtin_prefetch({later}, 1);"))
            store = self.helper(HelperKind.STORE)
            inner.append(Line(f"{store}({place}, {name}[{self.lane}]);"))
        turns = [Line(f"{self.turn}({name});") for name in names]
        return [*turns, self.over(self.lane, inner)]

    def started(self, written: Written) -> Lines:
        """Load what the first steps take of those before."""
        lines: Lines = []
        load, ctype = self.helper(HelperKind.LOAD), self.crossing.dtype.ctype
        for number, past in enumerate(written.past, start=1):
            before = {self.loop.iter: sub(Iter(self.loop.iter), integer(number))}
            values = {**before, LANE: Iter(self.lane)}
            index = tuple(normalize(substitute(i, values)) for i in written.target.index)
            element = self.printer.element(written.target.array, index)
            first = self.own(f"{past.name.replace('.', '_')}_first")
            rows = self.crossing.rows
            lines.append(Line(f"{ctype} {first}[{rows}];"))
            head = f"for (int64_t {self.lane} = 0; {self.lane} < {rows}; {self.lane}++)"
            lines.append(Nest(head, [Line(f"{first}[{self.lane}] = {element};")]))
            for group in self.groups:
                away = f" + {group * self.crossing.lanes}" if group else ""
                name = self.place(past.name, group)
                lines.append(Line(f"{self.vector} {name} = {load}({first}{away});"))
        return lines

    def over(self, name: str, body: Lines) -> Code:
        """Return a loop over the rows or the steps of a square."""
        head = f"for (int64_t {name} = 0; {name} < {self.crossing.lanes}; {name}++)"
        return Nest(head, body)

    def place(self, name: str, group: int) -> str:
        """Return the C name of a local for one register of rows."""
        return self.own(f"{name.replace('.', '_')}_{group}")

    def helper(self, kind: HelperKind) -> str:
        return self.printer.helper(Helper(kind, self.crossing.dtype, self.crossing.lanes))

    @property
    def groups(self) -> range:
        return self.crossing.groups

    @property
    def vector(self) -> str:
        return self.helper(HelperKind.VECTOR)

    @property
    def turn(self) -> str:
        return self.helper(HelperKind.TURN)

    @property
    def lane(self) -> str:
        return self.own("lane")

    @property
    def step(self) -> str:
        return self.own("step")
