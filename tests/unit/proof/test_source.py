"""Which of two instances runs first, told by constants where they tell."""

from __future__ import annotations

import islpy as isl
import pytest

from polyopt.proof.source import in_order

TIMES = """[n] -> {
  A[i] -> [0, i, 0] : 0 <= i < n; B[i, j] -> [1, i, j] : 0 <= i, j < n;
  C[i] -> [1, i, 5] : 0 <= i < n; D[i] -> [2, 0, i] : 2 <= i < n;
  E[i] -> [i, 0, 0] : 0 <= i < 3; F[i] -> [0, 0, 1] : i >= 0
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
    "none": "",
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_in_order(name: str) -> None:
    times, pairs = isl.UnionMap(TIMES), isl.UnionMap(f"[n] -> {{ {PAIRS[name]} }}")
    order = isl.MultiUnionPwAff.from_union_map(times)
    assert in_order(times, pairs).is_equal(pairs.lex_lt_at_multi_union_pw_aff(order))
