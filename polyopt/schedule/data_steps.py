"""Define data steps, which change where values are stored, and their results.

In: nothing.  Out: `DataStep` and `RewrittenProgram`; `data.py` proves them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from polyopt.dataclass import dataclass, field
from polyopt.ir.scop import Origin, Scop
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
