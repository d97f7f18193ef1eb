"""Check that arrays which take turns in one memory never live at the same time.

In: the loops as they are printed.  Out: a claim for each memory.
Every node that names one array of a memory has to come before every node that names the next one.
Nodes are those of the function's body and of branches in it: the sides of a branch follow each
other in the text, and whichever runs, what is executed keeps the order of the text.  A loop is one
node, so two arrays that one loop names are refused, whatever its iterations do.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import replace
from polyopt.ir.array import Array, Role
from polyopt.ir.loops import AllocateArray, Body, If, LoopFunction
from polyopt.ir.nodes import all_nodes
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.kernels import has_kernels
from polyopt.proof.partial import mentioned


def check_turns(function: LoopFunction) -> Iterator[Claim]:
    """Yield whether the arrays of each memory live one after another."""
    known = {array.name: array for array in function.arrays}
    taken: set[str] = set()
    for group in function.turns:
        reason = _form(group, known, taken, function) or _meeting(group, function.body)
        taken.update(group)
        verdict = Verdict.REFUTED if reason else Verdict.PROVEN
        yield Claim(ClaimKind.STORAGE, f"memory of {', '.join(group)}", verdict, "", reason)


def _form(
    group: tuple[str, ...], known: dict[str, Array], taken: set[str], function: LoopFunction
) -> str:
    """Return why these arrays cannot share memory whenever they live, "" if they can."""
    late = {n.array.name for n in all_nodes(function.body) if isinstance(n, AllocateArray)}
    kinds = set()
    for name in group:
        array = known.get(name)
        if array is None or array.role is not Role.TEMP or not array.shape:
            return f"`{name}` is no temporary array"
        if name in late or name in taken or group.count(name) > 1:
            return f"`{name}` has memory of its own"
        kinds.add(array.dtype)
    if len(kinds) != 1 or has_kernels(function.body):
        return "the arrays are not of one type in the memory of the host"
    return ""


def _meeting(group: tuple[str, ...], body: Body) -> str:
    """Return which two arrays live at the same time, "" if none do."""
    ended: set[str] = set()
    living = ""
    for names in _places(body):
        for name in sorted(names.intersection(group)):
            if name in ended:
                return f"`{name}` is used after `{living}`, which overwrites it"
            if name != living:
                if living in names:
                    return f"`{living}` and `{name}` are used by one nest"
                ended.add(living)
                living = name
    return ""


def _places(body: Body) -> Iterator[frozenset[str]]:
    for node in body:
        if isinstance(node, If):
            yield frozenset(mentioned((replace(node, then=(), otherwise=()),)))
            yield from _places(node.then)
            yield from _places(node.otherwise)
        else:
            yield frozenset(mentioned((node,)))
