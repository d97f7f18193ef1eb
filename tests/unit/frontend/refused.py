"""Functions that the front end refuses; the corpus of `test_refusals`.

Each docstring is the code of the refusal and, after a colon, the text of the line it points at.
"""

from __future__ import annotations

import numpy as np


def try_it(A):
    """PO0112: try"""
    try:
        A[0] = 1
    finally:
        pass


def raise_it(A):
    """PO0177: raise"""
    raise ValueError("x")


def with_file(A):
    """PO0112: with"""
    with open("x"):
        pass


def generator(A):
    """PO0113: def generator"""
    yield A


async def coroutine(A):
    """PO0113: async def"""
    return A


def uses_dict(A):
    """PO0115: {0: 1}"""
    d = {0: 1}
    return d


def uses_set(A):
    """PO0115: {1"""
    d = {1, 2}
    return d


def uses_string(A):
    """PO0116: return s"""
    s = "hello"
    return s


def formatted(A):
    """PO0116: return f"""
    return f"{A}"


def nested_class(A):
    """PO0117: class"""

    class Inner:
        pass


def uses_global(A):
    """PO0118: global"""
    global COUNT
    COUNT = 1


def prints(A):
    """PO0119: print"""
    print(A)


def opens(A):
    """PO0119: open"""
    f = open("x")  # noqa: SIM115
    return f


def imports(A):
    """PO0120: import"""
    import os

    return os


def deletes(A):
    """PO0121: del"""
    del A


def recursive(A):
    """PO0123: recursive(A)"""
    return recursive(A)


def unknown_name(A):
    """PO0124: missing"""
    return missing + A  # noqa: F821


def none_as_number(A):
    """PO0124: None"""
    return A + None


def set_in_one_branch(A):
    """PO0125: return y"""
    if A[0] > 0:
        y = A * 2.0
    return y


def membership(A):
    """PO0127: in A"""
    return A[0] in A


def loop_over_number(A):
    """PO0130: for"""
    for x in A[0]:
        A[0] = x


def float_bound(A):
    """PO0131: range"""
    for i in range(len(A) / 2):
        A[i] = 0


def zero_step(A):
    """PO0132: range"""
    for i in range(0, 10, 0):
        A[i] = 1


def zero_slice_step(A):
    """PO0134: A["""
    return A[10:0:0]


def float_subscript(A):
    """PO0135: A[1.5]"""
    return A[1.5]


def too_many_subscripts(A):
    """PO0135: A["""
    return A[0, 0, 0]


def shapes_differ(A):
    """PO0140: A[:-1] + A"""
    return A[:-1] + A


def ranks_do_not_multiply(A):
    """PO0141: A[0] @ A"""
    return A[0] @ A


def truth_of_array(A):
    """PO0142: if A > 0"""
    if A > 0:
        A[0] = 1


def long_precision(A):
    """PO0143: np.longdouble"""
    return A.astype(np.longdouble)


def complex_into_real(A):
    """PO0144: A += 1j"""
    A += 1j


def float_into_integers(A):
    """PO0144: B += 0.5"""
    B = A.astype(np.int32)
    B += 0.5
    return B


def does_not_fit(A):
    """PO0145: 300"""
    return A.astype(np.uint8) + 300


def minus_of_bools(A):
    """PO0146: (A > 0) - (A < 0)"""
    return (A > 0) - (A < 0)


def division_by_zero(A):
    """PO0147: 1 / 0"""
    return A * (1 / 0)


def library_function(A):
    """PO0151: np.linalg"""
    return np.linalg.eigvals(A)


def unknown_attribute(A):
    """PO0152: A.foo"""
    return A.foo


def unknown_method(A):
    """PO0152: A.dump"""
    A.dump("a")


def wrong_axis(A):
    """PO0153: A.sum"""
    return A.sum(axis=5)


def two_names_in_a_loop(A):
    """PO0160: B[0] = 1"""
    B = A
    for _ in range(3):
        B[0] = 1
        B = B * 2
    return B


def number_becomes_array(A):
    """PO0161: x = A"""
    x = 0.0
    for _ in range(3):
        x = A + x
    return x


def attribute_assigned(A):
    """PO0163: A.shape"""
    A.shape = (1, 5)


def element_of_number(A):
    """PO0163: x[1]"""
    x = A[0]
    x[1] = 2


def negative_size(A):
    """PO0174: np.ones"""
    return np.ones(-3)


def endless_loop(A):
    """PO0110: while"""
    while True:
        A[0] -= 1


def generator_of_unknown_length(A):
    """PO0114: (x"""
    found = (x for x in A if x > 0)
    return len(found)


def returns_now_and_then(A):
    """PO0122: for"""
    for i in range(len(A)):
        if A[i] > 0:
            return A[i]


def starred_number(A):
    """PO0126: *"""
    return np.full((*3,), A[0])


def value_of_a_finished_loop(A):
    """PO0136: return k"""
    for i in range(len(A)):
        k = A[: i + 1]
        A[i] = k.sum()
    return k.sum()


def unknown_argument(A):
    """PO0151: np.max"""
    return np.max(A, axes=0)
