"""Memory of temporaries is kept from call to call, within bounds."""

from __future__ import annotations

import resource

import numpy as np
import pytest

import polyopt as po
from polyopt.runtime.process import is_shared
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import find_compiler
from tests.unit.runtime.drivers import SANITIZED, build, said

pytestmark = pytest.mark.toolchain


def test_what_is_taken_and_kept(tmp_path):
    assert said(build("memory_driver", tmp_path)) == "fine\n"


def test_no_data_races(tmp_path):
    assert said(build("memory_driver", tmp_path, *SANITIZED), "together") == "fine\n"


def running_sums(a, b):
    partial = np.cumsum(a, axis=0)
    partial[1:] += np.cumsum(partial[::-1], axis=0)[1:]
    b[:] = partial[::-1] @ a.T


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


@pytest.mark.parametrize("threads", [1, 2])
def test_later_calls_touch_no_new_pages(threads):
    if not is_shared(find_compiler(open_store())):
        pytest.skip("the C library's memory is used")
    kernel = po.kernel(running_sums, threads=threads)
    a, b = np.random.default_rng(1).random((300, 300)), np.zeros((300, 300))
    assert "free(" in kernel.compile(a, b).source
    for _ in range(3):
        kernel(a, b)
    before = _faults()
    for _ in range(20):
        kernel(a, b)
    assert _faults() - before < 100  # one temporary of this size has 176 pages
