"""Mutants of the call wrapper.

In: nothing.  Out: `MUTANTS`.
"""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import polyopt as po
from polyopt.emit import wrapper
from polyopt.runtime.check import check_call
from polyopt.runtime.sharing import OverlapError
from tests.mutants.layers import Layer, differing
from tests.mutants.mutant import Mutant
from tests.mutants.planting import Change


def backwards(b: po.f64["N"], a: po.f64["N"]):
    b[:] = a[::-1] + 1.0


def _inverted(original: Any, *described: Any) -> Iterator[str]:
    for line in original(*described):
        yield line.replace("&& overlaps(", "&& !overlaps(")


@contextmanager
def _own_cache() -> Iterator[None]:
    """Keep what is built inside from everything else."""
    before = os.environ.get("POLYOPT_CACHE_DIR")
    with tempfile.TemporaryDirectory() as directory:
        os.environ["POLYOPT_CACHE_DIR"] = directory
        try:
            yield
        finally:
            if before is None:
                del os.environ["POLYOPT_CACHE_DIR"]
            else:
                os.environ["POLYOPT_CACHE_DIR"] = before


def _pairs() -> Iterator[tuple[Any, Any]]:
    """Yield pairs of arrays of one length that share memory in all ways, and in none.

    They are longer than vectors: one that is loaded as a whole before it is stored hides overlaps.
    """
    whole = np.arange(120.0)
    yield whole[:40], whole[40:80]
    yield whole[:40], whole[:40]
    yield whole[:40], whole[1:41]
    yield whole[20:60], whole[:40]
    yield whole[80:], whole[:40]
    yield np.zeros(40), np.ones(40)


def _runs() -> str | None:
    """Compare calls with NumPy."""
    with _own_cache():
        kernel = po.kernel(backwards)
        for number in range(len(list(_pairs()))):
            (b, a), (other, source) = list(_pairs())[number], list(_pairs())[number]
            kernel(b, a)
            backwards(other, source)
            wrong = differing({"b": other}, {"b": b})
            if wrong:
                return f"pair {number}: {wrong}"
    return None


def _judges() -> str | None:
    """Compare what the wrapper refuses with what the argument checks refuse."""
    with _own_cache():
        compiled = po.kernel(backwards).compile()
        for number, pair in enumerate(_pairs()):
            try:
                check_call(compiled.signature, pair)
                overlaps = False
            except OverlapError:
                overlaps = True
            refuses = compiled.loaded.call(*pair) is NotImplemented
            if refuses != overlaps:
                return f"pair {number} is {'refused' if refuses else 'taken'}"
    return None


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        26,
        "the test for arguments that overlap is inverted",
        (Change(wrapper, "_judge_overlap", _inverted),),
        (Layer.RUN, Layer.CALL),
        seen=((Layer.RUN, _runs), (Layer.CALL, _judges)),
    ),
)
