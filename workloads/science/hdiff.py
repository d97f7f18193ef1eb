"""hdiff: horizontal diffusion of weather models, with limited fluxes."""

from __future__ import annotations

import numpy as np

import polyopt as po
from workloads.data import normal

SIZES = {
    "MINI": {"I": 8, "J": 8, "K": 4},
    "SMALL": {"I": 32, "J": 32, "K": 16},
    "MEDIUM": {"I": 64, "J": 64, "K": 60},
    "LARGE": {"I": 128, "J": 128, "K": 80},
    "EXTRALARGE": {"I": 256, "J": 256, "K": 160},
}
OUTPUTS = ("out_field",)


def hdiff(in_field: po.f64["I+4,J+4,K"], out_field: po.f64["I,J,K"], coeff: po.f64["I,J,K"]):
    I, J, K = out_field.shape
    lap = np.empty((I + 2, J + 2, K))
    flx = np.empty((I + 1, J, K))
    fly = np.empty((I, J + 1, K))
    for i in range(I + 2):
        for j in range(J + 2):
            for k in range(K):
                lap[i, j, k] = 4.0 * in_field[i + 1, j + 1, k] - (
                    in_field[i + 2, j + 1, k]
                    + in_field[i, j + 1, k]
                    + in_field[i + 1, j + 2, k]
                    + in_field[i + 1, j, k]
                )
    for i in range(I + 1):
        for j in range(J):
            for k in range(K):
                flux = lap[i + 1, j + 1, k] - lap[i, j + 1, k]
                if flux * (in_field[i + 2, j + 2, k] - in_field[i + 1, j + 2, k]) > 0:
                    flx[i, j, k] = 0.0
                else:
                    flx[i, j, k] = flux
    for i in range(I):
        for j in range(J + 1):
            for k in range(K):
                flux = lap[i + 1, j + 1, k] - lap[i + 1, j, k]
                if flux * (in_field[i + 2, j + 2, k] - in_field[i + 2, j + 1, k]) > 0:
                    fly[i, j, k] = 0.0
                else:
                    fly[i, j, k] = flux
    for i in range(I):
        for j in range(J):
            for k in range(K):
                out_field[i, j, k] = in_field[i + 2, j + 2, k] - coeff[i, j, k] * (
                    flx[i + 1, j, k] - flx[i, j, k] + fly[i, j + 1, k] - fly[i, j, k]
                )


def hdiff_numpy(in_field: po.f64["I+4,J+4,K"], out_field: po.f64["I,J,K"], coeff: po.f64["I,J,K"]):
    I, J = out_field.shape[0], out_field.shape[1]
    lap_field = 4.0 * in_field[1 : I + 3, 1 : J + 3, :] - (
        in_field[2 : I + 4, 1 : J + 3, :]
        + in_field[0 : I + 2, 1 : J + 3, :]
        + in_field[1 : I + 3, 2 : J + 4, :]
        + in_field[1 : I + 3, 0 : J + 2, :]
    )
    res = lap_field[1:, 1 : J + 1, :] - lap_field[:-1, 1 : J + 1, :]
    flx_field = np.where(
        (res * (in_field[2 : I + 3, 2 : J + 2, :] - in_field[1 : I + 2, 2 : J + 2, :])) > 0, 0, res
    )
    res = lap_field[1 : I + 1, 1:, :] - lap_field[1 : I + 1, :-1, :]
    fly_field = np.where(
        (res * (in_field[2 : I + 2, 2 : J + 3, :] - in_field[2 : I + 2, 1 : J + 2, :])) > 0, 0, res
    )
    out_field[:, :, :] = in_field[2 : I + 2, 2 : J + 2, :] - coeff[:, :, :] * (
        flx_field[1:, :, :] - flx_field[:-1, :, :] + fly_field[:, 1:, :] - fly_field[:, :-1, :]
    )


def make(I, J, K, dtype):
    return {
        "in_field": normal(1, (I + 4, J + 4, K), dtype),
        "out_field": np.zeros((I, J, K), dtype),
        "coeff": normal(2, (I, J, K), dtype),
    }
