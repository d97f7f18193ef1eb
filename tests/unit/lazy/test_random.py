"""Random programs with stores, parts and other names: NumPy, the graph, and its text agree."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.tracing import stages
from polyopt.tracing.evaluation import evaluate
from polyopt.tracing.nodes import reachable
from polyopt.tracing.program import write
from polyopt.tracing.sizes import value_of
from polyopt.tracing.stages import segmented
from tests.unit.lazy.compare import same

ROWS, COLUMNS = 5, 5


def run(seed: int, x: Any, v: Any) -> list[Any]:  # noqa: C901
    """A program of about 25 statements; it depends on nothing but the seed."""
    random = Random(seed)
    pool: list[Any] = [x, x * 1.0, x + v]  # matrices of one shape
    parts: list[Any] = []
    for _ in range(25):
        a, b = random.choice(pool), random.choice(pool)
        i, j = random.randrange(1, 4), random.randrange(-4, -1)
        fresh = random.choice(pool[1:])
        match random.randrange(14):
            case 0:
                pool.append(a * 0.5 + np.sin(b))
            case 1:
                pool.append((a @ b) * 0.1)
            case 2:
                pool.append(np.where(a > b, a, v) - a.mean(axis=1, keepdims=True))
            case 3:
                pool.append(np.flip(a.T, 0).copy())
            case 4:
                pool.append(np.concatenate([a[i:], b[:i]]))
            case 5:
                pool.append(np.cumsum(a, axis=random.randrange(2)) * 0.2)
            case 6:
                pool.append(a.reshape(-1).reshape(b.shape[1], b.shape[0]) + np.outer(v, v))
            case 7:
                fresh[i] = v
            case 8:
                fresh[i:, :j] = b[i:, :j] * 0.5
            case 9:
                fresh += np.roll(b, 1, axis=0) * 0.1
            case 10:
                parts.append(fresh[i : i + 1])
            case 11 if parts:
                part = random.choice(parts)
                part *= 0.5
                part[0, i] = 1.0
            case 12:
                fresh[a > 0.9] = 0.25
            case _:
                fresh[:, i] -= v[::-1]
    return [*pool[-4:], *parts[:2], pool[1].sum(), pool[-1].shape[0] * v]


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_three_evaluations_agree(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "WHOLE", 5)
    monkeypatch.setattr(stages, "TARGET", 4)
    for seed in range(start, start + 20):
        x, v = po.tensor("x", po.f64["N,N"]), po.tensor("v", po.f64["N"])
        lazy = run(seed, x, v)
        nodes = [array._node for array in lazy]
        given = np.random.default_rng(seed).random((ROWS, COLUMNS))
        row = given[0].copy()
        expected = run(seed, given, row)
        for array, value in zip(lazy, expected, strict=True):
            told = tuple(value_of(extent, {"N": ROWS}) for extent in array.shape)
            assert (told, array.dtype) == (value.shape, value.dtype), seed
        order = reachable(nodes)
        inputs = {id(x._node): given, id(v._node): row}
        values = evaluate(order, inputs, {"N": ROWS})
        same([values[id(node)] for node in nodes], expected)
        parameters = [x._node, v._node]
        scope: dict[str, Any] = {"np": np, "po": po}
        exec(write("program", parameters, nodes, order).text, scope)
        same(list(scope["program"](given, row)), expected)
        check_segments(order, nodes, inputs, expected)


def check_segments(order: Any, nodes: Any, inputs: Any, expected: Any) -> None:
    """The segments of a large graph, run one after the other, give the same."""
    values = dict(inputs)
    parts = segmented(order, nodes)
    assert parts is not None
    for segment in parts:
        scope: dict[str, Any] = {"np": np, "po": po}
        missing = [n for n in reachable(segment.inputs) if id(n) not in values]
        told = evaluate(missing, values, {"N": ROWS})
        names = [n for n in order if id(n) in inputs and not any(n is i for i in segment.inputs)]
        parameters = [*segment.inputs, *names]
        text = write("part", parameters, segment.outputs, segment.nodes, numbered=True).text
        exec(text, scope)
        found = scope["part"](*(np.copy(told[id(node)]) for node in parameters))
        results = found if len(segment.outputs) > 1 else (found,)
        values.update((id(n), r) for n, r in zip(segment.outputs, results, strict=True))
    missing = [node for node in order if id(node) not in values]
    last = evaluate(missing, values, {"N": ROWS})
    same([last[id(node)] for node in nodes], expected)
