"""Sums over several loops whose results are held in registers."""

from __future__ import annotations

import pytest

from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.model.contraction import held_rows
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy.auto import auto_schedule
from polyopt.strategy.held import held_sums
from tests.checks import assert_computes
from tests.reading import read

SMALL = Machine(vector_bytes=16, vector_registers=8)

IMAGES = """
for i in range(N):
  for j in range(N):
    for o in range(M):
      y[i, j, o] = b[o]
  for j in range(N):
    for o in range(M):
      for p in range(3):
        for q in range(K):
          for c in range(2):
            y[i, j, o] = y[i, j, o] + x[i + p, j + q, c] * w[p, q, c, o]
"""
CHANNELS_FIRST = """
for o in range(M):
  for i in range(N):
    for j in range(N):
      for c in range(2):
        for p in range(K):
          y[o, i, j] = y[o, i, j] + x[c, i + p, j] * w[o, c, p]
"""
BY_CHANNEL = """
for i in range(N):
  for o in range(M):
    for p in range(K):
      for q in range(3):
        y[i, o] = y[i, o] + x[i + p + 2 * q, o] * w[p, q, o]
"""
PLAIN = """
for i in range(N):
  for j in range(M):
    for k in range(N):
      y[i, j] = y[i, j] + x[i, k] * w[k, j]
"""
CASES = {
    "images": (IMAGES, "y[N, N, M]; x[N + 2, N + K, 2]; w[3, K, 2, M]; b[M]"),
    "channels first": (CHANNELS_FIRST, "y[M, N, N]; x[2, N + K, N]; w[M, 2, K]"),
    "by channel": (BY_CHANNEL, "y[N, M]; x[N + K + 6, M]; w[K, 3, M]"),
}


def kinds(schedule):
    return {m.kind for b in bands(schedule.tree) for m in b.members}


@pytest.mark.parametrize("name", CASES)
def test_results_are_held_over_the_whole_sum(name):
    text, arrays = CASES[name]
    scop = read(text, arrays, "N M K")
    schedule = auto_schedule(scop, SMALL)
    assert kinds(schedule) >= {LoopKind.PARALLEL, LoopKind.UNROLL, LoopKind.VECTOR}
    assert any("unroll" in str(step) for step in schedule.trace)
    assert_computes(scop, *schedule.trace)


def test_a_start_of_the_sums_goes_with_them():
    text, arrays = CASES["images"]
    schedule = auto_schedule(read(text, arrays, "N M K"), SMALL)
    assert "fuse(" in schedule.text


def test_one_loop_of_terms_is_left_to_tiles():
    scop = read(PLAIN, "y[N, M]; x[N, N]; w[N, M]", "N M")
    assert held_sums(source_schedule(scop), "L0", SMALL) is None


@pytest.mark.parametrize("registers,rows", [(32, 12), (16, 12), (8, 4), (4, 4)])
def test_rows_hide_additions_and_fit_registers(registers, rows):
    assert held_rows(Machine(vector_registers=registers)) == rows
