"""Print calls of library functions, which Python makes for the kernel.

In: the emitter of the text around, a node.  Out: a block of C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.emit.c_statements import Branch, Code, Line
from polyopt.emit.early_exits import Block
from polyopt.ir.loops import CallLibrary

if TYPE_CHECKING:
    from polyopt.emit.cbody import BodyEmitter


def library_call(emitter: BodyEmitter, node: CallLibrary) -> Code:
    """Return the call of `po_library` on the arrays of a node."""
    assert not emitter.is_parallel, "Python is called from the calling thread"
    arrays = (*node.inputs, *node.outputs)
    data = [f"(void *){emitter.frame.views[array.name].memory}" for array in arrays]
    extents = [emitter.printer.text(extent) for array in arrays for extent in array.shape]
    call = f"po_library({node.site}, po_data, po_extents) != 0"
    return Block(
        [
            Line(f"void *const po_data[] = {{{', '.join(data) or 'NULL'}}};"),
            Line(f"const int64_t po_extents[] = {{{', '.join(extents) or '0'}}};"),
            Branch(call, emitter.exit.lines("-1", emitter.printer), []),
        ]
    )
