"""All kernels of a function as one self-contained text.

In: a `LoopFunction` with kernels, a dialect.  Out: `DeviceSource`.
Refuses: complex numbers (PO0404), loops over threads without a constant box (PO0405).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import cgen

from polyopt.emit.banner import banner
from polyopt.emit.blocks import Function, Nest, words
from polyopt.emit.gpu.body import KernelEmitter
from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.gpu.expressions import INT_MOST, KernelPrinter
from polyopt.emit.gpu.frame import KernelFrame, make_frame
from polyopt.emit.gpu.limits import all_of, tests_below
from polyopt.emit.gpu.own import Own
from polyopt.emit.helpers import Helper, definition
from polyopt.emit.nodes import nested
from polyopt.emit.ranges import Ranges
from polyopt.emit.regions import expressions, nodes
from polyopt.emit.wrapping import wrapped
from polyopt.errors import EmitError
from polyopt.ir.array import Array
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Expr,
    Iter,
    Load,
    add,
    integer,
    mul,
    normalize,
    show,
    sub,
    walk,
)
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Barrier,
    Body,
    DeclareArray,
    For,
    Kernel,
    LoopFunction,
    LoopKind,
    Scope,
)
from polyopt.ir.source import DeviceSource, KernelEntry, SizeOf
from polyopt.ir.types import DType

MOST_ROWS = 65535
"""Blocks that a grid has room for in y and z."""


def emit_kernels(fn: LoopFunction, dialect: DeviceDialect) -> DeviceSource:
    """Return the text of all kernels of `fn`."""
    used: dict[Helper, None] = {}
    ranges = Ranges(params={s.param: 0 for s in fn.signature.sizes if isinstance(s, SizeOf)})
    texts, entries = [], []
    late = frozenset(n.array.name for n in nodes(fn.body) if isinstance(n, AllocateArray))
    arrays = {array.name: array for array in fn.arrays}
    for kernel in _kernels(fn.body):
        _check_types(kernel, arrays)
        frame = make_frame(kernel, arrays, late, dialect)
        printer = KernelPrinter({}, frame.names, ranges, used, dialect=dialect, places=frame.places)
        function, entry = _kernel(kernel, frame, printer, dialect)
        head = dialect.kernel_head.format(threads=kernel.threads)
        texts.append(f"{head}\n{function}")
        entries.append(entry)
    code = wrapped("\n\n".join(texts))
    text = _file(fn, used, code, dialect)
    return DeviceSource(dialect.language, text, tuple(entries), dialect.flags[fn.contract])


def _kernels(body: Body) -> Iterator[Kernel]:
    for node in body:
        if isinstance(node, Kernel):
            yield node
        else:
            for part in nested(node):
                yield from _kernels(part)


def _check_types(kernel: Kernel, arrays: Mapping[str, Array]) -> None:
    for node in nodes(kernel.body):
        for part in (p for e in expressions(node) for p in walk(e)):
            if part.dtype.is_complex:
                raise EmitError(
                    "PO0404",
                    f"kernels of a device have no complex numbers: {show(part)}",
                    hint='compile for the CPU with `target="c"`, or use two real arrays',
                )


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The loops over blocks of a kernel, outermost first, and what is in them."""

    loops: tuple[For, ...]
    body: Body

    @staticmethod
    def of(kernel: Kernel) -> _Blocks:
        loops: list[For] = []
        body = kernel.body
        while len(body) == 1 and isinstance(body[0], For) and body[0].kind is LoopKind.BLOCK:
            loops.append(body[0])
            body = body[0].body
        return _Blocks(tuple(loops), body)

    @property
    def grid(self) -> tuple[For | None, For | None, For | None]:
        """The loop of x, the innermost, of y, of z."""
        x, y, z, *_ = [*reversed(self.loops), None, None, None]
        return x, y, z


def _kernel(
    kernel: Kernel, frame: KernelFrame, printer: KernelPrinter, dialect: DeviceDialect
) -> tuple[Function, KernelEntry]:
    blocks = _Blocks.of(kernel)
    own = Own(dialect, set(frame.taken))
    plain: list[tuple[str, str]] = []
    strided: list[str] = []
    grid: list[Expr] = []
    for axis, loop in enumerate(blocks.grid):
        extent = integer(1) if loop is None else _extent(loop, printer.ranges)
        most = printer.ranges.most(extent)
        is_strided = axis > 0 and not dialect.many_blocks and (most is None or most > MOST_ROWS)
        if is_strided:
            extent = Binary(BinaryOp.MIN, extent, integer(MOST_ROWS), DType.INT64)
        grid.append(extent)
        if loop is None:
            continue
        name = frame.names[loop.iter]
        is_int = _is_int(loop, printer)
        kind = "int" if is_int else dialect.index
        block = f"({kind}){dialect.blocks[axis]}"
        first = _text_of_block(loop, block, printer)
        tests = tests_below(Iter(loop.iter), loop.upper)
        if is_strided:
            count = f"({kind}){dialect.block_counts[axis]}"
            step = count if loop.step == 1 else f"{loop.step} * {count}"
            test = printer.text(all_of(tests))
            strided.insert(0, f"for ({kind} {name} = {first}; {test}; {name} += {step})")
        else:
            plain.insert(0, (kind, f"const {kind} {name} = {first};"))
        printer = replace(printer, ranges=printer.ranges.inside(loop)).knowing(tests)
        if is_int:
            printer = replace(printer, ints=printer.ints | {loop.iter})
    emitter = KernelEmitter(printer, own, kernel.threads, kernel.threads == 1, _orders(kernel))
    lines = emitter.body(blocks.body)
    if strided and own.shared:
        note = "the next block's copies follow"
        lines += emitter.node(Barrier(Scope.BLOCK, note))
    for head in reversed(strided):
        lines = [Nest(head, lines)]
    lines = [*_head(own, lines), *(_used(plain, lines)), *lines]
    function = Function(f"{dialect.kernel_name}{frame.entry}", frame.declarations(dialect), lines)
    entry = KernelEntry(
        frame.entry, kernel.name, kernel.threads, (grid[0], grid[1], grid[2]), frame.params,
        own.shared_bytes,
    )  # fmt: skip
    return function, entry


def _head(own: Own, lines: list[cgen.Generable]) -> list[cgen.Generable]:
    head = [cgen.Line(line) for line in own.shared_lines()]
    coordinates = [cgen.Line(line) for line in own.coordinate_lines()]
    if own.thread in words([*lines, *coordinates]):
        head.append(cgen.Line(f"const int {own.thread} = {own.dialect.thread};"))
    return [*head, *coordinates]


def _used(plain: list[tuple[str, str]], lines: list[cgen.Generable]) -> list[cgen.Generable]:
    seen = words(lines)
    return [cgen.Line(text) for _, text in plain if text.split(" = ")[0].split()[-1] in seen]


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


def _text_of_block(loop: For, block: str, printer: KernelPrinter) -> str:
    printer = replace(printer, names={**printer.names, block: block})
    printer = printer.with_int(block, 0, INT_MOST) if _is_int(loop, printer) else printer
    return printer.text(add(loop.lower, mul(integer(loop.step), Iter(block))))


def _orders(kernel: Kernel) -> bool:
    """Tell whether the threads of a block share elements of the device's memory."""
    own = {n.array.name for n in nodes(kernel.body) if isinstance(n, DeclareArray)}
    written: list[str] = []
    read: set[str] = set()
    for node in nodes(kernel.body):
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
        "\n".join(dialect.respelled(line) for line in definition(helper))
        for helper in sorted(used, key=lambda h: h.order)
    )
    seen = set(re.findall(r"[A-Za-z_]\w*", f"{support}\n{code}"))
    setup = [line for word, line in dialect.prelude if word in seen]
    rounding = dialect.rounding[fn.contract]
    if rounding:
        setup.append(rounding)
    for name, lines in dialect.macros.items():
        if name in seen:
            setup += lines
    parts = [banner(fn), "\n".join(setup), support, code]
    return "\n\n".join(part for part in parts if part) + "\n"
