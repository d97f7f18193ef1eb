"""Split a static control part into groups of nests that share no written storage.

In: a Scop, its loops.  Out: Scops of some of the statements and of the sizes that these need, each
with its loops; every statement and every node is in one of them.
Instances of different groups never conflict, so each group is proven by itself: the time of a proof
grows with the square of the number of sizes, used or not.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.ir.loops import Assign, Body, Declare, For, Node, SetLocal
from polyopt.ir.names import params_of, reads, symbols
from polyopt.ir.nodes import all_nodes, own_expressions
from polyopt.ir.scop import Scop, Statement
from polyopt.proof.nodes import own_written


@dataclass(frozen=True, eq=False)
class Member:
    """A statement of the source, or a node of the loops: its writes, reads and runs."""

    sets: frozenset[str]
    reads: frozenset[str]
    statements: frozenset[str]
    sizes: frozenset[str]


def groups_of(scop: Scop, body: Body) -> list[tuple[Scop, Body]]:
    """Return the groups, in the order of their first statements; one if there are few sizes."""
    if not scop.sizes.is_many:
        return [(scop, body)]
    members = [*map(member_of_statement, scop.statements), *map(member_of_node, body)]
    count = len(scop.statements)
    groups = _connected(members)
    if len(groups) == 1:
        return [(scop, body)]
    return [
        (
            restricted(scop, [members[n] for n in group], [n for n in group if n < count]),
            tuple(body[n - count] for n in group if n >= count),
        )
        for group in groups
    ]


def member_of_statement(statement: Statement) -> Member:
    """Return what a statement of the source touches."""
    guard = () if statement.guard is None else (statement.guard,)
    exprs = (statement.value, *guard, *statement.target.index)
    sets = frozenset((statement.write.array,))
    return Member(
        sets, reads(*exprs) | symbols(*exprs), frozenset((statement.name,)), statement.sizes
    )


def member_of_node(node: Node) -> Member:
    """Return what a node of the loops touches."""
    inner = tuple(all_nodes((node,)))
    named = [one for one in inner if isinstance(one, Assign | Declare | SetLocal)]
    exprs = [expr for one in inner for expr in own_expressions(one)]
    exprs += [expr for one in named for expr in one.instance]
    return Member(
        frozenset(name for one in inner for name in _set_by(one)),
        reads(*exprs) | symbols(*exprs),
        frozenset(one.statement for one in named if one.statement),
        params_of(exprs),
    )


def _set_by(node: Node) -> Iterator[str]:
    yield from own_written(node)
    match node:
        case Declare() | SetLocal():
            yield node.name
        case For():
            yield from (symbol.name for _, symbol in node.reductions)
        case _:
            pass


def _connected(members: list[Member]) -> list[list[int]]:
    """Return positions of members, grouped when one writes what another accesses."""
    changed = frozenset[str]().union(*(member.sets for member in members))
    above = list(range(len(members)))

    def top(number: int) -> int:
        while above[number] != number:
            above[number] = number = above[above[number]]
        return number

    first: dict[tuple[str, str], int] = {}
    for number, member in enumerate(members):
        keys = [("storage", name) for name in member.sets | (member.reads & changed)]
        keys += [("statement", name) for name in member.statements]
        for key in keys:
            one, two = top(first.setdefault(key, number)), top(number)
            above[max(one, two)] = min(one, two)
    groups: dict[int, list[int]] = {}
    for number in range(len(members)):
        groups.setdefault(top(number), []).append(number)
    return list(groups.values())


def restricted(scop: Scop, members: list[Member], places: list[int]) -> Scop:
    """Return some statements as a part, with the arrays and sizes in `members`."""
    names = frozenset[str]().union(*(member.sets | member.reads for member in members))
    arrays = tuple(array for array in scop.arrays if array.name in names)
    sizes = params_of(extent for array in arrays for extent in array.shape)
    sizes = sizes.union(*(member.sizes for member in members))
    part = scop.part([scop.statements[place] for place in places], sizes)
    return replace(part, arrays=arrays)
