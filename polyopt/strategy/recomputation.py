"""Recompute every temporary in the nests that read it, so that no nest reads another's.

In: a proven schedule, in the source's order.  Out: one in which each top-level nest computes what
it reads of temporaries itself, in each iteration of its outermost loop (Ragan-Kelley et al.,
"Halide", 2013: `compute_at` the outermost loop).  Nests without a reader are gone: what is left are
the nests of the outputs, and sums and numbers that are outside of loops or that such read.
Refuses: values that cannot be recomputed (PO0247), too many recomputed statements (PO0248).

The cost is bounded: the iterations of one outermost loop share what they recompute, so that each
nest runs at most its outermost extent times the statements of the program, each of which is copied
at most once for each nest.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from polyopt.dataclass import dataclass
from polyopt.errors import PolyoptError, ScheduleError
from polyopt.ir.parameters import sets_of
from polyopt.ir.scop import Role, Scop, Statement
from polyopt.ir.target import Target
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, Filter, Sequence
from polyopt.transforms import Fuse, Recompute

MOST = 200
"""Statements of a program with recomputation: the certificate of more takes minutes."""


def fused(target: Target, schedule: Schedule) -> Schedule:
    """Return `schedule` with all temporaries recomputed where nests read them.

    Raises `ScheduleError` PO0247 for a value that cannot be recomputed, PO0248 for too many copies,
    PO0249 for another target than C.
    """
    if not target.is_host:
        hint = 'use target="c": the loops are an oracle, not fast'
        raise ScheduleError("PO0249", f'fuse="all" has no kernels for {target.value}', hint=hint)
    return _with_joint_outputs(_recomputed_everywhere(schedule))


def _recomputed_everywhere(schedule: Schedule) -> Schedule:
    _check_number(schedule)
    done: set[str] = set()
    while True:
        nest = next((one for one in _nests(schedule) if one.label not in done), None)
        if nest is None:
            return schedule
        read = _last_read(schedule, nest)
        if read is None:
            done.add(nest.label)
        else:
            schedule = _recomputed(schedule, nest, read)


def recomputed(schedule: Schedule, array: str) -> Schedule | None:
    """Return `schedule` with a temporary recomputed by all nests that read it, or None."""
    found = schedule
    for nest in _nests(schedule):
        reads = {a.array for s in nest.statements for a in s.reads}
        if array in reads - {s.target.array for s in nest.statements}:
            again = found.attempt(Recompute(array, f"{nest.label}[0]"))
            if again is None:
                return None
            found = again
    return None if any(s.target.array == array for s in found.scop.statements) else found


def _check_number(schedule: Schedule) -> None:
    """Raise `ScheduleError` PO0248 if nests would need too many copies of statements."""
    scop = schedule.scop
    numbers: dict[str, int] = {}  # by nest that leaves a result
    for nest in _nests(schedule):
        if all(scop.array(s.target.array).role is Role.TEMP for s in nest.statements):
            continue
        needed, left = set(nest.statements), list(nest.statements)
        while left:
            read = {a.array for a in left.pop().reads if scop.array(a.array).role is Role.TEMP}
            more = [s for s in scop.statements if s.target.array in read and s not in needed]
            needed.update(more)
            left += more
        numbers[nest.label] = len(needed)
    count = sum(numbers.values())
    if count > MOST:
        label = max(numbers, key=lambda name: numbers[name])
        largest = next(nest for nest in _nests(schedule) if nest.label == label)
        raise ScheduleError(
            "PO0248",
            f'fuse="all": recomputation needs {count} statements in {len(numbers)} nests, '
            f"{numbers[label]} of them for {largest.writes}; {MOST} are taken",
            loc=largest.statements[-1].loc,
            hint="leave `fuse` out, or split the function",
        )


def _with_joint_outputs(schedule: Schedule) -> Schedule:
    """Return `schedule` with neighbouring nests that write one array fused where that is legal."""
    nests = list(_nests(schedule))[::-1]
    for one, two in pairwise(nests):
        made = {s.target.array for s in one.statements}
        if made.isdisjoint(s.target.array for s in two.statements):
            continue
        for count in (0, 1):
            found = schedule.attempt(Fuse(one.label, two.label, count))
            if found is not None:
                return _with_joint_outputs(found)
    return schedule


@dataclass(frozen=True, eq=False)
class _Nest:
    """A top-level nest: its band and its statements."""

    label: str
    statements: tuple[Statement, ...]

    @property
    def writes(self) -> str:
        """The name of the array that it leaves."""
        return self.statements[-1].target.array


@dataclass(frozen=True, eq=False)
class _Read:
    """A temporary that a nest reads and others make; `maker` is the last of its statements."""

    array: str
    maker: Statement


def _nests(schedule: Schedule) -> Iterator[_Nest]:
    """Yield the top-level nests with loops, the last one first."""
    tree = schedule.tree
    parts = tree.parts if isinstance(tree, Sequence) else ()
    for part in reversed(parts):
        if isinstance(part.child, Band):
            yield _Nest(part.child.label, _statements(schedule.scop, part))


def _statements(scop: Scop, part: Filter) -> tuple[Statement, ...]:
    names = {one.get_tuple_name() for one in sets_of(part.domain)}
    return tuple(s for s in scop.statements if s.name in names)


def _last_read(schedule: Schedule, nest: _Nest) -> _Read | None:
    """Return a temporary that the nest reads and does not make, the one that is made last."""
    scop = schedule.scop
    inside = {s.name for s in nest.statements}
    made = {s.target.array for s in nest.statements}
    wanted = {a.array for s in nest.statements for a in s.reads} - made
    wanted = {name for name in wanted if scop.array(name).role is Role.TEMP}
    makers = [s for s in scop.statements if s.target.array in wanted and s.name not in inside]
    return _Read(makers[-1].target.array, makers[-1]) if makers else None


def _recomputed(schedule: Schedule, nest: _Nest, read: _Read) -> Schedule:
    try:
        return schedule.apply(Recompute(read.array, f"{nest.label}[0]"))
    except ScheduleError as error:
        raise _refused(nest, read, error) from error


def _refused(nest: _Nest, read: _Read, error: PolyoptError) -> ScheduleError:
    reason = error.message.partition(": ")[2] or error.message
    return ScheduleError(
        "PO0247",
        f'fuse="all": {read.maker.name} cannot be recomputed for {nest.writes}: {reason}',
        loc=read.maker.loc,
        notes=error.notes,
        hint="leave `fuse` out: the automatic schedule stores these values",
    )
