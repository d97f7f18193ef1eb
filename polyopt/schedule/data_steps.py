"""Define data steps, which change where values are stored, and their results.

In: nothing.  Out: `DataStep` and `RewrittenProgram`; `data.py` proves them.
Dependences that such a step does not change are used again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.expr import Iter
from polyopt.ir.scop import Access, Origin, Scop, Statement
from polyopt.schedule.dependences import Dependence, Dependences, ordered_pairs
from polyopt.schedule.tree import Tree

if TYPE_CHECKING:
    from polyopt.schedule.dataflow import Difference


@dataclass(frozen=True, eq=False)
class RewrittenProgram:
    """The result of a data step: a Scop and its tree.

    `same` maps each statement that is new, or has other iterators than in the old Scop, to the
    instances that it stands for there; `copies` are statements that only move values, `recomputed`
    those that recompute instances.  The step itself has verified the dataflow of the arrays in
    `verified`.
    """

    scop: Scop
    tree: Tree
    same: Mapping[str, Origin] = field(default_factory=dict)
    copies: frozenset[str] = frozenset()
    verified: frozenset[str] = frozenset()
    recomputed: frozenset[str] = frozenset()

    @property
    def is_plain(self) -> bool:
        """Whether the statements run the same instances as before."""
        return not (self.same or self.copies or self.verified or self.recomputed)


class DataStep(ABC):
    """A step that changes arrays, accesses and copies, and the tree with them.

    `uses_law`: the new Scop computes the same by a law of arithmetic, which the certificate applies
    again; otherwise by its dataflow alone.
    """

    __slots__ = ()
    uses_law: ClassVar[bool] = False

    @abstractmethod
    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program; raises `ScheduleError` when the step does not apply."""

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree alone, over the instances of the changed program."""
        return self.renew(tree, scop).tree

    def hint(self, difference: Difference, scop: Scop) -> str | None:
        """Return an alternative to a step that is refused for `difference`."""
        del difference, scop
        return None


def changed_arrays(
    old: Scop, new: Scop, same: Mapping[str, Origin], added: frozenset[str]
) -> frozenset[str]:
    """Return the arrays that `added` statements access, or others access differently."""
    found = {a.name for a in new.arrays} - {a.name for a in old.arrays}
    for statement in new.statements:
        touched = _accesses(statement)
        if statement.name in added:
            found |= {access.array for access in touched}
            continue
        own = Origin(statement.name, tuple(map(Iter, statement.iters)))
        origin = same.get(statement.name, own)
        was = old.statement(origin.statement)
        plain = origin.instance == tuple(map(Iter, was.iters))
        for before, after in zip(_accesses(was), touched, strict=True):
            if not plain or (before.array, before.index) != (after.array, after.index):
                found |= {before.array, after.array}
    kept = {a.name: a for a in new.arrays}
    found |= {a.name for a in old.arrays if kept.get(a.name) != a}
    return frozenset(found)


def _accesses(statement: Statement) -> tuple[Access, ...]:
    return (statement.write, *statement.reads)


def reused_dependences(
    old: Dependences,
    new: Scop,
    changed: frozenset[str],
    instances: Mapping[str, isl.Map],
) -> Dependences:
    """Return the dependences of `new`: those of `old` except on the arrays `changed`.

    `instances` maps the instances of statements to those of the old Scop; other statements are
    unchanged.
    """
    fresh = ordered_pairs(new, new.statements, changed)
    kept = _reused(old, new, changed, instances)
    return Dependences(new, (*kept, *fresh), old.known)


def _reused(
    old: Dependences, new: Scop, changed: frozenset[str], instances: Mapping[str, isl.Map]
) -> Iterator[Dependence]:
    stands = {s.name: [s.name] for s in new.statements if s.name not in instances}
    for name, to_old in instances.items():
        stands.setdefault(to_old.get_tuple_name(isl.dim_type.out), []).append(name)
    for d in old.memory:
        if d.array in changed:
            continue
        for source in stands.get(d.source, ()):
            for target in stands.get(d.target, ()):
                relation = d.relation
                if source in instances:
                    relation = instances[source].apply_range(relation)
                if target in instances:
                    relation = relation.apply_range(instances[target].reverse())
                if relation is d.relation or _is_same(relation, d.relation):
                    yield d
                elif not relation.is_empty():
                    yield replace(d, source=source, target=target, relation=relation)


def _is_same(one: isl.Map, other: isl.Map) -> bool:
    """Tell whether two relations have the same spaces and the same pairs."""
    return bool(one.get_space().is_equal(other.get_space()) and one.is_equal(other))
