"""What is known of some of very many sizes.

In: a context, names of sizes.  Out: the part of the context about these, and about all that it
links to them; what is left out shares no constraint with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import FEW, param_space
from polyopt.ir.parameters import bare, mentioned, param_names


@dataclass(frozen=True, eq=False)
class SizeFacts:
    """The constraints of a context; they are told apart where it is one convex piece."""

    context: isl.Set

    @property
    def is_many(self) -> bool:
        """Whether there are so many sizes that it matters how many a question is about."""
        return self.context.dim(isl.dim_type.param) > FEW

    def about(self, names: Iterable[str]) -> isl.Set:
        """Return what is known of `names`, or the whole context where it has few sizes."""
        if not self.is_many or self._groups is None:
            return self.context
        numbers = {self._numbers[name] for name in names if name in self._numbers}
        found = isl.BasicSet.universe(self.context.get_space())
        for constraint in (c for n in sorted(numbers) for c in self._groups[n][1]):
            found = found.add_constraint(constraint)
        return isl.Set.from_basic_set(found)

    def linked(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return, in order, `names` and the sizes that are known of together with one of them."""
        if self._groups is None:
            return tuple(self._places)
        found = set(names) & self._places.keys()
        for number in {self._numbers[name] for name in found if name in self._numbers}:
            found |= self._groups[number][0]
        return tuple(sorted(found, key=self._places.__getitem__))

    def alone(self, names: tuple[str, ...]) -> isl.Set:
        """Return what is known of `names`, all that are linked, and of no other size."""
        return isl.Set.align_params(bare(self.about(names)), param_space(names))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(param_names(self.context))}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: n for n, (names, _) in enumerate(self._groups or ()) for name in names}

    @cached_property
    def _groups(self) -> list[tuple[frozenset[str], list[isl.Constraint]]] | None:
        """Sets of sizes that share no constraint, each with its constraints; None: all may."""
        pieces = self.context.get_basic_sets()
        if len(pieces) != 1 or pieces[0].dim(isl.dim_type.div):
            return None
        groups: dict[str, tuple[frozenset[str], list[isl.Constraint]]] = {}
        for constraint in pieces[0].get_constraints():
            own = mentioned(constraint, self.context.get_space())
            if not own:
                return None  # there are no such sizes
            known = {id(groups[name]): groups[name] for name in own if name in groups}
            names = frozenset(own).union(*(others for others, _ in known.values()))
            before = [one for _, constraints in known.values() for one in constraints]
            groups.update(dict.fromkeys(names, (names, [*before, constraint])))
        return list({id(one): one for one in groups.values()}.values())
