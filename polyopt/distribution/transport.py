"""Messages between ranks: none alone, MPI by mpi4py.

In: arrays of bytes by rank.  Out: what the others sent.
A wait that takes longer than the limit ends the whole job with PO0860, which names the ranks waited
for: MPI has no way to go on without a rank.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from types import TracebackType
from typing import Any, Protocol, TypeAlias

import numpy as np

from polyopt.errors import PolyoptError, UsageError

Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
Messages: TypeAlias = Mapping[int, Bytes]
Combine: TypeAlias = Callable[[Any, Any], Any]

TIME_LIMIT = 600.0
"""Seconds that a rank waits for others, unless a kernel says otherwise (`timeout`)."""
_PAUSE = 50e-6  # seconds between looks at what has arrived, after some without; later 20 times
_LOOKS = 2000


class Transport(Protocol):
    """How ranks exchange bytes; all ranks call the same methods in the same order.

    `begin` starts messages to and from some ranks, each of a known number of bytes, and returns a
    function that waits for those that come.  `gather_all` returns every rank's bytes, `broadcast`
    those of one rank.  `all_to_all` sends one message to each rank and returns those that come.
    `reduce_all` returns all ranks' arrays combined.  `reduce_scatter` gets an array for each rank,
    and returns what all have for this one, combined.  `scan` combines the arrays of the ranks
    before this one, and returns None on the first.
    `first_alone` calls a function on the first rank before the others.
    """

    rank: int
    size: int

    def begin(
        self, tag: int, sends: Messages, counts: Mapping[int, int]
    ) -> Callable[[], Messages]: ...

    def gather_all(self, mine: Bytes, counts: Sequence[int]) -> list[Bytes]: ...

    def broadcast(self, mine: Bytes | None, root: int, count: int) -> Bytes: ...

    def all_to_all(self, sends: Sequence[Bytes], counts: Sequence[int]) -> list[Bytes]: ...

    def reduce_all(self, mine: Any, name: str, combine: Combine) -> Any: ...  # noqa: ANN401

    def reduce_scatter(self, parts: Sequence[Any], name: str, combine: Combine) -> Any: ...  # noqa: ANN401

    def scan(self, mine: Any, name: str, combine: Combine) -> Any: ...  # noqa: ANN401

    def first_alone(self, act: Callable[[], None]) -> None: ...


class Alone:
    """One rank."""

    rank = 0
    size = 1

    def begin(self, tag: int, sends: Messages, counts: Mapping[int, int]) -> Callable[[], Messages]:
        """Nothing is sent."""
        del tag, sends, counts
        return dict

    def gather_all(self, mine: Bytes, counts: Sequence[int]) -> list[Bytes]:
        """Return this rank's bytes."""
        del counts
        return [mine]

    def broadcast(self, mine: Bytes | None, root: int, count: int) -> Bytes:
        """Return this rank's bytes."""
        del root, count
        assert mine is not None
        return mine

    def reduce_all(self, mine: Any, name: str, combine: Combine) -> Any:  # noqa: ANN401
        """Return this rank's array."""
        del name, combine
        return mine

    def all_to_all(self, sends: Sequence[Bytes], counts: Sequence[int]) -> list[Bytes]:
        """Return this rank's message to itself."""
        del counts
        return list(sends)

    def reduce_scatter(self, parts: Sequence[Any], name: str, combine: Combine) -> Any:  # noqa: ANN401
        """Return this rank's array."""
        del name, combine
        return parts[0]

    def scan(self, mine: Any, name: str, combine: Combine) -> Any:  # noqa: ANN401
        """Return None: there is no rank before."""
        del mine, name, combine

    def first_alone(self, act: Callable[[], None]) -> None:
        """Call `act`."""
        act()


class Mpi:
    """The ranks of `mpirun`; every wait is bounded by `limit` seconds."""

    def __init__(self, limit: float = TIME_LIMIT) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self.rank, self.size, self.limit = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, limit
        self._ops = {"+": MPI.SUM, "*": MPI.PROD, "min": MPI.MIN, "max": MPI.MAX}
        self._sent: list[Any] = []
        self._leaving: tuple[Bytes, ...] = ()
        _end_all_with_one(MPI.COMM_WORLD)
        # messages of the program's own cannot meet those in a communicator of their own
        self._comm, request = MPI.COMM_WORLD.Idup()
        self._wait([request], range(self.size))

    def begin(self, tag: int, sends: Messages, counts: Mapping[int, int]) -> Callable[[], Messages]:
        """Start messages; what is sent earlier has to have left."""
        received = {rank: np.empty(count, np.uint8) for rank, count in counts.items()}
        coming = [self._comm.Irecv(buffer, rank, tag) for rank, buffer in received.items()]
        self._wait(self._sent, sends)
        self._sent = [self._comm.Isend(buffer, rank, tag) for rank, buffer in sends.items()]
        self._leaving = tuple(sends.values())  # alive until they have left

        def wait() -> Messages:
            self._wait(coming, counts)
            return received

        return wait

    def gather_all(self, mine: Bytes, counts: Sequence[int]) -> list[Bytes]:
        """Return every rank's bytes by `MPI_Iallgatherv`."""
        whole = np.empty(sum(counts), np.uint8)
        places = _starts(counts)
        layout = [whole, list(counts), places, self._mpi.BYTE]
        self._wait([self._comm.Iallgatherv(mine, layout)], range(self.size))
        return [whole[p : p + c] for p, c in zip(places, counts, strict=True)]

    def broadcast(self, mine: Bytes | None, root: int, count: int) -> Bytes:
        """Return the bytes of rank `root` by `MPI_Ibcast`."""
        buffer = np.empty(count, np.uint8) if mine is None else mine
        self._wait([self._comm.Ibcast(buffer, root)], [root])
        return buffer

    def reduce_all(self, mine: Any, name: str, combine: Combine) -> Any:  # noqa: ANN401
        """Return all ranks' arrays combined by `MPI_Iallreduce`; without an operation there, here.

        Minima and maxima of floats are combined here: MPI does not say what becomes of NaN.
        """
        if self._has(name, mine):
            result = np.empty_like(mine)
            self._wait([self._comm.Iallreduce(mine, result, self._ops[name])], range(self.size))
            return result
        flat = np.ascontiguousarray(mine).reshape(-1).view(np.uint8)
        parts = self.gather_all(flat, [flat.size] * self.size)
        return combined([p.view(mine.dtype).reshape(mine.shape) for p in parts], combine)

    def _has(self, name: str, like: Any) -> bool:  # noqa: ANN401
        """Tell whether MPI has the operation for a type, and says what it does."""
        own = name in ("min", "max") and like.dtype.kind == "f"
        return name in self._ops and not own and like.dtype.char in "bBhHiIlLqQfdFD"

    def all_to_all(self, sends: Sequence[Bytes], counts: Sequence[int]) -> list[Bytes]:
        """Return the messages of all ranks by `MPI_Ialltoallv`."""
        leaving = [len(message) for message in sends]
        whole = np.empty(sum(counts), np.uint8)
        places = _starts(counts)
        out = [np.concatenate(sends), leaving, _starts(leaving), self._mpi.BYTE]
        into = [whole, list(counts), places, self._mpi.BYTE]
        self._wait([self._comm.Ialltoallv(out, into)], range(self.size))
        return [whole[p : p + c] for p, c in zip(places, counts, strict=True)]

    def reduce_scatter(self, parts: Sequence[Any], name: str, combine: Combine) -> Any:  # noqa: ANN401
        """Return all ranks' arrays for this one combined by `MPI_Ireduce_scatter`."""
        like = parts[self.rank]
        if self._has(name, like):
            result = np.empty_like(like)
            out = np.concatenate([part.reshape(-1) for part in parts])
            counts = [part.size for part in parts]
            request = self._comm.Ireduce_scatter(out, result, counts, self._ops[name])
            self._wait([request], range(self.size))
            return result
        sends = [np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts]
        found = self.all_to_all(sends, [like.nbytes] * self.size)
        return combined([p.view(like.dtype).reshape(like.shape) for p in found], combine)

    def scan(self, mine: Any, name: str, combine: Combine) -> Any:  # noqa: ANN401
        """Return the arrays of the ranks before this one combined by `MPI_Iexscan`."""
        if self._has(name, mine):
            result = np.empty_like(mine)
            request = self._comm.Iexscan(np.ascontiguousarray(mine), result, self._ops[name])
            self._wait([request], range(self.size))
            return result if self.rank else None
        flat = np.ascontiguousarray(mine).reshape(-1).view(np.uint8)
        parts = self.gather_all(flat, [flat.size] * self.size)[: self.rank]
        found = [p.view(mine.dtype).reshape(mine.shape) for p in parts]
        return combined(found, combine) if found else None

    def first_alone(self, act: Callable[[], None]) -> None:
        """Call `act` on the first rank, then on the others, which find what it has built."""
        if self.rank == 0:
            act()
        building = max(self.limit, TIME_LIMIT)
        self._wait([self._comm.Ibarrier()], range(self.size), building)
        if self.rank != 0:
            act()

    def _wait(
        self, requests: Sequence[Any], ranks: Iterable[int], limit: float | None = None
    ) -> None:
        if not requests:
            return
        limit = self.limit if limit is None else limit
        deadline, looks = time.monotonic() + limit, 0
        while not self._mpi.Request.Testall(list(requests)):
            looks += 1
            if looks > _LOOKS:
                time.sleep(_PAUSE if looks < 2 * _LOOKS else 20 * _PAUSE)
            if time.monotonic() > deadline:
                raise too_long(self.rank, sorted(set(ranks) - {self.rank}), limit)


def _starts(counts: Sequence[int]) -> list[int]:
    """Return where parts of such lengths begin, one after the other."""
    return [0, *accumulate(counts)][: len(counts)]


def combined(parts: Sequence[Any], combine: Combine) -> Any:  # noqa: ANN401
    """Return arrays combined in the order of the ranks."""
    whole, *rest = parts
    for part in rest:
        whole = combine(whole, part)
    return whole


def too_long(rank: int, ranks: Sequence[int], limit: float) -> PolyoptError:
    """Return the error of a wait that took too long."""
    others = ", ".join(map(str, ranks))
    return UsageError(
        "PO0860",
        f"rank {rank} has waited {limit:g} s for rank{'s'[: len(ranks) != 1]} {others}",
        hint="see what became of them; `timeout=` of the kernel allows more seconds",
    )


def _end_all_with_one(world: Any) -> None:  # noqa: ANN401
    """Make the end of this rank by an exception the end of all; the message comes first."""
    before = sys.excepthook
    if getattr(before, "ends_all_ranks", False) or world.size == 1:
        return

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        print(f"PO0861: rank {world.rank} ends all {world.size} ranks", file=sys.stderr, flush=True)
        world.Abort(1)

    hook.ends_all_ranks = True  # type: ignore[attr-defined]
    sys.excepthook = hook


_KNOWN: dict[str, Mpi] = {}


def world(limit: float) -> Transport:
    """Return the ranks that this process is one of; raises `UsageError` PO0852 without mpi4py.

    A process that no `mpirun` started is alone.
    """
    if not started_by_mpi():
        return Alone()
    try:
        found = _KNOWN.get("world") or _KNOWN.setdefault("world", Mpi(limit))
    except ImportError as error:
        raise UsageError(
            "PO0852",
            f"this process is one of several ranks, but mpi4py cannot be loaded: {error}",
            hint='`pip install "polyopt[mpi]"`, beside an MPI such as Debian\'s openmpi-bin',
        ) from None
    found.limit = limit
    return found if found.size > 1 else Alone()


def started_by_mpi() -> bool:
    """Tell whether a starter of MPI programs started this process: Open MPI, MPICH, Slurm."""
    names = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS")
    return any(name in os.environ for name in names)
