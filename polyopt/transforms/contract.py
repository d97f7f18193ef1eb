"""Contract: store a temporary in fewer cells by reusing those of dead values.

In: a temporary, a number of cells per dimension (none: the fewest that suffice).  Out: the program
with subscripts modulo these numbers.
Refuses: arguments of the program; two values that would share a cell while both are live.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Load, integer
from polyopt.ir.parameters import maps_of
from polyopt.ir.scop import Array, Role, Scop
from polyopt.ir.types import DType
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.dataflow import Dataflow, Difference
from polyopt.schedule.rebase import rebased
from polyopt.schedule.sizes import Size, value_of
from polyopt.schedule.tree import Tree
from polyopt.transforms.accesses import find_array, redirected, touching
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Contract(DataStep, Written):
    """Use `array[e % size]` for `array[e]` in every dimension whose size is not 0.

    A value may take the cell of another when, in the order the loops run now, that one is not read
    again (Lefebvre and Feautrier, "Automatic storage management for parallel programs", 1998).
    Without sizes, those that need the fewest cells are taken, dimension by dimension (De Greef,
    Catthoor, De Man, "Memory size reduction through storage order optimization", 1997).
    """

    array: str
    sizes: tuple[Size, ...] = ()

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program; raises `ScheduleError` PO0331, PO0335."""
        array = find_array(scop, self.array, str(self), (Role.TEMP,))
        rank = len(array.shape)
        sizes = tuple(map(value_of, self.sizes)) or fewest(rebased(scop, tree), array)
        if len(sizes) != rank or any(size < 0 for size in sizes):
            raise ScheduleError(
                "PO0335",
                f"{self}: {array.name} has {rank} dimensions, {len(sizes)} sizes were given",
                hint="give one size per dimension, 0 to keep it, or none for the fewest cells",
            )
        if not any(sizes):
            raise ScheduleError(
                "PO0335",
                f"{self}: every cell of {array.name} is needed",
                hint="leave the step out; fusing its producer and its reader shortens lives",
            )

        def place(index: tuple[Expr, ...]) -> Load:
            found = (_modulo(i, size) for i, size in zip(index, sizes, strict=True))
            return Load(array.name, tuple(found), array.dtype)

        statements = tuple(redirected(s, array.name, place) for s in scop.statements)
        shape = tuple(_cells(extent, size) for extent, size in zip(array.shape, sizes, strict=True))
        arrays = tuple(replace(a, shape=shape) if a is array else a for a in scop.arrays)
        return RewrittenProgram(replace(scop, arrays=arrays, statements=statements), tree)

    def hint(self, difference: Difference, scop: Scop) -> str | None:
        """Return sizes that would be legal."""
        del difference
        sizes = fewest(scop, scop.array(self.array))
        if not any(sizes):
            return f"every cell of {self.array} is needed; leave the step out"
        return f"enough cells: {Contract(self.array, sizes)}"


def _modulo(index: Expr, size: int) -> Expr:
    if size == 0:
        return index
    if size == 1:
        return integer(0)
    return Binary(BinaryOp.MOD, index, integer(size), DType.INT64)


def _cells(extent: Expr, size: int) -> Expr:
    match extent:
        case Const(value=int(value)) if size and value < size:
            return extent
        case _:
            return integer(size) if size else extent


def fewest(scop: Scop, array: Array) -> tuple[int, ...]:
    """Return for each dimension a number of cells that suffices, 0 where no number does.

    `scop` stands in the order in which the loops run.  A dimension's number is one more than the
    largest distance of two elements that are live at the same time and equal in those before.
    """
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(array.shape))
    pairs = isl.Set.empty(space.align_params(scop.context.get_space()))
    for source, target in _together(scop, array.name):
        distance = source.reverse().apply_range(target).deltas()
        pairs = pairs.union(distance.reset_tuple_id())
    sizes = []
    for dim in range(len(array.shape)):
        size = _reach(pairs, dim)
        sizes.append(size)
        if size:
            pairs = pairs.fix_val(isl.dim_type.set, dim, isl.Val(0))
    return tuple(sizes)


def _reach(pairs: isl.Set, dim: int) -> int:
    if pairs.is_empty():
        return 1
    most, least = pairs.dim_max_val(dim), pairs.dim_min_val(dim)
    if not (most.is_int() and least.is_int()):
        return 0
    return max(int(most.to_python()), -int(least.to_python()), 0) + 1


def _together(scop: Scop, array: str) -> list[tuple[isl.Map, isl.Map]]:
    """Return maps (instance pairs to first and to second element) of values live together."""
    users = touching(scop, array)
    flow = Dataflow(scop, users)
    order = scop.order_of(users).intersect_params(scop.context)
    writes = {s.name: s.write for s in scop.statements if s.write.array == array}
    reads = isl.UnionMap.empty(scop.context.get_space())
    for statement in scop.statements:
        for number, read in enumerate(statement.reads):
            if read.array == array:
                reads = reads.union(flow.of_read(statement, number).writers)
    domain = flow.empty.domain()
    for write in writes.values():
        inside = write.relation.domain().intersect_params(scop.context)
        domain = domain.union(isl.UnionSet.from_set(inside))
    times = order.intersect_domain(domain)
    before_read = reads.apply_range(order.lex_gt_union_map(times))  # write -> write before a read
    later = before_read.intersect(times.lex_lt_union_map(times))
    found: list[tuple[isl.Map, isl.Map]] = []
    for pair in maps_of(later):
        first = writes[pair.get_tuple_name(isl.dim_type.in_)].relation
        second = writes[pair.get_tuple_name(isl.dim_type.out)].relation
        found.append((first, pair.apply_range(second)))
    return found
