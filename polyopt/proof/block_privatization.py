"""Check that a block may privatize updates: accumulate them and apply them at its end.

In: a kernel, the arrays of the function.  Out: nothing.
Refuses (`NotPrivatizable`): arrays that the kernel also accesses otherwise, operations whose order
is observable, a private copy with fewer elements than the array.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.ir.array import Array
from polyopt.ir.identity import NoUpdate, identity, is_exact, update_of
from polyopt.ir.loops import Assign, Gathered, Kernel, Node
from polyopt.ir.names import reads
from polyopt.ir.nodes import all_nodes, own_expressions
from polyopt.proof.nodes import own_written


class NotPrivatizable(Exception):
    """Privatized updates would not give the same result; the text says why."""


def check_privatized(kernel: Kernel, arrays: Mapping[str, Array]) -> None:
    """Raise `NotPrivatizable` where a kernel privatizes updates that it must not.

    Updates by an exactly associative and commutative operation give the same result in any grouping
    if nothing reads in between: other blocks and the threads of this one only update.
    """
    names = [by.array for by in kernel.gathered]
    if len(set(names)) < len(names):
        raise NotPrivatizable("an array is gathered twice")
    for by in kernel.gathered:
        array = arrays.get(by.array)
        if array is None or len(array.shape) != 1 or array.shape[0] != by.extent or by.most < 1:
            raise NotPrivatizable(f"{by.array} has other elements")
        if not is_exact(by.op, array.dtype) or identity(by.op, array.dtype) is None:
            raise NotPrivatizable(f"the order of `{by.op.value}` of {array.dtype} can be seen")
        for node in all_nodes((*kernel.body, *kernel.finish)):
            _node(node, by)
        if any(by.array in own_written(node) for node in all_nodes(kernel.finish)):
            raise NotPrivatizable(f"the last block updates {by.array} before others are added")


def _node(node: Node, by: Gathered) -> None:
    """Refuse a node that accesses a privatized array other than by an update."""
    if isinstance(node, Assign) and node.is_atomic and node.target.array == by.array:
        try:
            op, _ = update_of(node.target, node.value)
        except NoUpdate as error:
            raise NotPrivatizable(str(error)) from None
        if op is not by.op:
            raise NotPrivatizable(f"{by.array} is updated by `{op.value}`, too")
        return  # what an update reads of the array is its own element
    if by.array in own_written(node) or any(by.array in reads(e) for e in own_expressions(node)):
        raise NotPrivatizable(f"{by.array} is touched by what is no update")
