"""C of branches reads as one would write it: `else if`, locals for choices, nothing set twice."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


def tariff(x, out):
    for i in range(x.shape[0]):
        if x[i] < 10.0:
            rate = 1.0
            fee = x[i] / 3.0
        elif x[i] < 100.0:
            rate = 0.8
            fee = 2.0
        else:
            rate = 0.5
            fee = 5.0
        out[i] = x[i] * rate + fee


def spread(img, out):
    for i in range(img.shape[0]):
        r, g, b = img[i, 0], img[i, 1], img[i, 2]
        top = max(r, g, b)
        low = min(r, g, b)
        out[i] = (top - low) * top + low / top - top


def gains(x, out):
    for i in range(x.shape[0]):
        d = x[i] - out[i]
        u = d if d > 0.0 else 0.0
        out[i] = u * u + u * x[i] - u / (1.0 + u)


def border(img):
    h, w = img.shape
    out = np.zeros((h, w))
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            s = 0.0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    s += img[i + di, j + dj]
            out[i, j] = s / 9.0
    return out


def body(function, *values):
    text = po.kernel(function, threads=1).compile(*values).c
    return text[text.index("\nint polyopt_") :]


def test_branches_are_one_chain():
    text = body(tariff, np.ones(5), np.ones(5))
    assert text.count("else if (") == 1
    assert text.count("if (") == 2
    assert "!(" not in text


def test_choices_that_are_read_often_are_locals():
    text = body(spread, np.ones((4, 3)), np.ones(4))
    assert re.search(r"double top\w* =", text)
    assert text.count("?") <= 8
    assert body(gains, np.ones(5), np.ones(5)).count("?") == 1


def test_locals_begin_with_their_first_value():
    text = body(border, np.ones((4, 9)))
    assert "s += " in text or "s = " in text
    assert not re.search(r"\b(s\w*) = [^;\n]*;\s*\1 = ", text)


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_values(fp):
    rng = np.random.default_rng(2)
    for function, shape in ((tariff, (50,)), (gains, (50,)), (spread, (50, 3))):
        x = rng.uniform(1.0, 300.0, shape)
        found, wanted = (np.zeros(shape[0]) for _ in range(2))
        po.kernel(function, fp=fp)(x, found)
        function(x, wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    img = rng.random((7, 20))
    np.testing.assert_allclose(po.kernel(border, fp=fp)(img), border(img), rtol=1e-12)
