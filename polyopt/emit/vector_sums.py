"""Print loops of sums on registers: each sum in several vectors, so that additions overlap.

In: the emitter of a VECTOR loop with `lanes` and reductions.  Out: code trees.
Compilers give a sum in lanes one register, and each addition waits for the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.dataclass import replace
from polyopt.emit.c_statements import Block, Branch, Code, Compound, Line
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.lanes import sums_in_vectors
from polyopt.emit.passes.rewriting import substituted
from polyopt.ir.expr import Iter, Symbol, add, integer
from polyopt.ir.loops import Body, Declare, For, vectors_of_sums

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter


def vector_sums(emitter: BodyEmitter, loop: For) -> list[Code]:
    """Print a loop of sums: several vectors at a time, one at a time, a part of one.

    `ir.run_loops` runs such a loop in the same order.
    """
    width, count = loop.lanes, vectors_of_sums(loop)
    name = emitter.name(loop.iter)
    body = sums_in_vectors(loop, emitter.frame.rows)
    begins: list[str] = []
    lower = emitter.bound(loop.lower, f"{name}_lo", begins)
    upper = emitter.bound(loop.upper, f"{name}_hi", begins)
    low, high = emitter.printer.text(lower), emitter.printer.text(upper)
    begins.append(f"{name} = {low}")
    sums = [symbol for _, symbol in loop.reductions]
    partial = {
        symbol.name: [emitter.own(f"{emitter.name(symbol.name)}_v{k}") for k in range(count)]
        for symbol in sums
    }
    lines: list[Code] = [Line(f"int64_t {', '.join(begins)};")]
    for symbol in sums:
        vector = emitter.printer.helper(Helper(HelperKind.VECTOR, symbol.dtype, width))
        zeros = ", ".join(f"{one} = {{0}}" for one in partial[symbol.name])
        lines.append(Line(f"{vector} {zeros};"))

    def step(printing: BodyEmitter, number: int) -> list[Code]:
        """Return the statements on one vector, so many vectors behind the iterator."""
        names = {old: new[number] for old, new in partial.items()}
        here = add(Iter(loop.iter), integer(number * width))
        moved: Body = substituted(body, {loop.iter: here}) if number else body
        code = printing.body_with(moved, names)
        declares = any(isinstance(node, Declare) for node in body)
        return [Block(code)] if declares else code

    several = f"for (; {name} + {count * width} <= {high}; {name} += {count * width})"
    single = f"for (; {name} + {width} <= {high}; {name} += {width})"
    lines.append(Compound(several, [code for k in range(count) for code in step(emitter, k)]))
    lines.append(Compound(single, step(emitter, 0)))
    rest = emitter.own(f"{name}_rest")
    ends = replace(emitter, printer=replace(emitter.printer, part=("0", rest)))
    kept: list[Code] = [Line(f"const int64_t {rest} = {high} - {name};")]
    joined: list[Code] = []
    for symbol in sums:
        kept_as = emitter.own(f"{emitter.name(symbol.name)}_before")
        first = partial[symbol.name][0]
        vector = emitter.printer.helper(Helper(HelperKind.VECTOR, symbol.dtype, width))
        until = emitter.printer.helper(Helper(HelperKind.UNTIL, symbol.dtype, width))
        kept.append(Line(f"const {vector} {kept_as} = {first};"))
        joined.append(Line(f"{first} = {until}({first}, {kept_as}, {rest});"))
    lines.append(Branch(f"{name} < {high}", [*kept, *step(ends, 0), *joined], []))
    totals = (_total(emitter, symbol, width, partial[symbol.name]) for symbol in sums)
    return [Block([*lines, *totals])]


def _total(emitter: BodyEmitter, symbol: Symbol, width: int, vectors: list[str]) -> Code:
    """Add the vectors of a sum in pairs, then its lanes."""
    total = emitter.printer.helper(Helper(HelperKind.TOTAL, symbol.dtype, width))
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [f"({one} + {other})" for one, other in pairs]
    return Line(f"{emitter.name(symbol.name)} += {total}({vectors[0]});")
