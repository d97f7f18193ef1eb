"""Print the code that only the last block to finish runs.

In: a kernel with such code, the lines of its blocks.  Out: these lines, an atomic count of the
finished blocks, and the code under the condition that all have finished.
A block fences its writes before it counts itself; the last one fences before it reads.
"""

from __future__ import annotations

from polyopt.emit.c_statements import Branch, Code, Line
from polyopt.emit.gpu.body import KernelEmitter
from polyopt.emit.gpu.bound_tests import all_of
from polyopt.emit.gpu.frame import KernelFrame
from polyopt.emit.gpu.printed import with_limits
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Compare, CompareOp, Expr
from polyopt.ir.loops import For, Kernel, LoopKind, Scope
from polyopt.ir.source import KernelParamKind
from polyopt.ir.types import DType


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
