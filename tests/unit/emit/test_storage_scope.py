"""Storage of temporaries: a scalar, a tile, or the whole array."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from polyopt.emit.lower import lower
from polyopt.emit.storage_scope import MAX_ELEMENTS, declare_in_loops, mentions
from polyopt.ir.expr import Compare, CompareOp
from polyopt.ir.interp import run_loops, run_scop
from polyopt.ir.loops import Assign, Declare, DeclareArray, For, If, SetLocal, show_body
from polyopt.ir.nodes import bodies
from polyopt.ir.scop import Array, Role
from polyopt.ir.types import DType
from polyopt.schedule import source_schedule
from polyopt.transforms import Distribute, Fuse, Pack, Parallelize, Skew, Tile, Vectorize
from tests import scops
from tests.checks import sizes_of
from tests.dtypes import DTYPES
from tests.oracle import random_arrays
from tests.oracle.program import as_program
from tests.reading import read
from tests.unit.emit.kernels import array, at, ex, loop, op, plus


def stages(width="0"):
    """A temporary between two nests; the second reads `width` columns ahead."""
    return read(
        f"""
        for i in range(N):
            for j in range(M + {width}):
                T[i, j] = A[i, j] * 2
        for i in range(N):
            for j in range(M):
                B[i, j] = T[i, j] + T[i, j + {width}]
        """,
        f"A[N, M + {width}]; B[N, M]; temp T[N, M + {width}]",
        "N M",
    )


def lowered(scop, *steps):
    return lower(source_schedule(scop).apply(*steps), as_program(scop))


def declared(body):
    """Return shape and name of every local of a body, outside in."""
    found = []
    for node in body:
        if isinstance(node, DeclareArray):
            found.append((node.array.name, tuple(e.value for e in node.array.shape)))
        if isinstance(node, Declare):
            found.append((node.name, ()))
        for inner in bodies(node):
            found += declared(inner)
    return found


def assert_runs(scop, *steps):
    fn = lowered(scop, *steps)
    for params in sizes_of(scop):
        want = random_arrays(scop.arrays, params, 4)
        got = {name: value.copy() for name, value in want.items()}
        run_scop(scop, want, params)
        run_loops(fn, got, params, shuffle=Random(9))
        for name, value in want.items():
            assert np.array_equal(got[name], value), name
    return fn


def test_a_scalar():
    fn = assert_runs(stages(), Fuse("L0", "L1"), Parallelize("i"))
    assert declared(fn.body) == [("T", ())]
    assert [a.name for a in fn.arrays] == ["A", "B"]
    assert "T = A[i, j] * 2.0" in "\n".join(show_body(fn.body))


def test_a_tile_sized_array():
    steps = (Fuse("L0", "L1"), Tile("L0", (3, 4)), Distribute("L0.point"))
    fn = assert_runs(stages(), *steps, Parallelize("L0.tile[0]"), Vectorize("L0.point.0[1]"))
    assert declared(fn.body) == [("T", (3, 4))]
    assert "T[i - 3 * i_tile, j - 4 * j_tile] = A[i, j] * 2.0" in "\n".join(show_body(fn.body))


def test_a_row_of_a_tile():
    steps = (Fuse("L0", "L1"), Tile("L0", (3, 4)), Distribute("L0.point", 1))
    fn = assert_runs(stages(), *steps)
    assert declared(fn.body) == [("T", (4,))]


def test_a_row_stays_a_full_array():
    """One iteration of the outer loop holds M values: no constant."""
    fn = assert_runs(stages(), Fuse("L0", "L1", 1))
    assert declared(fn.body) == []
    assert [a.name for a in fn.arrays if a.role is Role.TEMP] == ["T"]


def test_values_across_nests_stay_a_full_array():
    fn = assert_runs(stages())
    assert declared(fn.body) == []
    assert [a.name for a in fn.arrays if a.role is Role.TEMP] == ["T"]


def test_large_tiles_stay_a_full_array():
    steps = (Fuse("L0", "L1"), Tile("L0", (128, 128)), Distribute("L0.point"))
    assert MAX_ELEMENTS < 128 * 128
    assert declared(lowered(stages(), *steps).body) == []
    small = (Fuse("L0", "L1"), Tile("L0", (64, 64)), Distribute("L0.point"))
    assert declared(lowered(stages(), *small).body) == [("T", (64, 64))]


def test_what_a_tile_of_a_wavefront_keeps():
    """Tiles of one front have memory of their own, which those of other fronts use again."""
    copy = read(
        "for i in range(N):\n    for j in range(N):\n        B[i, j] = A[i, j]", "A[N, N]; B[N, N]"
    )
    steps = (Tile("L0", (128, 128)), Pack("A", "L0.tile[1]"), Skew("L0.tile[0]", "L0.tile[1]", 1))
    fn = assert_runs(copy, *steps, Parallelize("L0.tile[1]"))
    (kept,) = (array for array in fn.arrays if array.role is Role.TEMP)
    assert len(kept.shape) == 3


def test_a_constant_extent_needs_no_tiles():
    scop = read(
        """
        for i in range(N):
            for j in range(6):
                T[j] = A[i, j]
            for j in range(5):
                B[i, j] = T[j] + T[j + 1]
        """,
        "A[N, 6]; B[N, 5]; temp T[6]",
    )
    assert declared(assert_runs(scop).body) == [("T", (6,))]


def test_offsets_from_the_scope_s_iterator():
    scop = read(
        """
        for i in range(1, N):
            for j in range(3):
                T[2 * i + j] = A[i + j]
            for j in range(2):
                B[i, j] = T[2 * i + j] - T[2 * i + j + 1]
        """,
        "A[N + 3]; B[N, 2]; temp T[2 * N + 3]",
    )
    assert declared(assert_runs(scop).body) == [("T", (3,))]


def test_scalars_of_the_source():
    fn = assert_runs(scops.dot(), Parallelize("i"))
    assert declared(fn.body) == [("s", ())]
    (outer,) = fn.body
    assert isinstance(outer, For)
    first, inner, last = outer.body
    assert isinstance(first, Declare)
    assert (first.statement, first.instance) == ("S0", (ex("i"),))
    assert isinstance(inner, For)
    (update,) = inner.body
    assert isinstance(update, SetLocal)
    assert isinstance(last, Assign)


def test_a_scalar_first_written_below_a_loop_is_declared_before_it():
    home = Array("T", DType.FLOAT64, (ex("N"),), Role.TEMP)
    body = (
        loop(
            "i",
            0,
            "N",
            loop("k", 0, 4, Assign(at("T", "i"), at("A", "k"), "S0")),
            Assign(at("B", "i"), at("T", "i"), "S1"),
            label="L0[0]",
        ),
    )
    changed, local = declare_in_loops(body, (home,), {"T": "L0[0]"})
    assert local == {"T"}
    (outer,) = changed
    assert isinstance(outer, For)
    assert show_body(outer.body)[0] == "T = 0.0"


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_zero_of_every_type(dtype):
    home = Array("T", dtype, (ex("N"),), Role.TEMP)
    use = Assign(at("T", "i", dtype=dtype), at("A", "k", dtype=dtype), "S0")
    read_back = Assign(at("B", "i", dtype=dtype), at("T", "i", dtype=dtype), "S1")
    body = (loop("i", 0, "N", loop("k", 0, 4, use), read_back, label="L0[0]"),)
    ((outer,), _) = declare_in_loops(body, (home,), {"T": "L0[0]"})
    assert isinstance(outer, For)
    first = outer.body[0]
    assert isinstance(first, Declare)
    assert (first.dtype, first.value.dtype) == (dtype, dtype)
    assert not first.value.value


def test_without_a_scope_nothing_changes():
    body = (loop("i", 0, "N", Assign(at("T", "i"), at("A", "i"), "S0"), label="L0[0]"),)
    assert declare_in_loops(body, (array("T", "N", role=Role.TEMP),), {}) == (body, set())


def test_uses_outside_the_scope_keep_the_array():
    inside = loop("i", 0, "N", Assign(at("T", "i"), at("A", "i"), "S0"), label="L0[0]")
    body = (inside, Assign(at("B", 0), at("T", 0), "S1"))
    kept = array("T", "N", role=Role.TEMP)
    assert declare_in_loops(body, (kept,), {"T": "L0[0]"}) == (body, set())


def test_subscripts_that_do_not_line_up_keep_the_array():
    first = Assign(at("T", "i"), at("A", "i"), "S0")
    for other in (op("*", ex(2), ex("i"), DType.INT64), at("P", "i", dtype=DType.INT64)):
        second = Assign(at("B", "i"), at("T", other), "S1")
        body = (loop("i", 0, "N", first, second, label="L0[0]"),)
        kept = array("T", "N", role=Role.TEMP)
        assert declare_in_loops(body, (kept,), {"T": "L0[0]"}) == (body, set())


def test_neighbours_at_constant_distance():
    first = Assign(at("T", plus("i", 2)), at("A", "i"), "S0")
    second = Assign(at("B", "i"), op("+", at("T", plus("i", 2)), at("T", plus("i", -1))), "S1")
    body = (loop("i", 1, "N", first, second, label="L0[0]"),)
    changed, local = declare_in_loops(body, (array("T", "N", role=Role.TEMP),), {"T": "L0[0]"})
    assert local == {"T"}
    assert declared(changed) == [("T", (4,))]
    (outer,) = changed
    assert isinstance(outer, For)
    assert show_body(outer.body)[1:] == ["T[3] = A[i]", "B[i] = T[3] + T[0]"]


def test_every_loop_of_the_label_gets_its_own():
    """isl may emit a band's loop several times."""
    parts = [
        loop("i", low, high, Assign(at("T", "i"), at("A", "i"), "S0"), label="L0[0]")
        for low, high in ((0, 4), (4, "N"))
    ]
    changed, local = declare_in_loops(
        tuple(parts), (array("T", "N", role=Role.TEMP),), {"T": "L0[0]"}
    )
    assert local == {"T"}
    assert declared(changed) == [("T", ()), ("T", ())]


def test_dead_copies_into_locals_are_removed():
    made = Assign(at("P", "i"), at("A", "i"), "S0")
    copied = Assign(at("T", "i"), at("P", "i"), "")
    first, second = loop("i", 0, "N", made), loop("i", 0, "N", copied, label="L0[0]")
    kept = (array("T", "N", role=Role.TEMP),)
    assert declare_in_loops((first, second), kept, {"T": "L0[0]"}) == ((first,), {"T"})
    instance = loop("i", 0, "N", replace(copied, statement="S1"), label="L0[0]")
    changed, _ = declare_in_loops((first, instance), kept, {"T": "L0[0]"})
    assert declared(changed) == [("T", ())]


def test_mentions():
    inner = loop("i", 0, "N", DeclareArray(array("T", 4)), Assign(at("T", 0), at("A", 0), "S0"))
    assert not mentions(inner, "T")
    assert mentions(inner, "A")
    assert mentions(Assign(at("T", 0), at("A", 0), "S0"), "T")
    assert not mentions(Assign(at("T", 0), at("A", 0), "S0"), "B")


def in_loops(*body):
    """Return a body with T declared in its loops over i; None where it stays in memory."""
    home = Array("T", DType.FLOAT64, (ex("N"),), Role.TEMP)
    placed, done = declare_in_loops(body, (home,), {"T": frozenset({"L0[0]"})})
    return placed if done else None


def test_what_code_before_a_loop_sets_is_read_in_it():
    """isl runs some statements of the first iteration outside of the loop."""
    first, reads = Assign(at("T", 0), at("A", 0)), Assign(at("B", "i"), at("T", 0))
    placed = in_loops(first, loop("i", 0, "N", reads, label="L0[0]"))
    assert placed is not None
    assert isinstance(placed[0], Declare)
    assert show_body(placed)[-1].strip() == f"B[i] = {placed[0].name}"


def test_loops_that_go_on_with_what_was_set_before_them():
    """A loop that sets what it reads has its own value; one that may not set it has not."""
    first = Assign(at("T", 0), at("A", 0))
    sets, reads = Assign(at("T", "i"), at("A", "i")), Assign(at("B", "i"), at("T", "i"))
    assert in_loops(first, loop("i", 1, "N", sets, reads, label="L0[0]")) is not None
    maybe = If(Compare(CompareOp.GE, ex("i"), ex(1)), (sets,))
    assert in_loops(maybe, loop("i", 0, "N", maybe, reads, label="L0[0]")) is None
    assert in_loops(first, loop("i", 0, "N", maybe, reads, label="L0[0]")) is None


def test_a_condition_that_changes_what_was_set_before_it():
    first, again = Assign(at("T", 0), at("A", 0)), Assign(at("T", 0), at("B", 0))
    guard = If(Compare(CompareOp.GE, ex("N"), ex(2)), (again,))
    after = loop("i", 1, "N", Assign(at("T", "i"), at("A", "i")), label="L0[0]")
    assert in_loops(first, guard, Assign(at("C", 0), at("T", 0)), after) is None
    assert in_loops(first, Assign(at("C", 0), at("T", 0)), after) is not None
