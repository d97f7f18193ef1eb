"""Philox's words against published ones and NumPy's; normal quantiles against exact ones."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from polyopt import random
from polyopt.ir import random_words

FULL = 2**64 - 1
KNOWN = [
    (
        (0, 0), (0, 0, 0, 0),
        (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B),
    ),
    (
        (FULL, FULL), (FULL, FULL, FULL, FULL),
        (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0),
    ),
    (
        (0x452821E638D01377, 0xBE5466CF34E90C6C),
        (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6),
    ),
]  # fmt: skip
"""Key, counter and words: the known answers of Random123 for philox4x64 of ten rounds."""


@pytest.mark.parametrize("key, counter, words", KNOWN)
def test_known_answers(key, counter, words) -> None:
    assert random_words.block(key, counter) == words


@pytest.mark.parametrize(
    "name, value",
    [
        ("MULTIPLIERS", (random_words.MULTIPLIERS[0], random_words.MULTIPLIERS[1] ^ 2)),
        ("STEPS", (random_words.STEPS[0] ^ 1, random_words.STEPS[1])),
        ("ROUNDS", 9),
    ],
)
def test_other_constants_give_other_answers(name, value, monkeypatch) -> None:
    monkeypatch.setattr(random_words, name, value)
    assert all(random_words.block(key, counter) != words for key, counter, words in KNOWN)


@pytest.mark.parametrize("key", [0, 7, 2**64 - 1])
@pytest.mark.parametrize("stream", [0, 5, 2**64 - 1])
def test_words_are_those_of_numpy(key: int, stream: int) -> None:
    source = np.random.Philox(key=key)
    if stream:
        source = source.jumped(stream)
    words = source.random_raw(70).tolist()
    assert [random_words.word(key, 0, place, stream) for place in range(70)] == words
    halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
    assert [random_words.half(key, 0, place, stream) for place in range(140)] == halves


def test_the_upper_word_of_a_key() -> None:
    words = np.random.Philox(key=3 + (9 << 64)).random_raw(5).tolist()
    assert [random_words.word(3, 9, place, 0) for place in range(5)] == words


def test_quantiles_are_near_exact_ones() -> None:
    """Python's quantiles are those of the same fractions with the C library's logarithm."""
    words = np.random.Philox(key=3).random_raw(3000)
    tails = np.concatenate([words >> np.uint64(shift) for shift in (4, 9, 20, 37, 52)])
    for word in np.concatenate([words, tails]).tolist():
        share = (2 * (word >> 11) + 1) * 2.0**-54
        if share < 0.5:  # those above are their negatives, and not exact here
            exact = NormalDist().inv_cdf(share)
            found = float(random_words.quantile(np.uint64(word)))
            assert abs(found - exact) <= 8 * np.spacing(abs(exact))


def test_quantiles_are_odd_and_grow() -> None:
    words = np.sort(np.random.Philox(key=4).random_raw(20_000))
    found = random_words.quantile(words)
    assert np.array_equal(random_words.quantile(~words), -found)
    assert np.all(np.diff(found) >= -4 * np.spacing(np.abs(found[1:])))
    ends = random_words.quantile(np.array([0, FULL], np.uint64))
    assert ends[0] == -ends[1] == pytest.approx(-8.292361075813595, rel=1e-14)


def test_the_numbers_have_their_distributions() -> None:
    count = 200_000
    drawn = random.normal(11, count)
    for power, moment in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)):
        assert np.mean(drawn**power) == pytest.approx(moment, abs=0.06)
    whole = random.integers(11, -3, 4, count)
    assert np.bincount(whole + 3) == pytest.approx(count / 7, rel=0.02)
