"""game-of-life: cells on a torus live by the number of their neighbours."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import integers

SIZES = {
    "MINI": {"N": 12, "STEPS": 3},
    "SMALL": {"N": 40, "STEPS": 6},
    "MEDIUM": {"N": 120, "STEPS": 10},
    "LARGE": {"N": 600, "STEPS": 20},
    "EXTRALARGE": {"N": 2000, "STEPS": 50},
}
OUTPUTS = ("return",)
DTYPE = np.int64
STEPS = "STEPS"


def game_of_life_numpy(world: po.i64["N,N"], steps: int):
    cells = world % 2
    for _ in range(steps):
        neighbours = sum(
            np.roll(np.roll(cells, i, 0), j, 1)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i != 0 or j != 0)
        )
        cells = ((neighbours == 3) | ((cells == 1) & (neighbours == 2))).astype(np.int64)
    return cells


def game_of_life(world: po.i64["N,N"], steps: int):
    N = world.shape[0]
    cells = np.empty((N, N), dtype=np.int64)
    counts = np.empty((N, N), dtype=np.int64)
    for i in range(N):
        for j in range(N):
            cells[i, j] = world[i, j] % 2
    for _ in range(steps):
        for i in range(N):
            for j in range(N):
                n = -cells[i, j]
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        n += cells[(i + di) % N, (j + dj) % N]
                counts[i, j] = n
        for i in range(N):
            for j in range(N):
                if cells[i, j] == 1 and (counts[i, j] < 2 or counts[i, j] > 3):
                    cells[i, j] = 0
                elif counts[i, j] == 3:
                    cells[i, j] = 1
    return cells


def make(N, STEPS, dtype):
    return {"world": integers(1, 2, (N, N)).astype(dtype), "steps": STEPS}
