"""Keep the products that a library makes as they are while passes change the loops around them.

In: a `LoopFunction`.  Out: one in which calls stand for these nests, and the nests; and back.
Refuses: nests that are none of the library's operations any more (PO0245).
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.errors import ScheduleError
from polyopt.ir.blas import NoProduct, nest_of
from polyopt.ir.loops import Body, CallLibrary, For, LoopFunction, LoopKind, Node
from polyopt.ir.nodes import map_bodies


def set_aside(fn: LoopFunction) -> tuple[LoopFunction, tuple[For, ...]]:
    """Return the function with opaque calls for its products; raises `ScheduleError` PO0245.

    The calls are numbered behind those that the program makes.
    """
    nests: list[For] = []
    first = len(fn.signature.library)
    arrays = {array.name: array for array in fn.arrays}

    def hidden(node: Node) -> Node:
        if not (isinstance(node, For) and node.kind is LoopKind.LIBRARY):
            return map_bodies(node, within)
        try:
            product = nest_of(node).product
        except NoProduct as error:
            raise ScheduleError(
                "PO0245",
                f"loop {node.iter} is no product of a library any more: {error}",
                hint="let no step after `library` change the loops of the product",
            ) from None
        names = dict.fromkeys(one.array for one in (product.left, product.right, product.target))
        if not names.keys() <= arrays.keys():
            raise ScheduleError(
                "PO0245",
                f"loop {node.iter}: an array of the product has no memory of its own",
                hint="let the product stand in no loop that its arrays are local to",
            )
        nests.append(node)
        used = tuple(arrays[name] for name in names)
        return CallLibrary(first + len(nests) - 1, used, (arrays[product.target.array],))

    def within(body: Body) -> Body:
        return tuple(map(hidden, body))

    return replace(fn, body=within(fn.body)), tuple(nests)


def put_back(fn: LoopFunction, nests: tuple[For, ...]) -> LoopFunction:
    """Return the function with the products in place of the calls."""
    first = len(fn.signature.library)

    def shown(node: Node) -> Node:
        if isinstance(node, CallLibrary) and node.site >= first:
            return nests[node.site - first]
        return map_bodies(node, within)

    def within(body: Body) -> Body:
        return tuple(map(shown, body))

    return replace(fn, body=within(fn.body))
