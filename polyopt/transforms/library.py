"""Library: hand a product of matrices, or of a matrix and a vector, to BLAS.

In: a statement.  Out: the same tree, the loops of the product marked; the legality check decides.
Refuses: statements that are no such product (PO0242), loops that are not those of the product or
stand in concurrent ones (PO0243), sums in a fixed order (PO0244).
"""

from __future__ import annotations

from typing import TypeAlias

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.blas import LibraryProduct, NoProduct, product_of
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop, Statement
from polyopt.schedule.tree import BandMember, Tree, path_to, statements_of
from polyopt.transforms.reference import change_members
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Library(Written):
    """Let a BLAS library compute the products that a statement adds up.

    The statement is `C[i, j] += A[i, k] * B[k, j]` or `y[i] += A[i, k] * x[k]`, over a box of
    iterations, in whatever order; its loops are the innermost ones and have nothing else in them.
    The library adds in an order of its own, so the sum has to be reassociable: written as `@`, or
    under fp="reassociate".  Where a text is
    built without a library, and for arrays without unit stride, the loops run as they are.
    """

    statement: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loops marked; raises `ScheduleError` PO0242 to PO0244."""
        _, own = self._found(tree, scop)
        for label, place, _ in own:
            tree = change_members(
                tree, label, (place,), lambda member: replace(member, kind=LoopKind.LIBRARY)
            )
        return tree

    def product(self, tree: Tree, scop: Scop) -> LibraryProduct:
        """Return the product that the statement makes; raises as `rewrite` does."""
        return self._found(tree, scop)[0]

    def _found(self, tree: Tree, scop: Scop) -> tuple[LibraryProduct, list[_Place]]:
        """Return the product and its loops."""
        known = [s for s in scop.statements if s.name == self.statement]
        if not known:
            names = ", ".join(s.name for s in scop.statements)
            raise self._refused("PO0242", "there is no such statement", f"statements: {names}")
        (statement,) = known
        own = _own_loops(tree, scop, statement)
        if not own:
            raise self._refused(
                "PO0243",
                f"{statement.name} has no loops of its own, or runs in several nests",
                "distribute the loops around it, so that all of it has one nest",
                statement,
            )
        loops = [_dimension(member.pieces[statement.name], statement) for _, _, member in own]
        product = self._product(statement, loops)
        inside = {name for name in (product.rows, product.terms, product.columns) if name}
        self._check_order(tree, scop, own, statement)
        self._check_box(statement, tuple(name for name in statement.iters if name in inside))
        return product, own[-len(inside) :]

    def _product(self, statement: Statement, loops: list[str | None]) -> LibraryProduct:
        """Return what the innermost loops compute: three of them, or else two."""
        reason: NoProduct | None = None
        for count in (3, 2):
            names = tuple(name for name in loops[-count:] if name is not None)
            if statement.guard is None and len(names) == count:
                try:
                    product = product_of(statement.target, statement.value, names)
                except NoProduct as error:
                    reason = reason or error
                    continue
                self._check_sum(statement)
                return product
        why = "it has a condition" if statement.guard is not None else "it has too few loops"
        raise self._refused(
            "PO0242",
            f"{statement.name} is no product that BLAS has: {reason or why}",
            "name a statement `C[i, j] += A[i, k] * B[k, j]` or `y[i] += A[i, k] * x[k]`",
            statement,
        )

    def _check_sum(self, statement: Statement) -> None:
        if not statement.is_reassociable:
            raise self._refused(
                "PO0244",
                f"the source fixes the order in which {statement.name} adds, and a library has "
                "its own",
                "write the sum as `@`, or use fp='reassociate'",
                statement,
            )

    def _check_order(self, tree: Tree, scop: Scop, own: list[_Place], statement: Statement) -> None:
        """Check that the loops of a product and around it are plain."""
        around = path_to(tree, scop, own[0][0])[0]
        for member in (*around, *(member for _, _, member in own)):
            if member.kind not in (LoopKind.SEQUENTIAL, LoopKind.LIBRARY):
                raise self._refused(
                    "PO0243",
                    f"loop {member.name} is {member.kind.value}, and a library is called in order",
                    "leave the steps on the loops of the product and around it out",
                    statement,
                )

    def _check_box(self, statement: Statement, loops: tuple[str, ...]) -> None:
        """Check that the bounds of each loop of the product do not depend on the others."""
        box = statement.domain
        places = [statement.iters.index(name) for name in loops]
        whole: isl.Set | None = None
        for place in places:
            free = box
            for other in places:
                if other != place:
                    free = free.project_out(isl.dim_type.set, other, 1)
                    free = free.insert_dims(isl.dim_type.set, other, 1)
            whole = free if whole is None else whole.intersect(free)
        assert whole is not None
        if not whole.reset_tuple_id().is_equal(box.reset_tuple_id()):
            raise self._refused(
                "PO0242",
                f"{statement.name} is no product of whole matrices: bounds of its loops depend on "
                "each other",
                "split the loops into boxes first",
                statement,
            )

    def _refused(
        self, code: str, reason: str, hint: str, statement: Statement | None = None
    ) -> ScheduleError:
        loc = None if statement is None else statement.loc
        return ScheduleError(code, f"{self}: {reason}", loc=loc, hint=hint)


_Place: TypeAlias = tuple[str, int, BandMember]


def _own_loops(tree: Tree, scop: Scop, statement: Statement) -> list[_Place]:
    """Return the loops that run all instances of a statement and nothing else, outermost first."""
    found: list[_Place] = []
    for band in tree.bands:
        _, domain = path_to(tree, scop, band.label)
        if statements_of(scop, domain) == [statement.name]:
            if not isl.UnionSet.from_set(statement.domain).is_subset(domain):
                return []
            found += [(band.label, place, member) for place, member in enumerate(band.members)]
    return found


def _dimension(value: isl.PwAff, statement: Statement) -> str | None:
    """Return the iterator that a loop's value is; None where it is another value."""
    space = isl.LocalSpace.from_space(value.get_domain_space())
    for place, name in enumerate(statement.iters):
        own = isl.PwAff.from_aff(isl.Aff.var_on_domain(space, isl.dim_type.set, place))
        if own.intersect_domain(value.domain()).is_equal(value):
            return name
    return None
