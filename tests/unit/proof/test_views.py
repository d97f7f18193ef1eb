"""Views: elements of two places under one name, both of which the certificate judges."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir.expr import Compare, CompareOp, Param, integer
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Declare,
    DeclareArray,
    DeclareView,
    If,
    Place,
    SetLocal,
)
from polyopt.ir.scop import Array, Role
from polyopt.ir.types import DType
from polyopt.proof import certify
from polyopt.proof.certificate import Unclaimable
from polyopt.proof.views import check_views
from tests.unit.emit.kernels import at, loop, op
from tests.unit.proof.edits import F64, local, loops_of, program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def doubled(A: po.f64["N,8"], C: po.f64["N,8"]):
    for i in range(A.shape[0]):
        for j in range(8):
            C[i, j] = A[i, j] * 2.0


PANEL = Array("T", F64, (integer(4), integer(8)), Role.TEMP)
MANY = Compare(CompareOp.GT, Param("N"), integer(9))
COPIED = local("is_copied", DType.BOOL)
VIEW = DeclareView(
    replace(PANEL, name="V"),
    COPIED,
    Place(at("T", 0, 0), ((1, 0),)),
    Place(at("A", 0, 0), ((1, 0),)),
)
"""The first four rows of A, copied or in place."""
FIRST = Compare(CompareOp.GE, Param("N"), integer(4))


def loops(view=VIEW, filled=MANY, *behind):
    """Return loops that read the first rows through a view, the others in place."""
    fn = loops_of(doubled)
    (row,) = fn.body
    (column,) = row.body
    (assign,) = column.body
    copy = loop("i", 0, 4, loop("j", 0, 8, Assign(at("T", "i", "j"), at("A", "i", "j"))))
    value = op("*", at("V", "i", "j"), assign.value.right)
    through = replace(
        row, upper=integer(4), body=(replace(column, body=(replace(assign, value=value),)),)
    )
    rest = replace(row, lower=integer(4))
    whole = (
        Declare("is_copied", DType.BOOL, 1, MANY),
        DeclareArray(PANEL),
        If(COPIED if filled is MANY else filled, (copy,)),
        view,
        *behind,
        through,
        rest,
    )
    return replace(fn, body=(If(FIRST, whole, (row,)),))


def verdict(fn):
    return certify(program_of(doubled), fn)


def test_both_places_of_a_view_are_proven():
    assert verdict(loops()).is_proven


@pytest.mark.parametrize(
    "view",
    [
        replace(VIEW, otherwise=Place(at("A", 0, 0), ((0, 1),))),
        replace(VIEW, otherwise=Place(at("A", 0, 0), ((2, 0),))),
        replace(VIEW, otherwise=Place(at("A", 1, 0), ((1, 0),))),
        replace(VIEW, otherwise=Place(at("C", 0, 0), ((1, 0),))),
        replace(VIEW, then=Place(at("T", 1, 0), ((1, 0),))),
        replace(VIEW, then=Place(at("T", 0, 0), ((-1, 0),))),
        replace(VIEW, then=VIEW.otherwise, otherwise=VIEW.then),
        replace(VIEW, otherwise=VIEW.then),
    ],
    ids=["turned", "wide", "below", "result", "late", "backwards", "exchanged", "never in place"],
)
def test_a_view_of_other_elements_is_refused(view):
    assert not verdict(loops(view)).is_proven


def test_a_copy_that_is_made_under_another_condition_is_refused():
    fewer = Compare(CompareOp.GT, Param("N"), integer(10))
    assert not verdict(loops(VIEW, fewer)).is_proven


@pytest.mark.parametrize(
    ("view", "behind", "reason"),
    [
        (replace(VIEW, condition=Param("N")), (), "it is chosen by no condition"),
        (
            replace(VIEW, otherwise=Place(at("A", at("C", 0, 0), 0), ((1, 0),))),
            (),
            "where it is depends on data",
        ),
        (
            VIEW,
            (SetLocal("is_copied", DType.BOOL, 1, MANY),),
            "where it is depends on a local that is set later",
        ),
        (VIEW, (Assign(at("V", 0, 0), at("A", 0, 0)),), "a view is written"),
        (
            VIEW,
            (AllocateArray(PANEL),),
            "arrays get other memory behind it, or are used as a whole",
        ),
        (
            replace(VIEW, otherwise=Place(at("V", 0, 0), ((1, 0),))),
            (),
            "it names no rows of an array of its type",
        ),
        (
            replace(VIEW, otherwise=Place(at("A", 0, 0), ())),
            (),
            "it has other dimensions than what it names",
        ),
        (
            replace(VIEW, array=replace(VIEW.array, dtype=DType.FLOAT32)),
            (),
            "it names no rows of an array of its type",
        ),
    ],
)
def test_a_view_that_may_change_is_refused(view, behind, reason):
    with pytest.raises(Unclaimable, match=reason):
        check_views(loops(view, MANY, *behind))
    assert not verdict(loops(view, MANY, *behind)).is_proven
