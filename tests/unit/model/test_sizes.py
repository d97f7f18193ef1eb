"""Tile sizes that are solved for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polyopt.machine import Machine
from polyopt.model.caches import Cache, caches_of
from polyopt.model.contraction import (
    LEAST,
    STACK,
    RegisterTile,
    contraction_sizes,
    fitting_tile,
    packed_sizes,
    register_tile,
)
from polyopt.model.stencil import (
    Stencil,
    TimeTile,
    footprint,
    loaded,
    time_of_update,
    time_tile,
    waiting,
    working_set,
)

MACHINES = [
    Machine(),
    Machine(cores=2, vector_bytes=64, vector_registers=32, l1=48 << 10, l2=1 << 20, l1_ways=12),
    Machine(cores=64, vector_bytes=16, vector_registers=16, l1=32 << 10, l2=256 << 10),
    Machine(cores=2, vector_bytes=16, l1=512, l2=2048, l3=8192),
    Machine(cores=1, l1=1, l2=1, l3=1, l1_ways=1, l2_ways=1, l3_ways=1, vector_registers=1),
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("element", [2, 4, 8, 16])
def test_what_is_held_fits_where_it_is_held(machine, element):
    sizes = contraction_sizes(machine, element)
    vectors = sizes.register_columns // sizes.lanes
    if machine.vector_registers > 2:
        used = vectors * sizes.register_rows + vectors + 1
        assert used <= machine.vector_registers
    assert sizes.rows % sizes.register_rows == 0
    assert sizes.columns % sizes.register_columns == 0
    if machine.l1 >= 8 << 10:
        assert sizes.depth * sizes.register_columns * element < machine.l1
        operands = sizes.depth * (sizes.rows + sizes.columns)
        assert (operands + sizes.rows * sizes.columns) * element < machine.l2
    assert min(sizes.depth, sizes.rows, sizes.columns) >= 1


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("element", [2, 4, 8, 16])
@pytest.mark.parametrize("operands", [1, 2])
def test_a_packed_block_fits_the_second_cache_and_the_stack(machine, element, operands):
    sizes = packed_sizes(machine, element, operands)
    assert sizes.rows % sizes.register_rows == 0
    assert sizes.columns % sizes.register_columns == 0
    assert min(sizes.depth, sizes.rows, sizes.columns) >= 1
    if machine.l2 >= 64 << 10:
        block = operands * sizes.depth * sizes.columns * element
        assert block <= min(STACK, machine.l2 * 9 // 16)
        assert 2 * sizes.columns <= sizes.depth + sizes.register_columns + sizes.columns


def test_a_packed_block_is_shared_by_enough_rows_on_any_number_of_cores():
    rows = [packed_sizes(Machine(cores=n), 8).rows for n in (1, 2, 64)]
    assert rows == sorted(rows, reverse=True)
    assert rows[0] > rows[2] > LEAST - 8


def test_the_register_tile_has_enough_reuse_and_few_columns():
    assert register_tile(Machine(vector_registers=32)) == RegisterTile(8, 3)
    assert register_tile(Machine(vector_registers=16)) == RegisterTile(6, 2)


def test_known_lengths_are_cut_into_equal_pieces():
    machine = MACHINES[1]
    free = packed_sizes(machine, 8)
    known = packed_sizes(machine, 8, extents=(None, None, free.depth + 8))
    assert known.depth == (free.depth + 8) // 2 // 8 * 8 + (8 if (free.depth + 8) // 2 % 8 else 0)


def test_more_cores_take_fewer_rows_at_a_time():
    rows = [contraction_sizes(Machine(cores=n, l2=8 << 20), 8).rows for n in (1, 64, 256)]
    assert rows == sorted(rows, reverse=True)
    assert rows[0] > rows[2]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_time_tiles_fit_the_second_cache_or_a_part_of_the_third(machine, dimensions):
    stencil = Stencil(dimensions, 8, arrays=3, reach=2)
    tile = time_tile(stencil, machine)
    assert len(tile.sizes) == dimensions
    if machine.l2 >= 64 << 10:
        room = max(machine.l2, machine.l3 // (4 * machine.cores))
        assert working_set(stencil, tile) < room
        other = TimeTile(4, tile.sizes)
        cost = [time_of_update(stencil, one, machine) for one in (tile, other)]
        assert cost[0] <= cost[1]


def test_a_larger_cache_gets_a_larger_tile():
    small, large = (Machine(cores=2, l2=size) for size in (256 << 10, 4 << 20))
    stencil = Stencil(2, 8, whole=frozenset({1}))
    sets = [working_set(stencil, time_tile(stencil, machine)) for machine in (small, large)]
    assert sets[1] > 2 * sets[0]


def test_more_threads_want_more_tiles_in_a_front():
    stencil = Stencil(2, 8, whole=frozenset({1}))
    few, many = (time_tile(stencil, Machine(cores=n, l2=1 << 20)) for n in (1, 32))
    assert many.steps < few.steps
    tile = TimeTile(8, (16, 2000))
    waits = [waiting(stencil, tile, Machine(cores=n)) for n in (1, 2, 32)]
    assert waits[0] == 1.0
    assert waits[1] < waits[2]
    assert waiting(stencil, TimeTile(32, (16, 2000)), Machine(cores=4)) == pytest.approx(4.0)
    grown = [footprint(stencil, TimeTile(steps, (16, 2000))) for steps in (4, 8)]
    assert grown[0] < grown[1]


def test_steps_that_move_far_want_wide_tiles():
    """Threads share the first dimension, so the second one grows; all stays in L2."""
    machine = replace(MACHINES[0], cores=2, vector_bytes=64, l2=1 << 20, l3=1 << 25, l2_ways=16)
    near, far = (Stencil(3, 8, reach=reach, whole=frozenset({2})) for reach in (1, 2))
    one, other = (time_tile(stencil, machine) for stencil in (near, far))
    assert other.sizes[1] / other.sizes[0] > one.sizes[1] / one.sizes[0]
    assert working_set(near, one) < machine.l2
    assert working_set(far, other) < machine.l2


@pytest.mark.parametrize(("l1", "row"), [(32 << 10, 512), (64 << 10, 1024)])
@pytest.mark.parametrize("element", [4, 8])
def test_neighbouring_rows_stay_in_the_first_cache(l1, row, element):
    machine = Machine(cores=2, l1=l1, l1_ways=8, l2=4 << 20, vector_bytes=64)
    stencil = Stencil(2, element, reach=2)
    tile = time_tile(stencil, machine)
    assert tile.sizes[1] == min(1024, row * 8 // element)
    room = caches_of(machine)[0].room(2)
    whole = TimeTile(tile.steps, (tile.sizes[0], 4000))
    assert loaded(stencil, tile, room) == 3.0
    assert loaded(stencil, whole, room) == 7.0
    assert loaded(replace(stencil, arrays=3, reach=1), whole, room) == 6.5


def test_planes_that_leave_the_first_cache_come_in_again():
    stencil = Stencil(3, 8, reach=1, whole=frozenset({2}))
    assert loaded(stencil, TimeTile(4, (8, 8, 100)), 24 << 10) == 5.0
    assert loaded(stencil, TimeTile(4, (8, 8, 1000)), 24 << 10) == 7.0
    assert loaded(stencil, TimeTile(4, (8, 4, 100)), 24 << 10) == 3.0


def test_dimensions_that_stay_whole():
    stencil = Stencil(2, 8, whole=frozenset({1}), extents=(500, 600))
    assert time_tile(stencil, Machine(cores=2)).sizes[1] == 600


def test_a_cache_of_few_ways_keeps_one():
    assert Cache(1, 4096, 4, 64).room(1) == 3072
    assert Cache(1, 4096, 4, 64).room(9) == 1024
    assert [cache.level for cache in caches_of(Machine())] == [1, 2, 3]


@pytest.mark.parametrize(
    ("rows", "columns", "tile"),
    [(256, 64, (4, 4)), (256, 192, (8, 3)), (32, 16, (16, 1)), (1, 5, (8, 3))],
)
def test_tiles_leave_nothing_over_where_lengths_are_known(rows, columns, tile):
    assert fitting_tile(MACHINES[1], rows, columns, 16) == RegisterTile(*tile)


def test_blocks_of_known_lengths_are_of_one_size_and_enough_for_all_threads():
    known = packed_sizes(MACHINES[1], 4, 1, (256, 64, 64))
    assert (known.rows, known.columns) == (128, 64)
    batch = packed_sizes(MACHINES[1], 4, 1, (64, 64, 64), products=8)
    assert batch.rows == 64
    single = packed_sizes(MACHINES[1], 4, 1, (64, 64, 64))
    assert single.rows == 32
    deep = packed_sizes(MACHINES[1], 4, 1, (256, 64, 256))
    assert deep.depth * 64 * 4 <= MACHINES[1].l1  # the panel of one column of tiles
