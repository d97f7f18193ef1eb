"""Print VECTOR loops on registers, from an aligned address on; their ends are partial vectors.

In: the emitter of the loop's body, the loop.  Out: code trees.
Reads of a row at neighbouring positions are shuffles of two registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass, replace
from polyopt.emit.c_statements import Block, Branch, Code, Compound, Line
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.helpers.vectors import has_lanes_form
from polyopt.emit.lanes import vectorized
from polyopt.emit.passes.rewriting import trip_count
from polyopt.emit.ranges import extent_of, long_row
from polyopt.emit.regions import expressions, written_arrays
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Load,
    VectorLoad,
    integer,
    operands,
    sub,
    substitute,
    walk,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Body, For
from polyopt.ir.nodes import all_nodes, own_expressions
from polyopt.ir.types import DType

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter


def vector_loop(emitter: BodyEmitter, loop: For) -> list[Code]:
    """Print a VECTOR loop on registers, from an aligned address on; its ends are partial."""
    width = loop.lanes
    name = emitter.name(loop.iter)
    body = vectorized(loop, width, emitter.frame.rows, choices=True)
    begins: list[str] = []
    lower = emitter.bound(loop.lower, f"{name}_lo", begins)
    upper = emitter.bound(loop.upper, f"{name}_hi", begins)
    longest = extent_of(loop)
    if longest is not None and longest.size <= width:
        if emitter.printer.ranges.is_less(loop.lower, loop.upper):
            return [Block(_one_vector(emitter, loop, body))]
        return [_strip(emitter, loop, body, (lower, upper), begins)]
    low, high = emitter.printer.text(lower), emitter.printer.text(upper)
    phase, streams = _starts(emitter, loop, body, lower)
    long = long_row(loop)
    if longest is not None and longest.size < long:
        phase = "0"  # no pass lets so short a row store past the caches
    elif trip_count(loop) is None:
        is_long = f"{high} >= {long}" if low == "0" else f"{high} - {low} >= {long}"
        phase = f"({is_long} ? {phase} : 0)"
        streams = {array: f"{is_long} && {told}" for array, told in streams.items()}
    begins.append(_start(name, low, phase))
    head = f"for (int64_t {', '.join(begins)}; {name} < {high}; {name} += {width})"
    part = (emitter.own(f"{name}_from"), emitter.own(f"{name}_to"))
    least, most = emitter.helper(HelperKind.MIN), emitter.helper(HelperKind.MAX)
    before = f"-{name}" if low == "0" else f"{low} - {name}"
    begin, end = f"{most}({before}, 0)", f"{least}({high} - {name}, {width})"
    bounds = [Line(f"const int64_t {part[0]} = {begin}, {part[1]} = {end};")]
    ends = replace(emitter, printer=replace(emitter.printer, part=part))
    whole = f"{name} >= {low} && {name} + {width} <= {high}"
    middle = replace(emitter, printer=replace(emitter.printer, streams=streams))
    more = f"for (; {name} + {width} <= {high}; {name} += {width})"
    back = Line(f"{name} -= {width};")
    if emitter.frame.edition.is_handed_over and not streams:
        sliding = _sliding(middle, loop, body, high, f"{part[0]} == 0 && ")
        if sliding:  # the few vectors around those in the middle need no form of their own
            return [Compound(head, [*bounds, *ends.body(body), *sliding])]
        if _has_lanes_form(body):
            return [Compound(head, [*bounds, *_once(emitter, name, whole, part, body)])]
    sliding = _sliding(middle, loop, body, high)
    ends = _without_lines(ends)
    full = [*middle.body(body), *sliding] if sliding else [Compound(more, middle.body(body)), back]
    return [Compound(head, [Branch(whole, full, [*bounds, *ends.body(body)])])]


def _without_lines(emitter: BodyEmitter) -> BodyEmitter:
    """Return the emitter of a second form of statements, whose source lines the first one told."""
    frame = emitter.frame
    return replace(emitter, frame=replace(frame, edition=replace(frame.edition, lines={})))


def _start(name: str, low: str, phase: str) -> str:
    """Return the initialization of the loop's variable."""
    if phase == "0":
        return f"{name} = {low}"
    return f"{name} = -{phase}" if low == "0" else f"{name} = {low} - {phase}"


def _starts(emitter: BodyEmitter, loop: For, body: Body, lower: Expr) -> tuple[str, dict[str, str]]:
    """Return how far the loop's first element is behind an aligned one.

    And conditions of nontemporal stores by array: they must be aligned alike.
    """
    targets: dict[str, list[Load | VectorLoad]] = {}
    first_of = {loop.iter: lower}
    for node in all_nodes(body):
        if isinstance(node, For):  # loops inside, which an address before them cannot name
            first_of[node.iter] = substitute(node.lower, first_of)
        if isinstance(node, Assign):
            targets.setdefault(node.target.array, []).append(node.target)
    told = {name: emitter.printer.text(symbol) for name, symbol in loop.streams}
    phases: dict[str, list[str]] = {}
    for array, rows in targets.items():
        for target in rows:
            start = tuple(normalize(substitute(i, first_of)) for i in target.index)
            phase = emitter.printer.helper(Helper(HelperKind.PHASE, target.dtype, loop.lanes))
            text = f"{phase}({emitter.printer.address(array, start)})"
            phases.setdefault(array, []).append(text)
    first = next(iter(told), next(iter(targets)))
    back = phases[first][0]
    streams = {}
    for name, text in told.items():
        others = [phase for phase in dict.fromkeys(phases[name]) if phase != back]
        streams[name] = " && ".join([text, *(f"{phase} == {back}" for phase in others)])
    return back, streams


def _sliding(
    emitter: BodyEmitter, loop: For, body: Body, high: str, condition: str = ""
) -> list[Code]:
    """Print the vectors in the middle of a loop, each element of a window loaded once.

    Loaded is what the vector after the next one loads in any case: it has to be a whole one.
    `condition`: whether the vector before is a whole one.
    """
    found = windows(body)
    if not found:
        return []
    name, width = emitter.name(loop.iter), loop.lanes
    kept: dict[VectorLoad, str] = {}
    starts: list[Code] = []
    loads: list[Code] = []
    moves: list[Code] = []
    for number, window in enumerate(found):
        here = window.here
        vector = emitter.printer.helper(Helper(HelperKind.VECTOR, here.dtype, width))
        between = emitter.printer.helper(Helper(HelperKind.BETWEEN, here.dtype, width))
        wishes = (f"{emitter.name(here.array)}_{number}{part}" for part in ("a", "b", "c"))
        before, now, after = map(emitter.own, wishes)
        later = emitter.printer.load(moved(here, width))
        if window.looks_back:
            starts.append(Line(f"{vector} {before} = {emitter.printer.load(here)};"))
            moves.append(Line(f"{before} = {now};"))
        starts.append(Line(f"{vector} {now} = {later};"))
        loads.append(Line(f"{vector} {after} = {later};"))
        moves.append(Line(f"{now} = {after};"))
        kept[here] = now
        for load, distance in window.others:
            pair = f"{now}, {after}, {distance}"
            if distance < 0:
                pair = f"{before}, {now}, {width + distance}"
            kept[load] = f"{between}({pair})"
    inner = replace(emitter, printer=replace(emitter.printer, held=kept))
    more = f"{name} + {2 * width} <= {high}"
    nest = Compound(
        f"for ({name} += {width}; {more}; {name} += {width})",
        [*loads, *inner.body(body), *moves],
    )
    back = Line(f"{name} -= {width};")
    return [Branch(f"{condition}{name} + {3 * width} <= {high}", [*starts, nest, back], [])]


def _one_vector(emitter: BodyEmitter, loop: For, body: Body) -> list[Code]:
    """Print a VECTOR loop that has an iteration, and all of them in one register."""
    name = emitter.name(loop.iter)
    first = f"const int64_t {name} = {emitter.printer.text(loop.lower)}"
    if trip_count(loop) == loop.lanes:
        return [Line(f"{first};"), *emitter.body(body)]
    ends = [sub(end, loop.lower) for end in operands(loop.upper, BinaryOp.MIN)]
    counts = [
        end if not linear(end).terms else sub(arm, Iter(loop.iter))
        for arm, end in zip(operands(loop.upper, BinaryOp.MIN), ends, strict=True)
    ]
    to = emitter.own(f"{name}_to")
    count = reduce(lambda a, b: Binary(BinaryOp.MIN, a, b, DType.INT64), map(normalize, counts))
    lines: list[Code] = [Line(f"{first}, {to} = {emitter.printer.text(count)};")]
    whole = f"{to} == {loop.lanes}"
    if emitter.frame.edition.is_handed_over and _has_lanes_form(body):
        return [*lines, *_once(emitter, name, whole, ("0", to), body)]
    ends_of = _without_lines(replace(emitter, printer=replace(emitter.printer, part=("0", to))))
    return [*lines, Branch(whole, emitter.body(body), ends_of.body(body))]


def _strip(
    emitter: BodyEmitter, loop: For, body: Body, bounds: tuple[Expr, Expr], begins: list[str]
) -> Code:
    """Print a VECTOR loop of at most one register, wherever it begins."""
    name = emitter.name(loop.iter)
    low, high = (emitter.printer.text(bound) for bound in bounds)
    begins.append(f"{name} = {low}")
    head = f"for (int64_t {', '.join(begins)}; {name} < {high}; {name} += {loop.lanes})"
    if trip_count(loop) == loop.lanes:
        return Compound(head, emitter.body(body))
    to = emitter.own(f"{name}_to")
    if emitter.frame.edition.is_handed_over and _has_lanes_form(body):
        least = emitter.helper(HelperKind.MIN)
        line = Line(f"int64_t {to} = {least}({high} - {name}, {loop.lanes});")
        whole = f"{name} + {loop.lanes} <= {high}"
        return Compound(head, [line, *_once(emitter, name, whole, ("0", to), body)])
    ends = _without_lines(replace(emitter, printer=replace(emitter.printer, part=("0", to))))
    rest = [Line(f"int64_t {to} = {high} - {name};"), *ends.body(body)]
    return Compound(head, [Branch(f"{name} + {loop.lanes} <= {high}", emitter.body(body), rest)])


def _once(
    emitter: BodyEmitter, name: str, whole: str, part: tuple[str, str], body: Body
) -> list[Code]:
    """Print a body once, for whole vectors and partial ones."""
    is_whole = emitter.own(f"{name}_whole")
    line = Line(f"const bool {is_whole} = __builtin_expect({whole}, 1);")
    lanes = replace(emitter, printer=replace(emitter.printer, part=(is_whole, *part)))
    return [line, *lanes.body(body)]


def _has_lanes_form(body: Body) -> bool:
    """Tell whether helpers move whole and partial vectors alike in all of a body."""
    nodes = list(all_nodes(body))
    found = [part for node in nodes for expr in own_expressions(node) for part in walk(expr)]
    targets = [node.target for node in nodes if isinstance(node, Assign)]
    vectors = (part for part in (*found, *targets) if isinstance(part, VectorLoad))
    return all(part.step == 1 and has_lanes_form(part.dtype) for part in vectors)


REGISTER_BYTES = 64  # of registers that one instruction takes neighbouring elements of two of
MOST_WINDOWS = 8  # three registers each


@dataclass(frozen=True, slots=True)
class Window:
    """Overlapping reads of one row: `here` is loaded, each of `others` has an offset from it."""

    here: VectorLoad
    others: tuple[tuple[VectorLoad, int], ...]

    @property
    def looks_back(self) -> bool:
        """Some elements are those of the vector before."""
        return any(distance < 0 for _, distance in self.others)


def windows(body: Body) -> tuple[Window, ...]:
    """Return the windows of a loop's body, those with the most reads first."""
    written = [n.target for n in body if isinstance(n, Assign) and isinstance(n.target, VectorLoad)]
    if written_arrays(body) != {target.array for target in written}:
        return ()
    rows: dict[tuple[object, ...], dict[int, VectorLoad]] = {}
    for load in _loads(body):
        if not _fills_register(load) or any(_may_alias(load, target) for target in written):
            continue
        *outer, last = load.index
        place = linear(last)
        row = (load.array, tuple(map(normalize, outer)), frozenset(place.terms))
        rows.setdefault(row, {}).setdefault(place.constant, load)
    aligned = _aligned(body)
    found = [_window(reads, aligned) for reads in rows.values() if len(reads) > 1]
    found = [window for window in found if window.others]
    return tuple(sorted(found, key=lambda window: -len(window.others))[:MOST_WINDOWS])


def _window(reads: dict[int, VectorLoad], aligned: Expr | None) -> Window:
    """Return the window around the read that is aligned as what is written, or a middle one."""
    places = sorted(reads)
    middle = places[len(places) // 2]
    for place in places:
        if aligned is not None and normalize(sub(reads[place].index[-1], aligned)) == integer(0):
            middle = place
    here = reads[middle]
    near = (p for p in places if p != middle and abs(p - middle) < here.lanes)
    return Window(here, tuple((reads[p], p - middle) for p in near))


def _aligned(body: Body) -> Expr | None:
    """Return the last subscript of what is written first: its place is a multiple of the lanes."""
    for node in body:
        if isinstance(node, Assign) and isinstance(node.target, VectorLoad):
            return node.target.index[-1]
    return None


def _may_alias(load: VectorLoad, target: VectorLoad) -> bool:
    """Tell whether two rows may alias: of one array, without a subscript that differs."""
    if load.array != target.array:
        return False
    return not any(map(_differ, load.index[:-1], target.index[:-1]))


def _differ(one: Expr, other: Expr) -> bool:
    """Tell whether subscripts are always different: `i` and `i + 1`, `t % 3` and `(t + 1) % 3`."""
    match one, other:
        case (
            Binary(op=BinaryOp.MOD, left=left, right=Const(value=int(count))),
            Binary(op=BinaryOp.MOD, left=right, right=Const(value=int(same))),
        ) if count == same and count > 0:
            distance = normalize(sub(left, right))
            return isinstance(distance, Const) and int(distance.value.real) % count != 0
        case _:
            distance = normalize(sub(one, other))
            return isinstance(distance, Const) and distance != integer(0)


def _fills_register(load: VectorLoad) -> bool:
    return load.dtype in (DType.FLOAT32, DType.FLOAT64) and (
        load.dtype.size * load.lanes == REGISTER_BYTES and load.step == 1
    )


def _loads(body: Body) -> Iterator[VectorLoad]:
    for node in body:
        for expr in expressions(node):
            for part in walk(expr):
                if isinstance(part, VectorLoad):
                    yield part


def moved(load: VectorLoad, elements: int) -> VectorLoad:
    """Return the load so many elements behind."""
    *outer, last = load.index
    return replace(load, index=(*outer, normalize(sub(last, integer(-elements)))))
