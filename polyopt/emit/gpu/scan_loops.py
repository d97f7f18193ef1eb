"""Keep the SCAN loops that the threads of a block can run together.

In: lowered loops.  Out: SCAN loops that are one `a[i] = a[i - 1] op x` in a block's code; the
others run in order.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.loops import Body, For, LoopKind, Node
from polyopt.ir.nodes import map_bodies
from polyopt.ir.scan import NoScan, scan_of

_ALONE = (LoopKind.THREAD, LoopKind.PARALLEL)
"""Loops whose iterations one thread runs."""


def select_scans(body: Body, *, is_alone: bool = False) -> Body:
    """Return `body` with SCAN loops that a block scans, or in order."""
    return tuple(_selected(node, is_alone) for node in body)


def _selected(node: Node, is_alone: bool) -> Node:
    if isinstance(node, For):
        is_alone = is_alone or node.kind in _ALONE
        if node.kind is LoopKind.SCAN and (is_alone or not _is_scan(node)):
            node = replace(node, kind=LoopKind.SEQUENTIAL)
    return map_bodies(node, select_scans, is_alone=is_alone)


def _is_scan(loop: For) -> bool:
    try:
        scan_of(loop)
    except NoScan:
        return False
    return True
