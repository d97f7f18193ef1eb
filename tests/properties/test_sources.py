"""Random NumPy-style functions: polyopt computes what Python computes."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from tests.properties.random_sources import random_source
from tests.properties.sources import Refused, check_source

COUNT = int(os.environ.get("POLYOPT_RANDOM_COUNT", "8"))


@pytest.mark.toolchain
@pytest.mark.parametrize("seed", range(COUNT))
def test_like_python(seed: int, tmp_path: Path) -> None:
    try:
        check_source(random_source(Random(seed)), tmp_path, seed)
    except Refused as refusal:
        pytest.skip(str(refusal).splitlines()[0])


@pytest.mark.toolchain
def test_few_are_refused(tmp_path: Path) -> None:
    refused = 0
    for seed in range(100, 112):
        try:
            check_source(random_source(Random(seed)), tmp_path, seed, compiled=False)
        except Refused:
            refused += 1
    assert refused <= 1
