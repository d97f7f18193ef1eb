"""Arrays without dimensions are read as numbers: what would change one is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError

pytestmark = pytest.mark.toolchain


def added(total, x):
    for i in range(x.shape[0]):
        total += x[i]


def summed(total, x):
    return np.sum(x, out=total)


def written(total, x):
    total[...] = x.sum()


def local(total, x):
    found = np.zeros(())
    np.add(x[0], total, out=found)
    return found


@pytest.mark.parametrize("function", [added, summed, written, local])
def test_what_would_change_an_array_without_dimensions_is_refused(function: Any) -> None:
    total = np.array(2.0)
    with pytest.raises(FrontendError) as caught:
        po.kernel(function)(total, np.arange(3.0))
    assert caught.value.code == "PO0163"
    assert "[0]`" in caught.value.hint
    assert total == 2.0


def copied(total, x):
    total = total + x[0]
    total += x[1]
    return total


def element(total, x):
    found = x[2]
    found += total
    return found


@pytest.mark.parametrize("function", [copied, element])
def test_numbers_of_their_own_are_changed(function: Any) -> None:
    values = np.array(2.0), np.arange(3.0)
    assert po.kernel(function)(*values) == function(*values)
