"""What `test_mpi` runs as the ranks of a job: `python -m tests.unit.distribution.on_ranks WHAT`."""

from __future__ import annotations

import copy
import os
import sys
import time
from typing import Any

import numpy as np
from mpi4py import MPI

import polyopt as po
from polyopt.distribution.transport import world
from tests.unit.distribution.programs import CASES, gemm, jacobi_2d, softmax

WORLD = MPI.COMM_WORLD


def same_on_all(name: str) -> None:
    """Run a program at several sizes, and compare with one process on each rank."""
    case = CASES[name]
    on_ranks = po.kernel(
        case.function, mesh=po.mesh(WORLD.size), shard=case.shard, threads=1, timeout=60
    )
    alone = po.kernel(case.function, threads=1, schedule="source")
    for n in (13, 2, 1, 0):
        if n < case.least:
            continue
        args = WORLD.bcast(case.make(n))
        found, wanted = copy.deepcopy(args), copy.deepcopy(args)
        mine = (*found, on_ranks(*found))
        one = (*wanted, alone(*wanted))
        for a, b in zip(mine, one, strict=True):
            if b is None:
                assert a is None
            elif case.exact:
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a, b, rtol=1e-9)


def programs() -> None:
    """Run all programs."""
    for name in sys.argv[2:] or CASES:
        same_on_all(name)


def distributed() -> None:
    """Keep arrays distributed over two calls, and between different kernels."""
    full = WORLD.bcast(np.random.default_rng(5).random((11, 11)))
    A, B = po.distribute(full), po.distribute(full)
    kernel = po.kernel(jacobi_2d, mesh=po.mesh(WORLD.size), shard={"A": 0, "B": 0}, threads=1)
    kernel(2, A, B)
    kernel(1, A, B)
    want, other = full.copy(), full.copy()
    po.kernel(jacobi_2d, threads=1, schedule="source")(3, want, other)
    np.testing.assert_array_equal(A.gather(), want)
    x = po.distribute(lambda i: i * 0.25, shape=(7,))
    np.testing.assert_array_equal(x.gather(), np.arange(7) * 0.25)
    rows = po.kernel(softmax, mesh=po.mesh(WORLD.size), shard={"x": 0}, threads=1)(x)
    assert isinstance(rows, po.DistributedArray)
    e = np.exp(np.arange(7) * 0.25)
    np.testing.assert_allclose(rows.gather(), e / e.sum(), rtol=1e-14)


def collectives() -> None:
    """Compare each collective of the transport with MPI's own."""
    ranks, rank, size = world(60.0), WORLD.rank, WORLD.size
    for count in (0, 1, 5):
        mine = np.arange(count + rank, dtype=np.float64) + 100 * rank
        counts = [(count + r) * 8 for r in range(size)]
        parts = ranks.gather_all(mine.view(np.uint8), counts)
        for part, theirs in zip(parts, WORLD.allgather(mine), strict=True):
            np.testing.assert_array_equal(part.view(np.float64), theirs)
        for root in range(size):
            given = mine.view(np.uint8).copy() if rank == root else None
            got = ranks.broadcast(given, root, counts[root]).view(np.float64)
            np.testing.assert_array_equal(got, WORLD.bcast(mine, root))
        values = (np.arange(count) * 3 + 7 * rank) % 11
        operations: list[tuple[str, Any, Any]] = [
            ("+", np.add, MPI.SUM), ("*", np.multiply, MPI.PROD), ("min", np.minimum, MPI.MIN),
            ("max", np.maximum, MPI.MAX), ("&", np.bitwise_and, MPI.BAND),
            ("|", np.bitwise_or, MPI.BOR), ("^", np.bitwise_xor, MPI.BXOR),
        ]  # fmt: skip
        for name, combine, op in operations:
            theirs = np.empty_like(values)
            WORLD.Allreduce(values, theirs, op)
            np.testing.assert_array_equal(ranks.reduce_all(values, name, combine), theirs)
            parts = [np.arange(r) * 5 % 7 + rank for r in range(size)]
            part = np.empty_like(parts[rank])
            WORLD.Reduce_scatter(np.concatenate(parts), part, list(range(size)), op)
            np.testing.assert_array_equal(ranks.reduce_scatter(parts, name, combine), part)
            before = np.empty_like(values)
            WORLD.Exscan(values, before, op)
            passed = ranks.scan(values, name, combine)
            assert (passed is None) == (rank == 0)
            if rank:
                np.testing.assert_array_equal(passed, before)
        nan = np.full(3, np.nan if rank == 0 else 1.0)
        assert np.isnan(ranks.reduce_all(nan, "max", np.maximum)).all()
        assert np.isnan(ranks.reduce_scatter([nan] * size, "max", np.maximum)).all()
        passed = ranks.scan(nan, "max", np.maximum)
        assert rank == 0 or np.isnan(passed).all()
        sends = {r: np.full(count + r, rank, np.uint8) for r in range(size) if r != rank}
        sizes = {r: count + rank for r in range(size) if r != rank}
        received = ranks.begin(0, sends, sizes)()
        theirs = WORLD.alltoall([np.full(count + r, rank, np.uint8) for r in range(size)])
        for r, message in received.items():
            np.testing.assert_array_equal(message, theirs[r])
        out = [np.full(count + r, rank, np.uint8) for r in range(size)]
        for mine, their in zip(
            ranks.all_to_all(out, [count + rank] * size), WORLD.alltoall(out), strict=True
        ):
            np.testing.assert_array_equal(mine, their)


def raising() -> None:
    """Raise on one rank while the others wait for its rows."""
    A = np.ones((9, 9))
    kernel = po.kernel(jacobi_2d, mesh=po.mesh(WORLD.size), shard={"A": 0}, threads=1)
    kernel(1, A, A.copy())
    if WORLD.rank == 1:
        raise ValueError("something of the program's own")
    kernel(1, A, A.copy())


def killed() -> None:
    """Lose one rank without a word."""
    A = np.ones((9, 9))
    kernel = po.kernel(jacobi_2d, mesh=po.mesh(WORLD.size), shard={"A": 0}, threads=1)
    kernel(1, A, A.copy())
    if WORLD.rank == 1:
        os.kill(os.getpid(), 9)
    kernel(1, A, A.copy())


def silent() -> None:
    """Let one rank sleep while the others wait."""
    C, A, B = np.ones((9, 9)), np.ones((9, 9)), np.ones((9, 9))
    kernel = po.kernel(
        gemm, mesh=po.mesh(WORLD.size), shard={"C": 0, "B": 0}, threads=1, timeout=1.0
    )
    if WORLD.rank == 1:
        kernel.plan(1.0, 1.0, C, A, B)
        time.sleep(100)
    kernel(1.0, 1.0, C, A, B)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print(f"rank {WORLD.rank} of {WORLD.size} is done", flush=True)
