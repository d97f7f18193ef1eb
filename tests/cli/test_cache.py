"""`polyopt cache explain`: what differs from the kernels that are kept."""

from __future__ import annotations

import json

import pytest

from polyopt.runtime.misses import _fields

pytestmark = pytest.mark.toolchain

SMOOTH = """
import polyopt as po

RATE = 0.5


def smooth(u, n: int = 3):
    for i in range(1, u.shape[0] - 1):
        u[i] = RATE * (u[i - 1] + u[i + 1])


def other(u: po.f64["N"]):
    for i in range(u.shape[0]):
        u[i] = 0.0
"""


@pytest.fixture
def kept(polyopt, write, monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("POLYOPT_L2", "1000000")
    write("heat.py", SMOOTH)
    assert (
        polyopt("cache", "explain", "heat.py:smooth").out == "miss: nothing is kept of `smooth`\n"
    )
    assert polyopt("run", "heat.py:smooth", "--sizes", "u=30").code == 0
    assert polyopt("run", "heat.py:other", "--sizes", "N=30").code == 0

    def explained(*options):
        done = polyopt("cache", "explain", "heat.py:smooth", *options)
        assert done.code == 0
        head, *lines = done.out.splitlines()
        return head.partition(":")[0], [line.strip() for line in lines]

    return explained


def test_an_entry_that_fits(kept):
    assert kept() == ("hit", [])


def test_options_types_and_the_machine(kept, monkeypatch):
    assert kept("--fp", "fast") == ("miss", ["option `fp`: strict -> fast"])
    found = kept("--types", "f32[:],i64", "--threads", "1")[1]
    assert found == ["option `threads`: None -> 1", "argument 1 `dtype`: float64 -> float32"]
    monkeypatch.setenv("POLYOPT_L2", "2000000")
    assert kept() == ("miss", ["machine `l2`: 1000000 -> 2000000"])


def test_the_function_and_what_it_reads(kept, write):
    write("heat.py", SMOOTH.replace("0.5", "0.25"))
    assert kept() == ("miss", ["value of `RATE`"])
    write("heat.py", SMOOTH.replace("u[i + 1]", "u[i]"))
    assert kept() == ("miss", ["the function's text or defaults"])
    write("heat.py", "\n" + SMOOTH)
    assert "line of the function: 7 -> 8" in kept()[1]


def test_the_nearest_entry_comes_first(kept, polyopt):
    polyopt("run", "heat.py:smooth", "--sizes", "u=30", "--fp", "fast", "--threads", "1")
    assert kept("--fp", "fast") == ("miss", ["option `threads`: 1 -> None"])
    done = polyopt("cache", "explain", "heat.py:smooth", "--fp", "fast", "--json")
    found = json.loads(done.out)
    assert not found["hit"]
    assert [len(one["differences"]) for one in found["entries"]] == [1, 1]


def test_fields_of_what_dataclasses_print():
    text = "A(a=(1, 2), b=B(c='x, y', d=\"it's\"), e=[])"
    assert _fields(text) == {"a": "(1, 2)", "b": "B(c='x, y', d=\"it's\")", "e": "[]"}
    assert _fields("A()") == {}
