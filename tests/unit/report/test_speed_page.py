"""The page of a comparison: speed-ups, sweeps, rooflines, failures, nothing from elsewhere.

In: nothing.  Out: nothing.
"""

import re
import sys
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from polyopt.errors import ToolchainError
from polyopt.report.speed_page import OURS, THEIRS, speed_page

LIMITS = {"float64": 1e11, "float32": 2e11, "L1 read": 4e11, "L2 read": 2e11}
LIMITS |= {"L3 read": 1e11, "DRAM read": 1e10, "DRAM stream": 2e10}


def outcome(peer, seconds, form="loops", status="ok", message=""):
    return {"peer": peer, "form": form, "seconds": seconds, "status": status, "message": message}


def cell(dataset, own, rival, name="gemm"):
    best = outcome("gcc", rival, "")
    outcomes = [
        outcome("polyopt", own) | {"ratio": rival / own, "best_rival": "gcc"},
        outcome("polyopt", 5 * own, "numpy") | {"ratio": rival / own / 5, "best_rival": "gcc"},
        best,
        outcome("clang", None, "", "refused", "no <stdio.h> & co"),
    ]
    return {
        "workload": name, "dataset": dataset, "dtype": "float64", "fp": "strict", "threads": 2,
        "flops": 1e8, "moved": 1e6, "limit": None, "outcomes": outcomes,
    }  # fmt: skip


def report(*cells):
    return {
        "date": "2026-01-01T00:00:00+00:00",
        "machine": {"cpu": "a processor", "cores": 2, "isa": "x86-64-v3"},
        "compiler": "gcc 12", "peers": {"gcc": "12"}, "limits": {"2": LIMITS},
        "notes": ["a note"], "cells": cells,
    }  # fmt: skip


def pictures(page):
    texts = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    return {one.get("aria-label"): one for one in map(ElementTree.fromstring, texts)}


def test_speed_ups_are_bars_to_the_right_where_polyopt_is_faster():
    page = speed_page(report(cell("LARGE", 0.01, 0.02), cell("LARGE", 0.04, 0.02, "atax")))
    bars = pictures(page)["speed-ups of 2 programs"]
    faster, slower = bars.findall("rect")
    middle = float(bars.find("line").get("x1"))
    assert float(faster.get("x")) == middle
    assert float(slower.get("x")) + float(slower.get("width")) == pytest.approx(middle)
    assert [one.get("fill") for one in (faster, slower)] == [OURS, THEIRS]
    assert faster.find("title").text == "gemm LARGE float64 strict x2: 2.00 times as fast as gcc"


def test_a_sweep_is_a_line_for_each_who_computes():
    cells = [cell(f"LARGE N={n}", n * 1e-5, n * 2e-5) for n in (64, 128, 256)]
    page = speed_page(report(*cells, cell("LARGE", 1.0, 1.0)))
    lines = pictures(page)["times of 3 over sizes"].findall("polyline")
    assert [one.get("stroke-dasharray") for one in lines] == ["none", "5 3", "none"]
    points = [[tuple(map(float, p.split(","))) for p in one.get("points").split()] for one in lines]
    assert [len(one) for one in points] == [3, 3, 3]
    own, arrays, gcc = points
    assert [x for x, _ in own] == sorted(x for x, _ in own)
    assert all(a < b for (_, b), (_, a) in pairwise(own)), "more time is higher"
    assert all(g < o and a < g for (_, o), (_, a), (_, g) in zip(own, arrays, gcc, strict=True))
    assert "<h3>gemm N float64 strict x2</h3>" in page


def test_the_roofline_has_the_measured_limits_and_both_programs():
    page = speed_page(report(cell("LARGE", 0.001, 0.002)))
    roofs = pictures(page)["roofline"]
    names = [one.text for one in roofs.findall("text")]
    assert {"compute", "L1", "L2", "L3", "DRAM"} <= set(names)
    gcc, own = roofs.findall("circle")
    assert (gcc.get("fill"), own.get("fill")) == (THEIRS, OURS)
    assert gcc.get("cx") == own.get("cx")
    assert "gemm" in names
    assert float(own.get("cy")) < float(gcc.get("cy")), "faster is higher"


def test_times_and_failures_are_told_and_escaped():
    page = speed_page(report(cell("LARGE", 0.01, 0.02)))
    assert '<td class="best">10</td>' in page
    assert '<td class="none">refused</td>' in page
    assert "clang: refused: no &lt;stdio.h&gt; &amp; co" in page
    assert "<li>a note</li>" in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_run_without_times_is_a_page():
    empty = cell("LARGE", 0.01, 0.02)
    for one in empty["outcomes"]:
        one |= {"seconds": None, "ratio": None}
    page = speed_page(report(empty))
    assert pictures(page) == {}


def test_without_jinja_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ToolchainError, match="pages are written by jinja2") as caught:
        speed_page(report())
    assert caught.value.code == "PO0524"
