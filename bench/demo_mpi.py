"""`make demo-mpi`: jacobi-2d on two ranks: the derived exchange, the results, the speed.

In: nothing; run by `mpirun -n 2`, or alone where there is no MPI.  Out: text.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import polyopt as po
from workloads.polybench.jacobi_2d import jacobi_2d

STEPS, N, ROUNDS = 20, 4000, 5


def timed(act: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def main() -> int:
    """Run the demonstration as one rank."""
    meeting = po.distribute(np.zeros(1))  # gathered by all ranks together
    ranks = meeting.transport
    first = ranks.rank == 0
    full = np.add.outer(np.arange(N, dtype=np.float64), np.arange(N)) / N
    kernel = po.kernel(jacobi_2d, mesh=po.mesh(ranks.size), shard={"A": 0, "B": 0}, threads=1)
    alone = po.kernel(jacobi_2d, threads=1)
    stepwise = po.kernel(jacobi_2d, mesh=po.mesh(1), shard={"A": 0, "B": 0}, threads=1)

    if first:
        print(kernel.explain(), flush=True)
    A, B = po.distribute(full), po.distribute(full)
    kernel(1, A, B)
    want, other = full.copy(), full.copy()
    alone(1, want, other)
    if not np.array_equal(A.gather(), want):
        print(f"rank {ranks.rank}: the results differ from those of one process")
        return 1
    one = po.kernel(jacobi_2d, threads=1, schedule="source")
    del one, stepwise
    together, single = [], []
    for _ in range(ROUNDS):
        meeting.gather()
        together.append(timed(lambda: kernel(STEPS, A, B)))
        if first:
            single.append(timed(lambda: alone(STEPS, want, other)))
        meeting.gather()
    if first:
        mine, theirs = min(together), min(single)
        print(f"\n{STEPS} steps of {N} x {N}, equal bit for bit to one process")
        print(f"{ranks.size} ranks, one thread each: {mine:.3f} s, one process: {theirs:.3f} s")
        print(f"rank 0 sent {sum(kernel.sent.values())} bytes in {kernel.messages} messages")
        print(kernel.scaling(STEPS, A, B, alone=statistics.median(single)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
