"""Brute force at concrete sizes: dependences, verdicts on schedules, hash semantics."""

from tests.oracle.hashed import hashed, random_arrays
from tests.oracle.judge import Pair, PairKind, Timing, confirm_witness, judge, judge_tree, pairs_of
from tests.oracle.tree_times import Place, tree_places

__all__ = [
    "Pair",
    "PairKind",
    "Place",
    "Timing",
    "confirm_witness",
    "hashed",
    "judge",
    "judge_tree",
    "pairs_of",
    "random_arrays",
    "tree_places",
]
