"""Parts of Python that a kernel cannot have."""

import functools
import math
import random
import re
import time
from collections import defaultdict, deque

import numpy as np

TABLE = {"a": 1.0}
COUNT = 0
CACHE = []


def helper(x, y):
    return x + y


def reads_a_file(A, path):
    with open(path) as f:
        for i, line in enumerate(f):
            A[i] = float(line)


def prints_progress(A):
    for i in range(len(A)):
        A[i] = 0
        print(i)


def formats_a_text(A):
    s = A.sum()
    message = f"sum {s}"
    return message


def tries_to_divide(A):
    try:
        A[0] = 1 / A[1]
    except ZeroDivisionError:
        A[0] = 0


def tries_to_divide__instead(A):
    if A[1] != 0:
        A[0] = 1 / A[1]
    else:
        A[0] = 0


def generates_rows(A):
    for i in range(len(A)):
        yield A[i]


async def awaits(A):
    return A


def fills_a_dict(A):
    total = {}
    for i in range(len(A)):
        total[i] = A[i]
    return total


def fills_a_dict__instead(A):
    total = np.zeros(len(A))
    for i in range(len(A)):
        total[i] = A[i]
    return total


def options_in_a_dict(A):
    p = {0: 2.0}
    return A * p[0]


def options_in_a_dict__instead(A):
    alpha = 2.0
    return A * alpha


def collects_a_set(A):
    seen = set()
    for i in range(len(A)):
        seen.add(A[i])
    return len(seen)


def uses_a_queue(A):
    q = deque([0])
    while q:
        i = q.popleft()
        A[i] = 0


def counts_in_a_default_dict(A):
    d = defaultdict(float)
    d[0] += A[0]
    return d[0]


def defines_a_class(A):
    class Box:
        pass

    return A


def counts_calls(A):
    global COUNT
    COUNT += 1
    return A


def counts_in_a_closure(A):
    n = 0

    def add(x):
        nonlocal n
        n += 1
        return x

    return add(A)


def recursive_sum(A, n):
    if n == 0:
        return 0.0
    return A[n - 1] + recursive_sum(A, n - 1)


def recursive_sum__instead(A, n):
    total = 0.0
    for i in range(n):
        total = A[i] + total
    return total


def each_other(A, n):
    return each_other_too(A, n - 1) if n > 0 else A[0]


def each_other_too(A, n):
    return each_other(A, n - 1)


def quicksort(A):
    if len(A) <= 1:
        return A
    p = A[0]
    return np.concatenate((quicksort(A[A < p]), A[A >= p]))


def quicksort__instead(A):
    return np.sort(A)


def unknown_function(A):
    return smooth(A)


def misspelt_variable(A):
    total = 0.0
    for i in range(len(A)):
        totl += A[i]
    return total


def misspelt_variable__instead(A):
    total = 0.0
    for i in range(len(A)):
        total += A[i]
    return total


def misspelt_builtin(A):
    return lenght(A)


def identity(A):
    return id(A)


def makes_a_text(A):
    return str(A)


def returns_a_text(A):
    A[:] = 0
    return "done"


def imports(A):
    import os

    return A * len(os.sep)


def uses_random(A):
    A[0] = random.random()


def measures_time(A):
    begin = time.time()
    A += 1
    return time.time() - begin


def matches_a_text(A):
    return re.match("a", "b")


def remembers(A):
    CACHE.append(A)


@functools.lru_cache
def cached(n):
    return n * 2


def calls_a_cached_function(A):
    return A * cached(3)


def reduces(A):
    return functools.reduce(max, A)


def reduces__instead(A):
    return np.max(A)


def deletes(A):
    del A


def executes(A):
    exec("A[0] = 1")


def evaluates(A):
    return eval("A + 1")


def asks(A):
    return A * float(input())


def any_arguments(A, *rest):
    return A


def any_keywords(A, **options):
    return A


def missing_argument(A):
    return helper(A)


def unknown_argument(A):
    return helper(A, 2, z=3)


def too_many_arguments(A):
    return helper(A, 2, 3)


def unpacks_too_few(A):
    a, b, c = A.shape
    return a + b + c


def unpacks_a_number(A):
    a, b = 3
    return a + b


def loops_over_a_number(A, n):
    for i in n:
        A[i] = 0


def loops_over_a_number__instead(A, n):
    for i in range(n):
        A[i] = 0


def loops_to_a_float(A):
    for i in range(len(A) / 2):
        A[i] = 0


def loops_to_a_float__instead(A):
    for i in range(len(A) // 2):
        A[i] = 0


def steps_by_zero(A):
    for i in range(0, 10, 0):
        A[i] = 1


def endless(A):
    while True:
        A[0] += 1


def math_of_an_array(A):
    return math.sin(A)


def math_of_an_array__instead(A):
    return np.sin(A)
