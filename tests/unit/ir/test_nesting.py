"""Results in tuples and lists: from a text to values and back."""

from __future__ import annotations

import pytest

from polyopt.ir.arranging import arranged, flat, is_nesting

CASES = [
    (".", 1, (1,)),
    ("N", None, ()),
    ("(.)", (1,), (1,)),
    ("(..)", (1, 2), (1, 2)),
    ("[.(.[.])N.]", [1, (2, [3]), None, 4], (1, 2, 3, 4)),
    ("((()))", (((),),), ()),
    ("(.)", ([1],), ([1],)),
]


@pytest.mark.parametrize(("nesting", "value", "results"), CASES)
def test_there_and_back(nesting, value, results):
    assert arranged(nesting, results) == value
    assert flat(nesting, value) == results
    assert is_nesting(nesting, len(results))
    assert not is_nesting(nesting, len(results) + 1)


@pytest.mark.parametrize(
    ("nesting", "value"),
    [("(.)", [1]), ("(.)", (1, 2)), ("(..)", (1,)), ("N", 1), ("[.N]", [1, 2]), ("([.])", (1,))],
)
def test_another_arrangement_is_an_error(nesting, value):
    with pytest.raises(ValueError, match=r"[.N]"):
        flat(nesting, value)


@pytest.mark.parametrize("text", ["", "..", "(.", ".)", "([.)]", "(,)", '.";', "().", "N."])
def test_other_texts_arrange_nothing(text):
    assert not is_nesting(text, text.count("."))
