"""Processes and threads that compile the same kernels at once into an empty cache.

`python -m tests.gates.races --count 3`: a round is 32 processes of 8 threads.  Wrong: a result, an
error, an entry that is not whole, a leftover, an entry set aside.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

from tests.gates.kernels import FUNCTIONS, wrong
from tests.gates.series import series

PROCESSES, THREADS = 32, 8
LONGEST = 600.0
FORK = multiprocessing.get_context("fork")


def trial(number: int) -> str | None:
    """Run a round."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POLYOPT_CACHE_DIR"] = folder
        started = []
        for one in range(PROCESSES):
            receiver, sender = FORK.Pipe(duplex=False)
            process = FORK.Process(target=_work, args=(number + one, sender))
            process.start()
            sender.close()
            started.append((process, receiver))
        problems = [_answer(receiver) for _, receiver in started]
        for process, _ in started:
            process.join()
        return next(filter(None, problems), None) or _left()


def _answer(receiver: Connection) -> str | None:
    try:
        answer: str | None = receiver.recv() if receiver.poll(LONGEST) else "no answer"
    except EOFError:
        return "a process ended without an answer"
    return answer


def _work(number: int, sender: Connection) -> None:
    """Compile from all threads at once; half of them the same kernel."""
    warnings.simplefilter("error")
    numbers = [number + (thread // 2) for thread in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        done = [pool.submit(wrong, n, threads=1) for n in numbers]
        errors = [one.exception() for one in done]
        found = [one.result() for one in done if one.exception() is None]
    error = next(filter(None, errors), None)
    sender.send(next(filter(None, found), None) if error is None else f"{error!r}")


def _left() -> str | None:
    from polyopt.runtime.store import MANIFEST, open_store

    root = open_store().root
    assert root is not None
    kept = list((root / "kernels").iterdir())
    torn = [entry for entry in kept if not (entry / MANIFEST).exists()]
    left = [path for name in ("staging", "quarantine") for path in (root / name).glob("*")]
    if len(kept) != len(FUNCTIONS) or torn or left:
        return f"{len(kept)} kernels for {len(FUNCTIONS)}, torn {torn}, left {left}"
    return None


if __name__ == "__main__":
    sys.exit(series("Race processes on an empty cache.", trial, 3))
