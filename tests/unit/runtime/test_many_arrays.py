"""Calls with many arrays: which of them share memory is found in a loop over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


def doubled(a0, a1, a2, a3, a4, a5, a6, b0, b1, b2, b3, b4, b5, b6):
    b0[:] = a0 * 2
    b1[:] = a1 * 2
    b2[:] = a2 * 2
    b3[:] = a3 * 2
    b4[:] = a4 * 2
    b5[:] = a5 * 2
    b6[:] = a6 * 2


@pytest.mark.toolchain
@pytest.mark.parametrize("shared", [None, (7, 0), (13, 0), (13, 12), (10, 6), (9, 2)])
def test_arrays_that_share_memory_are_seen_wherever_they_stand(shared: tuple[int, int] | None):
    kernel = po.kernel(doubled)

    def arguments() -> list[np.ndarray]:
        made = [np.arange(5.0) + 10 * k for k in range(14)]
        if shared is not None:
            later, earlier = shared
            both = np.arange(7.0)
            made[later], made[earlier] = both[2:], both[:5]
        return made

    kernel(*[np.arange(5.0) for _ in range(14)])  # compiled for arrays apart
    ours, theirs = arguments(), arguments()
    kernel(*ours)
    doubled(*theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
