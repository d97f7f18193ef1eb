"""Filters of images: edges, sharpening, colours, scaling, sums of boxes, diffusion."""

from __future__ import annotations

import numpy as np

from bench.unseen.program import Program


def scharr(img, out):
    top, middle, bottom = img[:-2], img[1:-1], img[2:]
    gx = 3 * (top[:, 2:] - top[:, :-2]) + 10 * (middle[:, 2:] - middle[:, :-2])
    gx += 3 * (bottom[:, 2:] - bottom[:, :-2])
    gy = 3 * (bottom[:, :-2] - top[:, :-2]) + 10 * (bottom[:, 1:-1] - top[:, 1:-1])
    gy += 3 * (bottom[:, 2:] - top[:, 2:])
    out[1:-1, 1:-1] = np.minimum(np.sqrt(gx * gx + gy * gy), 8.0)


def scharr_data(rng, H, W):
    return {"img": rng.random((H, W)), "out": np.zeros((H, W))}


def unsharp(img, w, amount, tmp, out):
    H, W = img.shape
    K = w.shape[0]
    for i in range(H):
        for j in range(W - K + 1):
            acc = 0.0
            for k in range(K):
                acc += w[k] * img[i, j + k]
            tmp[i, j] = acc
    for i in range(H - K + 1):
        for j in range(W - K + 1):
            acc = 0.0
            for k in range(K):
                acc += w[k] * tmp[i + k, j]
            pixel = img[i + 4, j + 4]
            out[i, j] = pixel + amount * (pixel - acc)


def unsharp_data(rng, H, W):
    w = np.exp(-0.5 * ((np.arange(9) - 4) / 2.0) ** 2)
    shape = (H - 8, W - 8)
    return {
        "img": rng.random((H, W)),
        "w": w / w.sum(),
        "amount": 0.75,
        "tmp": np.zeros((H, W - 8)),
        "out": np.zeros(shape),
    }


def rgb_to_yuv(rgb, yuv):
    for i in range(rgb.shape[0]):
        for j in range(rgb.shape[1]):
            r = rgb[i, j, 0]
            g = rgb[i, j, 1]
            b = rgb[i, j, 2]
            y = 0.299 * r + 0.587 * g + 0.114 * b
            yuv[i, j, 0] = y
            yuv[i, j, 1] = 0.492 * (b - y)
            yuv[i, j, 2] = 0.877 * (r - y)


def rgb_to_yuv_data(rng, H, W):
    return {"rgb": rng.random((H, W, 3)), "yuv": np.zeros((H, W, 3))}


def resize_bilinear(img, row, fy, col, fx, out):
    for i in range(out.shape[0]):
        y = row[i]
        for j in range(out.shape[1]):
            x = col[j]
            above = img[y, x] + fx[j] * (img[y, x + 1] - img[y, x])
            below = img[y + 1, x] + fx[j] * (img[y + 1, x + 1] - img[y + 1, x])
            out[i, j] = above + fy[i] * (below - above)


def resize_bilinear_data(rng, H, W):
    n, m = 5 * H // 2, 5 * W // 2
    y, x = np.linspace(0, H - 1.001, n), np.linspace(0, W - 1.001, m)
    return {
        "img": rng.random((H, W)),
        "row": y.astype(np.int64),
        "fy": y - np.floor(y),
        "col": x.astype(np.int64),
        "fx": x - np.floor(x),
        "out": np.zeros((n, m)),
    }


def box_by_sums(img, total, out):
    total[1:, 1:] = np.cumsum(np.cumsum(img, axis=0), axis=1)
    out[:] = (total[7:, 7:] - total[:-7, 7:] - total[7:, :-7] + total[:-7, :-7]) / 49.0


def box_by_sums_data(rng, H, W):
    return {
        "img": rng.random((H, W)),
        "total": np.zeros((H + 1, W + 1)),
        "out": np.zeros((H - 6, W - 6)),
    }


def perona_malik(img, steps):
    for _ in range(steps):
        centre = img[1:-1, 1:-1]
        north = img[:-2, 1:-1] - centre
        south = img[2:, 1:-1] - centre
        west = img[1:-1, :-2] - centre
        east = img[1:-1, 2:] - centre
        flow = north * np.exp(-((4.0 * north) ** 2)) + south * np.exp(-((4.0 * south) ** 2))
        flow += west * np.exp(-((4.0 * west) ** 2)) + east * np.exp(-((4.0 * east) ** 2))
        img[1:-1, 1:-1] += 0.2 * flow


def perona_malik_data(rng, H, W, steps):
    return {"img": rng.random((H, W)), "steps": steps}


PROGRAMS = (
    Program(scharr, scharr_data, {"H": 4001, "W": 2903}, {"H": 9, "W": 11}, ("out",), True),
    Program(unsharp, unsharp_data, {"H": 1801, "W": 2203}, {"H": 19, "W": 23}, ("out",)),
    Program(rgb_to_yuv, rgb_to_yuv_data, {"H": 2603, "W": 2309}, {"H": 5, "W": 7}, ("yuv",)),
    Program(
        resize_bilinear, resize_bilinear_data, {"H": 1103, "W": 907}, {"H": 7, "W": 9}, ("out",)
    ),
    Program(
        box_by_sums, box_by_sums_data, {"H": 2801, "W": 2111}, {"H": 13, "W": 17}, ("out",), True
    ),
    Program(
        perona_malik,
        perona_malik_data,
        {"H": 701, "W": 509, "steps": 8},
        {"H": 9, "W": 8, "steps": 3},
        ("img",),
        True,
    ),
)
