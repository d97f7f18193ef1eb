"""A process that runs one entrant of one cell on request, in the environment of its peer.

In: one JSON command a line on standard input.  Out: one JSON answer a line on standard output.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from bench.function import Function
from bench.peers.binders import bind, task
from bench.serving import serve
from bench.worker import Worker, answer


def moved(worker: Worker, sizes: dict[str, int]) -> int:
    """Return the bytes that the program must move: each array in, each result out.

    All arrays of a user's function count.  A result whose published contents are all zeros is
    taken to be written only.
    """
    if isinstance(worker.workload, Function):
        worker.run(sizes)
        found = worker.outputs()
        arrays = [v for v in worker.arguments.values() if isinstance(v, np.ndarray)]
        return sum(value.nbytes for value in (*arrays, *found.values()))
    made = worker.workload.make(sizes)
    arrays = {name: value for name, value in made.items() if isinstance(value, np.ndarray)}
    written = worker.workload.written
    total = sum(a.nbytes for name, a in arrays.items() if name not in written or a.any())
    total += sum(arrays[name].nbytes for name in written)
    if len(written) < len(worker.workload.outputs):
        found = worker.workload.reference(made)
        total += sum(value.nbytes for name, value in found.items() if name not in arrays)
    return int(total)


def load(command: dict[str, Any]) -> tuple[Worker, float]:
    """Prepare an entrant; the second value is the seconds it took."""
    chosen = task(command)
    start = perf_counter()
    loaded = bind(chosen)
    return Worker(chosen.workload, loaded), perf_counter() - start


def main() -> None:
    """Serve commands until standard input ends."""
    worker: Worker | None = None

    def reply(command: dict[str, Any]) -> dict[str, Any]:
        nonlocal worker
        if worker is None:
            worker, seconds = load(command)
            return {"seconds": seconds}
        if command["do"] == "moved":
            return {"moved": moved(worker, command["sizes"])}
        return answer(worker, command)

    serve(reply, reason)


def reason(error: Exception) -> str:
    """Return an error in one line."""
    text = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {text}"[:300]


if __name__ == "__main__":
    main()
