"""Every refusal has its code, its place and a hint, and is a `FrontendError`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polyopt.errors import FrontendError
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from tests.unit.frontend import refused

FUNCTIONS = [
    f for f in vars(refused).values() if inspect.isfunction(f) and f.__module__ == refused.__name__
]
VECTOR = (ArrayType(DType.FLOAT64, 1, Layout.C, (False,)),)


@pytest.mark.parametrize("func", FUNCTIONS, ids=lambda f: f.__name__)
def test_refusal(func: Callable[..., object]) -> None:
    code, _, place = (func.__doc__ or "").partition(": ")
    with pytest.raises(FrontendError) as caught:
        build(func, VECTOR)
    error = caught.value
    assert error.code == code
    assert error.hint
    assert error.loc is not None
    assert Path(error.loc.file) == Path(refused.__file__)
    line = Path(refused.__file__).read_text().splitlines()[error.loc.line - 1]
    assert place in line
    assert 1 <= error.loc.col <= len(line) + 1


def test_the_corpus_is_not_small() -> None:
    assert len(FUNCTIONS) >= 50


def test_columns_count_characters() -> None:
    with pytest.raises(FrontendError) as caught:
        build(refused.float_subscript, VECTOR)
    loc = caught.value.loc
    assert loc is not None
    line = Path(loc.file).read_text().splitlines()[loc.line - 1]
    assert line[loc.col - 1 : loc.end_col - 1] == "1.5"


def test_functions_without_source() -> None:
    namespace: dict[str, Callable[..., object]] = {}
    exec("def unseen(A):\n    return A\n", namespace)
    with pytest.raises(FrontendError) as caught:
        build(namespace["unseen"], VECTOR)
    assert caught.value.code == "PO0101"
    with pytest.raises(FrontendError) as caught:
        build(lambda A: A, VECTOR)
    assert caught.value.code == "PO0102"
    with pytest.raises(FrontendError) as caught:
        build(np.sum, VECTOR)
    assert caught.value.code in ("PO0101", "PO0102", "PO0103")


def test_wrong_number_of_types() -> None:
    with pytest.raises(FrontendError) as caught:
        build(refused.float_subscript, ())
    assert caught.value.code == "PO0103"
