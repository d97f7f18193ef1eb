"""Rfactor: partial results, their start and combination, what stands in the way."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.dataclass import replace
from polyopt.emit.lower import lower
from polyopt.errors import IllegalSchedule
from polyopt.frontend import build, infer_types
from polyopt.ir.expr import Binary, BinaryOp
from polyopt.ir.extremum import Update
from polyopt.ir.identity import identity, is_exact
from polyopt.ir.loops import Assign
from polyopt.ir.nodes import map_inner
from polyopt.ir.types import DType, Kind
from polyopt.pipeline import with_mode
from polyopt.proof import certify
from polyopt.schedule import source_schedule
from polyopt.targets import FpMode, Options
from polyopt.transforms import Interchange, Parallelize, Rfactor, Tile, parse_schedule
from tests import scops
from tests.checks import assert_computes, assert_round_trip, story
from tests.dtypes import DTYPES
from tests.reading import read
from tests.unit.transforms import data_programs
from tests.unit.transforms.refusing import refused

# ruff: noqa: F821, UP037 - sizes are named by strings
INF, NAN = np.inf, np.nan


def test_golden(golden):
    steps = (Tile("L1", (4,)), Rfactor("S1", "j_tile"))
    golden("schedule/rfactor_rows.tree", story(data_programs.row_sums(), *steps))


def test_the_loop_becomes_parallel():
    scop = data_programs.row_sums()
    assert source_schedule(scop).attempt(Parallelize("j")) is None
    assert_computes(scop, Rfactor("S1", "j"), Parallelize("j"))
    assert_computes(scop, Tile("L1", (3,)), Rfactor("S1", "j_tile"), Parallelize("j_tile"))
    assert_computes(scop, Rfactor("S1", "j"), Parallelize("i"))


def test_sums_into_a_matrix():
    assert_computes(scops.gemm(), Rfactor("S0", "k"), Parallelize("k"))
    steps = (Interchange("i", "k"), Rfactor("S0", "L0[0]"), Parallelize("k"))
    assert_computes(scops.gemm(), *steps)


def test_under_a_condition():
    assert_computes(data_programs.histogram(), Rfactor("S0", "i"), Parallelize("i"))


def test_only_part_of_the_instances_is_inside():
    scop = data_programs.histogram()
    assert_computes(scop, Tile("L0", (2, 3)), Rfactor("S0", "i_tile"), Parallelize("i_tile"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "op", [o for o in BinaryOp if o.value in ("+", "*", "min", "max", "&", "|", "^")]
)
def test_identities(op, dtype):
    start = identity(op, dtype)
    if start is None:
        assert dtype.kind in (Kind.BOOL, Kind.FLOAT, Kind.COMPLEX)
        return
    functions = {
        BinaryOp.ADD: np.add, BinaryOp.MUL: np.multiply, BinaryOp.MIN: np.minimum,
        BinaryOp.MAX: np.maximum, BinaryOp.AND: np.bitwise_and, BinaryOp.OR: np.bitwise_or,
        BinaryOp.XOR: np.bitwise_xor,
    }  # fmt: skip
    values = np.array([0, 1], dtype.numpy)
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        values = np.array([info.min, info.max, 0, 1, 7], dtype.numpy)
    elif dtype.is_float or dtype.is_complex:
        values = np.array([0.0, -0.0, 1.5, -np.inf, np.inf, np.nan], dtype.numpy)
    first = np.full_like(values, start.value)
    with np.errstate(all="ignore"):
        assert functions[op](first, values).tobytes() == values.tobytes()


def test_where_order_cannot_be_seen():
    assert is_exact(BinaryOp.ADD, DType.INT32)
    assert not is_exact(BinaryOp.ADD, DType.FLOAT64)
    assert not is_exact(BinaryOp.MAX, DType.FLOAT64)  # -0.0 and 0.0 differ


def test_something_else_uses_the_element_in_the_loop():
    scop = data_programs.row_sums()
    with pytest.raises(IllegalSchedule) as found:
        source_schedule(scop).apply(Rfactor("S1", "i"))
    assert found.value.code == "PO0333"
    witness = found.value.witness
    assert witness.read[0] in ("S0", "S2")
    assert witness.wanted[0] == "S1"


def test_a_prefix_is_no_sum():
    scop = read(
        """
        for i in range(N):
            s[0] += A[i]
            B[i] = s[0]
        """,
        "A[N]; B[N]; s[1]",
    )
    with pytest.raises(IllegalSchedule):
        source_schedule(scop).apply(Rfactor("S0", "i"))


def test_round_trip():
    assert_round_trip(Rfactor("S0", "i_tile"))


def test_refusals():
    scop = data_programs.row_sums()
    assert refused(scop, Rfactor("S9", "j"))[0] == "PO0333"
    assert refused(scop, Rfactor("S0", "i"))[0] == "PO0333"
    assert refused(scop, Rfactor("S1", "q"))[0] == "PO0301"
    assert refused(data_programs.histogram(), Rfactor("S0", "L1"))[0] == "PO0333"
    assert refused(scops.ordered_gemm(), Rfactor("S1", "k"))[0] == "PO0333"


# -- extrema that are written as choices, which pass over NaN


def chosen_rows(x: po.f32["N,M"], top: po.f32["N"]):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > top[i]:
                top[i] = x[i, j]


def greatest_rows(x: po.f32["N,M"], top: po.f32["N"]):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            top[i] = np.maximum(top[i], x[i, j])


SPLIT = "deal(j, 4); rfactor(S0, L0[1])"


def split(function):
    program = with_mode(build(function, infer_types(function)), Options(fp=FpMode.REASSOCIATE))
    return program, parse_schedule(source_schedule(program.scop), SPLIT)


@pytest.mark.toolchain
def test_a_choice_of_partial_results_is_a_choice():
    rows = [[1, NAN, 3, -2, 5], [NAN, NAN, NAN, NAN, NAN], [-INF, NAN, -4, -INF, -5]]
    x = np.array([*rows, rows[0]], np.float32)
    start = np.array([2, -INF, -INF, NAN], np.float32)
    found, wanted = start.copy(), start.copy()
    po.kernel(fp="reassociate", schedule=SPLIT)(chosen_rows)(x, found)
    chosen_rows(x, wanted)
    np.testing.assert_array_equal(found, wanted)
    assert np.isnan(wanted).sum() == 1


def as_choice(node):
    """Join partial results by a choice instead of a maximum."""
    if isinstance(node, Assign) and not node.statement and isinstance(node.value, Binary):
        value = Update(BinaryOp.MAX, node.value.right, True).of(node.target, node.value.right)
        return replace(node, value=value)
    return map_inner(node, as_choice)


def test_a_choice_that_drops_nan_is_refused():
    program, schedule = split(greatest_rows)
    loops = lower((schedule,), program)
    assert certify(program, loops).is_proven
    changed = replace(loops, body=tuple(map(as_choice, loops.body)))
    assert changed != loops
    assert not certify(program, changed).is_proven
