"""Sums over several loops, blocked in registers."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.model.contraction import RegisterTile, held_rows, held_tile
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy.auto import auto_schedule
from polyopt.strategy.register_blocking import block_sums_in_registers
from tests.checks import assert_computes
from tests.oracle import hashed
from tests.properties.schedules import check_schedule
from tests.reading import read
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

SMALL = Machine(vector_bytes=16, vector_registers=8)
PAIRS = Machine(vector_bytes=16, vector_registers=16, fma_units=1)  # tiles of 4 rows
PARTS = Machine(vector_bytes=16, vector_registers=10, fma_units=1)  # twice 2 rows

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
EVERY_SECOND = """
for o in range(M):
  for i in range(N):
    for j in range(N):
      for c in range(2):
        for p in range(K):
          y[o, i, j] = y[o, i, j] + x[c, i + p, 2 * j + p] * w[o, c, p]
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
    "every second": (EVERY_SECOND, "y[M, N, N]; x[2, N + K, 2 * N + K]; w[M, 2, K]"),
    "by channel": (BY_CHANNEL, "y[N, M]; x[N + K + 6, M]; w[K, 3, M]"),
}


def kinds(schedule):
    return {m.kind for b in bands(schedule.tree) for m in b.members}


@pytest.mark.parametrize("name", CASES)
def test_results_stay_in_registers_over_the_whole_sum(name):
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
    assert block_sums_in_registers(source_schedule(scop), "L0", SMALL) is None


@pytest.mark.parametrize("registers,rows", [(32, 12), (16, 12), (8, 4), (4, 4)])
def test_rows_hide_additions_and_fit_registers(registers, rows):
    assert held_rows(Machine(vector_registers=registers)) == rows


@pytest.mark.parametrize(
    "registers,tile", [(32, (12, 2)), (16, (6, 2)), (14, (4, 2)), (10, (4, 1)), (8, (4, 1))]
)
def test_pairs_of_vectors_fit_registers(registers, tile):
    machine = Machine(vector_registers=registers)
    assert held_tile(machine) == RegisterTile(*tile)
    assert held_rows(machine) % tile[0] == 0


def test_one_unit_is_busy_with_fewer_rows():
    assert held_tile(PAIRS) == RegisterTile(4, 2)
    assert held_tile(PARTS) == RegisterTile(2, 2)


@pytest.mark.matrix(3)
@pytest.mark.parametrize("machine", [PAIRS, PARTS], ids=["pairs", "parts"])
@pytest.mark.parametrize("name", CASES)
def test_rows_that_share_columns_hold_pairs_of_vectors(name, machine):
    """Not where columns are windows, whose vectors overlap, nor where rows have their own."""
    text, arrays = CASES[name]
    scop = read(text, arrays, "N M K")
    schedule = auto_schedule(scop, machine)
    assert (".point, 4, 4);" in schedule.text) == (name == "images")
    assert_computes(scop, *schedule.trace)


PADDED = """
for j in range(N):
  for o in range(M):
    for p in range(3):
      for q in range(K):
        if 0 <= 2 * j + q - 1:
          if 2 * j + q - 1 < N:
            y[j, o] = y[j, o] + x[2 * j + q - 1, o] * w[p, q, o]
"""


def test_results_with_fewer_terms_are_split_off():
    """Where the window leaves the image, at the ends of each row, tiles are not full."""
    scop = read(PADDED, "y[N, M]; x[N, M]; w[3, K, M]", "N M K")
    schedule = auto_schedule(scop, SMALL)
    text = schedule.text
    assert "split(L0[0], 1)" in text
    assert "split(L0.high[0], (N - K + 1) // 2 + 1)" in text
    assert_computes(scop, *schedule.trace)


def in_a_scalar(y: "f8[N, L, M]", x: "f8[N, L2, K]", w: "f8[3, K, M]"):
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            for o in range(y.shape[2]):
                s = 0.0
                for p in range(3):
                    for c in range(x.shape[2]):
                        s += x[i, j + p, c] * w[p, c, o]
                y[i, j, o] = s


def test_a_sum_in_a_scalar_is_blocked_in_registers_too():
    """Its copies for the loops inside the joint ones are a matrix, no more."""
    schedule = auto_schedule(program_of(in_a_scalar).scop, SMALL)
    assert schedule.text.count("unroll") == 2
    assert schedule.text.count("fuse") == 2


def test_a_sum_in_a_scalar_holds_pairs_of_vectors():
    """The loops of its terms are a band of their own: rows and lanes go inside."""
    scop = program_of(in_a_scalar).scop
    schedule = auto_schedule(scop, PARTS)
    mixed = hashed(scop)
    sizes = {
        "y_0": 2,
        "y_1": 9,
        "y_2": 9,
        "x_0": 2,
        "x_1": 11,
        "x_2": 3,
        "w_0": 3,
        "w_1": 3,
        "w_2": 9,
    }
    check_schedule(mixed, source_schedule(mixed).apply(*schedule.trace), [sizes], Random(5))
    assert "unroll(L1.inner.point.point.lanes[0])" in schedule.text
    assert "vectorize(L1.inner.point.point.lanes2[0])" in schedule.text


def terms(x, w):
    count = x.shape[1] - w.shape[0] + 1
    y = np.zeros((x.shape[0], count, w.shape[2]), dtype=x.dtype)
    for n in range(x.shape[0]):
        for i in range(count):
            for o in range(w.shape[2]):
                for p in range(w.shape[0]):
                    for c in range(w.shape[1]):
                        y[n, i, o] += x[n, i + p, c] * w[p, c, o]
    return y


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("images", [1, 2])
def test_any_rows_and_columns(dtype, fp, images):
    """Whole tiles, rows and columns that are left over, and neither."""
    kernel = po.kernel(terms, threads=2, fp=fp)
    rng = np.random.default_rng(1)
    x = rng.integers(-9, 9, (images, 32, 3)).astype(dtype)
    w = rng.integers(-9, 9, (3, 3, 40)).astype(dtype)
    want = sum(np.einsum("nic,co->nio", x[:, p : p + 30], w[p]) for p in range(3))
    for rows in range(1, 31):
        for columns in range(1, 41):
            found = kernel(x[:, : rows + 2].copy(), w[:, :, :columns].copy())
            np.testing.assert_array_equal(found, want[:, :rows, :columns])
