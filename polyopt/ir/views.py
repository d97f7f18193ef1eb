"""Replace views by the elements that they name.

In: a body.  Out: the same, with the nodes behind views once for each of the two places that these
may name, under the views' condition.  Views of one condition that are declared together share it.
Expected (`proof/views.py` checks it): nothing behind a view changes what it was declared with.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import replace
from polyopt.ir.expr import Expr, Load, Symbol, VectorLoad, add, integer, mul, rewrite, walk
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Body, Declare, DeclareView, If, Node, Place, SetLocal
from polyopt.ir.nodes import all_nodes, changed_body, map_bodies


def without_views(body: Body) -> Body:
    """Return `body` with the elements that are read through views read themselves.

    What is run under the condition of views directly before them stands before what follows them.
    """
    found: list[Node] = []
    for number, node in enumerate(body):
        if not isinstance(node, DeclareView):
            found.append(map_bodies(node, without_views))
            continue
        views = [*_together(node, body[number:])]
        rest = body[number + len(views) :]
        then = without_views(_in_place(rest, {v.array.name: v.then for v in views}))
        otherwise = without_views(_in_place(rest, {v.array.name: v.otherwise for v in views}))
        match found[-1:]:
            case [If(condition=node.condition, then=before, otherwise=())]:
                found.pop()
                then = (*before, *then)
            case _:
                pass
        return (*found, If(_value_of(node.condition, body[:number]), then, otherwise))
    return tuple(found)


def _together(first: DeclareView, body: Body) -> Iterator[DeclareView]:
    """Yield the views at the beginning of a body that have the condition of the first one."""
    for node in body:
        if not isinstance(node, DeclareView) or node.condition != first.condition:
            return
        yield node


def _value_of(condition: Expr, before: Body) -> Expr:
    """Return a condition in sizes and iterators where it is a local that has such a value."""
    for node in before:
        if isinstance(node, Declare) and condition == Symbol(node.name, node.dtype, node.lanes):
            is_set = any(isinstance(n, SetLocal) and n.name == node.name for n in all_nodes(before))
            varies = any(isinstance(p, Load | VectorLoad | Symbol) for p in walk(node.value))
            return condition if is_set or varies else node.value
    return condition


def _in_place(body: Body, places: dict[str, Place]) -> Body:
    """Return `body` with the elements at `places` in place of those of the views."""

    def rule(expr: Expr) -> Expr | None:
        if not isinstance(expr, Load | VectorLoad) or expr.array not in places:
            return None
        place = places[expr.array]
        *outer, last = (rewrite(subscript, rule) for subscript in expr.index)
        index = list(place.first.index)
        for subscript, steps in zip(outer, place.steps, strict=True):
            moved = zip(index, steps, strict=True)
            index = [add(one, mul(integer(s), subscript)) if s else one for one, s in moved]
        index[-1] = add(index[-1], last)
        return replace(expr, array=place.first.array, index=tuple(map(normalize, index)))

    return changed_body(body, rule)
