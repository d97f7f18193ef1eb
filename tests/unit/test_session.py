"""Sessions: steps as methods, refused at once; the kernel takes the schedule at the end."""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


def product(A: po.f64["N,K"], B: po.f64["K,M"], C: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@pytest.mark.toolchain
def test_a_kernel_takes_the_schedule_at_the_end() -> None:
    kernel = po.kernel(product)
    rng = np.random.default_rng(0)
    A, B = rng.random((13, 17)), rng.random((17, 11))
    kernel(A, B, np.zeros((13, 11)))
    with kernel.schedule() as s:
        s.tile("L0", 4, (8, 16)).parallelize("i_tile")
        assert "floor(i/4)" in str(s)
    assert kernel.options.schedule == "tile(L0, 4, 8, 16);\nparallelize(i_tile)"
    C = np.zeros((13, 11))
    kernel(A, B, C)
    assert kernel.compile().schedule_text == kernel.options.schedule
    expected = np.zeros_like(C)
    product(A, B, expected)
    assert np.array_equal(C, expected)


def test_a_refused_step_is_an_error_at_once_and_leaves_the_schedule() -> None:
    kernel = po.kernel(product)
    with kernel.schedule() as s:
        s.tile("L0", 4, 4, 4)
        before = s.text
        with pytest.raises(po.IllegalSchedule) as illegal:
            s.parallelize("k_tile")
        assert illegal.value.witness is not None
        for call, code in (
            (lambda: s.tile("L9", 4), "PO0301"),
            (lambda: s.tyle("L0", 4), "PO0322"),
            (lambda: s.tile("L0", "size"), "PO0326"),
            (lambda: s.undo(2), "PO0309"),
            (lambda: s.part(1), "PO0324"),
        ):
            with pytest.raises(po.ScheduleError) as caught:
                call()
            assert caught.value.code == code
            assert caught.value.loc is not None
            assert caught.value.loc.file == __file__
        assert s.text == before
        assert not hasattr(s, "tyle")
        assert "tile" in dir(s)
        s.reverse("i_tile").undo()
    assert kernel.options.schedule == before


def test_a_block_that_raises_leaves_the_kernel_as_it_was() -> None:
    kernel = po.kernel(product, schedule="interchange(i, j)")
    with pytest.raises(po.ScheduleError), kernel.schedule() as s:
        s.reverse("i").reverse("l")
    assert kernel.options.schedule == "interchange(i, j)"


def test_a_session_without_steps_means_the_order_of_the_source() -> None:
    kernel = po.kernel(product)
    with kernel.schedule():
        pass
    assert kernel.options.schedule == "source"


def test_steps_of_a_text_and_several_sessions() -> None:
    kernel = po.kernel(product)
    for size in (8, 16):
        with kernel.schedule() as s:
            s.apply(f"let T = {size}; tile(L0, T, T, T); parallelize(i_tile)")
        assert kernel.options.schedule.startswith(f"let T = {size};\ntile(L0, T, T, T)")


def until(a: po.f64["N"], limit: po.f64):
    while a[0] < limit:
        for i in range(a.shape[0]):
            a[i] = a[i] * 2.0
    for i in range(1, a.shape[0]):
        a[i] = a[i] + 1.0


@pytest.mark.toolchain
def test_a_session_turns_to_another_part_of_the_program() -> None:
    kernel = po.kernel(until)
    chosen = kernel.schedule()
    assert repr(chosen).startswith("<KernelSchedule, 3 parts>\n-- part(0)")
    assert len(chosen.schedules) == 3
    assert len(po.kernel(product).schedule().schedules) == 1
    for ask in ("steps", "tree", "table", "text"):
        with pytest.raises(po.ScheduleError, match="3 static control parts"):
            _ = getattr(chosen, ask)()
    with chosen as s:
        s.part(1).strip("i", 4)
        s.part(2).reverse("i").undo().parallelize("i")
    assert kernel.options.schedule == "part(1);\nstrip(i, 4);\npart(2);\nparallelize(i)"
    a, b = np.arange(1.0, 12.0), np.arange(1.0, 12.0)
    kernel(a, 9.0)
    until(b, 9.0)
    assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("given", "seconds"), [(5, 5), ("60s", 60.0), ("2min", 120.0), ("1.5 m", 90.0), ("500ms", 0.5)]
)
def test_budgets_are_numbers_or_texts(given: float | str, seconds: float) -> None:
    assert po.kernel(product, budget=given).options.budget == seconds


@pytest.mark.parametrize("given", ["soon", "60 parsecs", "", "-1s", "0s", "3 days", True])
def test_other_budgets_are_refused(given: object) -> None:
    with pytest.raises(po.UsageError) as caught:
        po.kernel(product, budget=given)
    assert caught.value.code == "PO0222"
    assert '"60s"' in (caught.value.hint or "")


def test_a_budget_bounds_the_search_at_the_first_call() -> None:
    from polyopt.targets import Options, seconds_to_tune

    assert seconds_to_tune(Options(budget=2.0), 60.0) == 2.0
    assert seconds_to_tune(Options(), 60.0) == 60.0
