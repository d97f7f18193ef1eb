"""The automatic schedule: legal, parallel where possible, the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import polyopt as po
import workloads
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Role
from polyopt.ir.types import DType
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy import auto, auto_schedule, driver, memory_limits
from polyopt.transforms import parse_schedule
from tests import scops
from tests.checks import assert_computes
from tests.reading import read

EVERY = {
    name: getattr(scops, name)
    for name in [
        "gemm",
        "ordered_gemm",
        "jacobi",
        "seidel",
        "diagonal",
        "dot",
        "solve",
        "backward",
        "nowhere",
        "transposed",
        "prefix",
        "chain",
        "ahead",
        "planes",
        "scatter",
    ]
}


def automatic(scop):
    return auto_schedule(scop, Machine())


def test_golden(golden):
    lines = []
    for name, make in EVERY.items():
        schedule = automatic(make())
        lines += [f"-- {name}", *schedule.text.splitlines(), "", str(schedule), ""]
    golden("schedule/auto.tree", "\n".join(lines))


@pytest.mark.parametrize("name", [name for name in EVERY if name != "scatter"])
def test_same_results(name):
    scop = EVERY[name]()
    assert_computes(scop, *automatic(scop).trace)


@pytest.mark.parametrize("name", EVERY)
def test_the_text_replays(name):
    scop = EVERY[name]()
    schedule = automatic(scop)
    again = parse_schedule(source_schedule(scop), schedule.text)
    assert str(again) == str(schedule)
    assert again.trace == schedule.trace


@pytest.mark.parametrize(
    ("name", "parallel"),
    [
        ("gemm", True),
        ("ordered_gemm", True),
        ("jacobi", True),
        ("seidel", True),
        ("diagonal", True),
        ("dot", True),
        ("backward", True),
        ("transposed", True),
        ("chain", True),
        ("planes", True),
        ("prefix", False),
        ("scatter", False),
    ],
)
def test_threads_where_there_is_parallelism(name, parallel):
    kinds = {m.kind for b in bands(automatic(EVERY[name]()).tree) for m in b.members}
    assert (LoopKind.PARALLEL in kinds) == parallel


def test_a_budget_that_runs_out_leaves_the_source_s_order(monkeypatch):
    monkeypatch.setattr(driver, "BUDGET", 50)
    monkeypatch.setattr(auto, "BUDGET", 50)
    schedule = automatic(scops.jacobi())
    assert schedule.trace == ()
    assert str(schedule) == str(source_schedule(scops.jacobi()))


def test_programs_without_loops():
    assert automatic(read("", "A[N]")).text == "affine(min)"
    flat = read("A[0] = 1\nA[1] = A[0]", "A[2]")
    assert_computes(flat, *automatic(flat).trace)


SCRIPT = """
from polyopt.emit.lower import lower
from polyopt.ir.loops import show_body
from polyopt.machine import Machine
from polyopt.strategy import auto_schedule
from tests import scops
from tests.oracle.program import as_program
for name in {names!r}.split():
    scop = getattr(scops, name)()
    schedule = auto_schedule(scop, Machine())
    print(name, schedule.text, schedule, *schedule.scop.arrays, sep="\\n")
    print("\\n".join(show_body(lower(schedule, as_program(scop)).body)))
"""


def test_the_same_in_every_process():
    """Schedules and loops are equal byte by byte whatever the seed of Python's hashes."""
    root = Path(__file__).resolve().parents[3]
    script = SCRIPT.format(names=" ".join(EVERY))
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            stdout=subprocess.PIPE,
        )
        for seed in ("0", "1", "4242")
    ]
    texts = [process.communicate(timeout=900)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert texts[0]
    assert texts[1] == texts[0]
    assert texts[2] == texts[0]


RECURRENT = """
for t in range(T):
    for i in range(N):
        for j in range(N):
            C[i, j] = 0.0
    for i in range(N):
        for j in range(N):
            for k in range(N):
                C[i, j] += H[i, k] * W[k, j]
    for i in range(N):
        for j in range(N):
            H[i, j] = C[i, j] + X[t, j]
"""


def test_a_product_in_a_time_loop_is_tiled():
    """The affine scheduler makes rows outermost, where only a vector times a matrix is left."""
    scop = read(RECURRENT, "H[N, N]; W[N, N]; X[T, N]; C[N, N]", "N T")
    schedule = auto_schedule(scop, Machine(vector_bytes=8, vector_registers=8, l1=256, l2=512))
    assert auto.count_contractions(source_schedule(scop)) == 1
    assert auto.count_tiled_contractions(schedule) == 1
    assert_computes(scop, *schedule.trace)


BATCHED = """
for p in range(P):
    for n in range(N):
        for i in range(M):
            for j in range(M):
                T[n, i, j] = 0
    for n in range(N):
        for i in range(M):
            for j in range(M):
                for k in range(K):
                    T[n, i, j] += A[n, i, k] * B[p, k, j]
    for n in range(N):
        for i in range(M):
            for j in range(M):
                C[n, i, j] = C[n, i, j] + T[n, i, j]
"""


def test_loops_that_threads_share_stay_outermost_of_their_nest():
    scop = read(BATCHED, "C[N, M, M]; A[N, M, K]; B[P, K, M]; temp T[N, M, M]", "N M K P")
    schedule = automatic(scop)
    outer, *nests = bands(schedule.tree)
    assert outer.members[0].name == "p"
    for band in nests:
        shared = [m.name for inner in bands(band.child) for m in inner.members if _is_shared(m)]
        assert not shared or _is_shared(band.members[0])


def _is_shared(member):
    return member.kind is LoopKind.PARALLEL


SCORES = """
for b in range(B):
    for i in range(N):
        top = -1.0
        for j in range(N):
            value = 0.0
            for k in range(K):
                value += Q[b, i, k] * M[b, j, k]
            top = max(top, value)
            S[b, j, i] = value
        for j in range(N):
            S[b, j, i] = S[b, j, i] - top
"""


def scores(score: str):
    return read(SCORES, f"Q[B, N, K]; M[B, N, K]; {score}; temp value; temp top", "B N K")


def test_a_scalar_takes_the_room_of_an_argument_where_its_product_is_tiled():
    scop = scores("S[B, N, N]")
    schedule = automatic(scop)
    assert auto.count_tiled_contractions(schedule) == 1
    assert len(schedule.scop.array("value").shape) == 3
    assert_computes(scop, *schedule.trace)


def test_a_loop_that_begins_below_zero_keeps_nothing_from_running_in_parallel():
    scop = read(
        """
        for i in range(N):
            total = 0.0
            weights = 0.0
            for d in range(0 - R, R + 1):
                weight = exp(A[i] * d)
                weight = weight / 3
                total += weight * A[i]
                weights += weight
            B[i] = total / weights
        """,
        "A[N]; B[N]; temp total; temp weights; temp weight",
        "N R",
    )
    schedule = automatic(scop)
    outer = next(iter(bands(schedule.tree)))
    assert outer.members[0].kind is LoopKind.PARALLEL
    assert schedule.scop.array("weight").shape
    assert_computes(scop, *schedule.trace)


def test_a_scalar_takes_no_more_room_than_any_argument():
    scop = scores("temp S[B, N, N]")
    schedule = automatic(scop)
    assert auto.count_tiled_contractions(schedule) == 0
    assert_computes(scop, *schedule.trace)


@pytest.mark.parametrize(
    ("arrays", "fit"),
    [
        ("a[N, M, K]", True),
        ("a[K, N, M]", True),
        ("a[N, M]", True),
        ("a[N, N, M]", False),
        ("a[N, M, 7]", False),
        ("a[N, M, K]; b[K, M, N]", True),
        ("a[N, M, K]; b[K, M, N]; c[N]", False),
        ("a[M]; b[N, M, K]; c[M, M]", False),
    ],
)
def test_each_array_has_an_argument_of_its_own(arrays, fit):
    arguments = "A[M, N, K]; C[N, K, M, M]"
    temps = "; ".join(f"temp {array}" for array in arrays.split("; "))
    scop = read("", f"{arguments}; {temps}", "N M K")
    wanted = [array for array in scop.arrays if array.role is Role.TEMP]
    assert memory_limits.fit_in_arguments(wanted, scop) is fit


def test_an_array_of_wider_elements_does_not_fit():
    scop = read("", "A[N, N, N]; temp a[N, N, N]", "N")
    argument, array = scop.arrays
    narrow = replace(argument, dtype=DType.FLOAT32)
    assert memory_limits.fit_in_arguments([array], scop)
    assert not memory_limits.fit_in_arguments([array], replace(scop, arrays=(narrow, array)))


@pytest.mark.machine
def test_a_scalar_may_take_a_row_of_each_thread():
    """Angles, whose sines go in lanes, are kept beside a sum of complex numbers in order."""
    workload = workloads.get("dft")
    kernel = po.kernel(workload.forms["loops"], fp="reassociate", threads=2)
    text = kernel.schedule(*workload.make("MINI").values()).text
    assert "parallelize(L0[0])" in text
    assert text.count("vectorize(") == 2
