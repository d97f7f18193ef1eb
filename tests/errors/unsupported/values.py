"""Values, types and shapes that NumPy itself refuses, or that have no type of their own."""

import numpy as np


def float_subscript(A):
    return A[1.5]


def half_subscript(A):
    return A[len(A) / 2]


def half_subscript__instead(A):
    return A[len(A) // 2]


def text_subscript(A):
    return A["x"]


def too_many_subscripts(A):
    return A[0, 0]


def too_many_slices(M):
    return M[:, :, 0]


def two_ellipses(M):
    return M[..., ...]


def zero_slice_step(A):
    return A[::0]


def none_as_a_number(A):
    return A + None


def shapes_differ(A):
    return A[:-1] + A


def shapes_differ__instead(A):
    return A[:-1] + A[1:]


def product_with_a_number(A, M):
    return M @ A[0]


def product_with_a_number__instead(A, M):
    return M * A[0]


def inner_sizes_differ(A):
    return np.zeros((2, 3)) @ np.zeros((4, 5))


def joins_ranks(A, M):
    return np.concatenate((A, M))


def joins_ranks__instead(A, M):
    return np.concatenate((A[None, :], M))


def stacks_lengths(A):
    return np.stack((A, A[1:]))


def ragged_rows(A):
    return np.array([[1.0, 2.0], [3.0]])


def reshapes_wrongly(A):
    return np.zeros((2, 3)).reshape(4, 2)


def two_open_extents(M):
    return M.reshape(-1, -1)


def two_open_extents__instead(M):
    return M.reshape(-1)


def truth_of_an_array(A):
    if A > 0:
        A[0] = 1


def truth_of_an_array__instead(A):
    if np.all(A > 0):
        A[0] = 1


def and_of_arrays(A):
    return A > 0 and A < 1


def and_of_arrays__instead(A):
    return (A > 0) & (A < 1)


def not_of_an_array(A):
    return not A


def while_an_array(A):
    while A > 0:
        A -= 1


def chained_comparison(A):
    return 0 < A < 1


def chained_comparison__instead(A):
    return (0 < A) & (A < 1)


def wide_complex(A):
    return A.astype(np.clongdouble)


def wide_complex__instead(A):
    return A.astype(np.float32)


def long_double(A):
    return A.astype(np.longdouble)


def array_of_texts(A):
    return A.astype(str)


def array_of_objects(A):
    return np.zeros(3, dtype=object)


def records(A):
    return np.zeros(3, dtype=[("x", float), ("y", float)])


def complex_into_real(A):
    A += 1j


def complex_element(A):
    A[0] = 1j


def float_into_integers(I):
    I += 0.5


def float_into_integers__instead(I):
    I[:] = I + 0.5


def constant_does_not_fit(I):
    return I.astype(np.uint8) + 300


def constant_does_not_fit__instead(I):
    return I.astype(np.int32) + 300


def huge_constant(I):
    return I + 2**70


def minus_of_bools(A):
    return (A > 0) - (A < 0)


def minus_of_bools__instead(A):
    return (A > 0).astype(np.float64) - (A < 0)


def negated_bools(A):
    return -(A > 0)


def negated_bools__instead(A):
    return ~(A > 0)


def inverted_floats(A):
    return ~A


def inverted_floats__instead(A):
    return ~A.astype(np.int64)


def shifted_floats(A):
    return A << 1


def shifted_floats__instead(A):
    return A.astype(np.int64) << 1


def floor_of_complex(A):
    return (A + 1j) // 2


def floor_of_complex__instead(A):
    return (A + 1j).real // 2


def division_by_zero(A):
    return A * (1 / 0)


def remainder_by_zero(A, n):
    return A * (n % 0)


def negative_power_of_integers(I):
    return I**-1


def negative_power_of_integers__instead(I):
    return I.astype(np.float64) ** -1


def text_as_element(A):
    A[0] = "x"


def set_in_one_branch(A):
    if A[0] > 0:
        y = A * 2.0
    return y


def set_in_one_branch__instead(A):
    y = 0.0
    if A[0] > 0:
        y = 1.0
    return y


def number_becomes_array(A):
    x = 0.0
    for _ in range(3):
        x = A + x
    return x


def number_becomes_array__instead(A):
    x = np.zeros(len(A))
    for _ in range(3):
        x = A + x
    return x


def returns_none_or_array(A):
    if A[0] > 0:
        return None
    return A


def returns_array_or_number(A):
    if A[0] > 0:
        return A
    return 0.0


def returns_two_or_one(A):
    if A[0] > 0:
        return A, 1
    return A


def array_or_matrix(A):
    if A[0] > 0:
        x = A
    else:
        x = np.zeros((2, 2))
    return x


def two_element_types(A):
    if A[0] > 0:
        x = A * 2
    else:
        x = np.zeros(len(A), np.int32)
    return x


def two_element_types__instead(A):
    if A[0] > 0:
        x = A * 2
    else:
        x = np.zeros(len(A), np.float64)
    return x


def array_or_part(A):
    return A if A[0] > 0 else A[1:]


def assigns_the_shape(A):
    A.shape = (1, 5)


def element_of_a_number(A):
    x = A[0]
    x[1] = 2


def changes_a_tuple(A):
    sizes = (1, 2, 3)
    sizes[0] = A[0]


def dict_as_result(A):
    return {A.shape[0]: A}


def negative_size(A):
    return np.ones(-3)


def float_as_size(A, x):
    return np.zeros(x)


def float_as_size__instead(A, n):
    return np.zeros(n)


def elements_of_real_parts(A):
    z = A + 1j
    z.real[1:] = 3.0
    return z


def elements_of_real_parts__instead(A):
    z = A + 1j
    z[1:] = 3.0 + 1j * z.imag[1:]
    return z


def imaginary_parts(A):
    z = A + 1j
    z.imag += A
    return z


def imaginary_parts__instead(A):
    z = A + 1j
    z[...] = z.real + 1j * (z.imag + A)
    return z
