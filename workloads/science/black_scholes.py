"""black-scholes: prices of European options, the normal distribution from erf."""

from __future__ import annotations

import math

import numpy as np

import polyopt as po
from workloads.data import positive

SIZES = {
    "MINI": {"N": 50},
    "SMALL": {"N": 500},
    "MEDIUM": {"N": 10000},
    "LARGE": {"N": 1000000},
    "EXTRALARGE": {"N": 4000000},
}
OUTPUTS = ("call", "put")
EXACT = False
APPROXIMATION = 1e-6  # the rational function has seven digits


def normal_cdf(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def black_scholes(
    price: po.f64["N"],
    strike: po.f64["N"],
    years: po.f64["N"],
    rate: po.f64,
    volatility: po.f64,
    call: po.f64["N"],
    put: po.f64["N"],
):
    for i in range(len(price)):
        s, k, t = price[i], strike[i], years[i]
        spread = volatility * math.sqrt(t)
        d1 = (math.log(s / k) + (rate + 0.5 * volatility**2) * t) / spread
        d2 = d1 - spread
        discount = k * math.exp(-rate * t)
        call[i] = s * normal_cdf(d1) - discount * normal_cdf(d2)
        put[i] = discount * normal_cdf(-d2) - s * normal_cdf(-d1)


def erf(x):
    """A rational approximation of the error function with six digits."""
    t = 1.0 / (1.0 + 0.5 * np.abs(x))
    p = -1.26551223 + t * (
        1.00002368
        + t
        * (
            0.37409196
            + t
            * (
                0.09678418
                + t
                * (
                    -0.18628806
                    + t
                    * (
                        0.27886807
                        + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277)))
                    )
                )
            )
        )
    )
    tail = t * np.exp(p - x * x)
    return np.where(x >= 0, 1.0 - tail, tail - 1.0)


def black_scholes_numpy(
    price: po.f64["N"],
    strike: po.f64["N"],
    years: po.f64["N"],
    rate: po.f64,
    volatility: po.f64,
    call: po.f64["N"],
    put: po.f64["N"],
):
    a = np.log(price / strike)
    b = years * -rate
    z = 1.0 / np.sqrt(years * volatility * volatility * 2.0)
    c = 0.25 * years * volatility * volatility * 2.0
    w1 = (a - b + c) * z
    w2 = (a - b - c) * z
    d1 = 0.5 + 0.5 * erf(w1)
    d2 = 0.5 + 0.5 * erf(w2)
    se = np.exp(b) * strike
    r = price * d1 - se * d2
    call[:] = r
    put[:] = r - price + se


def make(N, dtype):
    return {
        "price": 100 * positive(1, N, dtype),
        "strike": 100 * positive(2, N, dtype),
        "years": positive(3, N, dtype),
        "rate": 0.05,
        "volatility": 0.3,
        "call": np.zeros(N, dtype),
        "put": np.zeros(N, dtype),
    }


def randomize(arguments, rng):
    for name in ("price", "strike", "years"):
        array = arguments[name]
        array[:] = rng.uniform(0.5, 1.5, array.shape) * (1 if name == "years" else 100)


def reference(price, strike, years, rate, volatility, call, put):
    distribution = np.vectorize(normal_cdf, otypes=[float])
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / spread
    discount = strike * np.exp(-rate * years)
    n1, n2 = distribution(d1), distribution(d1 - spread)
    found = {
        "call": price * n1 - discount * n2,
        "put": discount * (1 - n2) - price * (1 - n1),
    }
    return {name: value.astype(price.dtype) for name, value in found.items()}


def chain(N):
    return 1000
