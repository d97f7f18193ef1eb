"""Outlining: programs of very many nests are functions of some nests each, and right."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyopt as po
from bench.programs import Text, define
from polyopt.emit import outlining
from polyopt.emit.c_statements import words
from polyopt.ir.expr import Load, Symbol, add, integer
from polyopt.ir.loops import Assign, Declare, For, LoopKind, Node, SetLocal
from polyopt.ir.types import DType

pytestmark = pytest.mark.toolchain
TOGETHER = 2
NESTS = 2 * TOGETHER + 3


@pytest.fixture(autouse=True)
def _few_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlining, "TOGETHER", TOGETHER)


def _function(folder: Path, *lines: str) -> Callable[..., Any]:
    """Return a function of `a` and `b`, of which every line stands for a nest."""
    body = [f"    {line.format(k=k)}" for k in range(NESTS) for line in lines]
    text = "\n".join(["def f(a, b):", *body, ""])
    return define(Text(text, "None"), folder)[0]


def _calls(source: str) -> int:
    """Return how often functions of nests are named: where they are made, and called."""
    return len(re.findall(r"\bf_part_(?:\d+_)?\(", source))


@pytest.mark.parametrize("schedule", ["source", None])
def test_many_nests_are_outlined_in_sections(tmp_path: Path, schedule: str | None) -> None:
    lines = "for i in range(len(a)):", "    b[{k}, i] = a[i] * {k} + b[{k} // 2, i]"
    plain = _function(tmp_path, *lines)
    kernel = po.kernel(plain, schedule=schedule)
    a, b = np.arange(50.0), np.ones((NESTS, 50))
    expected = b.copy()
    plain(a, expected)
    kernel(a, b)
    assert np.array_equal(b, expected)
    if schedule == "source":
        assert _calls(kernel.compile(a, b).source) == 2 * (NESTS // TOGETHER)


def test_few_nests_are_one_function(tmp_path: Path) -> None:
    text = "def f(a, b):\n    for i in range(len(a)):\n        b[i] = a[i]\n"
    function, _ = define(Text(text, "None"), tmp_path)
    compiled = po.kernel(function, schedule="source").compile(np.ones(5), np.ones(5))
    assert _calls(compiled.source) == 0


def test_a_fault_in_one_of_many_nests_ends_the_kernel(tmp_path: Path) -> None:
    lines = "for i in range(len(a)):", "    b[i] = a[b[i]] + 9 * {k}"
    plain = _function(tmp_path, *lines)
    kernel = po.kernel(plain, schedule="source")
    a, b = np.arange(50), np.arange(50) % 3
    expected = b.copy()
    with pytest.raises(IndexError):
        plain(a, expected)
    with pytest.raises(po.PolyoptError, match="PO02"):
        kernel(a, b)


def test_a_number_from_one_nest_is_read_by_another(tmp_path: Path) -> None:
    lines = "s{k} = 0.0", "for i in range(len(a)):", "    s{k} += a[i]", "b[{k}] = s{k}"
    plain = _function(tmp_path, *lines)
    kernel = po.kernel(plain, schedule="source", threads=1)
    a, b = np.arange(50.0), np.zeros(NESTS)
    kernel(a, b)
    assert np.array_equal(b, np.full(NESTS, a.sum()))


def _loop(*body: Node) -> For:
    return For("i", integer(0), integer(9), 1, LoopKind.SEQUENTIAL, body)


@pytest.mark.parametrize("is_used_later", [True, False])
def test_a_local_stays_where_later_nests_use_it(is_used_later: bool) -> None:
    nest = _loop(Assign(Load("b", (integer(0),), DType.INT64), integer(1)))
    local = Symbol("s", DType.INT64)
    declared = Declare("s", DType.INT64, 1, integer(0))
    user = _loop(SetLocal("s", DType.INT64, 1, add(local, integer(1))))
    body = (nest, declared, user if is_used_later else nest, nest)
    found = tuple(outlining._sections(body))
    assert tuple(node for part in found for node in part) == body
    assert any(len(part) > 1 and declared in part for part in found) is not is_used_later


def without_work(a, x):
    w = 0
    while w < 2 and x > 1:
        w += 1
        for i in range(a.shape[0]):
            for _ in range(0):
                x = a[i]
                if x != 0.25:
                    break
    return x


def test_a_function_that_needs_nothing_is_called_with_nothing() -> None:
    assert po.kernel(without_work, threads=2)(np.ones(4), 2.0) == 2.0


def test_exponents_are_not_names() -> None:
    """An array called `e` is not used by a text that only has a number like `1e-05f`."""
    assert words("a[i] = a[i] + 1e-05f * 0x1p-3; /* e */") == {"a", "i"}
