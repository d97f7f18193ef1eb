"""Print parallel scans `a[i] = a[i - 1] op x` of a block, or of many blocks.

In: a SCAN loop.  Out: one tile of terms after the other: each warp scans its own by shuffles, the
first one the last values of all warps, and each thread adds the prefix of its predecessors.
A scan that is all of a kernel without a grid takes two passes: the sums of parts, then the parts.
"""

from __future__ import annotations

import re

from polyopt.dataclass import dataclass, replace
from polyopt.emit.c_statements import Branch, Code, Compound, Line, Pragma
from polyopt.emit.gpu.bound_tests import ranges_inside
from polyopt.emit.gpu.declarations import KernelDeclarations
from polyopt.emit.gpu.expressions import KernelPrinter
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Binary, BinaryOp, Expr, Symbol, add, integer, mul, sub
from polyopt.ir.linear import normalize
from polyopt.ir.loops import For, Kernel, LoopKind, Scope
from polyopt.ir.scan import Scan, scan_of
from polyopt.ir.types import DType

THREADS = 256
"""Threads of a block that scans."""
WARP = 32
TILE = 1024
"""Terms that a block scans at once, at most."""
ITEMS = 8
"""Terms of a thread in a tile, at most."""
BLOCKS = 1024
"""Blocks that share one scan, at most."""

Lines = list[Code]


def lone_scan(kernel: Kernel) -> Scan | None:
    """Return the scan that a kernel without a grid is, and that many blocks share."""
    match kernel.body:
        case (For(kind=LoopKind.SCAN) as loop,) if not kernel.finish:
            return scan_of(loop)
        case _:
            return None


def part_length(scan: Scan) -> Expr:
    """Return how many terms each of the blocks has: whole tiles, but for the last block."""
    whole = Binary(BinaryOp.FLOORDIV, _rounded(scan, BLOCKS * TILE), integer(BLOCKS * TILE), _INT)
    return Binary(BinaryOp.MAX, integer(TILE), mul(integer(TILE), whole), _INT)


def part_count(scan: Scan) -> Expr:
    """Return how many blocks share a scan."""
    length = Binary(BinaryOp.MAX, integer(0), _length(scan), _INT)
    most = sub(add(length, part_length(scan)), integer(1))
    return Binary(BinaryOp.FLOORDIV, most, part_length(scan), _INT)


_INT = DType.INT64


def _closed(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"


def _length(scan: Scan) -> Expr:
    return normalize(sub(scan.loop.upper, scan.loop.lower))


def _rounded(scan: Scan, size: int) -> Expr:
    return normalize(add(_length(scan), integer(size - 1)))


@dataclass(frozen=True, slots=True)
class ScanPrinter:
    """Prints a scan by the `threads` of a block."""

    scan: Scan
    printer: KernelPrinter
    declarations: KernelDeclarations
    threads: int
    scope: frozenset[str]

    def whole(self) -> Lines:
        """Return the code of a block that makes all of a scan."""
        first, last, carry = self.names("first", "last", "carry")
        lines = [
            Line(f"const {self.index} {first} = {self.text(self.scan.loop.lower)};"),
            Line(f"const {self.index} {last} = {self.text(self.scan.loop.upper)};"),
            *self.started(carry, f"{first} < {last}"),
        ]
        return [*lines, *self.inside(first, last, carry).tiles(first, last, carry)]

    def sums(self, memory: str) -> Lines:
        """Return the code of a block that adds up a part and leaves the sum in `memory`."""
        first, last, mine = self.names("first", "last", "own")
        here = self.inside(first, last, mine)
        name, memory = self.name, f"{memory}[{self.declarations.dialect.blocks[0]}]"
        update = self.joined(mine, mine, here.term(name))
        head = f"for ({self.index} {name} = {first} + {self.declarations.thread}; {name} < {last}; "
        whole = Line(f"{memory} = {mine};")
        return [
            *self.part(first, last),
            Line(f"{self.kind} {mine} = {self.neutral};"),
            Compound(f"{head}{name} += {self.threads})", [Line(update)]),
            *here.together(mine, is_told=False),
            Branch(f"{self.declarations.thread} == 0", [whole], []),
        ]

    def parts(self, memory: str) -> Lines:
        """Return the code of a block that scans a part, after the sums of those before it."""
        first, last, carry, mine = self.names("first", "last", "carry", "own")
        here = self.inside(first, last, carry, mine)
        (count,) = here.names("k")
        head = f"for (int {count} = {self.declarations.thread}; {count} < (int)"
        head += f"{self.declarations.dialect.blocks[0]}; "
        update = self.joined(mine, mine, f"{memory}[{count}]")
        return [
            *self.part(first, last),
            Line(f"{self.kind} {mine} = {self.neutral};"),
            Compound(f"{head}{count} += {self.threads})", [Line(update)]),
            *here.together(mine, is_told=True),
            *self.started(carry, f"{first} < {last}"),
            Line(self.joined(carry, carry, self.totals(0))),
            self.wait,
            *here.tiles(first, last, carry),
        ]

    # -- parts of the text

    def part(self, first: str, last: str) -> Lines:
        """Return the ends of a block's part."""
        (length,) = self.inside(first, last).names("length")
        begin = f"{_closed(self.text(self.scan.loop.lower))} + {length} * {self.block}"
        end, least = _closed(self.text(self.scan.loop.upper)), f"{first} + {length}"
        return [
            Line(f"const {self.index} {length} = {self.text(part_length(self.scan))};"),
            Line(f"const {self.index} {first} = {begin};"),
            Line(f"const {self.index} {last} = {least} < {end} ? {least} : {end};"),
        ]

    def started(self, carry: str, condition: str) -> Lines:
        """Return the declaration of what is before the first term."""
        start = self.printer.text(self.scan.start)
        return [
            Line(f"{self.kind} {carry} = {self.neutral};"),
            Branch(condition, [Line(f"{carry} = {start};")], []),
        ]

    def tiles(self, first: str, last: str, carry: str) -> Lines:
        """Return the loop over tiles: their terms scanned, after `carry`."""
        wishes = (f"{self.name}_tile", "terms" if self.items > 1 else "term", "k")
        begin, mine, count = self.names(*wishes)
        here = self.inside(begin, mine, count)
        body = here.by_shuffles(begin, last, carry, mine, count)
        if not self.declarations.dialect.shuffle:
            body = here.by_exchange(begin, last, carry, mine)
        size = self.threads * self.items
        head = f"for ({self.index} {begin} = {first}; {begin} < {last}; {begin} += {size})"
        return [Compound(head, body)]

    def by_shuffles(self, begin: str, last: str, carry: str, mine: str, count: str) -> Lines:
        """Return a tile by shuffles: neighbouring threads have neighbouring terms."""
        element = f"{mine}[{count}]"
        warps, thread = self.threads // WARP, self.declarations.thread
        name = self.name
        place = f"{self.threads} * {count} + {thread}"
        warp = self.sum_of(f"{warps} * {count}" if warps > 1 else count, f"{thread} / {WARP}")
        here = Line(f"const {self.index} {name} = {begin} + {place};")
        every = f"for (int {count} = 0; {count} < {self.items}; {count}++)"
        declarations = self
        left = Line(f"{self.totals(warp)} = {element};")
        terms = [
            here,
            Line(f"{element} = {self.neutral};"),
            Branch(f"{name} < {last}", [Line(f"{element} = {declarations.term(name)};")], []),
            *declarations.up(element, WARP),
            Branch(f"{thread} % {WARP} == {WARP - 1}", [left], []),
        ]
        before, group = declarations.names("before", "group")
        added = self.joined(before, before, self.totals(f"{group} - 1"))
        known = [
            Line(f"const int {group} = {warp};"),
            Line(f"{self.kind} {before} = {carry};"),
            Branch(f"{group} > 0", [Line(added)], []),
            Line(declarations.stored(name, before, element)),
        ]
        return [
            Line(f"{self.kind} {mine}[{self.items}];"),
            Pragma("unroll"),
            Compound(every, terms),
            self.wait,
            Branch(f"{thread} < {WARP}", self.of_warps(), []),
            self.wait,
            Pragma("unroll"),
            Compound(every, [here, Branch(f"{name} < {last}", known, [])]),
            Line(self.joined(carry, carry, self.totals(self.groups - 1))),
            self.wait,
        ]

    def of_warps(self) -> Lines:
        """Return what the first warp does: a scan of what all warps have left."""
        (mine,) = self.names("total")
        inside, thread = self.inside(mine), self.declarations.thread
        start = self.totals(thread)
        store = Line(f"{self.totals(thread)} = {mine};")
        if self.groups < WARP:
            start = f"{thread} < {self.groups} ? {start} : {self.neutral}"
        ends: Lines = [store]
        if self.groups < WARP:
            ends = [Branch(f"{thread} < {self.groups}", [store], [])]
        return [Line(f"{self.kind} {mine} = {start};"), *inside.up(mine, self.groups), *ends]

    def up(self, value: str, width: int) -> Lines:
        """Return a scan of what the threads of a warp have, `width` of them."""
        by, other = self.names("by", "other")
        text = self.declarations.dialect.shuffle_up.format(value=value, by=by)
        joined = self.joined(value, other, value)
        steps: Lines = [
            Line(f"const {self.kind} {other} = {text};"),
            Branch(f"{self.declarations.thread} % {WARP} >= {by}", [Line(joined)], []),
        ]
        head = f"for (int {by} = 1; {by} < {width}; {by} *= 2)"
        return [Pragma("unroll"), Compound(head, steps)]

    def by_exchange(self, begin: str, last: str, carry: str, mine: str) -> Lines:
        """Return a tile through shared memory: a term for each thread."""
        name, (by, other) = self.name, self.names("by", "other")
        thread, place = self.declarations.thread, self.totals(self.declarations.thread)
        declarations = self.inside(by, other)
        reads = Line(f"{other} = {self.totals(f'{thread} - {by}')};")
        steps: Lines = [
            Line(f"{self.kind} {other} = {self.neutral};"),
            Branch(f"{thread} >= {by}", [reads], []),
            self.wait,
            Line(self.joined(mine, other, mine)),
            Line(f"{place} = {mine};"),
            self.wait,
        ]
        store = Line(declarations.stored(name, carry, mine))
        return [
            Line(f"const {self.index} {name} = {begin} + {thread};"),
            Line(f"{self.kind} {mine} = {self.neutral};"),
            Branch(f"{name} < {last}", [Line(f"{mine} = {declarations.term(name)};")], []),
            Line(f"{place} = {mine};"),
            self.wait,
            Compound(f"for (int {by} = 1; {by} < {self.threads}; {by} *= 2)", steps),
            Branch(f"{name} < {last}", [store], []),
            Line(self.joined(carry, carry, self.totals(self.threads - 1))),
            self.wait,
        ]

    def together(self, mine: str, *, is_told: bool) -> Lines:
        """Return a sum of what all threads have, which is `mine` of the first thread.

        If it is told, all threads have it as the first of the totals.
        """
        if self.declarations.dialect.shuffle:
            return self._by_warps(mine, is_told)
        (by,) = self.names("by")
        thread, place = self.declarations.thread, self.totals(self.declarations.thread)
        other = self.totals(f"{thread} + {by}")
        step = Branch(f"{thread} < {by}", [Line(self.joined(place, place, other))], [])
        head = f"for (int {by} = {self.threads // 2}; {by} > 0; {by} /= 2)"
        last = Line(f"{mine} = {self.totals(0)};")
        store = Line(f"{place} = {mine};")
        return [store, self.wait, Compound(head, [step, self.wait]), last]

    def _by_warps(self, mine: str, is_told: bool) -> Lines:
        thread, warps = self.declarations.thread, self.threads // WARP
        store = Line(f"{self.totals(f'{thread} / {WARP}')} = {mine};")
        start = self.totals(thread)
        if warps < WARP:
            start = f"{thread} < {warps} ? {start} : {self.neutral}"
        whole = Branch(f"{thread} == 0", [Line(f"{self.totals(0)} = {mine};")], [])
        first = [Line(f"{mine} = {start};"), *self.down(mine, warps)]
        return [
            *self.down(mine, WARP),
            Branch(f"{thread} % {WARP} == 0", [store], []),
            self.wait,
            Branch(f"{thread} < {WARP}", [*first, *([whole] if is_told else [])], []),
            *([self.wait] if is_told else []),
        ]

    def down(self, value: str, width: int) -> Lines:
        """Return what leaves the sum of `width` threads with the first."""
        at_once = self.declarations.dialect.warp.get((self.scan.op, self.scan.dtype))
        if at_once is not None and width == WARP:
            return [Line(f"{value} = {at_once.call(value, self.scan.dtype)};")]
        by, other = self.names("by", "other")
        text = self.declarations.dialect.shuffle.format(value=value, by=by, width=WARP)
        steps: Lines = [
            Line(f"const {self.kind} {other} = {text};"),
            Line(self.joined(value, value, other)),
        ]
        head = f"for (int {by} = {width // 2}; {by} > 0; {by} /= 2)"
        return [Pragma("unroll"), Compound(head, steps)]

    # -- words

    @property
    def kind(self) -> str:
        return self.declarations.dialect.type_name(self.scan.dtype)

    @property
    def name(self) -> str:
        return self.printer.names.get(self.scan.loop.iter, self.scan.loop.iter)

    @property
    def index(self) -> str:
        return self.declarations.dialect.index

    @property
    def neutral(self) -> str:
        return self.printer.text(self.scan.neutral)

    @property
    def block(self) -> str:
        return f"({self.index}){self.declarations.dialect.blocks[0]}"

    @property
    def items(self) -> int:
        """Terms of a thread in a tile."""
        return min(ITEMS, TILE // self.threads) if self.declarations.dialect.shuffle else 1

    @property
    def groups(self) -> int:
        """Warps of terms in a tile."""
        return self.items * self.threads // WARP

    @property
    def wait(self) -> Code:
        return Line(self.declarations.dialect.barrier(Scope.BLOCK, orders_arrays=False))

    def totals(self, place: object) -> str:
        """Return an element of what the block's threads leave for one another."""
        key = "total", self.scan.dtype
        if key not in self.declarations.passed:
            self.declarations.passed[key] = self.declarations.fresh("totals")
        size = WARP if self.declarations.dialect.shuffle else self.threads
        array = Array(self.declarations.passed[key], self.scan.dtype, (integer(size),), Role.TEMP)
        return f"{self.declarations.share(array, array.name)}[{place}]"

    def names(self, *wishes: str) -> list[str]:
        return [self.declarations.local(wish, self.scope) for wish in wishes]

    def inside(self, *names: str) -> ScanPrinter:
        """Return the printer of a block with `names` around it."""
        return replace(self, scope=self.scope | {*names})

    def text(self, expr: Expr) -> str:
        """Return the text of a bound."""
        return replace(self.printer, is_index=True).text(expr)

    def at(self, name: str) -> KernelPrinter:
        """Return the printer inside the loop, whose iterator has the name."""
        loop, printer = self.scan.loop, self.printer
        offsets = {other: e for other, e in printer.offsets.items() if other != loop.iter}
        return replace(
            printer,
            names={**printer.names, loop.iter: name},
            ranges=ranges_inside(printer.ranges, loop),
            ints=printer.ints - {loop.iter},
            offsets=offsets,
        )

    def term(self, name: str) -> str:
        return self.at(name).text(self.scan.term)

    def stored(self, name: str, before: str, value: str) -> str:
        """Return the assignment of an element."""
        printer, target = self.at(name), self.scan.target
        whole = self.operation(before, value)
        return f"{printer.element(target.array, target.index)} = {printer.text(whole)};"

    def operation(self, one: str, two: str) -> Expr:
        dtype = self.scan.dtype
        return Binary(self.scan.op, Symbol(one, dtype), Symbol(two, dtype), dtype)

    def joined(self, to: str, one: str, two: str) -> str:
        """Return the assignment of two values combined."""
        return f"{to} = {self.printer.text(self.operation(one, two))};"

    def sum_of(self, *terms: str) -> str:
        """Return the number of a warp's terms."""
        return " + ".join(terms) if self.threads > WARP else terms[0]
