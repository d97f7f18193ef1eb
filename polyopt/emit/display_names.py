"""Number the locals that passes declare for readers: from 0 in each nest.

In: a `LoopFunction`, the identifiers chosen so far.  Out: identifiers of the numbered locals.
Locals of one family, as `C_acc` and `C_acc7`, get the least number that is free where they are
declared; nests beside one another use the same numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from polyopt.emit.frame import readable_identifier
from polyopt.ir.loops import Body, Declare, For, If, LoopFunction, Node, While
from polyopt.ir.nodes import all_nodes

_NUMBERED = re.compile(r"(.*_(?:acc|v))\d*")


def local_names(fn: LoopFunction, names: dict[str, str], taken: set[str]) -> None:
    """Replace the identifiers in `names` of numbered locals, and note them in `taken`."""
    declared = Counter(n.name for n in all_nodes(fn.body) if isinstance(n, Declare))
    families = Counter(family for name in declared if (family := family_of(name)))
    chosen = {
        name for name, times in declared.items() if times == 1 and families[family_of(name)] > 1
    }
    chosen.discard("")
    taken -= {names[name] for name in chosen}
    others = frozenset(taken)
    for name, identifier in _numbered(fn.body, chosen, others, {}):
        names[name] = identifier
        taken.add(identifier)


def family_of(name: str) -> str:
    """Return the name without its number; "" if passes do not number such names."""
    found = _NUMBERED.fullmatch(name)
    return found[1] if found else ""


def _numbered(
    body: Body, chosen: set[str], others: frozenset[str], outer: Mapping[str, int]
) -> Iterable[tuple[str, str]]:
    """Yield names and identifiers of what a body declares; `outer` counts families in scope."""
    counts = dict(outer)
    for node in body:
        if isinstance(node, Declare) and node.name in chosen:
            family = family_of(node.name)
            number = counts.get(family, 0)
            while (identifier := readable_identifier(f"{family}{number}")) in others:
                number += 1
            counts[family] = number + 1
            yield node.name, identifier
        for inner in _bodies(node):
            yield from _numbered(inner, chosen, others, counts)


def _bodies(node: Node) -> tuple[Body, ...]:
    match node:
        case For() | While():
            return (node.body,)
        case If():
            return node.then, node.otherwise
        case _:
            return ()
