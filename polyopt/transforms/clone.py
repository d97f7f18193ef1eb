"""Clone: give a nest temporaries and statements of its own.

In: the band of a nest that runs some instances of its statements, as `split` leaves two.  Out: the
same nest over statements of its own, with copies of the temporaries that it uses.
Refuses: a nest that no temporary is used in (PO0331); one that exchanges values of temporaries with
others (the dataflow shows where).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.expr import Expr, Load
from polyopt.ir.names import fresh_name
from polyopt.ir.scop import Array, Role, Scop
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.tree import Tree, find_band, path_to, statements_of
from polyopt.transforms.accesses import redirected, touching
from polyopt.transforms.region import Region, enter_nest
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Clone(DataStep, Written):
    """Let the nest of `band` use temporaries of its own, that no other nest uses.

    After `split`, both parts store a temporary in the same array.  With arrays of their own, each
    part can be given a layout, a size and loops that the other one does not have (renaming: Cytron
    and Ferrante, "What's in a name?", 1987).

    >>> from polyopt.schedule.demo import demo
    >>> demo().apply(Clone("L0"))
    Traceback (most recent call last):
    ...
    polyopt.errors.ScheduleError: error[PO0331]: clone(L0): L0 uses no temporary
       = help: a nest without temporaries needs no arrays of its own
    """

    band: str

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program; raises `ScheduleError` PO0301, PO0331."""
        find_band(tree, self.band)  # refuses what is no band
        names = statements_of(scop, path_to(tree, scop, self.band)[1])
        arrays = tuple(
            array
            for array in scop.arrays
            if array.role is Role.TEMP and not set(names).isdisjoint(touching(scop, array.name))
        )
        if not arrays:
            raise ScheduleError(
                "PO0331",
                f"{self}: {self.band} uses no temporary",
                hint="a nest without temporaries needs no arrays of its own",
            )
        region = enter_nest(scop, tree, self.band, names)
        return RewrittenProgram(_renamed(region, arrays), region.tree, region.same)


def _renamed(region: Region, arrays: Iterable[Array]) -> Scop:
    """Return the region's Scop with copies of the arrays for the statements inside."""
    scop = region.scop
    for array in arrays:
        own = replace(array, name=fresh_name(f"{array.name}_own", {a.name for a in scop.arrays}))
        place = partial(_cell, own)
        statements = tuple(
            redirected(s, array.name, place) if s.name in region.values else s
            for s in scop.statements
        )
        scop = replace(scop, arrays=(*scop.arrays, own), statements=statements)
    used = {a.array for s in scop.statements for a in (s.write, *s.reads)}
    kept = tuple(a for a in scop.arrays if a.role is not Role.TEMP or a.name in used)
    return replace(scop, arrays=kept)


def _cell(array: Array, index: tuple[Expr, ...]) -> Load:
    """Return an element of the copy, whose subscripts are the same."""
    return Load(array.name, index, array.dtype)
