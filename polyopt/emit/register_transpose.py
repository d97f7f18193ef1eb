"""Print row recurrences that are vectorized across rows, with in-register transposes.

In: such a loop, its `RowRecurrence`, a printer for its body.  Out: a loop over register tiles, with
a loop over the steps of a tile inside, and a remainder loop.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from polyopt.dataclass import dataclass, replace
from polyopt.emit.c_statements import Block, Branch, Code, Compound, Line
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.passes.rewriting import substituted
from polyopt.emit.passes.row_recurrences import (
    LANE,
    RowRecurrence,
    TransposedRead,
    TransposedWrite,
    in_lanes,
    row_target,
    row_vector,
)
from polyopt.emit.regions import expressions
from polyopt.ir.expr import Iter, VectorLoad, add, integer, sub, substitute, walk
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Body, For, Node, SetLocal

Lines = list[Code]
AHEAD = 4
"""The prefetch distance in tiles: hardware does not follow so many rows by itself."""


@dataclass(frozen=True, slots=True)
class TransposePrinter:
    """Prints one loop; `body` prints statements, given further names, `own` finds names for them.

    Names of C are those of the frame, and of iterators that are made here.
    """

    loop: For
    recurrence: RowRecurrence
    printer: ExprPrinter
    body: Callable[[Body, dict[str, str]], Lines]
    own: Callable[[str], str]

    def loops(self, name: str, bounds: tuple[str, str], begins: list[str]) -> Code:
        """Return the loop, called `name` in C; `begins` declares what its bounds name."""
        lower, upper = bounds
        lanes = self.recurrence.lanes
        whole = Compound(f"for (; {name} + {lanes} <= {upper}; {name} += {lanes})", self.tile())
        rest = Compound(f"for (; {name} < {upper}; {name}++)", self.body(self.loop.body, {}))
        lines: Lines = [Line(f"int64_t {', '.join((f'{name} = {lower}', *begins))};")]
        if any(write.past for write in self.recurrence.writes):
            start = [line for write in self.recurrence.writes for line in self.started(write)]
            lines.append(Branch(f"{name} + {lanes} <= {upper}", [*start, whole], []))
        else:
            lines.append(whole)
        return Block([*lines, rest])

    def tile(self) -> Lines:
        """Return the code of a tile: load and transpose, compute, transpose and store."""
        made = [line for read in self.recurrence.reads for line in self.read(read)]
        names = [self.place(w.now.name, g) for w in self.recurrence.writes for g in self.groups]
        made += [Line(f"{self.vector} {name}[{self.recurrence.lanes}];") for name in names]
        made.append(self.over(self.step, self.steps()))
        return made + [line for w in self.recurrence.writes for line in self.stored(w)]

    def read(self, read: TransposedRead) -> Lines:
        """Load a tile row by row, and transpose it."""
        value = row_vector(read, self.loop, self.recurrence)
        names = [self.place(read.symbol.name, group) for group in self.groups]
        lines: Lines = [Line(f"{self.vector} {n}[{self.recurrence.lanes}];") for n in names]
        inner: Lines = []
        for group, name in enumerate(names):
            whole = SetLocal(read.symbol.name, self.recurrence.dtype, self.recurrence.lanes, value)
            row = add(Iter(self.lane), integer(group * self.recurrence.lanes))
            (node,) = substituted((whole,), {LANE: row})
            inner += self.prefetched(node, descends=read.descends)
            inner += self.body((node,), {read.symbol.name: f"{name}[{self.lane}]"})
        lines.append(self.over(self.lane, inner))
        return [*lines, *(Line(f"{self.transpose}({name});") for name in names)]

    def prefetched(self, node: Node, *, descends: bool) -> Lines:
        """Prefetch the rows of later tiles, once for each array."""
        parts = (part for value in expressions(node) for part in walk(value))
        rows = {part.array: part for part in parts if isinstance(part, VectorLoad)}
        places = (self.later(row, descends=descends) for row in rows.values())
        return [Line(f"__builtin_prefetch({place});") for place in places]

    def later(self, row: VectorLoad, *, descends: bool) -> str:
        """Return the address of a row some tiles later."""
        away = AHEAD * self.recurrence.lanes
        *outer, last = row.index
        index = (*outer, normalize(add(last, integer(-away if descends else away))))
        return self.printer.address(row.array, index)

    def steps(self) -> Lines:
        """Return the statements of one step of a tile."""
        later = {self.loop.iter: add(Iter(self.loop.iter), Iter(self.step))}
        lines: Lines = []
        for node in self.recurrence.body:
            if not isinstance(node, For):
                lines += self.body(substituted((node,), later), {})
                continue
            for statement in node.body:
                assert isinstance(statement, Assign | SetLocal)
                for group in self.groups:
                    made = in_lanes(statement, self.recurrence, group)
                    names = self.names(group)
                    (line,) = self.body(substituted((made,), later), names)
                    lines.append(line)
        for write in self.recurrence.writes:
            lines += [line for group in self.groups for line in self.moved(write, group)]
        return lines

    def names(self, group: int) -> dict[str, str]:
        """Return the C texts of the locals of one register of rows in a step."""
        found: dict[str, str] = {}
        for read in self.recurrence.reads:
            name = self.place(read.symbol.name, group)
            found[read.symbol.name] = f"{name}[{self.at(descends=read.descends)}]"
        for write in self.recurrence.writes:
            name = self.place(write.now.name, group)
            found[write.now.name] = f"{name}[{self.at(descends=write.descends)}]"
            found |= {past.name: self.place(past.name, group) for past in write.past}
        return found

    def at(self, *, descends: bool) -> str:
        """Return the position of a step in a tile."""
        return f"{self.recurrence.lanes - 1} - {self.step}" if descends else self.step

    def moved(self, write: TransposedWrite, group: int) -> Lines:
        """Shift the values of earlier steps by one."""
        names = self.names(group)
        chain = (*reversed(write.past), write.now)
        pairs = pairwise(names[symbol.name] for symbol in chain)
        return [Line(f"{old} = {new};") for old, new in pairs]

    def stored(self, write: TransposedWrite) -> Lines:
        """Transpose the results of a tile, and store them row by row."""
        target = row_target(write, self.loop, self.recurrence)
        names = [self.place(write.now.name, group) for group in self.groups]
        inner: Lines = []
        for group, name in enumerate(names):
            row = add(Iter(self.lane), integer(group * self.recurrence.lanes))
            index = tuple(normalize(substitute(i, {LANE: row})) for i in target.index)
            place = self.printer.address(target.array, index)
            later = self.later(replace(target, index=index), descends=write.descends)
            inner.append(Line(f"__builtin_prefetch({later}, 1);"))
            store = self.helper(HelperKind.STORE)
            inner.append(Line(f"{store}({place}, {name}[{self.lane}]);"))
        turns = [Line(f"{self.transpose}({name});") for name in names]
        return [*turns, self.over(self.lane, inner)]

    def started(self, write: TransposedWrite) -> Lines:
        """Load the values of the steps before the first one."""
        lines: Lines = []
        load, ctype = self.helper(HelperKind.LOAD), self.recurrence.dtype.ctype
        for number, past in enumerate(write.past, start=1):
            before = {self.loop.iter: sub(Iter(self.loop.iter), integer(number))}
            values = {**before, LANE: Iter(self.lane)}
            index = tuple(normalize(substitute(i, values)) for i in write.target.index)
            element = self.printer.element(write.target.array, index)
            first = self.own(f"{past.name.replace('.', '_')}_first")
            rows = self.recurrence.rows
            lines.append(Line(f"{ctype} {first}[{rows}];"))
            head = f"for (int64_t {self.lane} = 0; {self.lane} < {rows}; {self.lane}++)"
            lines.append(Compound(head, [Line(f"{first}[{self.lane}] = {element};")]))
            for group in self.groups:
                away = f" + {group * self.recurrence.lanes}" if group else ""
                name = self.place(past.name, group)
                lines.append(Line(f"{self.vector} {name} = {load}({first}{away});"))
        return lines

    def over(self, name: str, body: Lines) -> Code:
        """Return a loop over the rows or the steps of a tile."""
        head = f"for (int64_t {name} = 0; {name} < {self.recurrence.lanes}; {name}++)"
        return Compound(head, body)

    def place(self, name: str, group: int) -> str:
        """Return the C name of a local for one register of rows."""
        return self.own(f"{name.replace('.', '_')}_{group}")

    def helper(self, kind: HelperKind) -> str:
        return self.printer.helper(Helper(kind, self.recurrence.dtype, self.recurrence.lanes))

    @property
    def groups(self) -> range:
        return self.recurrence.groups

    @property
    def vector(self) -> str:
        return self.helper(HelperKind.VECTOR)

    @property
    def transpose(self) -> str:
        return self.helper(HelperKind.TRANSPOSE)

    @property
    def lane(self) -> str:
        return self.own("lane")

    @property
    def step(self) -> str:
        return self.own("step")
