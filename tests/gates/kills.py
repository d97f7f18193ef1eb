"""Processes killed while they compile: `python -m tests.gates.kills --count 200 --state FILE`.

In: how many.  Out: those after which the cache holds anything but whole entries, the same call does
not compute what Python does, or leftovers outlast an hour.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.gates.kernels import wrong
from tests.gates.series import series

LONGEST = 60.0
FORK = multiprocessing.get_context("fork")
Answer = Callable[[object], None]


def trial(number: int) -> str | None:
    """Kill a process at a random point of a compilation, and look at what it left."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POLYOPT_CACHE_DIR"] = folder
        _fork(_killed, number, Random(number).uniform(0.0, _whole()))
        answer, problem = _fork(_checked, number)
        return problem if answer else f"the call after the kill ends with {problem}"


_SECONDS: list[float] = []


def _whole() -> float:
    """Return how long a compilation takes here that is not killed: the random points' range."""
    if not _SECONDS:
        own, before = os.environ["POLYOPT_CACHE_DIR"], time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            os.environ["POLYOPT_CACHE_DIR"] = folder
            _fork(_checked, 0)
        os.environ["POLYOPT_CACHE_DIR"] = own
        _SECONDS.append(time.monotonic() - before)
    return _SECONDS[0]


def _fork(work: Callable[..., str | None], *given: object) -> tuple[bool, str | None]:
    """Return whether a forked process answered, and its answer or exit code."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=lambda: sender.send(work(*given)))
    process.start()
    sender.close()
    answered = receiver.poll(LONGEST)
    try:
        return True, receiver.recv() if answered else "no answer"
    except EOFError:
        process.join()
        return False, f"exit code {process.exitcode}"
    finally:
        if process.is_alive():
            process.join(LONGEST)


def _killed(number: int, seconds: float) -> str | None:
    """Compile, and be killed after `seconds`; every second one together with its compiler."""
    os.setpgrp()
    whom = os.killpg if number % 2 else os.kill
    if os.fork() == 0:  # the killer, outside of the group
        parent = os.getppid()
        os.setpgrp()
        time.sleep(seconds)
        if os.getppid() == parent:
            whom(parent, signal.SIGKILL)
        os._exit(0)
    return wrong(number, threads=1)


def _checked(number: int) -> str | None:
    """Compile again where a process was killed, then look for leftovers."""
    from polyopt.runtime.store import KINDS, MANIFEST, open_store

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = wrong(number, threads=1)
    store = open_store()
    if problem or store.root is None:
        return problem or "there is no cache"
    kept = [entry for kind in KINDS for entry in (store.root / kind).glob("*")]
    torn = [entry for entry in kept if not (entry / MANIFEST).exists()]
    store.sweep(time.time() + 2 * 3600)
    left = [path for name in ("staging", "quarantine") for path in (store.root / name).glob("*")]
    loose = [path for path in kept + left if not _is_private(path)]
    return f"left {[*torn, *left, *loose]}" if torn or left or loose else None


def _is_private(path: Path) -> bool:
    return not path.exists() or path.stat().st_mode & 0o077 == 0


def main() -> int:
    """Run the command line."""
    import polyopt.building
    import polyopt.runtime.build
    import polyopt.strategy  # noqa: F401 - children need not import what all of them need

    return series("Kill processes that compile.", trial, 50)


if __name__ == "__main__":
    sys.exit(main())
