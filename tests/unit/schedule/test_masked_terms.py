"""Terms that affine masks make neutral are left out with `fp="reassociate"`, others are not."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build, infer_types
from polyopt.schedule.masked_terms import with_masked_terms_left_out
from polyopt.schedule.reductions import reassociated

# ruff: noqa: F821, UP037 - sizes are named by strings


def softmax(scores):
    p = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return p / np.sum(p, axis=-1, keepdims=True)


def causal(a: po.f64["N,N"], b: po.f64["N,M"]):
    i = np.arange(a.shape[0])
    return softmax(np.where(i[:, None] >= i, a * 0.5, -np.inf)) @ b


def named_mask(a: po.f64["N,N"], b: po.f64["N,M"]):
    mask = np.tril(np.ones(a.shape, dtype=bool))
    return softmax(np.where(mask, a * 0.5, -np.inf)) @ b


def future(a: po.f64["N,N"], b: po.f64["N,M"]):
    i = np.arange(a.shape[0])
    return softmax(np.where(i[:, None] > i, -np.inf, a)) @ b


def factor(a: po.f64["N,N"], b: po.f64["N,M"]):
    i = np.arange(a.shape[0])
    return (a * (i[:, None] >= i)) @ b


def band(a: po.f64["N,N"], b: po.f64["N,M"]):
    i, j = np.arange(a.shape[0])[:, None], np.arange(a.shape[0])
    return softmax(np.where((i >= j) & (i - j < 3), a, -np.inf)) @ b


def masked_row(a: po.f64["N,N"], b: po.f64["N,M"]):
    i = np.arange(a.shape[0])
    return softmax(np.where(i[:, None] > i, a, -np.inf)) @ b


def finite(a: po.f64["N,N"], b: po.f64["N,M"]):
    i = np.arange(a.shape[0])
    return softmax(np.where(i[:, None] >= i, a, -1e9)) @ b


def other_top(a: po.f64["N,N"], b: po.f64["N,M"]):
    i = np.arange(a.shape[0])
    scores = np.where(i[:, None] >= i, a, -np.inf)
    return np.exp(scores - np.max(a, axis=-1, keepdims=True) * 0.0 - a[0, 0]) @ b


def changed_top(a: po.f64["N,N"], b: po.f64["N,M"]):
    i = np.arange(a.shape[0])
    scores = np.where(i[:, None] >= i, a, -np.inf)
    top = np.max(scores, axis=-1)
    top[:] = b[:, 0]
    return np.exp(scores - top[:, None]) @ b


def changed_scores(a: po.f64["N,N"], b: po.f64["N,M"]):
    i = np.arange(a.shape[0])
    scores = np.where(i[:, None] >= i, a, -np.inf)
    scores[:, 1:] = a[:, 1:]
    return softmax(scores) @ b


def by_data(a: po.f64["N,N"], b: po.f64["N,M"]):
    return softmax(np.where(a > 0.0, a, -np.inf)) @ b


def returned(a: po.f64["N,N"], b: po.f64["N,M"]):
    i = np.arange(a.shape[0])
    p = softmax(np.where(i[:, None] >= i, a, -np.inf))
    return p @ b, p


LEFT_OUT = [causal, named_mask, future, factor, band, returned]
KEPT = [masked_row, finite, other_top, changed_top, changed_scores, by_data]


def last_product(program):
    """Return the statement that adds the products of the last matrix product."""
    return next(s for s in reversed(program.scop.statements) if s.reduction and len(s.iters) == 3)


def both(function):
    """Return a program with open sums, and the same without masked terms."""
    program = reassociated(build(function, infer_types(function)))
    return program, with_masked_terms_left_out(program)


def triangle(domain: isl.Set) -> isl.Set:
    """Return the instances of a product with the last iterator at most the first."""
    space = domain.get_space()
    limit = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(space))
    limit = limit.set_coefficient_val(isl.dim_type.set, 0, 1)
    return domain.add_constraint(limit.set_coefficient_val(isl.dim_type.set, 2, -1))


@pytest.mark.parametrize("function", [causal, named_mask, factor, returned])
def test_products_under_causal_masks_are_triangles(function):
    before, after = map(last_product, both(function))
    assert after.domain.is_equal(triangle(before.domain))


def test_masks_of_the_past_leave_the_other_triangle():
    before, after = map(last_product, both(future))
    strictly_below = before.domain.subtract(after.domain)
    assert strictly_below.is_equal(triangle(before.domain).subtract(after.domain))
    assert not strictly_below.is_empty()


def test_products_under_bands_are_bands():
    _, after = both(band)
    points = (
        last_product(after)
        .domain.fix_val(isl.dim_type.set, 0, 9)
        .project_out(isl.dim_type.set, 0, 2)
    )
    last = points.dim_max(0)
    assert points.get_space().dim(isl.dim_type.set) == 1
    assert "9" in str(last)
    assert "7" in str(points.dim_min(0))


@pytest.mark.parametrize("function", KEPT)
def test_terms_that_need_not_be_neutral_are_kept(function):
    before, after = map(last_product, both(function))
    assert after.domain.is_equal(before.domain)


def test_elements_that_nothing_reads_are_left_out():
    _, program = both(causal)
    assert all(s.target.array not in ("i", "mask") for s in program.scop.statements)
    choices = [s for s in program.scop.statements if " if " in str(s)]
    assert not choices
    temporaries = [s for s in program.scop.statements if len(s.iters) == 2 and not s.reduction]
    squares = [s for s in temporaries if s.target.array != "result"]
    assert squares
    for statement in squares:
        above = statement.domain.subtract(
            isl.Set(f"[N, M] -> {{ {statement.name}[i, j] : j <= i }}")
        )
        assert above.is_empty(), statement


def test_results_are_computed_whole():
    before, after = both(returned)
    for name in {s.name for s in before.scop.statements if s.target.array.startswith("result")}:
        if not before.scop.statement(name).reduction:
            assert after.scop.statement(name).domain.is_equal(before.scop.statement(name).domain)


def arguments(n, m=3):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, n)), rng.normal(size=(n, m))


@pytest.mark.toolchain
@pytest.mark.matrix
@pytest.mark.parametrize("function", [*LEFT_OUT, masked_row, changed_scores, other_top])
def test_all_sizes_are_right(function):
    compiled = po.kernel(function, fp="reassociate", threads=2).compile(*arguments(5))
    for n in [1, 2, 3, 7, 16, 33, 70]:
        with np.errstate(all="ignore"):
            assert all(r.holds for r in compiled.compare(*arguments(n, n % 4))), n


@pytest.mark.toolchain
def test_rows_of_infinities_and_nan_stay_as_they_are():
    kernel = po.kernel(causal, fp="reassociate", threads=1)
    a, b = arguments(9)
    a[3] = -np.inf
    a[5, 2] = np.nan
    a[6, 8] = np.nan  # masked
    a[7, 1] = np.inf
    with np.errstate(all="ignore"):
        expected = causal(a, b)
    np.testing.assert_allclose(kernel(a, b), expected, rtol=1e-12)
    assert np.isnan(expected[[3, 5, 7]]).all()
    assert np.isfinite(expected[[0, 6, 8]]).all()


@pytest.mark.toolchain
def test_strict_computes_each_term():
    a, b = arguments(6)
    b[-1] = np.nan
    assert np.isnan(po.kernel(causal, threads=1)(a, b)).all()
    found = po.kernel(causal, fp="reassociate", threads=1)(a, b)
    assert np.isfinite(found[:-1]).all()
    assert np.isnan(found[-1]).all()
