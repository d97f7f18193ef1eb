"""Steps that change where values are kept, and what they make; `data.py` proves them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass, field
from polyopt.ir.scop import Origin, Scop
from polyopt.schedule.tree import Tree

if TYPE_CHECKING:
    from polyopt.schedule.dataflow import Difference


@dataclass(frozen=True, eq=False)
class RewrittenProgram:
    """What a data step makes: a Scop and its tree.

    `same` says for each statement that the old Scop does not have, or has with other iterators,
    what it stands for there; `copies` are statements that only move values, `again` those that run
    instances once more.  For the arrays in `apart` the step itself has shown that what is read of
    them is right.
    """

    scop: Scop
    tree: Tree
    same: Mapping[str, Origin] = field(default_factory=dict)
    copies: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    again: frozenset[str] = frozenset()

    @property
    def is_plain(self) -> bool:
        """Whether the statements run the instances that they ran, and no others."""
        return not (self.same or self.copies or self.apart or self.again)


class DataStep(ABC):
    """One step that changes arrays, accesses and copies, and the tree with them."""

    __slots__ = ()

    @abstractmethod
    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program; raises `ScheduleError` when the step does not fit it."""

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree alone, over the instances of the changed program."""
        return self.renew(tree, scop).tree

    def hint(self, difference: Difference, scop: Scop) -> str | None:
        """Return what to do instead of a step that is refused for `difference`."""
        del difference, scop
        return None
