"""NumPy-style programs: polyopt computes what NumPy computes, kept programs and new ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.properties.numpy_case import KeptCase, kept_cases
from tests.properties.numpy_fuzz import counted
from tests.properties.numpy_run import Outcome, check

KEPT = [
    pytest.param(case, id=f"{path.stem}-{number}")
    for path in sorted((Path(__file__).parent / "corpus").glob("*.txt"))
    for number, case in enumerate(kept_cases(path))
]
COUNT = int(os.environ.get("POLYOPT_RANDOM_COUNT", "8"))


@pytest.mark.parametrize("case", KEPT)
def test_kept_programs(case: KeptCase, tmp_path: Path) -> None:
    for seed in range(2):
        verdict = check(case, tmp_path, seed, compiled=False)
        assert verdict.outcome in (Outcome.EQUAL, Outcome.UNSTABLE), verdict


@pytest.mark.toolchain
@pytest.mark.parametrize("case", KEPT[::8])
def test_kept_programs_in_c(case: KeptCase, tmp_path: Path) -> None:
    verdict = check(case, tmp_path, 1, compiled=True)
    assert verdict.outcome in (Outcome.EQUAL, Outcome.UNSTABLE), verdict


@pytest.mark.parametrize("beyond", [False, True])
def test_new_programs(beyond: bool) -> None:
    total = 5 * COUNT
    outcomes = counted(range(70_000, 70_000 + total), beyond=beyond)
    assert outcomes[Outcome.WRONG] == 0
    assert outcomes[Outcome.REFUSED] <= 0.1 * total


def test_sixty_programs_are_kept() -> None:
    assert len(KEPT) >= 60
