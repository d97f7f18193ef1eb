"""Budgets: blocks that end in time, queries that end at a number of operations."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from contextlib import suppress

import islpy as isl
import pytest

from polyopt.errors import BudgetError, InternalError
from polyopt.ir import budget as budgets
from polyopt.ir import interruption
from polyopt.ir.budget import Budget, checkpoint, current, note_dropped, optional, query
from polyopt.ir.clock import now
from polyopt.ir.interruption import make_stopwatch

HARD = isl.Set("[N] -> { [a, b, c] : 7a + 11b + 13c = N and 0 <= a, b, c <= N }")
"""A set whose smallest point takes isl hundreds of operations."""


@pytest.fixture(autouse=True)
def _leaves_isl_unlimited():
    yield
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0
    assert current() is None


def spin() -> None:
    """Loop until a budget ends it."""
    while True:
        checkpoint()


def work(seconds: float) -> None:
    """Keep the processor for so long."""
    end = now() + seconds
    while now() < end:
        pass


def points(number: int, *, asking: bool = False) -> None:
    """Find the smallest point again and again."""
    for _ in range(number):
        HARD.lexmin()
        if asking:
            checkpoint()


def point_after(seconds: float, operations: int) -> None:
    """Find the smallest point in a query of its own."""
    work(seconds)
    with query("inner", operations):
        HARD.lexmin()


def test_a_query_is_limited_and_says_which_it_was():
    with pytest.raises(BudgetError) as refused, query("the smallest point", 10):
        HARD.lexmin()
    assert refused.value.code == "PO0701"
    assert refused.value.message == "the smallest point needed over 10 operations of isl"
    assert not HARD.lexmin().is_empty()


SLOW = isl.Set(
    "[n, m] -> { : exists (a, b, c, d, e: a >= 0 and 7a < n and b >= 0 and 11b <= n - 2 and c >= 0 "
    "and 13c <= n - 3 and d >= 0 and 17d <= n - 4 and e >= 0 and 19e <= n - 5 "
    "and 19e >= m - 10 - 7a - 11b - 13c - 17d and -10 - 7a - 11b - 13c - 17d <= 19e) }"
)
"""A set whose complement takes minutes."""


@pytest.mark.skipif(make_stopwatch() is None, reason="nothing can stop isl here")
def test_time_ends_a_call_of_isl():
    start = now()
    budget = Budget(4)
    with budget.running():
        with pytest.raises(BudgetError) as refused, budget.share("schedule"), query("one call"):
            SLOW.complement()
        assert 2 <= now() - start < 3.75
        assert refused.value.code == "PO0703"
        assert not isl.Set("{ [a] : 0 <= a <= 10 }").is_empty()
        with pytest.raises(BudgetError), query("another"):
            SLOW.complement()
    assert 4 <= now() - start < 10
    assert budget.costs["one call"].operations > 1000
    assert not isl.DEFAULT_CONTEXT.aborted()


@pytest.mark.skipif(make_stopwatch() is None, reason="nothing can stop isl here")
def test_a_call_that_ends_as_its_time_does_leaves_isl_working():
    for _ in range(200):
        budget = Budget(0.0005)
        with suppress(BudgetError), budget.running():
            while True:
                checkpoint()
                HARD.subtract(HARD)
        assert not isl.DEFAULT_CONTEXT.aborted()
        isl.Set("{ [a] : 0 <= a <= 10 }").is_empty()


def test_time_ends_a_loop_that_asks():
    start = now()
    with pytest.raises(BudgetError) as refused, Budget(0.05).running():
        spin()
    assert now() - start < 5
    assert refused.value.code == "PO0703"
    assert refused.value.message == "no time is left for compiling, of 0.05 s to compile"


def test_what_others_do_meanwhile_does_not_count():
    ended = threading.Event()
    other = threading.Thread(target=lambda: [None for _ in iter(ended.is_set, True)])
    other.start()
    try:
        with Budget(1.0).running(), query("waiting"):
            for _ in range(20):
                time.sleep(0.1)
                checkpoint()
            assert not HARD.lexmin().is_empty()
    finally:
        ended.set()
        other.join()


@pytest.mark.skipif(make_stopwatch() is None, reason="nothing can stop isl here")
def test_each_thread_has_a_stopwatch_of_its_own():
    codes = []

    def trial():
        start = now()
        with pytest.raises(BudgetError) as refused, Budget(0.3).running():
            SLOW.complement()
        codes.append(refused.value.code)
        assert now() - start < 2

    for _ in range(3):
        thread = threading.Thread(target=trial)
        thread.start()
        thread.join()
    trial()
    assert codes == ["PO0703"] * 4
    assert not isl.DEFAULT_CONTEXT.aborted()


def test_a_share_leaves_time_for_what_follows():
    budget = Budget(4)
    with budget.running():
        with pytest.raises(BudgetError) as refused, budget.share("schedule"):
            spin()
        assert "no time is left for schedule" in refused.value.message
        assert 0.5 < budget.remaining < 2.01
        checkpoint()


def test_what_starts_after_the_end_does_not_run():
    with pytest.raises(BudgetError) as refused, Budget(0.01).running():
        point_after(0.02, 10**6)
    assert refused.value.code == "PO0703"


@pytest.fixture
def without_stopwatch(monkeypatch):
    """isl as it is where nothing can stop it."""
    monkeypatch.setattr(budgets, "make_stopwatch", lambda: None)
    monkeypatch.setattr(budgets, "_METER", budgets._Meter())


@pytest.mark.usefixtures("without_stopwatch")
def test_time_that_is_left_limits_isl(monkeypatch):
    monkeypatch.setattr(budgets, "SLOWEST", 10)
    with pytest.raises(BudgetError) as refused, Budget(1.0).running(), query("hasty", 10**6):
        HARD.lexmin()
    assert refused.value.code == "PO0703"


@pytest.mark.usefixtures("without_stopwatch")
def test_a_checkpoint_renews_what_isl_may_use(monkeypatch):
    monkeypatch.setattr(budgets, "SLOWEST", 2000)
    with Budget(60.0).running():
        points(10, asking=True)
        with pytest.raises(BudgetError), query("many"):
            points(100)


def test_a_query_with_a_number_counts_across_checkpoints():
    with pytest.raises(BudgetError) as refused, Budget(60.0).running(), query("counted", 3000):
        points(1000, asking=True)
    assert refused.value.code == "PO0701"


def test_an_inner_query_leaves_the_outer_one_its_limit():
    with query("outer", 20):
        point_after(0, 10**6)
        with pytest.raises(isl.Error):
            HARD.lexmin()


def test_other_failures_of_isl_are_errors_of_ours():
    with pytest.raises(InternalError) as refused, Budget(5.0).running(), query("mixed"):
        isl.Set("{ [a] : }").intersect(isl.Set("{ [a, b] : }"))
    assert refused.value.code == "PO0905"
    assert refused.value.message == "isl failed in isl_set_intersect: spaces don't match"


def test_a_limit_that_isl_reports_as_something_else_is_a_limit():
    with pytest.raises(isl.Error, match="syntax error"):
        isl.Set("{ [a : }")
    with pytest.raises(BudgetError) as refused, query("reading", 5):
        isl.Set("{ [a] : 0 <= a <= 10 }")
    assert refused.value.code == "PO0701"


def test_costs_and_what_was_dropped_are_kept():
    budget = Budget(60.0)
    note_dropped("nothing", BudgetError("PO0701", "no budget runs here"))
    with budget.running():
        for operations in (10**6, 10):
            try:
                with query("points", operations):
                    HARD.lexmin()
            except BudgetError as error:
                note_dropped("a point", error)
    assert (budget.costs["points"].calls, budget.costs["points"].exceeded) == (2, 1)
    assert [(d.what, d.reason) for d in budget.dropped] == [
        ("a point", "points needed over 10 operations of isl")
    ]


def test_compilations_in_threads_do_not_mix_their_limits():
    faults: list[BaseException] = []

    def work(operations: int) -> None:
        try:
            for _ in range(8):
                with Budget(60.0).running(), query("one", operations):
                    HARD.lexmin()
                    time.sleep(0.001)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in (10**5, 10**6, 10**7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def nested(depth: int) -> int:
    """Call itself `depth` times."""
    return 0 if depth == 0 else 1 + nested(depth - 1)


def test_depth_is_an_error_of_ours_and_the_limit_is_restored():
    before = sys.getrecursionlimit()
    with Budget(5.0).running():
        assert nested(3000) == 3000
    with pytest.raises(BudgetError) as refused, Budget(5.0).running():
        nested(100_000)
    assert refused.value.code == "PO0704"
    assert sys.getrecursionlimit() == before


def test_what_is_optional_and_starts_too_late_is_noted():
    budget = Budget(0.01)
    with budget.running():
        work(0.02)
        done = False
        with optional("a late pass"):
            checkpoint()
            done = True
        with optional("a late question"):
            HARD.lexmin()
            done = True
        assert not done
    assert [(d.what, d.code) for d in budget.dropped] == [
        ("a late pass", "PO0703"), ("a late question", "PO0703"),
    ]  # fmt: skip


def test_failures_of_isl_in_what_is_optional_are_noted():
    budget = Budget(5.0)
    with budget.running(), optional("mixed spaces"):
        isl.Set("{ [a] : }").intersect(isl.Set("{ [a, b] : }"))
    assert [(d.what, d.code) for d in budget.dropped] == [("mixed spaces", "PO0905")]


def length_of(name: str | None) -> int:
    """Ask for something that takes too long, and take no answer for one."""
    with suppress(isl.Error):
        HARD.lexmin()
    return len(name)  # type: ignore[arg-type]


def test_none_instead_of_an_answer_is_a_limit_too():
    with pytest.raises(TypeError), query("names", 10**6):
        length_of(None)
    with pytest.raises(BudgetError) as refused, query("names", 5):
        length_of(None)
    assert refused.value.code == "PO0701"


def test_a_timer_whose_thread_comes_late_ends_nothing_else(monkeypatch) -> None:
    watch = interruption.make_stopwatch()
    found = interruption._context()
    if watch is None or found is None:
        pytest.skip("no stopwatch here")
    monkeypatch.setattr(interruption.Stopwatch, "_is_running", lambda self: False)
    abort = interruption._library().isl_ctx_abort
    thread = threading.Timer(1.5, abort, (ctypes.c_void_p(found[0]),))
    thread.start()
    assert watch.stop()
    thread.join()
    assert not isl.Set("{ [a] : a > 0 }").is_empty()
