"""Recurrences that threads make together: loops of kind SCAN.

In: lowered loops.  Out: a SCAN loop where it is one `a[i] = a[i - 1] op x` that threads of a block
run together, in order elsewhere.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.nodes import nested, with_nested
from polyopt.ir.loops import Body, For, LoopKind, Node
from polyopt.ir.scan import NoScan, scan_of

_ALONE = (LoopKind.THREAD, LoopKind.PARALLEL)
"""Loops whose iterations one thread runs."""


def scanning(body: Body, *, is_alone: bool = False) -> Body:
    """Return `body` with loops scanned by threads, or in order."""
    return tuple(_scanning(node, is_alone) for node in body)


def _scanning(node: Node, is_alone: bool) -> Node:
    if isinstance(node, For):
        is_alone = is_alone or node.kind in _ALONE
        if node.kind is LoopKind.SCAN and (is_alone or not _is_scan(node)):
            node = replace(node, kind=LoopKind.SEQUENTIAL)
    return with_nested(node, tuple(scanning(part, is_alone=is_alone) for part in nested(node)))


def _is_scan(loop: For) -> bool:
    try:
        scan_of(loop)
    except NoScan:
        return False
    return True
