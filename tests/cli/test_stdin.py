"""A function on standard input: `-` for its only one, `/dev/stdin:FUNC` for one of several."""

from __future__ import annotations

import io
import sys

import pytest

TWO = b"""
import polyopt as po


def smooth(u: po.f64["N"]):
    for i in range(1, u.shape[0] - 1):
        u[i] = 0.5 * (u[i - 1] + u[i + 1])


def scaled(u: po.f64["N"]):
    for i in range(u.shape[0]):
        u[i] = 2.0 * u[i]
"""


@pytest.fixture
def given(monkeypatch):
    def give(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))

    return give


def test_the_only_function(polyopt, given):
    given(TWO.partition(b"\n\n\ndef scaled")[0])
    done = polyopt("check", "-", "--parallel", "i")
    assert done.code == 1
    assert "stdin.py:6:5" in done.err
    assert "smooth" not in done.out


def test_one_of_several(polyopt, given):
    given(TWO)
    assert polyopt("check", "/dev/stdin:scaled", "--parallel", "i").code == 0
    given(TWO)
    assert polyopt("check", "/dev/stdin::smooth", "--parallel", "i").code == 1


def test_what_is_wrong_with_it(polyopt, given):
    for data, target, code in (
        (TWO, "-", "PO0607"),
        (TWO, "/dev/stdin:nothing", "PO0605"),
        (b"def f(:", "-", "PO0603"),
        (b"", "-", "PO0607"),
    ):
        given(data)
        done = polyopt("explain", target)
        assert done.code in (1, 2)
        assert code in done.err
