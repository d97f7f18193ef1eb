"""Loops over grids whose borders are treated otherwise: lanes inside, plain loops at the ends."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


def blurred(img):
    h, w = img.shape
    out = np.zeros((h, w), np.uint8)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            s = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    s += int(img[i + di, j + dj])
            out[i, j] = s // 9
    return out


def neighbours(img):
    h, w = img.shape
    out = np.zeros((h, w), np.int32)
    for i in range(h):
        for j in range(w):
            c = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    y = i + di
                    x = j + dj
                    if (di != 0 or dj != 0) and 0 <= y < h and 0 <= x < w and img[y, x] > 100:
                        c += 1
            out[i, j] = c
    return out


def cross(img):
    h, w = img.shape
    out = np.zeros((h, w))
    for i in range(h):
        for j in range(w):
            s = -4.0 * img[i, j]
            if i > 0:
                s += img[i - 1, j]
            if i < h - 1:
                s += img[i + 1, j]
            if j > 0:
                s += img[i, j - 1]
            if j < w - 1:
                s += img[i, j + 1]
            out[i, j] = s
    return out


def diagonals(img):
    """Of the neighbours that a product of two numbers of loops chooses."""
    h, w = img.shape
    out = np.zeros((h, w), np.int64)
    for i in range(2, h):
        for j in range(w - 2):
            for di in range(3):
                for dj in range(3):
                    if di * dj == 0 and abs(di - dj) < 2:
                        out[i, j] += img[i - di, j + dj]
    return out


def means(img):
    h, w = img.shape
    out = np.zeros((h, w))
    for i in range(h):
        for j in range(w):
            s = 0.0
            c = 0
            for y in range(max(0, i - 1), min(h, i + 2)):
                for x in range(max(0, j - 1), min(w, j + 2)):
                    s += img[y, x]
                    c += 1
            out[i, j] = s / c + y - x
    return out


def sums_below(img):
    h, w = img.shape
    out = np.zeros((h, w), np.int64)
    for i in range(h):
        for j in range(1, w):
            for x in range(max(1, j - 3), j):
                if img[i, x] > 200:
                    break
                out[i, j] += int(img[i, x]) * x
    return out


PROGRAMS = (means, sums_below, blurred, neighbours, cross, diagonals)


def image(h, w):
    return np.random.default_rng(h * 31 + w).integers(0, 256, (h, w)).astype(np.uint8)


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values(function, fp):
    kernel = po.kernel(function, fp=fp)
    for h, w in [(0, 0), (1, 1), (1, 7), (2, 2), (3, 1), (3, 40), (5, 3), (33, 70)]:
        np.testing.assert_array_equal(kernel(image(h, w)), function(image(h, w)))


@pytest.mark.parametrize("function", [blurred, neighbours, cross], ids=lambda f: f.__name__)
def test_lanes_have_no_conditions_on_borders(function):
    text = po.kernel(function, threads=1).compile(image(5, 5)).c
    assert "po_alloc" not in text
    assert "malloc" not in text
    bodies = re.findall(r"#pragma omp simd\n\s*for[^\n]*\{\n(.*?)\n {12}\}", text, re.DOTALL)
    inside = [body for body in bodies if not re.search(r"if \([^\n]*\b(w|h|img_\d_) [<>]=?", body)]
    assert any("- 1]" in body for body in inside) or "po_load" in text


def test_loops_over_neighbours_are_written_out():
    text = po.kernel(neighbours, threads=1).compile(image(5, 5)).c
    assert text.count("> 100") >= 8
    assert not re.search(r"for \(int64_t d[ij]_? =", text)


def test_counts_are_known_to_fit():
    assert "9223372036854775806" not in po.kernel(neighbours).compile(image(5, 5)).c
