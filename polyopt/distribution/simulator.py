"""Many ranks in one process: threads, with messages that arrive late, in seeded order.

In: a number of ranks, a function of a transport.  Out: what it returns on each rank.
Refuses: what MPI would hang in or mix up: a message nobody sends (PO0862), one that nobody
receives, or of another length (PO0863), collectives that ranks do not call in one order (PO0864).
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from polyopt.dataclass import dataclass, field
from polyopt.distribution.transport import Bytes, Combine, Messages, combined
from polyopt.errors import InternalError

_T = TypeVar("_T")


@dataclass(eq=False)
class _Board:
    """What ranks share: messages on their way, the calls of collectives, who waits for what."""

    size: int
    random: random.Random
    delay: float
    change: threading.Condition = field(default_factory=threading.Condition)
    mail: dict[tuple[int, int, int], deque[tuple[float, Bytes]]] = field(default_factory=dict)
    calls: list[dict[int, tuple[str, Any]]] = field(default_factory=list)
    waiting: dict[int, tuple[str, Callable[[], bool]]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    error: BaseException | None = None

    def wait(
        self, rank: int, what: str, sent: Callable[[], bool], arrived: Callable[[], bool]
    ) -> None:
        """Wait until `arrived`; raises `InternalError` PO0862 if nobody can go on.

        What was `sent` will arrive.
        """
        self.waiting[rank] = (what, sent)
        while not arrived():
            if self.error is not None:
                raise _Stopped
            active = self.size - len(self.waiting) - len(self.ended)
            if active == 0 and not any(coming() for _, coming in self.waiting.values()):
                said = "; ".join(f"rank {r} waits for {w}" for r, (w, _) in self.waiting.items())
                raise InternalError("PO0862", f"no rank can go on: {said}")
            self.change.wait(0.001 + self.delay)
        del self.waiting[rank]


class _Stopped(Exception):
    """Another rank has failed."""


class Simulated:
    """One rank of a simulation."""

    def __init__(self, board: _Board, rank: int) -> None:
        self._board, self.rank, self.size = board, rank, board.size
        self._count = 0

    def begin(self, tag: int, sends: Messages, counts: Mapping[int, int]) -> Callable[[], Messages]:
        """Put messages on their way; each arrives after a random time.

        As in MPI, what a sender writes to a message meanwhile arrives, too.
        """
        board = self._board
        with board.change:
            for rank, message in sends.items():
                when = time.monotonic() + board.random.random() * board.delay
                mail = board.mail.setdefault((self.rank, rank, tag), deque())
                mail.append((when, message))
            board.change.notify_all()

        def wait() -> Messages:
            with board.change:
                return {rank: self._next(rank, tag, count) for rank, count in counts.items()}

        return wait

    def _next(self, rank: int, tag: int, count: int) -> Bytes:
        mail = self._board.mail.setdefault((rank, self.rank, tag), deque())
        what = f"message {tag} of rank {rank}"
        arrived = lambda: bool(mail) and mail[0][0] <= time.monotonic()  # noqa: E731
        self._board.wait(self.rank, what, lambda: bool(mail), arrived)
        message: Bytes = mail.popleft()[1].copy()
        if message.size != count:
            raise InternalError(
                "PO0863",
                f"rank {self.rank} expects {count} bytes as {what}, {message.size} were sent",
            )
        return message

    def _call(self, kind: str, value: Any) -> list[Any]:  # noqa: ANN401
        """Return what all ranks give to the same collective."""
        board = self._board
        with board.change:
            if self._count == len(board.calls):
                board.calls.append({})
            call = board.calls[self._count]
            self._count += 1
            for other, (known, _) in call.items():
                if known != kind:
                    raise InternalError(
                        "PO0864", f"rank {self.rank} calls {kind} where rank {other} calls {known}"
                    )
            call[self.rank] = (kind, value)
            board.change.notify_all()
            complete = lambda: len(call) == board.size  # noqa: E731
            board.wait(self.rank, kind, complete, complete)
            return [call[rank][1] for rank in range(board.size)]

    def gather_all(self, mine: Bytes, counts: Sequence[int]) -> list[Bytes]:
        """Return every rank's bytes."""
        parts: list[Bytes] = self._call(f"an all-gather of {list(counts)} bytes", mine.copy())
        for rank, (part, count) in enumerate(zip(parts, counts, strict=True)):
            self._require(part.size, count, rank)
        return parts

    def broadcast(self, mine: Bytes | None, root: int, count: int) -> Bytes:
        """Return the bytes of rank `root`."""
        given = None if mine is None else mine.copy()
        part = self._call(f"a broadcast of {count} bytes by rank {root}", given)[root]
        if part is None:
            raise InternalError("PO0863", f"rank {root} has nothing to broadcast")
        self._require(part.size, count, root)
        return part  # type: ignore[no-any-return]

    def _require(self, size: int, count: int, rank: int) -> None:
        if size != count:
            raise InternalError(
                "PO0863",
                f"rank {self.rank} expects {count} bytes of rank {rank}, {size} were sent",
            )

    def reduce_all(self, mine: Any, name: str, combine: Combine) -> Any:  # noqa: ANN401
        """Return all ranks' arrays combined."""
        return combined(self._call(f"an all-reduce by {name}", mine.copy()), combine)

    def all_to_all(self, sends: Sequence[Bytes], counts: Sequence[int]) -> list[Bytes]:
        """Return the messages of all ranks to this one."""
        given = self._call("an all-to-all", [message.copy() for message in sends])
        parts: list[Bytes] = [messages[self.rank] for messages in given]
        for rank, (part, count) in enumerate(zip(parts, counts, strict=True)):
            self._require(part.size, count, rank)
        return parts

    def reduce_scatter(self, parts: Sequence[Any], name: str, combine: Combine) -> Any:  # noqa: ANN401
        """Return all ranks' arrays for this one combined."""
        given = self._call(f"a reduce-scatter by {name}", [part.copy() for part in parts])
        mine = [arrays[self.rank] for arrays in given]
        for rank, part in enumerate(mine):
            self._require(part.nbytes, parts[self.rank].nbytes, rank)
        return combined(mine, combine)

    def scan(self, mine: Any, name: str, combine: Combine) -> Any:  # noqa: ANN401
        """Return the arrays of the ranks before this one combined, None on the first."""
        given = self._call(f"a scan by {name}", mine.copy())
        for rank, part in enumerate(given):
            self._require(part.nbytes, mine.nbytes, rank)
        return combined(given[: self.rank], combine) if self.rank else None

    def first_alone(self, act: Callable[[], None]) -> None:
        """Call `act`: ranks of one process share what it makes."""
        act()


def simulate(
    size: int, act: Callable[[Simulated], _T], seed: int = 0, delay: float = 0.0
) -> list[_T]:
    """Return what `act` returns on each of `size` ranks; messages take up to `delay` seconds.

    Raises what a rank raises, and `InternalError` PO0862, PO0863 or PO0864.
    """
    board = _Board(size, random.Random(seed), delay)
    results: dict[int, _T] = {}

    def run(rank: int) -> None:
        try:
            results[rank] = act(Simulated(board, rank))
        except _Stopped:
            pass
        except BaseException as error:
            with board.change:
                board.error = board.error or error
        with board.change:
            board.ended.add(rank)
            board.waiting.pop(rank, None)
            board.change.notify_all()

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if board.error is not None:
        raise board.error
    for (source, target, tag), mail in board.mail.items():
        if mail:
            raise InternalError(
                "PO0863", f"rank {target} never receives message {tag} of rank {source}"
            )
    return [results[rank] for rank in range(size)]
