"""Races by the emulator and by definition: programs by chance, judged by what each thread knows.

A thread that has met another one knows what that one did before.  Two accesses of one place by
threads that do not know of each other are a race if one writes, unless both are atomic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from polyopt.emulator import DeviceFault, EmulatedProvider, Order, Rules
from polyopt.runtime.device.provider import Module

pytestmark = pytest.mark.toolchain
NOTHING, READ, WRITE, ATOMIC = range(4)
NO_SYNC, BLOCK, WARP, HALVES, PAIRS = range(5)
THREADS, PLACES, BLOCKS = 64, 4, 2
TEXT = """\
extern "C" __global__ void __launch_bounds__(64)
acts(int *sums, int *all, const int *acts, const int *places, const int *syncs, long long steps,
    long long of_all)
{
    __shared__ int own[4];
    const int t = (int)threadIdx.x;
    int sum = 0;
    if (t < 4)
        own[t] = 0;
    __syncthreads();
    int *const p = of_all ? all : own;
    for (long long k = 0; k < steps; k++) {
        const long long at = 64 * (steps * blockIdx.x + k) + t;
        if (acts[at] == 1)
            sum += p[places[at]];
        if (acts[at] == 2)
            p[places[at]] = t;
        if (acts[at] == 3)
            atomicAdd(&p[places[at]], 1);
        if (syncs[k] == 1)
            __syncthreads();
        if (syncs[k] == 2)
            __syncwarp();
        if (syncs[k] == 3)
            __syncwarp(t % 32 < 16 ? 0xffffu : 0xffff0000u);
        if (syncs[k] == 4)
            __syncwarp(3u << t % 32 / 2 * 2);
    }
    sums[64 * blockIdx.x + t] = sum;
}
"""


@dataclass(frozen=True)
class Program:
    """What each thread of each block does in each step, and who meets after it."""

    acts: np.ndarray
    places: np.ndarray
    syncs: np.ndarray


def by_chance(seed: int) -> Program:
    """Return a program of few accesses: about half of all have a race."""
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(2, 7))
    shape = (BLOCKS, steps, THREADS)
    busy = rng.random(shape) < rng.choice([0.01, 0.03, 0.1])
    weights = [[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.9, 0.05, 0.05]][rng.integers(3)]
    acts = np.where(busy, rng.choice([READ, WRITE, ATOMIC], shape, p=weights), NOTHING)
    if rng.random() < 0.3:
        acts[rng.random(acts.shape) < 0.5] = READ
    acts[1] = np.where(rng.random() < 0.5, acts[1], NOTHING)
    syncs = rng.choice([NO_SYNC, BLOCK, WARP, HALVES, PAIRS], steps, p=[0.1, 0.4, 0.3, 0.1, 0.1])
    places = rng.integers(0, PLACES, shape)
    return Program(*(array.astype(np.int32) for array in (acts, places, syncs)))


def _met(sync: int) -> np.ndarray:
    """Return which threads meet which."""
    t = np.arange(THREADS)
    size = {NO_SYNC: 1, BLOCK: THREADS, WARP: 32, HALVES: 16, PAIRS: 2}[int(sync)]
    return t[:, None] // size == t[None, :] // size


def has_race(program: Program, of_all: bool) -> bool:
    """Return whether some pair of accesses is a race."""
    done: list[tuple[int, int, int, int, int]] = []
    for block in range(BLOCKS):
        # knows[a, b]: thread a knows all that b did before that step
        knows = np.zeros((THREADS, THREADS), int)
        for step, sync in enumerate(program.syncs):
            now = [
                (block, int(t), step, int(program.acts[block, step, t]),
                 int(program.places[block, step, t]))
                for t in np.flatnonzero(program.acts[block, step])
            ]  # fmt: skip
            for one in now:
                for other in [*done, *now]:
                    if _conflict(one, other) and not _ordered(knows, other, one, of_all):
                        return True
            done += now
            np.fill_diagonal(knows, step + 1)
            met = _met(sync)
            knows = np.stack([knows[met[t]].max(axis=0) for t in range(THREADS)])
    return False


def _conflict(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    acts = {one[3], other[3]}
    return one[4] == other[4] and acts != {READ} and acts != {ATOMIC}


def _ordered(
    knows: np.ndarray, before: tuple[int, ...], now: tuple[int, ...], of_all: bool
) -> bool:
    if before[0] != now[0]:
        return not of_all
    return before[1] == now[1] or knows[now[1], before[1]] > before[2]


@pytest.fixture(scope="module", params=list(Order), ids=lambda order: order.name)
def device(request: pytest.FixtureRequest) -> tuple[EmulatedProvider, Module]:
    provider = EmulatedProvider(Rules(order=request.param, seed=11))
    return provider, provider.compile(TEXT, ["acts"])


def is_found(device: tuple[EmulatedProvider, Module], program: Program, of_all: bool) -> bool:
    """Return whether the emulator finds a race, and nothing else."""
    provider, module = device
    sums, places = np.zeros(BLOCKS * THREADS, np.int32), np.zeros(PLACES, np.int32)
    arrays = [sums, places, program.acts, program.places, program.syncs]
    buffers = [provider.alloc(array.nbytes) for array in arrays]
    for buffer, array in zip(buffers, arrays, strict=True):
        provider.upload(buffer, array)
    arguments = [*buffers, np.int64(len(program.syncs)), np.int64(of_all)]
    try:
        provider.launch(module, "acts", (BLOCKS, 1, 1), (THREADS, 1, 1), arguments)
    except DeviceFault as fault:
        return all(finding.kind.is_race for finding in fault.findings)
    finally:
        for buffer in buffers:
            provider.free(buffer)
    return False


def by_hand(first: list[list[tuple[int, int]]], then: tuple[int, int], sync: int) -> Program:
    """Return what threads of each block do at one place, and one of the second after that."""
    acts = np.zeros((BLOCKS, 2, THREADS), np.int32)
    for block, list_of in enumerate(first):
        for thread, act in list_of:
            acts[block, 0, thread] = act
    acts[1, 1, then[0]] = then[1]
    return Program(acts, np.zeros_like(acts), np.array([sync, NO_SYNC], np.int32))


READERS = [(0, READ), (1, READ), (2, READ), (3, READ)]
BY_HAND = {
    "another_block": by_hand([[(5, READ)], [*READERS, (33, READ)]], (0, ATOMIC), BLOCK),
    "another_warp": by_hand([[], [*READERS, (40, READ)]], (0, WRITE), WARP),
    "another_warp_before": by_hand(
        [[], [(1, READ), *((40 + t, READ) for t in range(4))]], (40, WRITE), WARP
    ),
    "a_lane": by_hand([[], READERS], (0, WRITE), HALVES),
    "none": by_hand([[], READERS], (0, WRITE), BLOCK),
    "after_atomics": by_hand([[(5, ATOMIC)], [(k, ATOMIC) for k in (0, 1, 40)]], (0, READ), BLOCK),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_races_with_one_of_many(device, name: str) -> None:
    program = BY_HAND[name]
    of_all = name in ("another_block", "after_atomics")
    assert is_found(device, program, of_all) == has_race(program, of_all)
    assert has_race(program, of_all) == (name not in ("a_lane", "none"))


@pytest.mark.parametrize("of_all", [False, True], ids=["shared", "global"])
def test_races_are_those_of_the_definition(device, of_all: bool) -> None:
    verdicts = []
    for seed in range(60):
        program = by_chance(seed)
        verdicts.append(has_race(program, of_all))
        assert is_found(device, program, of_all) == verdicts[-1], seed
    assert 20 < sum(verdicts) < 50
