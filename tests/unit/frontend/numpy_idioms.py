"""Functions as people write them with NumPy; each must do what Python does."""

# ruff: noqa: RUF005  people concatenate tuples

from __future__ import annotations

import math

import numpy as np


def standardize(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def softmax(X):
    e = np.exp(X - X.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def pairdist(X):
    d = X[:, None, :] - X[None, :, :]
    return np.sqrt((d**2).sum(-1))


def horner(x):
    coeffs = [1.0, -2.0, 0.5]
    y = np.zeros_like(x)
    for c in coeffs:
        y = y * x + c
    return y


def shapes(X):
    n, m = X.shape
    assert X.ndim == 2
    out = np.empty((n, m), dtype=X.dtype)
    for i, row in enumerate(X):
        out[i] = row * i
    return out


def moments(X):
    mu, sd = (np.mean(X), np.std(X, ddof=1))
    z = (X - mu) / sd
    return (mu, sd, np.mean(z**3), np.mean(z**4) - 3)


def normrows(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def clipabs(X):
    np.clip(X, -1, 1, out=X)
    np.abs(X, out=X)


def inplace(X):
    X -= X.mean(axis=1, keepdims=True)
    X /= np.maximum(X.std(axis=1, keepdims=True), 1e-08)


def block_diagonal(X):
    return np.kron(np.eye(2), X)


def running_backwards(X):
    return np.cumsum(X[::-1], axis=0)[::-1]


def moving_average(x):
    c = np.cumsum(np.insert(x, 0, 0))
    return (c[3:] - c[:-3]) / 3


def moving_average_by_convolution(x):
    return np.convolve(x, np.ones(3) / 3, mode="valid")


def smoothed(x):
    w = np.ones(3)
    w /= w.sum()
    return np.convolve(x, w, "same")


def trapezoids(x):
    return np.sum((x[1:] + x[:-1]) / 2) * (1 / (len(x) - 1))


def compared(X):
    return np.allclose(X, X.T[:, :].T)


def guarded_log(X):
    return np.where(X > 0, np.log1p(np.abs(X)), 0.0)


def counts_of_values(X):
    return np.array([np.sum(k == X) for k in range(4)])


def laplacian(X):
    return np.roll(X, 1, 0) + np.roll(X, -1, 0) + np.roll(X, 1, 1) + np.roll(X, -1, 1) - 4 * X


def bell(X):
    x = np.linspace(0, 1, X.shape[0])
    y = np.linspace(-1, 1, X.shape[1])
    xx, yy = np.meshgrid(x, y, indexing="ij")
    return X * np.exp(-(xx**2 + yy**2))


def dense_grid(X):
    i, j = np.mgrid[0 : X.shape[0], 0 : X.shape[1]]
    return X * (i + j)


def open_grid(X):
    i, j = np.ogrid[: X.shape[0], : X.shape[1]]
    return X * (i - j)


def index_grid(X):
    i, j = np.indices(X.shape)
    return (X * (i == j)).sum()


def inner(X):

    def act(v, slope=0.1):
        return np.where(v > 0, v, slope * v)

    return act(act(X, slope=0.5))


def list_of_arrays(X):
    parts = [X * k for k in range(3)]
    return (sum(parts), np.stack(parts).sum(axis=0), np.concatenate(parts, axis=1))


def masked_sums(X):
    return (X[X > 0].sum(), X[X > 0].mean(), (X > 0).sum())


def starred_rest(X):
    a, *rest = (1.0, 2.0, 3.0)
    return X * a + rest[1]


def rows_exchanged(X):
    X[[0, 1]] = X[[1, 0]]
    return X


def transposes(X):
    return (X.T.copy(), X.swapaxes(0, 1).sum(0), X.transpose()[::-1])


def clipped_by_masks(X):
    X[X < 0] = 0
    X[X > 1] = 1
    return X


def summed_list(X):
    return np.sum([X[0], X[1]], axis=0)


def array_of_rows(X):
    return np.array([X[0] + 1, X[1]])


def rotation(x):
    return np.array(
        [[math.cos(x[0]), -math.sin(x[0])], [math.sin(x[0]), math.cos(x[0])]]
    ) @ np.array([1.0, x[1]])


def builtins_of_vectors(x):
    return (max(x), min(x), sum(x), len(x), abs(x).max())


def ternary(X):
    return X if X.shape[0] > 2 else -X


def lengths_of_vectors(x):
    return (np.sqrt(np.dot(x, x)), x.dot(x), x @ x, (x * x).sum() ** 0.5)


def summed_rows(X):
    return np.apply_along_axis(np.sum, 1, X)


def vectorized_branch(X):
    return np.vectorize(lambda t: t * 2 if t > 0 else -t)(X)


def walrus(X):
    if (n := X.shape[0]) > 1:
        return X * n
    return X


def broadcast_pair(X):
    a, b = np.broadcast_arrays(X[0], X)
    return a + b


def reduced_conditions(X):
    return np.logical_and.reduce([X > 0, X < 1, X != 0.5])


def largest_of_list(X):
    return np.maximum.reduce([X, -X, X * 2])


def outer_by_newaxis(X):
    return X[:, np.newaxis] * X[np.newaxis]


def ellipsis(X):
    return (X[..., 0], X[0, ...])


def overlapping_update(X):
    X[1:] += X[:-1]
    return X


def filled_then_changed(X):
    Y = np.empty_like(X)
    Y.fill(3)
    Y[0] = X[0]
    return Y


def squeezed(X):
    return np.squeeze(np.expand_dims(X, 0), axis=0)


def integer_arithmetic(X):
    return (X * 10).astype(int) // 3 % 4


def conversions(X):
    return (X.astype(np.float32).astype(X.dtype), np.float32(X[0, 0]), np.zeros(3, X.dtype))


def columns_added(X):
    return (np.ones((X.shape[0], 1)), np.c_[X, X], np.r_[X[0], X[1]])


def rows_and_columns(X):
    return (np.r_[X[0], 1.0, 0:3], np.c_[X, X[0]], np.r_[0:1:3j, 5])


def lists_beside_arrays(X):
    return (X + [1, 2, 3, 4], X * (0.5, 1, 2, 4), [1, 2, 3, 4] @ X, np.dot([1, 2, 3, 4], X))


def lists_stored(X):
    X[0] = [1, 2, 3, 4]
    X[:, 1] = (9, 8, 7, 6)
    return X


def literals(X):
    return (
        np.array([]),
        np.array([[]]),
        np.array([X[0], X[1]]),
        np.array([[1, 2], [3, 4]], dtype=np.float32),
    )


def inserted(X):
    return (
        np.insert(X[0], 1, 9.0),
        np.insert(X, 0, 0, axis=0),
        np.delete(X, -1, axis=1),
        np.delete(X[0], 2),
    )


def place_of_extreme(X):
    return np.unravel_index(np.argmax(X), X.shape)


def membership(X):
    return (np.isin((X * 3).astype(int), [1, 2]), np.isin(X, X[0], invert=True))


def diagonal_by_index(X):
    return (X[np.diag_indices(4)], X[np.arange(4), np.arange(4)])


def along_an_axis(X):
    return (
        np.apply_along_axis(lambda v: v.sum() * 2, 0, X),
        np.apply_along_axis(lambda v: v[::-1], 1, X),
    )


def vectorized_lambda(X):
    return np.vectorize(lambda a, b: a if a > b else b)(X, 0.5)


def vectorized_math(X):
    f = np.vectorize(math.erf, otypes=[float])
    return f(X)


def starred_targets(x):
    first, *mid, last = (x[0], x[1], x[2], x[3])
    return (first, sum(mid), last)


def inner_function_with_a_loop(X):

    def rec(v, k):
        for _ in range(k):
            v = v * 0.5 + 1
        return v

    return rec(X, 3)


def nested_reductions(X):
    return (np.sum(np.sum(X, axis=1) ** 2), np.mean([X.min(), X.max()]))


def reduced_lists(X):
    return (np.max([X[0, 0], X[1, 1], 0.0]), np.argmax([1, 3, 2]), np.sum((X > 0) & (X < 1)))


def tuple_of_generator(X):
    return tuple(np.sum(X, axis=k) for k in range(X.ndim))


def list_of_functions(X):
    out = np.zeros((3,) + X.shape)
    for k, op in enumerate([np.sin, np.cos, np.tanh]):
        out[k] = op(X)
    return out


def kept_dimensions(X):
    return (X.sum(axis=0, keepdims=True) @ X, (X @ X.T).diagonal(), np.trace(X @ X))


def nearest_to_mean(X):
    return np.linalg.norm(X - X.mean(0), axis=1).argmin()


def masked_update(X):
    Y = X.copy()
    Y[Y < 0] *= -1
    return (Y, np.sqrt(Y))


def filled_nan(X):
    return np.where(np.isnan(X), np.nanmean(X), X)


def einsum_forms(X):
    return (
        np.einsum("ij,kj->ik", X, X).trace(),
        np.einsum("ij->j", X),
        np.einsum("i,j->ij", X[0], X[1]),
    )


def reshaped(X):
    return (X.reshape(2, 2, 4).mean(axis=1), X.reshape(-1), X.ravel()[3:6])


def stacked_comprehension(X):
    return np.stack([X[i] for i in range(X.shape[0])])


def joined_comprehension(X):
    return np.concatenate([X[i : i + 1] * i for i in range(3)])


def truth_of_vectors(x):
    return (np.all(np.diff(x) > 0), np.any(x), bool(np.all(x == x)), int(x[0]), float(np.sum(x)))


def ranks(x):
    return ((x[:, None] >= x[None]).sum(axis=1), np.triu(np.outer(x, x), k=1).sum())


def slices(x):
    return (x[-3:], x[:-3:2], x[::-2], x[5:1:-1], x[slice(1, 4)])


def signs(X):
    return (np.nan_to_num(X / 0.0), np.sign(X) * np.floor(np.abs(X)))


def activations(X):
    return (1 / (1 + np.exp(-X)), np.log(1 + np.exp(X)), np.maximum(0, X), np.tanh(X) ** 2)


def swapped_elements(X):
    i, j = (1, 2)
    X[i, j], X[j, i] = (X[j, i], X[i, j])
    return X


def type_tests(X):
    return (X.astype("float32").dtype == np.float32, X.dtype.name if False else 1)


def filled(X):
    return (np.full((2, 2), np.pi), np.full(3, -np.inf), np.zeros((0, 3)), np.eye(2, k=1))


def axes_as_tuples(X):
    return (np.sum(X, axis=tuple(range(1, X.ndim))), np.mean(X, (0, 1)), X.max(-1))


def products(X):
    return (X.T @ X / (X.shape[0] - 1), np.dot(X, X).sum(), np.inner(X[0], X[1]))


def autocorrelation(x):
    return np.correlate(x, x, "full")[len(x) - 1 :] / np.dot(x, x)


def fourier_matrix(x):
    n = len(x)
    k = np.arange(n)
    M = np.exp(-2j * np.pi * k[:, None] * k / n)
    return M @ x


def appended_rows(X):
    out = []
    for i in range(X.shape[0]):
        out.append(X[i] * i)
    return np.array(out)


def appended_known(X):
    out = []
    for i in range(3):
        out.append(X[i % 2] * i)
    return (np.array(out), len(out))


def appended_twice(X):
    out = []
    out.append(X[0])
    out.append(X[1] * 2)
    return (np.stack(out), np.concatenate(out))


def appended_numbers(x):
    s = 0.0
    hist = []
    for v in x:
        s = s + v
        hist.append(s)
    return (np.asarray(hist), sum(hist), hist[-1])


def appended_lists(X):
    rows = []
    for i in range(0, X.shape[0], 2):
        row = []
        for j in range(X.shape[1]):
            row.append(X[i, j] + j)
        rows.append(row)
    return np.array(rows)


def appended_unrolled(X):
    out = []
    for k in (1, 2, 3):
        out.append(X * k)
    return np.stack(out, axis=-1)


def appended_backwards(X):
    out = []
    for i in range(X.shape[0] - 1, -1, -1):
        out.append(X[i].max())
    return (np.array(out), max(out))


def listed_before_a_change(X):
    sums = [X[i].sum() for i in range(X.shape[0])]
    X[:] = 0
    return np.array(sums), len(sums), sums[1], sum(sums)


def nested_comprehension(X):
    return np.array([[X[i, j] * j for j in range(X.shape[1])] for i in range(X.shape[0])])


def pairs_by_comprehension(x):
    return np.array([[x[i], x[i] ** 2] for i in range(len(x))])


def counted_items(X):
    return len([0 for _ in range(X.shape[0])]), sum(1 for _ in range(X.shape[0]))


def lambdas_capture(X):
    scale = 2.0
    act = lambda t: np.maximum(t, 0) * scale  # noqa: E731
    for _ in range(3):
        X = act(X) + 1
        scale = scale * 0.5
    return X, act(X)


def inner_function(X):
    def smooth(v, w=0.25):
        out = v.copy()
        out[1:-1] = w * v[:-2] + (1 - 2 * w) * v[1:-1] + w * v[2:]
        return out

    return smooth(smooth(X), w=0.1)


def quiet(X):
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = X / (X - X)
        ratio[~np.isfinite(ratio)] = 0.0
    assert X.shape[0] > 1, "rows are needed"
    assert np.all(X == X)
    return ratio
