"""What each output is classified as, and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.bounding import source_loops
from polyopt.emit.passes.fma import contract as contracted
from polyopt.ir.expr import BinaryOp, Symbol
from polyopt.ir.loops import Assign, Body, For, LoopFunction, LoopKind, SetLocal
from polyopt.machine import Machine
from polyopt.numerics import Exactness, NumericsContract, numerics_contract
from polyopt.numerics.contract import Sharing, show_contract
from polyopt.pipeline import compile_program
from polyopt.targets import Options
from tests.unit.frontend.harness import compiled

A, B = np.ones((6, 5)), np.ones((5, 7))
X, I = np.ones(9), np.arange(9)


def contract_of(func: Callable[..., Any], *values: Any, **options: Any) -> NumericsContract:
    program = compiled(func, *values)
    made = compile_program(program, Options().changed(options), Machine(fma=True))
    return numerics_contract(made.loops, program)


def loops(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def product(A, B):
    return A @ B


def plain_sum(X):
    return np.sum(X)


def integer_sum(I):
    return np.sum(I), np.max(I), np.bitwise_or.reduce(I)


def extreme(X):
    return np.max(X), np.argmin(X)


def soft(X):
    top = np.max(X)
    exps = np.exp(X - top)
    return exps / np.sum(exps), top


def through_a_temporary(X):
    mean = np.mean(X)
    spread = np.sqrt(np.mean((X - mean) ** 2))
    count = X.shape[0]
    return (X - mean) / spread, X * 2.0, count


def decided(X):
    total = np.sum(X)
    steps = 0
    while total > 1.0:
        total = total / 2.0
        steps += 1
    return steps


def branch(X):
    y = np.zeros_like(X)
    total = np.sum(X)
    for i in range(X.shape[0]):
        if total > 3.0:
            y[i] = 1.0
    return y


def solved(A, X):
    return np.linalg.solve(A * np.sum(X), X), np.sort(X)


def rotated(Z):
    return Z * 1j, Z + 1j, np.abs(Z), Z.real


def classes(contract: NumericsContract) -> list[str]:
    return [output.exactness.value for output in contract.outputs]


@pytest.mark.parametrize(
    "func, values, want",
    [
        (loops, (np.zeros((6, 7)), A, B), ["exact"]),
        (product, (A, B), ["reassociated"]),
        (product, (A.astype(int), B.astype(int)), ["exact"]),
        (integer_sum, (I,), ["exact"] * 3),
        (extreme, (X,), ["exact", "exact"]),
        (soft, (X,), ["approximate", "exact"]),
        (through_a_temporary, (X,), ["reassociated", "exact", "exact"]),
        (decided, (X,), ["reassociated"]),
        (branch, (X,), ["reassociated"]),
        (solved, (np.eye(9), X), ["approximate", "exact"]),
        (rotated, (X * 1j,), ["approximate", "exact", "approximate", "exact"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_classes(func, values, want):
    assert classes(contract_of(func, *values)) == want


def test_causes_come_through_temporaries():
    first, *_ = contract_of(through_a_temporary, X).outputs
    assert len(first.reductions) == 2
    assert not first.decided
    (result,) = contract_of(decided, X).outputs
    assert result.decided
    (y,) = contract_of(branch, X).outputs
    assert y.decided
    solved_one, _ = contract_of(solved, np.eye(9), X).outputs
    assert solved_one.library == ("numpy.linalg.solve",)


def test_the_tree_of_a_product():
    contract = contract_of(product, A, B, schedule="source")
    (reduction,) = contract.reductions
    (tree,) = reduction.trees
    assert reduction.op == "+"
    assert reduction.line is not None
    assert tree.contracted
    assert contract.is_repeatable
    lanes = contract_of(plain_sum, X).reductions[0].trees
    assert [level.sharing for level in lanes[0].levels] == [Sharing.IN_ORDER, Sharing.LANES]
    assert not lanes[0].is_fixed


def test_contract_as_text_and_data():
    contract = contract_of(soft, X)
    lines = show_contract(contract)
    assert lines[0] == f"return[0]: approximate: reductions {contract.reductions[0].statement}; exp"
    assert lines[1] == "return[1]: exact: bit for bit the source's"
    record = json.loads(json.dumps(contract.to_record()))
    assert record["outputs"][0]["exactness"] == "approximate"
    assert record["functions"] == [
        {"name": "exp", "dtype": "float64", "ours": 1.0, "reference": 4.0}
    ]
    with pytest.raises(KeyError):
        contract.output("C")


def _changed(fn: LoopFunction, change: Callable[[For], For]) -> LoopFunction:
    """Return `fn` with its innermost loops changed."""

    def inner(body: Body) -> Body:
        found = []
        for node in body:
            if isinstance(node, For):
                below = inner(node.body)
                done = replace(node, body=below)
                has_loop = any(isinstance(part, For) for part in node.body)
                found.append(done if has_loop else change(done))
            else:
                found.append(node)
        return tuple(found)

    return replace(fn, body=inner(fn.body))


def test_what_the_loops_do_counts_not_what_the_schedule_said():
    """Sums of fixed order that lanes or threads share, or that are contracted, are not exact."""
    program = compiled(loops, np.zeros((6, 7)), A, B)
    made = source_loops(program)
    assert numerics_contract(made, program).is_exact
    fused = contracted(replace(made, reassociable=frozenset({"S0"})))
    assert classes(numerics_contract(fused, program)) == ["reassociated"]
    total = Symbol("total", made.arrays[0].dtype)

    def on_threads(loop: For) -> For:
        (update,) = loop.body
        assert isinstance(update, Assign)
        new = SetLocal(total.name, total.dtype, 1, update.value, update.statement, update.instance)
        end = Assign(update.target, total)
        reductions = ((BinaryOp.ADD, total),)
        return replace(loop, kind=LoopKind.PARALLEL, body=(new, end)).annotated(
            reductions=reductions
        )

    shared = numerics_contract(_changed(made, on_threads), program)
    assert classes(shared) == ["reassociated"]
    assert not shared.is_repeatable
    assert show_contract(shared)[-1].startswith("threads join their sums as they finish")


@pytest.mark.toolchain
def test_a_kernel_tells_its_contract_and_bounds():
    kernel = po.kernel(soft).compile(X)
    assert kernel.numerics.outputs[0].exactness is Exactness.APPROXIMATE
    assert kernel.numerics.outputs[1].exactness is Exactness.EXACT
    values = np.random.default_rng(3).normal(size=50)
    before = values.copy()
    bounds = kernel.error_bounds(values)
    assert list(bounds) == ["return[0]"]
    assert np.array_equal(values, before)
    with np.errstate(all="ignore"):
        difference = np.abs(kernel(values)[0] - soft(values)[0])
    assert np.all(difference <= bounds["return[0]"])
    assert np.all(bounds["return[0]"] < 1e-13)
    (first, second) = kernel.compare(values)
    assert first.holds
    assert not first.is_exact
    assert second.is_exact
    assert second.bitwise


def nested_powers(X):
    return np.where(X**4 > 0.5, (X**3 + 1.0) ** 6, X**-1.5)


def test_powers_by_products_are_told_with_their_errors():
    (strict,) = contract_of(nested_powers, X).functions
    (loose,) = contract_of(nested_powers, X, fp="reassociate").functions
    assert (strict.name, strict.ours) == ("pow", 1.0)
    assert (loose.name, loose.ours, loose.reference) == ("pow", 4.0, 4.0)


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_powers_by_products_are_within_their_bounds(fp):
    x = np.random.default_rng(4).uniform(0.1, 3, 5000)
    found = po.kernel(nested_powers, fp=fp, threads=1).compile(x)
    assert all(result.holds for result in found.compare(x))
    assert ("po_products_f64(" in found.source) == (fp == "reassociate")
    assert ("po_precise_f64(" in found.source) == (fp == "strict")


def chosen_element(A, B):
    C = A @ B
    y = np.zeros_like(C)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            if C[i, j] > 3.0:
                y[i, j] = 1.0
    return y


def larger_element(A, B):
    C = A @ B
    y = np.zeros_like(C)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            if C[i, j] > y[i, j]:
                y[i, j] = C[i, j]
    return y


def test_stores_of_choices_are_decided_by_inexact_data():
    (y,) = contract_of(chosen_element, A, B).outputs
    assert y.decided
    (y,) = contract_of(larger_element, A, B).outputs
    assert y.reductions
