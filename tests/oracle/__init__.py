"""Brute force at concrete sizes: dependences, verdicts on schedules, whole compilations."""

from tests.oracle.enumerate import Finding, FindingKind, enumerate_call, enumerate_kernel
from tests.oracle.hashed import hashed, random_arrays
from tests.oracle.judge import Pair, PairKind, Timing, confirm_witness, judge, judge_tree, pairs_of
from tests.oracle.tree_times import Place, tree_places

__all__ = [
    "Finding",
    "FindingKind",
    "Pair",
    "PairKind",
    "Place",
    "Timing",
    "confirm_witness",
    "enumerate_call",
    "enumerate_kernel",
    "hashed",
    "judge",
    "judge_tree",
    "pairs_of",
    "random_arrays",
    "tree_places",
]
