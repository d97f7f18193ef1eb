"""Check that asynchronous copies have completed before their elements are accessed.

In: the accesses of a block (`BlockReader`).  Out: for each asynchronous copy a write at the point
where its thread waits for it.  A copy may complete at any time from its start to the first wait
that leaves fewer groups pending than were committed since.
Refuses (`Unlanded`): copies that no wait covers, accesses to their elements before that wait.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import Iter
from polyopt.proof.block_accesses import BlockAccess, BlockReader

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


class Unlanded(Exception):
    """An asynchronous copy into `array` is not waited for, or not long enough."""

    def __init__(self, array: str, reason: str) -> None:
        super().__init__(array)
        self.array = array
        self.reason = reason


def landings(reader: BlockReader) -> Iterator[BlockAccess]:
    """Yield the writes of asynchronous copies at their waits; raises `Unlanded`."""
    copies = [access for access in reader.accesses if access.is_async]
    if not copies:
        return
    groups = _Groups.of(reader)
    for copy in copies:
        landed = groups.landed(_times(copy, reader))
        if landed is None:
            raise Unlanded(copy.array, f"no thread waits for its copies into {copy.array}")
        for other in reader.accesses:
            if other.array == copy.array and _is_early(copy, other, landed, reader):
                raise Unlanded(copy.array, f"{copy.array} is used before a copy into it has landed")
        yield _landing(copy, landed, reader)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Commits and waits as sets of `[outside, time]`; `next` maps a commit to the following one."""

    outside: int
    commits: isl.Set
    waits: tuple[tuple[int, isl.Set], ...]
    next: isl.Map

    @staticmethod
    def of(reader: BlockReader) -> _Groups:
        commits: isl.Set | None = None
        waits: list[tuple[int, isl.Set]] = []
        for group in reader.copy_groups:
            times = _flat(group.times)
            if group.pending is not None:
                waits.append((group.pending, times))
            else:
                commits = times if commits is None else commits.union(times)
        if commits is None:
            commits = isl.Set.empty(_flat(reader.accesses[0].place).get_space())
            commits = commits.project_out(_SET, 0, commits.dim(_SET))
            commits = commits.add_dims(_SET, reader.outside + reader.length)
        commits = coalesced(commits)
        after = _later(commits, commits, reader.outside).lexmin()
        return _Groups(reader.outside, commits, tuple(waits), after)

    def landed(self, begins: isl.Set) -> isl.Map | None:
        """Return `{ [outside, begin] -> [outside, wait] }`; None if some have no wait."""
        group = _later(begins, self.commits, self.outside).lexmin()
        found: isl.Map | None = None
        for pending, times in self.waits:
            reached = group
            for _ in range(pending):
                reached = reached.apply_range(self.next)
            waited = reached.apply_range(_later(self.commits, times, self.outside))
            found = waited if found is None else found.union(waited)
        if found is None or not begins.is_subset(found.domain()):
            return None
        return coalesced(found.lexmin())


def _flat(times: isl.Map) -> isl.Set:
    """Return `{ [outside, time] }` of `{ [outside] -> [time] }`."""
    return times.wrap().flatten()


def _times(access: BlockAccess, reader: BlockReader) -> isl.Set:
    rest = access.place.dim(_OUT) - reader.length
    return coalesced(_flat(access.place.project_out(_OUT, reader.length, rest)))


def _later(ones: isl.Set, twos: isl.Set, outside: int) -> isl.Map:
    """Return the pairs of times of one block, the second after the first."""
    pairs = ones.lex_lt_set(twos)
    for position in range(outside):
        pairs = pairs.equate(_IN, position, _OUT, position)
    return pairs


def _is_early(copy: BlockAccess, other: BlockAccess, landed: isl.Map, reader: BlockReader) -> bool:
    """Tell whether an access may run after the start of a copy and before its completion."""
    begins, uses = (_by_element(access, reader) for access in (copy, other))
    pairs = begins.apply_range(uses.reverse())  # { [outside, begin] -> [outside, use] }
    space = landed.get_space()
    after = isl.Map.lex_lt(space.range()).align_params(space)
    pairs = pairs.intersect(isl.Map.lex_lt(pairs.get_space().range()))
    return not pairs.subtract(landed.apply_range(after)).is_empty()


def _by_element(access: BlockAccess, reader: BlockReader) -> isl.Map:
    """Return `{ [outside, time] -> [outside, subscripts] }`."""
    place = access.place.project_out(_OUT, reader.length, 1)
    whole = isl.Map.from_domain(_flat(place))
    outside, length = reader.outside, reader.length
    count = whole.dim(_IN) - outside - length
    whole = whole.move_dims(_OUT, 0, _IN, outside + length, count)
    whole = whole.insert_dims(_OUT, 0, outside)
    for position in range(outside):
        whole = whole.equate(_IN, position, _OUT, position)
    return whole


def _landing(copy: BlockAccess, landed: isl.Map, reader: BlockReader) -> BlockAccess:
    """Return the write of a copy at the point where it is known to be complete."""
    outside, length = reader.outside, reader.length
    whole = isl.Map.from_domain(_flat(copy.place))
    count = whole.dim(_IN) - outside - length
    whole = whole.move_dims(_OUT, 0, _IN, outside + length, count)
    whole = landed.reverse().apply_range(whole)  # { [outside, wait] -> [thread, subscripts] }
    place = whole.insert_dims(_OUT, 0, length)
    for position in range(length):
        place = place.equate(_IN, outside + position, _OUT, position)
    place = place.project_out(_IN, outside, length)
    return replace(copy, place=coalesced(place), when=(Iter("$wait"),), is_async=False)
