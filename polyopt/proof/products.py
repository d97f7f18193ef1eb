"""Check that loops which a library computes are a product, whose terms may be added in any order.

In: loops.  Out: nothing; raises `NoLibrary` for others.
"""

from __future__ import annotations

from polyopt.ir.blas import NoProduct, nest_of
from polyopt.ir.loops import Body, For, LoopKind
from polyopt.ir.nodes import bodies
from polyopt.proof.certificate import Unclaimable


class NoLibrary(Unclaimable):
    """Loops that are marked for a library, and that it does not compute."""


def check_products(body: Body, reassociable: frozenset[str]) -> None:
    """Check the nests of kind LIBRARY; raises `NoLibrary`."""
    for node in body:
        if not (isinstance(node, For) and node.kind is LoopKind.LIBRARY):
            for part in bodies(node):
                check_products(part, reassociable)
            continue
        try:
            name = nest_of(node).assign.statement
        except NoProduct as error:
            raise NoLibrary(node.iter, f"a library does not compute its loops: {error}") from None
        if name not in reassociable:
            raise NoLibrary(node.iter, f"the order in which {name or 'it'} adds is not open")
