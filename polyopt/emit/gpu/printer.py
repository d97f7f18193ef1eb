"""Print all kernels of a function as one self-contained text.

In: a `LoopFunction` with kernels, a dialect.  Out: `DeviceSource`.
Refuses: loops over threads without a constant box (PO0405).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from polyopt.dataclass import replace
from polyopt.emit.banner import banner
from polyopt.emit.c_statements import Branch, Code, Function, Line, identifiers
from polyopt.emit.gpu.body import KernelEmitter
from polyopt.emit.gpu.bound_tests import all_of
from polyopt.emit.gpu.complex import complex_definitions
from polyopt.emit.gpu.declarations import KernelDeclarations
from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.gpu.expressions import KernelPrinter
from polyopt.emit.gpu.grid_printer import KernelFrame, make_frame, make_grid
from polyopt.emit.gpu.half_conversions import with_shortcut
from polyopt.emit.gpu.printed import with_limits
from polyopt.emit.gpu.privatization import private_copies_of
from polyopt.emit.gpu.scan_printer import ScanPrinter, lone_scan, part_count
from polyopt.emit.helpers import Helper, definition
from polyopt.emit.ranges import Ranges
from polyopt.emit.regions import expressions
from polyopt.emit.wrapping import wrapped
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Expr, Load, integer, sub, walk
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    DeclareArray,
    For,
    Kernel,
    LoopFunction,
    LoopKind,
    Scope,
)
from polyopt.ir.nodes import all_nodes, kernels_of
from polyopt.ir.source import DeviceSource, KernelEntry, KernelParamKind, SizeOf
from polyopt.ir.types import DType


def emit_kernels(fn: LoopFunction, dialect: DeviceDialect) -> DeviceSource:
    """Return the text of all kernels of `fn`."""
    used: dict[Helper, None] = {}
    ranges = Ranges(params={s.param: 0 for s in fn.signature.sizes if isinstance(s, SizeOf)})
    texts, entries = [], []
    late = frozenset(n.array.name for n in all_nodes(fn.body) if isinstance(n, AllocateArray))
    arrays = {array.name: array for array in fn.arrays}
    for kernel in kernels_of(fn.body):
        frame = make_frame(kernel, arrays, late, dialect)
        printer = KernelPrinter({}, frame.names, ranges, used, dialect=dialect, places=frame.places)
        head = dialect.kernel_head.format(threads=kernel.threads)
        for function, entry in _launches(kernel, frame, printer, dialect):
            texts.append(f"{head}\n{function}")
            entries.append(entry)
    code = wrapped("\n\n".join(texts))
    text = _file(fn, used, code, dialect)
    return DeviceSource(dialect.language, text, tuple(entries), dialect.flags[fn.contract])


def _launches(
    kernel: Kernel, frame: KernelFrame, printer: KernelPrinter, dialect: DeviceDialect
) -> Iterator[tuple[Function, KernelEntry]]:
    """Yield the functions that together are a kernel."""
    scan = lone_scan(kernel)
    if scan is None:
        yield _kernel(kernel, frame, printer, dialect)
        return
    (sums,) = (p.text for p in frame.params if p.kind is KernelParamKind.SCRATCH)
    count = part_count(scan)
    for is_last in (False, True):
        declarations = KernelDeclarations(dialect, set(frame.taken))
        scans = ScanPrinter(scan, printer, declarations, kernel.threads, frozenset())
        lines = scans.parts(sums) if is_last else scans.sums(sums)
        lines = [*_head(declarations, lines), *lines]
        name = frame.entry if is_last else declarations.fresh(f"{frame.entry}_sums")
        function = Function(f"{dialect.kernel_name}{name}", frame.declarations(dialect), lines)
        grid = (count if is_last else sub(count, integer(1)), integer(1), integer(1))
        yield (
            function,
            KernelEntry(
                name, kernel.name, kernel.threads, grid, frame.params, declarations.shared_bytes
            ),
        )


def _kernel(
    kernel: Kernel, frame: KernelFrame, printer: KernelPrinter, dialect: DeviceDialect
) -> tuple[Function, KernelEntry]:
    declarations = KernelDeclarations(dialect, set(frame.taken))
    if any(isinstance(node, DeclareArray) for node in all_nodes((kernel,))):
        printer = replace(printer, declarations=declarations)  # limits are used again
    grid = make_grid(kernel, frame, printer, declarations)
    alone = kernel.threads == 1
    private_copies = private_copies_of(kernel, declarations, printer)
    emitter = KernelEmitter(
        grid.printer,
        declarations,
        kernel.threads,
        alone,
        _orders(kernel),
        private_copies=private_copies,
    )
    lines = with_limits(emitter.body(grid.body), declarations)
    lines = grid.around(lines)
    for copy in private_copies.values():
        lines = copy.around(declarations, printer, kernel.threads, lines)
    extents = grid.extents
    if kernel.finish:
        last = replace(emitter, printer=printer)
        lines = last_block_code(kernel, frame, last, lines)
        x, y, z = (Binary(BinaryOp.MAX, integer(1), e, DType.INT64) for e in extents)
        extents = (x, y, z)
    lines = [*_head(declarations, lines), *lines]
    function = Function(f"{dialect.kernel_name}{frame.entry}", frame.declarations(dialect), lines)
    entry = KernelEntry(
        frame.entry, kernel.name, kernel.threads, extents, frame.params,
        declarations.shared_bytes - declarations.asked_bytes, declarations.asked_bytes,
    )  # fmt: skip
    return function, entry


def _head(declarations: KernelDeclarations, lines: list[Code]) -> list[Code]:
    head = [Line(line) for line in declarations.shared_lines()]
    coordinates = [Line(line) for line in declarations.coordinate_lines()]
    if declarations.thread in identifiers([*lines, *coordinates]):
        head.append(Line(f"const int {declarations.thread} = {declarations.dialect.thread};"))
    return [*head, *coordinates]


def _orders(kernel: Kernel) -> bool:
    """Tell whether the threads of a block share elements of the device's memory."""
    own = {n.array.name for n in all_nodes((kernel,)) if isinstance(n, DeclareArray)}
    written: list[str] = []
    read: set[str] = set()
    for node in all_nodes((kernel,)):
        parts = expressions(node)
        if isinstance(node, Assign):
            written.append(node.target.array)
            parts = (*node.target.index, node.value)
        read.update(p.array for e in parts for p in walk(e) if isinstance(p, Load))
    written = [name for name in written if name not in own]
    repeated = len(written) > len(set(written))
    return repeated or bool(read & set(written))


def _file(fn: LoopFunction, used: Mapping[Helper, None], code: str, dialect: DeviceDialect) -> str:
    support = "\n\n".join(
        "\n".join(
            dialect.respelled(line)
            for line in with_shortcut(helper, definition(helper), dialect.shortcuts)
        )
        for helper in sorted(used, key=lambda h: h.order)
    )
    support = "\n\n".join(filter(None, (support, complex_definitions(code, dialect))))
    seen = set(re.findall(r"[A-Za-z_]\w*", f"{support}\n{code}"))
    setup = list(dict.fromkeys(line for word, line in dialect.prelude if word in seen))
    rounding = dialect.rounding[fn.contract]
    if rounding:
        setup.append(rounding)
    for name, lines in dialect.macros.items():
        if name in seen:
            setup += lines
    parts = [banner(fn), "\n".join(setup), support, code]
    return "\n\n".join(part for part in parts if part) + "\n"


# -- print the code that only the last block to finish runs --------------------------------------


def last_block_code(
    kernel: Kernel, frame: KernelFrame, emitter: KernelEmitter, lines: list[Code]
) -> list[Code]:
    """Return the code of a block, and of the last one."""
    declarations = emitter.declarations
    (counter,) = (p.text for p in frame.params if p.kind is KernelParamKind.COUNTER)
    name = declarations.fresh("is_last")
    is_last = declarations.share(Array(name, DType.BOOL, (), Role.TEMP), name)
    wait = Line(declarations.dialect.barrier(Scope.BLOCK, orders_arrays=True))
    count = declarations.dialect.count_block.format(counter=counter)
    fence = Line(declarations.dialect.fence)
    elect = Branch(f"{declarations.thread} == 0", [fence, Line(f"{is_last} = {count};"), fence], [])
    rest = with_limits(emitter.body(kernel.finish), declarations)
    guard = emitter.printer.text(all_of(_has_blocks(kernel)))
    return [
        Branch(guard, lines, []),
        Line("/* the block that ends last has the results of all others */"),
        wait,
        elect,
        wait,
        Branch(is_last, rest, []),
    ]


def _has_blocks(kernel: Kernel) -> tuple[Expr, ...]:
    """Return the conditions under which the loops over blocks have an iteration."""
    found: list[Expr] = []
    body = kernel.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind is LoopKind.BLOCK:
        found.append(Compare(CompareOp.LT, body[0].lower, body[0].upper))
        body = body[0].body
    return tuple(found)
