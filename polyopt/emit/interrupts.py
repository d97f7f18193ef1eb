"""Poll for signals between iterations of outermost loops, so that Ctrl-C ends a kernel early.

In: a body of the loop AST.  Out: which of its loops ask, and the C text of the question.
Outermost serial loops with loops inside ask once an iteration; a text without a driver that knows
of signals never stops.
"""

from __future__ import annotations

from polyopt.ir.loops import Body, For, If, LoopKind, While
from polyopt.ir.nodes import all_nodes

STOPPED = "PO_STOPPED"
STATUS = "-1"
"""What the entry returns where an exception of the interpreter waits."""
TEXT = f"""#ifdef PO_STOPS
extern struct {{ const volatile int *signalled; int (*ask)(void); }} po_stop;
#define {STOPPED} (*po_stop.signalled && po_stop.ask())
#else
#define {STOPPED} 0
#endif"""
_SERIAL = (LoopKind.SEQUENTIAL, LoopKind.UNROLL)


def asks(loop: For | While) -> bool:
    """Tell whether an outermost loop asks: one that nothing counts, or that has loops inside."""
    if isinstance(loop, While):
        return True
    inside = any(isinstance(node, For | While) for node in all_nodes(loop.body))
    return inside and loop.kind in _SERIAL and loop.lanes == 1


def any_asks(body: Body) -> bool:
    """Tell whether one of the outermost loops of `body` asks."""
    for node in body:
        if isinstance(node, For | While) and asks(node):
            return True
        if isinstance(node, If) and (any_asks(node.then) or any_asks(node.otherwise)):
            return True
    return False
