"""Random numbers as functions of a key and a position: Philox4x64-10 words, normal quantiles.

In: integers of 64 bits.  Out: words of NumPy's stream for a key; quantiles of the normal
distribution, computed with `+ - * /` and square roots alone, so that all machines have the same.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Counter: TypeAlias = tuple[int, int, int, int]

MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
"""What words are multiplied by, and what the key grows by from round to round.

The numbers are those of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2,
3" (2011), section 4.3.
"""
ROUNDS = 10
_MASK = 2**64 - 1


def block(key: tuple[int, int], counter: Counter) -> Counter:
    """Return the four words of one counter, the lowest words of key and counter first.

    >>> hex(block((0, 0), (0, 0, 0, 0))[0])
    '0x16554d9eca36314c'
    """
    one, two = key
    a, b, c, d = counter
    for _ in range(ROUNDS):
        first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, c = second >> 64 ^ b ^ one, first >> 64 ^ d ^ two
        b, d = second & _MASK, first & _MASK
        one, two = one + STEPS[0] & _MASK, two + STEPS[1] & _MASK
    return a, b, c, d


def word(key: int, upper_key: int, position: int, stream: int) -> int:
    """Return word `position` of NumPy's `Philox(key=key).jumped(stream)`.

    Four words come of each counter.  NumPy's counters start at 1; `stream` is their third word.
    """
    return block((key, upper_key), ((position >> 2) + 1, 0, stream, 0))[position & 3]


def half(key: int, upper_key: int, position: int, stream: int) -> int:
    """Return the 32 bits at `position`: each word has two, the lower ones first."""
    return word(key, upper_key, position >> 1, stream) >> (32 * (position & 1)) & 0xFFFFFFFF


# -- normal quantiles ----------------------------------------------------------------------------

MIDDLE = 0.425
"""Up to this distance from one half, a probability has its quantile from `CENTER`."""
EDGES = (0.180625, 1.6, 5.0)
"""What the variables of the three fractions are counted from; the last one is for roots above 5."""
CENTER = (
    (
        *(3.387132872796366608, 133.14166789178437745, 1971.5909503065514427),
        *(13731.693765509461125, 45921.953931549871457, 67265.770927008700853),
        *(33430.575583588128105, 2509.0809287301226727),
    ),
    (
        *(1.0, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077),
        *(21213.794301586595867, 39307.89580009271061, 28729.085735721942674),
        5226.495278852854561,
    ),
)
TAIL = (
    (
        *(1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055),
        *(3.64784832476320460504, 1.27045825245236838258, 0.24178072517745061177),
        *(0.0227238449892691845833, 7.7454501427834140764e-4),
    ),
    (
        *(1.0, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455),
        *(0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4),
        1.05075007164441684324e-9,
    ),
)
FAR = (
    (
        *(6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358),
        *(0.29656057182850489123, 0.026532189526576123093, 1.2426609473880784386e-3),
        *(2.71155556874348757815e-5, 2.01033439929228813265e-7),
    ),
    (
        *(1.0, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525),
        *(7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7),
        2.04426310338993978564e-15,
    ),
)
"""Numerator and denominator, lowest coefficient first, of Wichura's approximations.

They are those of "Algorithm AS 241: The Percentage Points of the Normal Distribution" (1988).
"""
LOGARITHM = tuple(2.0 / (2 * power + 1) for power in range(11))
"""The series of `log((1 + s) / (1 - s)) / s` in `s * s`."""
LOG_2 = 0.6931471805599453
ROOT_2 = 1.4142135623730951


def quantile(words: Any) -> Any:  # noqa: ANN401 - a number or an array of them
    """Return the quantile at `(word // 2**11 + 0.5) / 2**53` of each word.

    >>> float(quantile(np.uint64(2**63 + 2**62)))  # three quarters, and half a step
    0.6744897501960818
    """
    words = np.asarray(words, np.uint64)
    is_upper = words >> np.uint64(63) != 0
    step = words >> np.uint64(11)
    nearer = np.where(is_upper, np.uint64(2**53 - 1) - step, step)
    numerator = (np.uint64(2) * nearer + np.uint64(1)).astype(np.float64)
    tail = numerator * 2.0**-54  # the probability of what is further from zero
    distance = 0.5 - tail
    found = np.where(distance <= MIDDLE, _center(distance), _tail(numerator))
    return np.where(is_upper, found, -found)[()]


def _center(distance: Any) -> Any:  # noqa: ANN401
    return distance * _fraction(CENTER, EDGES[0] - distance * distance)


def _tail(numerator: Any) -> Any:  # noqa: ANN401
    root = np.sqrt(_minus_log(numerator))
    near, far = _fraction(TAIL, root - EDGES[1]), _fraction(FAR, root - EDGES[2])
    return np.where(root <= EDGES[2], near, far)


def _minus_log(numerator: Any) -> Any:  # noqa: ANN401
    """Return `-log(numerator / 2**54)`."""
    bits = numerator.view(np.uint64)
    exponent = (bits >> np.uint64(52)).astype(np.float64) - 1077.0
    mantissa = (bits & np.uint64(2**52 - 1) | np.uint64(1023 << 52)).view(np.float64)
    is_large = mantissa > ROOT_2
    mantissa = np.where(is_large, mantissa * 0.5, mantissa)
    exponent = np.where(is_large, exponent + 1.0, exponent)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    return -(exponent * LOG_2 + ratio * _polynomial(LOGARITHM, ratio * ratio))


def _fraction(parts: tuple[tuple[float, ...], ...], variable: Any) -> Any:  # noqa: ANN401
    above, below = (_polynomial(part, variable) for part in parts)
    return above / below


def _polynomial(coefficients: tuple[float, ...], variable: Any) -> Any:  # noqa: ANN401
    result = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = result * variable + coefficient
    return result
