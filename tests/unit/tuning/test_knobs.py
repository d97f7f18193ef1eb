"""Numbers of schedules that are varied."""

from __future__ import annotations

import pytest

from polyopt.transforms import parse_steps
from polyopt.tuning.knobs import knobs, moves, with_value

REGISTERS = """
tile(L0, 96, 960, 128);
tile(L0.point, 8, 24);
unroll(L0.point.point[1]);
separate(L0.point.tile, L0.point.point, 8, 24);
tile(L0.point.point.rest, 8);
separate(L0.point.point.rest.tile, L0.point.point.rest.point, 8, 8)
"""


def test_full_tiles_change_with_the_tiles():
    found = knobs(REGISTERS)
    assert [knob.value for knob in found] == [96, 960, 128, 8, 24, 8]
    rows, columns, rest = found[3:]
    wider = with_value(REGISTERS, columns, 32)
    assert "tile(L0.point, 8, 32)" in wider
    assert "separate(L0.point.tile, L0.point.point, 8, 32)" in wider
    assert wider.endswith("L0.point.point.rest.point, 8, 8)")
    higher = with_value(REGISTERS, rows, 6)
    assert "separate(L0.point.tile, L0.point.point, 6, 24)" in higher
    assert higher.endswith("L0.point.point.rest.point, 6, 8)")
    narrow = with_value(REGISTERS, rest, 4)
    assert "tile(L0.point.point.rest, 4)" in narrow
    assert narrow.endswith("L0.point.point.rest.point, 8, 4)")


def test_sizes_of_other_steps():
    text = "strip(i, 256); diamond(L0, 32, 64); overlap(t, 4, 16, 512); unroll(k); tile(L1, 1)"
    assert [knob.value for knob in knobs(text)] == [256, 32, 64, 4, 16, 512]
    for knob in knobs(text):
        changed = with_value(text, knob, 48)
        assert [k.value for k in knobs(changed)].count(48) == 1


def test_a_name_is_one_knob():
    text = "let S = 32; tile(L0, S, S); tile(L1, 32)"
    first, second = knobs(text)
    assert len(first.places) == 2
    assert with_value(text, first, 64).startswith("tile(L0, 64, 64)")
    assert "tile(L1, 64)" in with_value(text, second, 64)


def test_parts_stay_apart():
    text = "tile(L0, 8); part(2); tile(L0, 8); separate(L0.tile, L0.point, 8)"
    first, second = knobs(text)
    changed = with_value(text, second, 4)
    assert changed.split() == with_value(changed, first, 8).split()
    assert "part(2);\ntile(L0, 4);\nseparate(L0.tile, L0.point, 4)" in changed
    assert "part(0);\ntile(L0, 8)" in changed


def test_zero_in_full_tiles_stays():
    text = "tile(L0, 256, 4); separate(L0.tile, L0.point, 0, 4)"
    assert with_value(text, knobs(text)[1], 8).endswith("L0.point, 0, 8)")


@pytest.mark.parametrize("value", [2, 3, 8, 16, 17, 256, 1 << 20])
def test_adjacent_nests(value):
    near = moves(value)
    assert near
    assert value not in near
    assert len(set(near)) == len(near)
    assert all(1 < v <= 1 << 20 for v in near)


def test_no_steps_no_knobs():
    assert knobs("parallelize(i)") == ()
    assert parse_steps(with_value(REGISTERS, knobs(REGISTERS)[0], 96)) == parse_steps(REGISTERS)
