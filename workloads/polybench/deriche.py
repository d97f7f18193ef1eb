"""deriche: a recursive edge detector: filters run forth and back over rows, then over columns."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "MINI": {"W": 64, "H": 64},
    "SMALL": {"W": 192, "H": 128},
    "MEDIUM": {"W": 720, "H": 480},
    "LARGE": {"W": 4096, "H": 2160},
    "EXTRALARGE": {"W": 7680, "H": 4320},
}
OUTPUTS = ("imgOut",)
LEAST = {"W": 2, "H": 2}


def deriche(alpha: po.f64, imgIn: po.f64["W,H"], imgOut: po.f64["W,H"]):
    W, H = imgIn.shape
    y1 = np.empty_like(imgIn)
    y2 = np.empty_like(imgIn)

    k = (1.0 - np.exp(-alpha)) * (1.0 - np.exp(-alpha))
    k = k / (1.0 + 2.0 * alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    c1 = c2 = 1.0

    for i in range(W):
        ym1 = 0.0
        ym2 = 0.0
        xm1 = 0.0
        for j in range(H):
            y1[i, j] = a1 * imgIn[i, j] + a2 * xm1 + b1 * ym1 + b2 * ym2
            xm1 = imgIn[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
    for i in range(W):
        yp1 = 0.0
        yp2 = 0.0
        xp1 = 0.0
        xp2 = 0.0
        for j in range(H - 1, -1, -1):
            y2[i, j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
            xp2 = xp1
            xp1 = imgIn[i, j]
            yp2 = yp1
            yp1 = y2[i, j]
    for i in range(W):
        for j in range(H):
            imgOut[i, j] = c1 * (y1[i, j] + y2[i, j])

    for j in range(H):
        tm1 = 0.0
        ym1 = 0.0
        ym2 = 0.0
        for i in range(W):
            y1[i, j] = a5 * imgOut[i, j] + a6 * tm1 + b1 * ym1 + b2 * ym2
            tm1 = imgOut[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
    for j in range(H):
        tp1 = 0.0
        tp2 = 0.0
        yp1 = 0.0
        yp2 = 0.0
        for i in range(W - 1, -1, -1):
            y2[i, j] = a7 * tp1 + a8 * tp2 + b1 * yp1 + b2 * yp2
            tp2 = tp1
            tp1 = imgOut[i, j]
            yp2 = yp1
            yp1 = y2[i, j]
    for i in range(W):
        for j in range(H):
            imgOut[i, j] = c2 * (y1[i, j] + y2[i, j])


def deriche_numpy(alpha: po.f64, imgIn: po.f64["W,H"], imgOut: po.f64["W,H"]):
    W, H = imgIn.shape
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + 2.0 * alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)

    y1 = np.empty_like(imgIn)
    y1[:, 0] = a1 * imgIn[:, 0]
    y1[:, 1] = a1 * imgIn[:, 1] + a2 * imgIn[:, 0] + b1 * y1[:, 0]
    for j in range(2, H):
        y1[:, j] = a1 * imgIn[:, j] + a2 * imgIn[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2 = np.empty_like(imgIn)
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * imgIn[:, -1]
    for j in range(H - 3, -1, -1):
        y2[:, j] = (
            a3 * imgIn[:, j + 1] + a4 * imgIn[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
        )
    imgOut[:] = y1 + y2

    y1[0] = a5 * imgOut[0]
    y1[1] = a5 * imgOut[1] + a6 * imgOut[0] + b1 * y1[0]
    for i in range(2, W):
        y1[i] = a5 * imgOut[i] + a6 * imgOut[i - 1] + b1 * y1[i - 1] + b2 * y1[i - 2]
    y2[-1] = 0.0
    y2[-2] = a7 * imgOut[-1]
    for i in range(W - 3, -1, -1):
        y2[i] = a7 * imgOut[i + 1] + a8 * imgOut[i + 2] + b1 * y2[i + 1] + b2 * y2[i + 2]
    imgOut[:] = y1 + y2


def make(W, H, dtype):
    i, j = np.ogrid[:W, :H]
    return {
        "alpha": 0.25,
        "imgIn": ((313 * i + 991 * j) % 65536 / 65535.0).astype(dtype),
        "imgOut": np.zeros((W, H), dtype),
    }


def reference(alpha, imgIn, imgOut):
    """Filter along the leading axis, on transposed copies."""
    fade = np.exp(-alpha)
    k = (1 - fade) ** 2 / (1 + 2 * alpha * fade - np.exp(2 * alpha))
    back, square = 2.0**-alpha, -fade * fade

    def both(image):
        forth, reverse = np.zeros_like(image), np.zeros_like(image)
        zero = np.zeros_like(image[0])
        before, last, older = zero, zero, zero
        for row, out in zip(image, forth, strict=True):
            out[:] = k * (row + fade * (alpha - 1) * before) + back * last + square * older
            before, last, older = row, out, last
        near, far, last, older = zero, zero, zero, zero
        for row, out in zip(image[::-1], reverse[::-1], strict=True):
            out[:] = k * fade * ((alpha + 1) * near - fade * far) + back * last + square * older
            near, far, last, older = row, near, out, last
        return forth + reverse

    along = both(np.ascontiguousarray(imgIn.T)).T
    return {"imgOut": both(np.ascontiguousarray(along)).astype(imgIn.dtype)}


def flops(W, H):
    return 32 * W * H


def chain(W, H):
    return 32 * 16
