"""The examples train: some steps of each, every one compared with NumPy from the same state."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import numpy as np
import pytest

from examples import bigram, gpt, int8, mlp, rnn
from examples.curve import draw
from examples.text import garden
from examples.training import TOLERANCE, train

pytestmark = pytest.mark.toolchain


@pytest.mark.parametrize("example", [bigram, mlp, rnn], ids=lambda example: example.__name__)
def test_models_learn_as_numpy_does(example):
    report = example.run(steps=8, repeats=1)
    assert report.off <= TOLERANCE
    assert np.allclose(report.losses, report.expected, rtol=1e-3)
    assert report.losses[-1] < report.losses[0]


def test_a_block_of_a_gpt_learns_as_numpy_does():
    """With sizes that no vector divides."""
    report = gpt.run(steps=4, repeats=1, layers=1, width=20, length=9)
    assert report.off <= TOLERANCE
    assert report.losses[-1] < report.losses[0]


def test_another_step_is_noticed():
    """The comparison sees a step of another length."""

    def half(params, m, v, tokens, targets, t, rate):
        return bigram.step(params, m, v, tokens, targets, t, 0.999 * rate)

    text = garden()
    params = bigram.Bigram(np.zeros((len(text.characters),) * 2, np.float32))
    batches = ((x.ravel(), y.ravel()) for x, y in text.batches(2, 8))
    with pytest.raises(AssertionError, match="step 1 differs"):
        train("bigram", half, bigram.numpy_step, params, batches, 2, 1.0, 1)


def test_integers_are_numpys():
    assert "codes and sums equal" in int8.run(rows=9, groups=3, repeats=1)


def test_batches_are_pieces_of_the_text():
    text = garden()
    whole = "".join(text.characters[code] for code in text.codes)
    for tokens, targets in itertools.islice(text.batches(3, 7), 4):
        for row, after in zip(tokens, targets, strict=True):
            piece = "".join(text.characters[code] for code in (*row, after[-1]))
            assert piece in whole
            assert np.array_equal(row[1:], after[:-1])


def test_a_curve_is_a_picture_of_its_losses():
    picture = ElementTree.fromstring(draw("title", {"one": (3.0, 2.0, 1.0), "two": (3.0, 2.5)}))
    lines = [node for node in picture if node.tag.endswith("polyline")]
    counts = [len(line.attrib["points"].split()) for line in lines]
    assert counts == [3, 2]
    heights = [float(point.split(",")[1]) for point in lines[0].attrib["points"].split()]
    assert heights == sorted(heights)
