"""Products around a pass over whole rows of the matrix between them."""

import numpy as np

import polyopt as po
from tests.heldout.program import HeldOut

# ruff: noqa: F821 - sizes are named by strings


def kernel_regression(q: po.f64["B,N,D"], k: po.f64["B,M,D"], v: po.f64["B,M,D"]):
    near = q @ k.transpose(0, 2, 1)
    weight = np.abs(near)
    return (weight / weight.sum(axis=-1, keepdims=True)) @ v


def centred_scores(q: po.f64["B,N,D"], k: po.f64["B,D,M"], v: po.f64["B,M,E"]):
    scores = q @ k
    return (scores - scores.mean(axis=-1, keepdims=True)) @ v


def peak_scores(q: po.f32["B,N,D"], k: po.f32["B,D,M"], v: po.f32["B,M,E"]):
    scores = q @ k
    return (scores / np.max(np.abs(scores), axis=-1, keepdims=True)) @ v


SIZES = {"B": 2, "N": 19, "M": 23, "D": 9}
PROGRAMS = (
    HeldOut(kernel_regression, ("row_block_fusion",), SIZES),
    HeldOut(centred_scores, ("row_block_fusion",), {**SIZES, "E": 7}),
    HeldOut(peak_scores, ("row_block_fusion",), {**SIZES, "E": 7}),
)
