"""Which of two instances runs first, told by constants where they tell."""

from __future__ import annotations

import islpy as isl
import pytest

from polyopt.proof.source import Clock, producers_in

TIMES = """[n] -> {
  A[i] -> [0, i, 0] : 0 <= i < n; B[i, j] -> [1, i, j] : 0 <= i, j < n;
  C[i] -> [1, i, 5] : 0 <= i < n; D[i] -> [2, 0, i] : 2 <= i < n;
  E[i] -> [i, 0, 0] : 0 <= i < 3; F[i] -> [0, 0, 1] : i >= 0;
  G[i, j] -> [i, 1, j] : 0 <= i, j < n; H[t, i] -> [i, 2, t] : 0 <= 8t <= i < n and i < 8t + 8
}"""
PAIRS = {
    "constants in order": "A[i] -> B[i, j]",
    "constants against the order": "D[i] -> A[i]",
    "one constant, then loops": "B[i, j] -> C[i]",
    "one tuple": "A[i] -> A[j]",
    "a constant and a loop": "E[i] -> B[j, k]",
    "a second constant after a loop": "A[i] -> F[j]",
    "instances without a time": "A[i] -> D[j]; F[i] -> D[i]; A[i] -> X[i]; X[i] -> A[i]",
    "some of each": "A[i] -> B[i, j]; D[i] -> A[i]; B[i, j] -> C[k]; A[i] -> E[j]",
    "constants after a common loop": "G[i, j] -> H[t, k]; H[t, i] -> G[j, k]",
    "a loop after a common loop": "G[i, j] -> G[i, k]; H[t, i] -> H[t, j]; H[t, i] -> H[u, i]",
    "none": "",
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_in_order(name: str) -> None:
    times, pairs = isl.UnionMap(TIMES), isl.UnionMap(f"[n] -> {{ {PAIRS[name]} }}")
    order = isl.MultiUnionPwAff.from_union_map(times)
    assert Clock(times).in_order(pairs).is_equal(pairs.lex_lt_at_multi_union_pw_aff(order))


READS = """[n] -> {
  W[t, i] -> [1, t, i] : 0 <= 8t <= i < n and i < 8t + 8; V[i] -> [0, 0, i]; R[i] -> [2, 0, i];
  Early[i] -> [0, 1, i]; Among[i] -> [1, i, 3]
}"""
TILED = "W[t, i] -> A[i] : 0 <= 8t <= i < n and i < 8t + 8"
LAST = {
    "each element is written once": (TILED, "R[i] -> A[i] : 0 <= i < n"),
    "before it, too": (f"{TILED}; V[i] -> A[i]", "R[i] -> A[i] : 0 <= i < n"),
    "some are not": (f"{TILED}; V[i] -> A[i]", "R[i] -> A[i] : 0 <= i <= n"),
    "none are": (f"{TILED}; V[i] -> A[i]", "R[i] -> A[i] : n <= i <= n + 3"),
    "a read of several elements": (
        f"{TILED}; V[i] -> A[i]",
        "R[i] -> A[j] : 1 <= n and n - 1 <= j <= n",
    ),
    "written twice": ("W[t, i] -> A[t] : 0 <= 8t <= i < n and i < 8t + 8", "R[i] -> A[i]"),
    "a read before": (TILED, "Early[i] -> A[i] : 0 <= i < n"),
    "reads among the writes": (TILED, "Among[i] -> A[i]; R[i] -> A[i] : 0 <= i < n"),
    "a write without a time": ("X[i] -> A[i]; V[i] -> A[i]", "R[i] -> A[i] : 0 <= i < n"),
}

PARTS = {
    ".. n - 2": "[n] -> { A[i] : i <= n - 2 }",
    "n - 1": "[n] -> { A[i] : i = n - 1 }",
    "n": "[n] -> { A[i] : i = n }",
    "n + 1 ..": "[n] -> { A[i] : i > n }",
}


@pytest.mark.parametrize("name", LAST)
def test_last_writes(name: str) -> None:
    times = isl.UnionMap(READS)
    must, sink = (isl.UnionMap(f"[n] -> {{ {text} }}") for text in LAST[name])
    last = isl.UnionMap("{ }")
    for element in (".. n - 2", "n - 1", "n", "n + 1 .."):  # a read has a last write of each
        here = isl.UnionSet(PARTS[element])
        one = sink.intersect_range(here)
        pairs = Clock(times).in_order(must.apply_range(one.reverse()))
        hidden = Clock(times).in_order(must.apply_range(must.intersect_range(here).reverse()))
        last = last.union(pairs.subtract(hidden.apply_range(pairs)))
    assert producers_in(times, sink, must, None).is_equal(last)


EDGES = """[n, m] -> {
  Copy[t, i] -> [t, 0, i] : 0 <= t < m and 0 <= i < n; In[t, i] -> [t, 1, i] : 0 < i < n - 1;
  Left[t] -> [t, 2, 0]; Right[t] -> [t, 3, 0]; Both[t, i] -> [t, 4, i] : 0 <= i < 2
}"""
WRITES = """[n, m] -> {
  In[t, i] -> A[i] : 0 <= t < m and 0 < i < n - 1; Left[t] -> A[0] : 0 <= t < m;
  Right[t] -> A[n - 1] : 0 <= t < m; Both[t, i] -> A[i] : 0 <= t < m and 0 <= i < 2 and i < n
}"""
NEIGHBOURS = """[n, m] -> {
  Copy[t, i] -> A[j] : 0 <= t < m and 0 <= i < n and 0 <= j < n and i - 1 <= j <= i + 1;
  Left[t] -> A[1] : 0 <= t < m and n > 1; Both[t, i] -> A[0] : 0 <= t < m and 0 <= i < 2
}"""


def test_several_writers_give_what_isl_finds() -> None:
    times, sink = isl.UnionMap(EDGES), isl.UnionMap(NEIGHBOURS)
    must = isl.UnionMap(WRITES)
    info = isl.UnionAccessInfo.from_sink(sink).set_must_source(must).set_schedule_map(times)
    assert must.n_map() > 1
    assert producers_in(times, sink, must, None).is_equal(info.compute_flow().get_may_dependence())


NESTS = """[n] -> {
  Set[i] -> [0, i, 0, 0] : 0 <= i < n; Add[i, j] -> [0, i, 1, j] : 0 <= i < n and 0 <= j < i;
  May[i] -> [0, i, 2, 0] : 0 <= i < n; End[i] -> [0, i, 3, 0] : 0 <= i < n;
  Again[i] -> [1, i, 0, 0] : 0 <= i < n; More[i, j] -> [1, i, 1, j] : 0 <= i, j < n;
  Late[i] -> [2, i, 0] : 0 <= i < n
}"""
SUM = "Add[i, j] -> s[]; More[i, j] -> s[]; End[i] -> s[]"
IN_NESTS = {
    "each iteration begins with a write": ("Set[i] -> s[]; Add[i, j] -> s[]; Again[i] -> s[]", ""),
    "one may write again": ("Set[i] -> s[]; Add[i, j] -> s[]; Again[i] -> s[]", "May[i] -> s[]"),
    "some iterations do not": ("Set[i] -> s[] : i > 0; Again[i] -> s[]", "May[i] -> s[]"),
    "one nest does not": ("Set[i] -> s[]; Add[i, j] -> s[]", "Again[i] -> s[]"),
    "only inner iterations do": ("Add[i, j] -> s[]; More[i, j] -> s[] : j = 0", "Set[i] -> s[]"),
    "all may": ("", "Set[i] -> s[]; Again[i] -> s[]"),
    "times of other lengths": ("Late[i] -> s[]; Set[i] -> s[]", "More[i, j] -> s[]"),
}


@pytest.mark.parametrize("name", IN_NESTS)
def test_the_writes_of_an_iteration_hide_those_before_it(name: str) -> None:
    times = isl.UnionMap(NESTS)
    must, may, sink = (isl.UnionMap(f"[n] -> {{ {text} }}") for text in (*IN_NESTS[name], SUM))
    must, may, sink = (part.intersect_domain(times.domain()) for part in (must, may, sink))
    sink = sink.union(isl.UnionMap("[n] -> { Late[i] -> s[] : 0 <= i < n }"))
    clock = Clock(times)
    hidden = clock.in_order(must.union(may).apply_range(must.reverse()))
    hidden = hidden.apply_range(clock.in_order(must.apply_range(sink.reverse())))
    pairs = clock.in_order(must.union(may).apply_range(sink.reverse()))
    assert producers_in(times, sink, must, may).is_equal(pairs.subtract(hidden))
