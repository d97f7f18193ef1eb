"""Programs whose control depends on data: `while`, `break`, `return` in loops, computed sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Case:
    """A program and how to make its arguments for a size; `least`: the smallest Python accepts."""

    func: Callable[..., Any]
    make: Callable[[int, np.random.Generator], tuple[Any, ...]]
    least: int = 0


CONTROL: list[Case] = []


def case(make: Callable[[int, np.random.Generator], tuple[Any, ...]], least: int = 0) -> Any:
    """Add the decorated program to the corpus."""

    def add(func: Callable[..., Any]) -> Callable[..., Any]:
        CONTROL.append(Case(func, make, least))
        return func

    return add


def vector(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.standard_normal(n),)


def rows(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A sparse matrix by rows, and a vector."""
    counts = rng.integers(0, 4, n)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    total = int(indptr[-1])
    return indptr, rng.integers(0, max(n, 1), total), rng.random(total), rng.random(n)


@case(lambda n, rng: (float(n + 1),))
def newton_root(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


@case(lambda n, rng: (48 + n, 36))
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@case(lambda n, rng: (n + 7,))
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case(rows)
def spmv(indptr, indices, data, x):
    n = indptr.shape[0] - 1
    y = np.zeros(n)
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            y[i] += data[k] * x[indices[k]]
    return y


@case(rows)
def spmv_slices(indptr, indices, data, x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        lo, hi = indptr[i], indptr[i + 1]
        y[i] = np.dot(data[lo:hi], x[indices[lo:hi]])
    return y


@case(rows)
def longest_row(indptr, indices, data, x):
    longest = 0
    for i in range(len(x)):
        length = indptr[i + 1] - indptr[i]
        if length > longest:
            longest = length
    return longest


@case(lambda n, rng: (np.linspace(-2, 1, n), np.linspace(-1, 1, n + 1), 30))
def mandelbrot(re, im, limit):
    out = np.zeros((len(re), len(im)), dtype=np.int64)
    for i in range(len(re)):
        for j in range(len(im)):
            z = 0j
            c = complex(re[i], im[j])
            n = 0
            while n < limit and abs(z) <= 2.0:
                z = z * z + c
                n += 1
            out[i, j] = n
    return out


@case(vector)
def find_first(a):
    for i in range(a.shape[0]):
        if a[i] > 0.5:
            return i
    return -1


@case(vector)
def find_pair(a):
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if a[i] + a[j] > 1.0:
                return i, j
    return -1, -1


@case(vector)
def position_or_end(a):
    for i in range(len(a)):
        if a[i] < -0.5:
            break
    else:
        i = len(a)
    return i


@case(vector)
def prefix_until_negative(a):
    total = 0.0
    for x in a:
        if x < 0.0:
            break
        total += x
    return total


@case(vector)
def skip_and_stop(a):
    total = 0.0
    count = 0
    for i in range(len(a)):
        if a[i] < -1.0:
            continue
        if count >= 3:
            break
        total += a[i] * (i + 1)
        count += 1
    return total, count


@case(lambda n, rng: (np.sort(rng.random(n)), 0.5), least=1)
def lower_bound(a, v):
    lo, hi = 0, len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < v:
            lo = mid + 1
        else:
            hi = mid
    return lo


@case(vector)
def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


@case(vector)
def bubble_sort(a):
    n = len(a)
    while True:
        swapped = False
        for i in range(1, n):
            if a[i - 1] > a[i]:
                a[i - 1], a[i] = a[i], a[i - 1]
                swapped = True
        n -= 1
        if not swapped:
            break


def diagonal_system(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.random((n, n)) + (n + 1) * np.eye(n), rng.random(n), 1e-9


@case(diagonal_system, least=1)
def jacobi(A, b, tol):
    x = np.zeros(len(b))
    d = np.diag(A)
    for it in range(100):
        new = (b - A @ x + d * x) / d
        err = np.max(np.abs(new - x))
        x = new
        if err < tol:
            break
    return x, it


@case(diagonal_system, least=1)
def gauss_seidel(A, b, tol):
    n = len(b)
    x = np.zeros_like(b)
    err = tol + 1
    turns = 0
    while err > tol and turns < 200:
        err = 0.0
        for i in range(n):
            old = x[i]
            s = b[i]
            for j in range(n):
                if j != i:
                    s -= A[i, j] * x[j]
            x[i] = s / A[i, i]
            err = max(err, abs(x[i] - old))
        turns += 1
    return x


@case(lambda n, rng: (lambda m: (m @ m.T + n * np.eye(n), rng.random(n)))(rng.random((n, n))))
def conjugate_gradient(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for _ in range(2 * len(b)):
        if rs < 1e-20:
            return x
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
    return x


@case(lambda n, rng: (rng.random((n, n)) + np.eye(n), rng.random(n)), least=1)
def solve_pivoting(A, b):
    n = len(b)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        if p != k:
            for j in range(n):
                t = A[k, j]
                A[k, j] = A[p, j]
                A[p, j] = t
            t = b[k]
            b[k] = b[p]
            b[p] = t
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
            b[i] -= f * b[k]
    for i in range(n - 1, -1, -1):
        b[i] = (b[i] - A[i, i + 1 :] @ b[i + 1 :]) / A[i, i]
    return b


@case(lambda n, rng: (rng.random((n, n)), 1e-4))
def heat_until_steady(u, tol):
    while True:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        err = 0.0
        for i in range(u.shape[0]):
            for j in range(u.shape[1]):
                err = max(err, abs(new[i, j] - u[i, j]))
        u[:] = new
        if err < tol:
            break


@case(lambda n, rng: (rng.integers(0, 5, n),))
def counts_of_labels(labels):
    k = 0
    for i in range(len(labels)):
        if labels[i] >= k:
            k = labels[i] + 1
    counts = np.zeros(k, dtype=np.int64)
    for i in range(len(labels)):
        counts[labels[i]] += 1
    best = 0
    for c in range(k):
        if counts[c] > counts[best]:
            best = c
    return best


@case(lambda n, rng: (n + 2,))
def sieve(n):
    prime = np.ones(n, dtype=np.bool_)
    prime[:2] = False
    i = 2
    while i * i < n:
        if prime[i]:
            j = i * i
            while j < n:
                prime[j] = False
                j += i
        i += 1
    return prime


@case(lambda n, rng: (rng.random(n), rng.integers(-1, max(n, 1), n)))
def follow_links(cost, follow):
    total = np.zeros(len(cost))
    for i in range(len(cost)):
        at = follow[i]
        steps = 0
        while at >= 0 and steps < 5:
            total[i] += cost[at]
            at = follow[at]
            steps += 1
    return total


@case(lambda n, rng: (rng.integers(0, 2**32, n).astype(np.uint32),))
def popcounts(words):
    out = np.zeros(len(words), dtype=np.int64)
    for i in range(len(words)):
        w = words[i]
        count = 0
        while w:
            w = w & (w - np.uint32(1))
            count += 1
        out[i] = count
    return out


@case(lambda n, rng: (rng.random((n, 3)), n // 2))
def rows_until(table, limit):
    total = np.zeros(3)
    taken = 0
    for row in table:
        if taken == limit:
            break
        total += row
        taken += 1
    return total


@case(lambda n, rng: (rng.random(n), rng.random(n)), least=2)
def interpolate(xs, ys):
    order = np.arange(len(xs)) / len(xs)
    out = np.zeros(len(xs))
    for q in range(len(xs)):
        x = xs[q]
        k = 0
        while k < len(order) - 2 and order[k + 1] < x:
            k += 1
        w = (x - order[k]) / (order[k + 1] - order[k])
        out[q] = (1 - w) * ys[k] + w * ys[k + 1]
    return out


@case(lambda n, rng: (rng.standard_normal(n), 3))
def early_by_argument(a, mode):
    if mode == 0:
        return a * 2
    for i in range(len(a)):
        if a[i] > 2.0:
            return a + i
    return a - 1


@case(lambda n, rng: (rng.standard_normal((n, n)),))
def nested_breaks(a):
    rows_done = 0
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 1.5:
                break
            total += a[i, j]
        if total < -3.0:
            break
        rows_done += 1
    return rows_done, total


@case(vector)
def two_names_for_one_array(a):
    p = a * 2
    r = p
    for i in range(3):
        r = r + p * i
        if len(a) > 2 and r[0] > 4.0:
            break
        p = r * 0.5
    return r, p


@case(lambda n, rng: (n + 2.5,))
def returned_from_an_endless_loop(a):
    x = a
    n = 0
    while True:
        n += 1
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-12 or n > 60:
            return new, n
        x = new


def two_rows(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Two arrays that a step fills from each other, a tolerance and a number of steps."""
    tolerance = float(rng.choice([-1.0, 0.02, 0.2, 10.0]))
    return rng.standard_normal(n), rng.standard_normal(n), tolerance, int(rng.integers(0, 9))


@case(two_rows, least=2)
def leaves_before_exchange(u, v, tolerance, steps):
    for _ in range(steps):
        error = 0.0
        for i in range(1, u.shape[0] - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
            error = max(error, abs(v[i] - u[i]))
        if error < tolerance:
            break
        u, v = v, u
    return u, v


@case(two_rows, least=2)
def returns_before_exchange(u, v, tolerance, steps):
    for _ in range(steps):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        if np.max(np.abs(v - u)) < tolerance:
            return v
        kept = u
        u = v
        v = kept
    return u


@case(two_rows, least=2)
def ends_before_exchange(u, v, tolerance, steps):
    step = 0
    while step < steps:
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        if np.max(np.abs(v - u)) < tolerance:
            break
        step += 1
        u, v = v, u
    return u, step


@case(two_rows, least=2)
def leaves_before_three_change_places(u, v, tolerance, steps):
    w = u.copy()
    for _ in range(steps):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        if np.sum(v) > tolerance:
            break
        w[1:-1] = 0.25 * (v[:-2] + v[2:])
        if w[1] < -0.5:
            break
        u, v, w = v, w, u
    return u, v, w


@case(two_rows, least=2)
def numbers_change_places_too(u, v, tolerance, steps):
    one, two = 1.0, 2.0
    for _ in range(steps):
        v[1:-1] = one * (u[:-2] + u[2:]) * 0.25
        if np.max(np.abs(v - u)) < tolerance:
            break
        one, two = two, one
        u, v = v, u
    return u, one, two


@case(two_rows, least=2)
def exchange_before_and_after(u, v, tolerance, steps):
    for _ in range(steps):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u
        if np.max(np.abs(v - u)) < tolerance:
            break
        u, v = v, u
    return u, v
