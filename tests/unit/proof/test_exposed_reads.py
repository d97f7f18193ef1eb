"""Upward-exposed reads of parts of programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.program import Program, Repeat, all_parts
from polyopt.proof.exposed_reads import nothing_written, written_after
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def whole(x: po.f64["N"], out: po.f64["N"]):
    t = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        t[i] = x[i]
    for i in range(x.shape[0]):
        out[i] = t[i]


def most(x: po.f64["N"], out: po.f64["N"]):
    t = np.empty(x.shape[0])
    for i in range(1, x.shape[0]):
        t[i] = x[i]
    for i in range(x.shape[0]):
        out[i] = t[i]


def ahead(x: po.f64["N"], out: po.f64["N"]):
    t = np.empty(x.shape[0])
    for i in range(x.shape[0] - 1):
        t[i] = x[i]
        out[i] = t[i + 1]


def behind(x: po.f64["N"], out: po.f64["N"]):
    t = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        t[i] = x[i]
        if i > 0:
            out[i] = t[i - 1]


def perhaps(x: po.f64["N"], out: po.f64["N"]):
    t = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            t[i] = x[i]
        out[i] = t[i]


def chosen(x: po.f64["N"], out: po.f64["N"]):
    t = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        t[i] = 0.0
        if x[i] > 0.0:
            t[i] = x[i]
        out[i] = t[i]


def of_each_row(start: po.i64["M"], x: po.f64["K"], y: po.f64["N"]):
    for r in range(y.shape[0]):
        t = np.empty(4)
        for q in range(4):
            t[q] = y[r]
        for q in range(start[r], start[r + 1]):
            t[0] += x[q]
        y[r] = t[0] + t[3]


def over_rows(start: po.i64["M"], x: po.f64["K"], y: po.f64["N"]):
    t = np.empty(4)
    for r in range(y.shape[0]):
        for q in range(start[r], start[r + 1]):
            t[0] = x[q]
        y[r] = t[0]


def half_of_each_row(start: po.i64["M"], x: po.f64["K"], y: po.f64["N"]):
    t = np.empty(4)
    for r in range(y.shape[0]):
        for q in range(2):
            t[q] = y[r]
        for q in range(start[r], start[r + 1]):
            t[1] += x[q]
        y[r] = t[3]


def array_of(program: Program, name: str) -> Any:
    """Return the array called `name`, of the program or of its only static part."""
    return next(a for a in (*program.arrays, *program.scops[0].arrays) if a.name == name)


@pytest.mark.parametrize(
    ("function", "is_exposed"),
    [
        (whole, False),
        (most, True),
        (ahead, True),
        (behind, False),
        (perhaps, True),
        (chosen, False),
        (of_each_row, False),
        (over_rows, True),
        (half_of_each_row, True),
    ],
)
def test_what_is_read_before_it_is_written(function: Callable[..., Any], is_exposed: bool) -> None:
    program = program_of(function)
    array = array_of(program, "t")
    assert written_after(program.parts, array, nothing_written(array)).exposed is is_exposed


def test_what_is_known_before_counts() -> None:
    program = program_of(whole)
    array = array_of(program, "t")
    written = written_after(program.parts, array, nothing_written(array))
    assert not written_after(
        program_of(most).parts, array_of(program_of(most), "t"), written
    ).exposed


def test_a_loop_may_run_no_iteration() -> None:
    """What only the iterations of a region write is not written after it."""
    program = program_of(of_each_row)
    array = array_of(program, "t")
    (rows,) = (p for p in all_parts(program.parts) if isinstance(p, Repeat))
    inside = written_after(rows.body, array, nothing_written(array))
    outside = written_after((rows,), array, nothing_written(array))
    assert not inside.exposed
    assert not inside.elements.is_empty()
    assert outside.elements.is_empty()
