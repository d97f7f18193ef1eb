"""Every program of the corpus, in the interpreter, against Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.frontend import (  # noqa: F401  each adds its programs
    elementwise_programs,
    linear_programs,
    loop_programs,
    stencil_programs,
)
from tests.unit.frontend.corpus import PROGRAMS, Case
from tests.unit.frontend.harness import agree


@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.func.__name__)
def test_program_equals_python(case: Case, size: int) -> None:
    if size < case.least:
        pytest.skip("Python refuses this size")
    agree(case.func, *case.make(size, np.random.default_rng(size)))


def test_the_corpus_is_large() -> None:
    assert len(PROGRAMS) >= 60
