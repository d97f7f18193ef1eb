"""Print the grid of a kernel: the number of blocks, and the iterations of each.

In: BLOCK loops.  Out: the grid's extents for the host; declarations and loops around the body.
The innermost loop is x.  Rows of blocks are grouped where a loop asks for it.  Blocks with
shared memory run one iteration each: where y or z may be too small, or there are more than three
loops, all are linearized along x.
Chooses the names of a kernel: parameters, storage, its own identifiers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce

from polyopt.dataclass import dataclass, replace
from polyopt.emit.c_statements import Code, Compound, Line, identifiers
from polyopt.emit.frame import c_identifier
from polyopt.emit.gpu.bound_tests import all_of, ranges_inside, tests_below
from polyopt.emit.gpu.declarations import KernelDeclarations
from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.gpu.expressions import INT_MOST, KernelPrinter, Storage
from polyopt.emit.gpu.scan_printer import BLOCKS, lone_scan
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.emit.ranges import Ranges
from polyopt.emit.regions import Free, free_names, written_arrays
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Binary, BinaryOp, Expr, Iter, Param, Symbol, add, integer, mul, sub
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Body, Declare, DeclareArray, For, Kernel, LoopKind, SetLocal, Space
from polyopt.ir.nodes import all_nodes
from polyopt.ir.source import KernelParam, KernelParamKind, Layout
from polyopt.ir.types import DType

DIMENSIONS = 3
"""Dimensions that a device's grid has."""
MOST_ROWS = 65535
"""Blocks that a grid has room for in y and z."""


@dataclass(frozen=True, slots=True)
class PrintedGrid:
    """The grid's `extents` in x, y and z; the code around the body; the printer inside.

    `order` are lines that renumber the blocks, `constants` iterators with one value, `heads`
    loops of those that may have more, outermost first.
    """

    extents: tuple[Expr, Expr, Expr]
    order: tuple[str, ...]
    constants: tuple[str, ...]
    heads: tuple[str, ...]
    printer: KernelPrinter
    body: Body

    def around(self, lines: list[Code]) -> list[Code]:
        """Return the body's lines with the grid's around them, as far as they are used."""
        for head in reversed(self.heads):
            lines = [Compound(head, lines)]
        for text in (*reversed(self.constants), *reversed(self.order)):
            names = {part.split(" = ")[0].split()[-1] for part in text.split(", ")}
            if names & identifiers(lines):
                lines = [Line(text), *lines]
        return lines


def make_grid(
    kernel: Kernel, frame: KernelFrame, printer: KernelPrinter, declarations: KernelDeclarations
) -> PrintedGrid:
    """Return the grid of `kernel`."""
    loops: list[For] = []
    body = kernel.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind is LoopKind.BLOCK:
        loops.insert(0, body[0])
        body = body[0].body
    dialect = declarations.dialect
    numbers = [f"({dialect.index}){block}" for block in dialect.blocks]
    order: tuple[str, ...] = ()
    counts = [_extent(loop, printer.ranges) for loop in loops]
    is_line = _has_shared(body) and any(_is_long(c, printer, dialect) for c in counts[1:])
    is_line = is_line or len(counts) > DIMENSIONS
    group = loops[1].group if len(loops) > 1 else 1
    if is_line:
        order, numbers = _along_x(counts, declarations, printer, group)
    elif group > 1:
        columns, rows = (f"({dialect.index}){count}" for count in dialect.block_counts[:2])
        kind = dialect.index
        order, numbers[:2] = _in_groups(
            numbers[:2], columns, rows, declarations, printer, kind, group
        )
    extents: list[Expr] = []
    constants: list[str] = []
    heads: list[str] = []
    for axis, loop in enumerate(loops):
        extent = counts[axis]
        is_strided = axis > 0 and not is_line and _is_long(extent, printer, dialect)
        if is_strided:
            extent = Binary(BinaryOp.MIN, extent, integer(MOST_ROWS), DType.INT64)
        extents.append(extent)
        name, is_int = frame.names[loop.iter], _is_int(loop, printer)
        kind = "int" if is_int else dialect.index
        number = numbers[axis]
        if is_int:
            number = f"(int){number.removeprefix(f'({dialect.index})')}"
        first = _first(loop, number, printer)
        tests = tests_below(Iter(loop.iter), loop.upper)
        if is_strided:
            count = f"({kind}){dialect.block_counts[axis]}"
            step = count if loop.step == 1 else f"{loop.step} * {count}"
            test = printer.text(all_of(tests))
            heads.insert(0, f"for ({kind} {name} = {first}; {test}; {name} += {step})")
        else:
            constants.insert(0, f"const {kind} {name} = {first};")
        printer = replace(printer, ranges=ranges_inside(printer.ranges, loop)).knowing(tests)
        printer = replace(printer, fixed=printer.fixed | {loop.iter})
        if is_int:
            printer = replace(printer, ints=printer.ints | {loop.iter})
    if is_line:
        extents = [reduce(mul, counts)]
    x, y, z, *_ = [*extents, integer(1), integer(1), integer(1)]
    return PrintedGrid((x, y, z), order, tuple(constants), tuple(heads), printer, body)


def _has_shared(body: Body) -> bool:
    return any(isinstance(n, DeclareArray) and n.space is Space.SHARED for n in all_nodes(body))


def _is_long(extent: Expr, printer: KernelPrinter, dialect: DeviceDialect) -> bool:
    """Tell whether y or z may have no room for so many blocks."""
    most = printer.ranges.most(extent)
    return not dialect.many_blocks and (most is None or most > MOST_ROWS)


def _along_x(
    counts: list[Expr], declarations: KernelDeclarations, printer: KernelPrinter, group: int
) -> tuple[tuple[str, ...], list[str]]:
    """Return lines that give blocks numbered along x their place in a box, and x, y and z.

    All of these fit an `int`, as the number of blocks along x does.
    """
    number, columns = declarations.fresh("block"), declarations.fresh("columns")
    order = [
        f"const int {number} = (int){declarations.dialect.blocks[0]};",
        f"const int {columns} = (int)({printer.text(counts[0])});",
    ]
    numbers: list[str] = []
    rows = declarations.fresh("all_rows")
    if len(counts) > 2 or group > 1:
        order.append(f"const int {rows} = (int)({printer.text(counts[1])});")
    if len(counts) > 2:
        rest, left = (
            declarations.fresh("bz" if len(counts) == DIMENSIONS else "plane"),
            declarations.fresh("flat"),
        )
        order.append(f"const int {rest} = {number} / ({columns} * {rows});")
        order.append(f"const int {left} = {number} % ({columns} * {rows});")
        number = left
        for count in counts[2:-1]:
            size = f"(int)({printer.text(count)})"
            place, further = declarations.fresh("bz"), declarations.fresh("plane")
            order.append(f"const int {place} = {rest} % {size};")
            order.append(f"const int {further} = {rest} / {size};")
            numbers.append(place)
            rest = further
        numbers.append(rest)
    x, y = f"{number} % {columns}", f"{number} / {columns}"
    if group > 1:
        lines, first = _in_groups([x, y], columns, rows, declarations, printer, "int", group)
    else:
        first = [declarations.fresh("bx"), declarations.fresh("by")]
        lines = (f"const int {first[0]} = {x};", f"const int {first[1]} = {y};")
    wide = [f"({declarations.dialect.index}){name}" for name in (*first, *numbers)]
    return (*order, *lines), wide


def _in_groups(
    place: list[str], columns: str, all_rows: str, declarations: KernelDeclarations,
    printer: KernelPrinter, kind: str, group: int,
) -> tuple[tuple[str, ...], list[str]]:  # fmt: skip
    """Return lines that number the blocks down the columns of a few rows, and x and y."""
    x, y = place
    least = printer.helper(Helper(HelperKind.MIN))
    first, rows, number = (
        declarations.fresh("first"),
        declarations.fresh("rows"),
        declarations.fresh("number"),
    )
    bx, by = declarations.fresh("bx"), declarations.fresh("by")
    height = f"{least}({all_rows} - {first}, {group})"
    if kind != declarations.dialect.index:
        height = f"({kind}){height}"
    return (
        f"const {kind} {first} = {y} / {group} * {group};",
        f"const {kind} {rows} = {height};",
        f"const {kind} {number} = ({y} - {first}) * {columns} + {x};",
        f"const {kind} {by} = {first} + {number} % {rows};",
        f"const {kind} {bx} = {number} / {rows};",
    ), [bx, by]


def _extent(loop: For, ranges: Ranges) -> Expr:
    """Return the number of a loop's iterations."""
    length = normalize(sub(add(loop.upper, integer(loop.step - 1)), loop.lower))
    if loop.step > 1:
        length = Binary(BinaryOp.FLOORDIV, length, integer(loop.step), DType.INT64)
    if ranges.is_nonnegative(length):
        return length
    return Binary(BinaryOp.MAX, integer(0), length, DType.INT64)


def _is_int(loop: For, printer: KernelPrinter) -> bool:
    most = printer.ranges.most(loop.upper)
    return most is not None and most + loop.step <= INT_MOST and printer.is_int(loop.lower)


def _first(loop: For, block: str, printer: KernelPrinter) -> str:
    printer = replace(printer, names={**printer.names, block: block})
    printer = printer.with_int(block, 0, INT_MOST) if _is_int(loop, printer) else printer
    return printer.text(add(loop.lower, mul(integer(loop.step), Iter(block))))


@dataclass(frozen=True, slots=True)
class KernelFrame:
    """Identifiers of one kernel; `taken` are all.

    `names` gives those of iterators, sizes and locals.  An array that is declared in several places
    has one place for each.
    """

    entry: str
    params: tuple[KernelParam, ...]
    names: Mapping[str, str]
    places: Mapping[str, Storage]
    taken: frozenset[str]

    def declarations(self, dialect: DeviceDialect) -> list[str]:
        """Return the parameters as text."""
        return [_declaration(param, dialect) for param in self.params]


def _declaration(param: KernelParam, dialect: DeviceDialect) -> str:
    match param.kind:
        case KernelParamKind.ARRAY:
            return dialect.parameter(param.dtype, param.text, written=param.written)
        case KernelParamKind.FAULTS:
            return dialect.flags_parameter(param.text)
        case KernelParamKind.COUNTER | KernelParamKind.SCRATCH:
            return f"{dialect.pointer}{dialect.type_name(param.dtype)} *{param.text}"
        case KernelParamKind.STRIDE | KernelParamKind.VALUE:
            return f"{dialect.passed(param.dtype)} {param.text}"


def make_frame(
    kernel: Kernel, arrays: Mapping[str, Array], late: Collection[str], dialect: DeviceDialect
) -> KernelFrame:
    """Choose the identifiers of `kernel`; the shapes of the arrays `late` are known to the host."""
    taken: set[str] = set()
    names: dict[str, str] = {}

    def named(name: str) -> str:
        if name not in names:
            names[name] = c_identifier(name, taken)
            taken.add(names[name])
        return names[name]

    code = (*kernel.body, *kernel.finish)
    free = free_names(code)
    entry = c_identifier(kernel.name, taken)
    taken.add(entry)
    written = written_arrays(code)
    used = [arrays[name] for name in free.arrays]
    pointers = [_pointer(array, named(array.name), array.name in written) for array in used]
    extents = free_names(tuple(Declare("", DType.INT64, 1, g.extent) for g in kernel.gathered))
    values = _values(free, extents, [array for array in used if _is_plain(array, late)])
    for value in values:
        named(value.name)
    strides: list[KernelParam] = []
    places = {}
    for array in used:
        own = [] if _is_plain(array, late) else _strides(array, names[array.name], late, taken)
        strides += own
        places[array.name] = _place(array, names[array.name], own)
    passed = [
        KernelParam(KernelParamKind.VALUE, v.name, v.dtype, names[v.name], value=v) for v in values
    ]
    for node in all_nodes(code):
        match node:
            case For():
                named(node.iter)
            case Declare() | SetLocal():
                named(node.name)
            case DeclareArray():
                place = Storage(node.array, named(node.array.name), node.space)
                places.setdefault(node.array.name, place)
            case _:
                pass
    counters = _counters(kernel, taken)
    integers = [p for p in (*strides, *passed) if p.dtype is DType.INT64]
    others = [p for p in passed if p.dtype is not DType.INT64]
    return KernelFrame(
        entry, (*pointers, *counters, *integers, *others), names, places, frozenset(taken)
    )


def _counters(kernel: Kernel, taken: set[str]) -> list[KernelParam]:
    """Return the parameter in which blocks count themselves, or leave what they have summed up."""
    scan = lone_scan(kernel)
    if not kernel.finish and scan is None:
        return []
    text = c_identifier("ended" if scan is None else "sums", taken)
    taken.add(text)
    if scan is not None:
        kind, size = KernelParamKind.SCRATCH, integer(BLOCKS)
        return [KernelParam(kind, kernel.name, scan.dtype, text, written=True, value=size)]
    return [KernelParam(KernelParamKind.COUNTER, kernel.name, DType.UINT32, text, written=True)]


def _pointer(array: Array, text: str, written: bool) -> KernelParam:
    kind = KernelParamKind.FAULTS if array.role is Role.FAULT else KernelParamKind.ARRAY
    return KernelParam(kind, array.name, array.dtype, text, written)


def _is_plain(array: Array, late: Collection[str]) -> bool:
    """Tell whether the strides of `array` are products of its shape, as the kernel knows it."""
    return array.layout is Layout.C and array.name not in late


def _values(free: Free, more: Free, arrays: list[Array]) -> list[Iter | Param | Symbol]:
    """Return what the host passes by value; the extents of `arrays` are needed, too."""
    extents = (Declare("", DType.INT64, 1, e) for array in arrays for e in array.shape[1:])
    sizes = free_names(tuple(extents))
    found: dict[str, Iter | Param | Symbol] = {}
    for names in (free, more, sizes):
        for param in names.params:
            found.setdefault(param, Param(param))
        for iterator in names.iters:
            found.setdefault(iterator, Iter(iterator))
        for local in names.locals:
            found.setdefault(local.name, Symbol(local.name, local.dtype, local.lanes))
    return list(found.values())


def _strides(array: Array, text: str, late: Collection[str], taken: set[str]) -> list[KernelParam]:
    """Return the parameters for the strides of `array`; a last one of 1 is not passed."""
    found = []
    every = array.layout is Layout.STRIDED and array.name not in late
    for dim in range(len(array.shape) if every else len(array.shape) - 1):
        name = c_identifier(f"{text}_s{dim}", taken)
        taken.add(name)
        found.append(KernelParam(KernelParamKind.STRIDE, array.name, DType.INT64, name, dim=dim))
    return found


def _place(array: Array, text: str, strides: list[KernelParam]) -> Storage:
    factors: list[Expr] = [Iter(param.text) for param in strides]
    if strides and len(strides) < len(array.shape):
        factors.append(integer(1))
    return Storage(array, text, None, tuple(factors))
