"""Scan: run a recurrence `a[i] = a[i - 1] op x` as a parallel scan on a device.

In: the loop of a recurrence.  Out: the same tree with the loop marked; only the grouping of the
terms changes, so it is always legal.
Refuses: statements that are not such a recurrence, or not reassociable (PO0346).
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.expr import Binary
from polyopt.ir.loops import LoopKind
from polyopt.ir.scan import NoScan, is_open, is_recurrence, parted
from polyopt.ir.scop import Scop, Statement
from polyopt.schedule.tree import Leaf, Tree, find_band, names_at, path_to
from polyopt.transforms.mapping import loops_inside
from polyopt.transforms.reference import change_loop, loop
from polyopt.transforms.written import Written


@dataclass(frozen=True, slots=True)
class Scan(Written):
    """Run a recurrence by all threads of a block, or by many blocks where no grid is around it.

    Each thread has a term; neighbours combine what they have by shuffles, warps and blocks by what
    they leave in memory.  The tree of operations is the same in every run.
    """

    loop: str

    def rewrite(self, tree: Tree, scop: Scop) -> Tree:
        """Return the tree with the loop marked.

        Raises `ScheduleError` PO0301, PO0302, PO0303, PO0346.
        """
        ref = loop(tree, self.loop, str(self))
        assert ref.position is not None
        band = find_band(tree, ref.label)
        names = names_at(tree, scop, ref.label)
        is_last = ref.position == len(band.members) - 1 and isinstance(band.child, Leaf)
        if not is_last or len(names) != 1:
            raise self._refused(
                "it is not the innermost loop of one statement",
                "name the loop of a recurrence alone: `distribute` or `interchange` first",
            )
        path, _ = path_to(tree, scop, ref.label)
        outer = (*path, *band.members[: ref.position], *loops_inside(tree, ref.label, ref.position))
        if any(member.kind is LoopKind.THREAD for member in outer):
            raise self._refused(
                "the loops around it already run across the threads of a block",
                "put the loops around it on the grid: a block has one scan at a time",
            )
        self._check(scop.statement(names[0]))
        return change_loop(tree, self.loop, str(self), lambda m: replace(m, kind=LoopKind.SCAN))

    def _check(self, statement: Statement) -> None:
        """Refuse a statement that is not a reassociable recurrence."""
        try:
            if not isinstance(statement.value, Binary) or statement.guard is not None:
                raise NoScan("it is no operation on what is there, in every iteration")
            before, _ = parted(statement.target, statement.value)
            if before.index == statement.target.index:
                raise NoScan("each iteration updates the same element: use `rfactor`")
            if not is_recurrence(statement):
                raise NoScan("it skips iterations, or threads cannot pass on what it makes")
        except NoScan as error:
            raise self._refused(
                f"{statement.name} is no recurrence `a[i] = a[i - 1] op x`: {error}",
                "write it as `np.cumsum` or a loop of one statement; `expand` a scalar first",
                statement,
            ) from None
        if not is_open(statement):
            raise self._refused(
                f"the last bits of {statement.name} tell how its terms are grouped",
                "use fp='reassociate', or whole numbers",
                statement,
            )

    def _refused(self, reason: str, hint: str, statement: Statement | None = None) -> ScheduleError:
        loc = None if statement is None else statement.loc
        return ScheduleError("PO0346", f"{self}: {reason}", loc=loc, hint=hint)
