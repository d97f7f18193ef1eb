"""vadv: implicit vertical advection of weather models, a Thomas solver in each column."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"I": 6, "J": 6, "K": 6},
    "SMALL": {"I": 16, "J": 16, "K": 20},
    "MEDIUM": {"I": 60, "J": 60, "K": 40},
    "LARGE": {"I": 128, "J": 128, "K": 80},
    "EXTRALARGE": {"I": 256, "J": 256, "K": 160},
}
OUTPUTS = ("utens_stage",)
LEAST = {"K": 2}


def vadv(
    utens_stage: po.f64["I,J,K"],
    u_stage: po.f64["I,J,K"],
    wcon: po.f64["I+1,J,K"],
    u_pos: po.f64["I,J,K"],
    utens: po.f64["I,J,K"],
    dtr_stage: po.f64,
):
    I, J, K = utens_stage.shape
    ccol = np.empty((I, J, K))
    dcol = np.empty((I, J, K))
    for i in range(I):
        for j in range(J):
            for k in range(K):
                above = 0.0
                below = 0.0
                correction = 0.0
                if k > 0:
                    g = -0.25 * (wcon[i + 1, j, k] + wcon[i, j, k])
                    below = 0.5 * g
                    correction -= below * (u_stage[i, j, k - 1] - u_stage[i, j, k])
                if k < K - 1:
                    g = 0.25 * (wcon[i + 1, j, k + 1] + wcon[i, j, k + 1])
                    above = 0.5 * g
                    correction -= above * (u_stage[i, j, k + 1] - u_stage[i, j, k])
                diagonal = dtr_stage - below - above
                right = dtr_stage * u_pos[i, j, k] + utens[i, j, k] + utens_stage[i, j, k]
                right += correction
                if k > 0:
                    divided = 1.0 / (diagonal - ccol[i, j, k - 1] * below)
                    ccol[i, j, k] = above * divided
                    dcol[i, j, k] = (right - dcol[i, j, k - 1] * below) * divided
                else:
                    divided = 1.0 / diagonal
                    ccol[i, j, k] = above * divided
                    dcol[i, j, k] = right * divided
            data = 0.0
            for k in range(K - 1, -1, -1):
                data = dcol[i, j, k] - (ccol[i, j, k] * data if k < K - 1 else 0.0)
                utens_stage[i, j, k] = dtr_stage * (data - u_pos[i, j, k])


def vadv_numpy(
    utens_stage: po.f64["I,J,K"],
    u_stage: po.f64["I,J,K"],
    wcon: po.f64["I+1,J,K"],
    u_pos: po.f64["I,J,K"],
    utens: po.f64["I,J,K"],
    dtr_stage: po.f64,
):
    BET_M, BET_P = 0.5, 0.5
    I, J, K = utens_stage.shape[0], utens_stage.shape[1], utens_stage.shape[2]
    ccol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    dcol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    data_col = np.ndarray((I, J), dtype=utens_stage.dtype)

    for k in range(1):
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        cs = gcv * BET_M
        ccol[:, :, k] = gcv * BET_P
        bcol = dtr_stage - ccol[:, :, k]
        correction_term = -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = (
            dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        )
        divided = 1.0 / bcol
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = dcol[:, :, k] * divided

    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        as_ = gav * BET_M
        cs = gcv * BET_M
        acol = gav * BET_P
        ccol[:, :, k] = gcv * BET_P
        bcol = dtr_stage - acol - ccol[:, :, k]
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (
            u_stage[:, :, k + 1] - u_stage[:, :, k]
        )
        dcol[:, :, k] = (
            dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        )
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided

    for k in range(K - 1, K):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        as_ = gav * BET_M
        acol = gav * BET_P
        bcol = dtr_stage - acol
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        dcol[:, :, k] = (
            dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        )
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided

    for k in range(K - 1, K - 2, -1):
        datacol = dcol[:, :, k]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])

    for k in range(K - 2, -1, -1):
        datacol = dcol[:, :, k] - ccol[:, :, k] * data_col[:, :]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])


def make(I, J, K, dtype):
    return {
        "utens_stage": normal(1, (I, J, K), dtype),
        "u_stage": normal(2, (I, J, K), dtype),
        "wcon": normal(3, (I + 1, J, K), dtype),
        "u_pos": normal(4, (I, J, K), dtype),
        "utens": normal(5, (I, J, K), dtype),
        "dtr_stage": 3.0,
    }


def chain(I, J, K):
    return 100 * K
