"""sieve: primes below N by Eratosthenes."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"N": 50},
    "SMALL": {"N": 500},
    "MEDIUM": {"N": 20000},
    "LARGE": {"N": 2000000},
    "EXTRALARGE": {"N": 10000000},
}
OUTPUTS = ("prime", "return")
DTYPE = np.uint8


def sieve(prime: po.u8["N"]):
    N = len(prime)
    for i in range(N):
        prime[i] = 1 if i >= 2 else 0
    p = 2
    while p * p < N:
        if prime[p]:
            for m in range(p * p, N, p):
                prime[m] = 0
        p += 1
    count = 0
    for i in range(N):
        if prime[i]:
            count += 1
    return count


def sieve_numpy(prime: po.u8["N"]):
    prime[:] = 1
    prime[:2] = 0
    for p in range(2, int(prime.size**0.5) + 1):
        if prime[p]:
            prime[p * p :: p] = 0
    return np.count_nonzero(prime)


def make(N, dtype):
    return {"prime": np.zeros(N, dtype)}
