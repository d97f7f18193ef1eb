"""Whether the temporaries of a schedule take no more memory than the program's arrays.

In: a schedule, the names of scalars that got a cell for each iteration.  Out: the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Array, Role, Scop
from polyopt.schedule.contraction import contraction_loops
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, BandMember, Tree, children
from polyopt.strategy.extents import growing_rank
from polyopt.transforms import Separate

MAX_EXPANSION = 2  # dimensions; as much memory as a matrix
ARGUMENTS = frozenset({Role.INPUT, Role.INOUT, Role.OUTPUT})


def keeps_scalars_small(schedule: Schedule, scalars: Collection[str]) -> bool:
    """Tell whether no expanded scalar takes more memory than a matrix or an argument.

    A matrix is too much if no argument has two extents that grow: a sum over pairs of points must
    not take memory quadratic in their number. A scalar with a cell per iteration is contracted
    again where one iteration writes and reads it; separate nests for writers and readers need all
    cells, or those of the loops inside common ones; a row per thread is not large.  If sums are
    blocked in registers, the cells may be a matrix, or fit in an argument; each argument stands for
    one scalar, so that all together take no more memory than the arguments do.
    """
    held = any(isinstance(step, Separate) for step in schedule.trace)
    ranks = (growing_rank(array) for array in schedule.scop.arrays if array.role in ARGUMENTS)
    widest = min(max(1, *ranks, 1), MAX_EXPANSION)

    def is_large(array: Array) -> bool:
        is_deep = len(array.shape) > MAX_EXPANSION or growing_rank(array) > widest
        return is_deep and array.name in scalars

    homes = contraction_loops(schedule.scop, schedule.tree, is_large)
    kept = []
    for array in filter(is_large, schedule.scop.arrays):
        home = homes.get(array.name)
        around = () if home is None else loops_through(schedule.tree, home)
        row = any(member.kind is LoopKind.PARALLEL for member in around)
        if len(array.shape) - len(around) > (MAX_EXPANSION if held else int(row)):
            kept.append(array)
    return not kept or (held and fit_in_arguments(kept, schedule.scop))


def fit_in_arguments(arrays: Collection[Array], scop: Scop) -> bool:
    """Tell whether the arrays fit in distinct arguments.

    The extents of an array are extents of its argument, in any order, with elements no larger: it
    takes no more memory, unless the argument has another extent that is 0.
    """
    left = [array for array in scop.arrays if array.role in ARGUMENTS]
    for array in sorted(arrays, key=lambda array: -len(array.shape)):
        large = [argument for argument in left if _fits(array, argument)]
        if not large:
            return False
        left.remove(min(large, key=lambda argument: (len(argument.shape), argument.dtype.size)))
    return True


def _fits(array: Array, argument: Array) -> bool:
    extents = Counter(array.shape) <= Counter(argument.shape)
    return extents and array.dtype.size <= argument.dtype.size


def loops_through(tree: Tree, home: str) -> tuple[BandMember, ...]:
    """Return the loops from the outermost to `home` (`L0[1]`), itself included."""
    label, _, position = home.partition("[")
    for above, band in _bands_below(tree, ()):
        if band.label == label:
            return (*above, *band.members[: int(position.rstrip("]")) + 1])
    raise AssertionError(f"no band {label}")


def _bands_below(
    tree: Tree, above: tuple[BandMember, ...]
) -> Iterator[tuple[tuple[BandMember, ...], Band]]:
    """Yield every band with the loops above it."""
    if isinstance(tree, Band):
        yield above, tree
        above += tree.members
    for child in children(tree):
        yield from _bands_below(child, above)
