"""Broken programs and wrong arguments give coded errors, or what Python itself would raise."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import InternalError, PolyoptError
from tests.errors.mutations import mutated
from tests.properties.numpy_case import KeptCase, NumpyCase, arguments
from tests.properties.numpy_programs import random_program
from tests.properties.numpy_run import load

SIZES = {"N": 6, "M": 5}


def accepted(func: Any, args: list[Any]) -> bool:
    """Whether polyopt takes the program; any error but a coded one is a failure of the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            po.kernel(func).schedule(*args)
        except InternalError:
            raise
        except PolyoptError as error:
            return not str(error).startswith("error[PO")
    return True


def broken(case: NumpyCase, seed: int) -> KeptCase | None:
    """The case after one change, None where Python does not take the text."""
    text = mutated(case.text, Random(seed))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "broken", "exec")
    except (SyntaxError, ValueError):
        return None
    return KeptCase(case.arrays, case.scalars, text, case.exact, case.signed)


@pytest.mark.matrix(2)
@pytest.mark.usefixtures("narrow_machine")
@pytest.mark.parametrize("first", range(0, 300, 30))
def test_no_tracebacks(first: int, tmp_path: Path) -> None:
    refused = 0
    for seed in range(first, first + 30):
        case = random_program(Random(seed))
        other = broken(case, seed)
        for again in range(1, 4):
            other = other or broken(case, seed + 1000 * again)
        if other is None:
            continue
        args = arguments(other, SIZES, seed, layouts=False)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                func = load(other, tmp_path)
        except Exception:  # the module itself fails: Python says so
            continue
        refused += not accepted(func, args)
    assert refused > 3


WRONG = (
    None, "text", b"bytes", [1.0, 2.0], (1.0,), {"a": 1}, {1}, object(), np, len, 1 << 80,
    np.zeros((2, 2, 2)), np.zeros(0), np.float64(1), np.array(1.0), np.array(["a"]),
    np.array([None]), np.zeros(3, np.float16), np.zeros(3, "datetime64[s]"), float("nan"), True,
    np.zeros(3, [("x", float)]), np.zeros(4, ">f8"), np.ma.masked_array([1.0, 2.0]), range(3),
)  # fmt: skip


def blend(A: Any, B: Any, weight: Any = 0.5) -> Any:
    C = weight * A[1:] + B[:-1]
    for i in range(C.shape[0]):
        if C[i] > 0:
            C[i] -= A[i]
    return C


@pytest.mark.usefixtures("narrow_machine")
@pytest.mark.parametrize("place", range(3))
def test_wrong_arguments(place: int) -> None:
    for wrong in WRONG:
        args = [np.arange(5.0), np.ones(5), 0.5]
        args[place] = wrong
        accepted(blend, args)


@pytest.mark.parametrize("args", [(), (1,), (1, 2, 3, 4)])
def test_wrong_counts_of_arguments(args: tuple[int, ...]) -> None:
    if args:
        with pytest.raises(PolyoptError):
            po.kernel(blend).schedule(*args)
    with pytest.raises(PolyoptError):
        po.kernel(blend)(*args)
    with pytest.raises(PolyoptError):
        po.kernel(blend)(np.ones(3), np.ones(3), size=3)
