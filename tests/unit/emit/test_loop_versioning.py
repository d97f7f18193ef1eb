# ruff: noqa: F821, UP037 - sizes are named by strings
"""Loops are versioned on subscripts that are found at run time, where these change evenly."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.emit import emit_c
from polyopt.ir.expr import BinaryOp, operands
from tests.unit.proof.test_versions import PROGRAMS, optimized, versions, windows


def changed_inside(start: po.i64["K"], x: po.f64["N"], y: po.f64["K,M"]):
    for k in range(y.shape[0]):
        for j in range(y.shape[1]):
            start[k] = start[k] + 1
            y[k, j] = x[start[k] + j]


def gathered(start: po.i64["M"], x: po.f64["N"], y: po.f64["K,M"]):
    for k in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[k, j] = x[start[j]]


def fixed(start: po.i64["K"], x: po.f64["N"], y: po.f64["K,M"]):
    """The subscript is the same for all elements: a test for each is not what it costs."""
    for k in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[k, j] = x[start[k]]


def bent(start: po.i64["K"], x: po.f64["N"], y: po.f64["K,M"]):
    for k in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[k, j] = x[start[k] + j // 2]


@pytest.mark.parametrize("function", PROGRAMS)
def test_the_fast_version_has_plain_subscripts(function):
    loops = optimized(function)
    for node in versions(loops.body):
        fast, slow = (emit_c(replace(loops, body=b)).text for b in (node.then, node.otherwise))
        assert slow.count("? ") > fast.count("? ")


@pytest.mark.parametrize("function", [changed_inside, gathered, fixed, bent])
def test_others_stay(function):
    assert not versions(optimized(function).body)


def test_subscripts_of_one_sum_share_a_test():
    (node,) = versions(optimized(windows).body)
    assert len(operands(node.condition, BinaryOp.AND)) == 3
