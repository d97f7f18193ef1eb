"""Tell nests that meet an element of their own at every iteration: no longer than memory is large.

In: a loop of the loop AST.  Out: whether each of its innermost nests has an access whose elements
differ between all iterations.
"""

from __future__ import annotations

from polyopt.ir.expr import Const, Expr, Iter, Load, VectorLoad, sub, walk
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Body, For
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import own_expressions, unrepeated_nodes


def sweeps_elements(loop: For) -> bool:
    """Tell whether no iteration of the nests in `loop` meets the elements of another one."""
    return _is_sweep(loop.body, (loop,))


def _is_sweep(body: Body, levels: tuple[For, ...]) -> bool:
    nodes = list(unrepeated_nodes(body))
    loops = [node for node in nodes if isinstance(node, For)]
    if loops:
        return all(_is_sweep(loop.body, (*levels, loop)) for loop in loops)
    values = [expr for node in nodes for expr in own_expressions(node)]
    values += [node.target for node in nodes if isinstance(node, Assign)]
    return any(
        _tells_apart(part.index, levels)
        for value in values
        for part in walk(value)
        if isinstance(part, Load | VectorLoad)
    )


def _tells_apart(index: tuple[Expr, ...], levels: tuple[For, ...]) -> bool:
    """Tell whether subscripts differ between any two iterations of all loops of unknown length.

    Each subscript has one of their iterators at most.  The number of a tile is told by what runs
    from a multiple of it on.
    """
    lengths = {loop.iter: normalize(sub(loop.upper, loop.lower)) for loop in levels}
    long = {name for name, length in lengths.items() if not isinstance(length, Const)}
    told: set[str] = set()
    for part in index:
        used = {name for name in long if has_iterator(part, {name})}
        if len(used) > 1:
            return False
        told |= used
    for loop in reversed(levels):
        if loop.iter in told:
            terms = linear(loop.lower).terms
            told |= {atom.name for atom, c in terms if isinstance(atom, Iter) and abs(c) > 1}
    return long <= told
