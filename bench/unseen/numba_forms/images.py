"""Filters of images in loops for Numba."""

from __future__ import annotations

from math import exp, sqrt

from numba import prange


def scharr(img, out):
    H, W = img.shape
    for i in prange(1, H - 1):
        for j in range(1, W - 1):
            gx = (
                3 * (img[i - 1, j + 1] - img[i - 1, j - 1])
                + 10 * (img[i, j + 1] - img[i, j - 1])
                + 3 * (img[i + 1, j + 1] - img[i + 1, j - 1])
            )
            gy = (
                3 * (img[i + 1, j - 1] - img[i - 1, j - 1])
                + 10 * (img[i + 1, j] - img[i - 1, j])
                + 3 * (img[i + 1, j + 1] - img[i - 1, j + 1])
            )
            out[i, j] = min(sqrt(gx * gx + gy * gy), 8.0)


def unsharp(img, w, amount, tmp, out):
    H, W = img.shape
    K = w.shape[0]
    for i in prange(H):
        for j in range(W - K + 1):
            acc = 0.0
            for k in range(K):
                acc += w[k] * img[i, j + k]
            tmp[i, j] = acc
    for i in prange(H - K + 1):
        for j in range(W - K + 1):
            acc = 0.0
            for k in range(K):
                acc += w[k] * tmp[i + k, j]
            pixel = img[i + 4, j + 4]
            out[i, j] = pixel + amount * (pixel - acc)


def rgb_to_yuv(rgb, yuv):
    for i in prange(rgb.shape[0]):
        for j in range(rgb.shape[1]):
            r = rgb[i, j, 0]
            g = rgb[i, j, 1]
            b = rgb[i, j, 2]
            y = 0.299 * r + 0.587 * g + 0.114 * b
            yuv[i, j, 0] = y
            yuv[i, j, 1] = 0.492 * (b - y)
            yuv[i, j, 2] = 0.877 * (r - y)


def resize_bilinear(img, row, fy, col, fx, out):
    for i in prange(out.shape[0]):
        y = row[i]
        for j in range(out.shape[1]):
            x = col[j]
            above = img[y, x] + fx[j] * (img[y, x + 1] - img[y, x])
            below = img[y + 1, x] + fx[j] * (img[y + 1, x + 1] - img[y + 1, x])
            out[i, j] = above + fy[i] * (below - above)


def box_by_sums(img, total, out):
    H, W = img.shape
    for i in prange(H):
        acc = 0.0
        for j in range(W):
            acc += img[i, j]
            total[i + 1, j + 1] = acc
    for block in prange((W + 127) // 128):
        for i in range(1, H):
            for j in range(128 * block, min(128 * block + 128, W)):
                total[i + 1, j + 1] += total[i, j + 1]
    for i in prange(H - 6):
        for j in range(W - 6):
            out[i, j] = (
                total[i + 7, j + 7] - total[i, j + 7] - total[i + 7, j] + total[i, j]
            ) / 49.0


def perona_malik(img, steps):
    H, W = img.shape
    old = img.copy()
    for _ in range(steps):
        for i in prange(1, H - 1):
            for j in range(1, W - 1):
                centre = old[i, j]
                n = old[i - 1, j] - centre
                s = old[i + 1, j] - centre
                w = old[i, j - 1] - centre
                e = old[i, j + 1] - centre
                flow = n * exp(-16.0 * n * n) + s * exp(-16.0 * s * s)
                flow += w * exp(-16.0 * w * w) + e * exp(-16.0 * e * e)
                img[i, j] = centre + 0.2 * flow
        for i in prange(1, H - 1):
            for j in range(1, W - 1):
                old[i, j] = img[i, j]
