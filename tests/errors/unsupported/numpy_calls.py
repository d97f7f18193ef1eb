"""NumPy functions, methods and arguments without a meaning for kernels."""

import numpy as np


def loads_text(A):
    return A + np.loadtxt("data.txt")


def saves(A):
    np.save("out.npy", A)


def misspelt_function(A):
    return np.sqroot(A)


def misspelt_function__instead(A):
    return np.sqrt(A)


def misspelt_attribute(A):
    return A.shapes[0]


def misspelt_attribute__instead(A):
    return A.shape[0]


def unknown_method(A):
    return A.normalize()


def writes_a_file(A):
    A.tofile("x.bin")


def to_bytes(A):
    return A.tobytes()


def swaps_bytes(A):
    return A.byteswap()


def resizes(A):
    A.resize(10)


def other_dtype_view(A):
    return A.view(np.int64)


def draws_numbers(A):
    A[:] = np.random.rand(len(A))


def makes_a_generator(A):
    rng = np.random.default_rng(0)
    return A + rng.normal(size=len(A))


def object_function(A):
    return np.frompyfunc(abs, 1, 1)(A)


def strided_view(A):
    return np.lib.stride_tricks.as_strided(A, (3, 3), (8, 8))


def strided_view__instead(A):
    B = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            B[i, j] = A[i + j]
    return B


def masked_array(A):
    return np.ma.masked_less(A, 0)


def matrix_class(A):
    return np.matrix(A)


def from_buffer(A):
    return np.frombuffer(b"abc")


def character_function(A):
    return np.char.upper(A)


def unknown_keyword(A):
    return np.sum(A, axes=0)


def unknown_keyword__instead(A):
    return np.sum(A, axis=0)


def keyword_twice(A):
    return np.sum(A, 0, axis=0)


def memory_order(M):
    return M.flatten(order="K")


def memory_order__instead(M):
    return M.flatten()


def axis_outside(A):
    return A.sum(axis=5)


def axis_outside__instead(A):
    return A.sum(axis=-1)


def axis_twice(M):
    return M.sum(axis=(0, 0))


def axis_from_data(M, I):
    return M.sum(axis=I[0])


def too_many_arguments(A):
    return np.sin(A, A, A, A)


def too_few_arguments(A):
    return np.add(A)


def too_few_arguments__instead(A):
    return np.add(A, A)


def einsum_of_other_ranks(A, M):
    return np.einsum("ij,jk->ik", A, M)


def einsum_of_other_ranks__instead(A, M):
    return np.einsum("j,jk->k", A, M)


def einsum_of_unknown_label(M):
    return np.einsum("ij->k", M)


def unknown_pad_mode(A):
    return np.pad(A, 1, mode="median")


def unknown_pad_mode__instead(A):
    return np.pad(A, 1, mode="edge")


def maximum_with_text(A):
    return np.maximum(A, "0")


def calls_an_array(A):
    return A(0)


def calls_an_array__instead(A):
    return A[0]


def calls_a_module(A):
    return np(A)
