"""Remove the loops and parts of a tree that run no instances.

In: a tree, the instances that are left.  Out: the tree over them.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import replace
from polyopt.never import assert_never
from polyopt.schedule.tree import Band, Filter, Leaf, Sequence, Tree


def pruned(tree: Tree, domain: isl.UnionSet) -> Tree:
    """Return `tree` without the parts of sequences that contain no instance of `domain`."""
    match tree:
        case Leaf():
            return tree
        case Band():
            members = tuple(
                replace(m, schedule=m.schedule.intersect_domain(domain)) for m in tree.members
            )
            return replace(tree, members=members, child=pruned(tree.child, domain))
        case Filter():
            inside = domain.intersect(tree.domain)
            return Filter(inside, pruned(tree.child, inside))
        case Sequence():
            parts = []
            for part in tree.parts:
                inside = domain.intersect(part.domain)
                if not inside.is_empty():
                    parts.append(Filter(inside, pruned(part.child, inside)))
            if len(parts) == 1:
                return parts[0].child
            return Sequence(tuple(parts)) if parts else Leaf()
        case _:
            assert_never(tree)
