"""Programs in the style of Halide's tutorial and apps.

A definition `f[x, y] = ...` is the same statement here, inside loops over `x` and `y` or, where the
domains of reductions are, over theirs; schedules are left to polyopt.  What else differs is in
`changed`.
"""

from __future__ import annotations

import numpy as np

from tests.ported.record import ported


def image(r, *shape):
    return r.integers(0, 256, shape).astype(np.uint8)


@ported(lambda r: (20, 30))
def gradient(width, height):
    out = np.empty((width, height), dtype=np.int32)
    for y in range(height):
        for x in range(width):
            out[x, y] = x + y
    return out


@ported(
    lambda r: (image(r, 20, 25, 3),),
    changed={
        "value = hl.min(value * 1.5, 255.0)": "value = min(value * 1.5, 255.0)",
        "brighter[x, y, c] = hl.u8(value)": "brighter[x, y, c] = np.uint8(value)",
    },
)
def brighten(inp):
    brighter = np.empty_like(inp)
    for x in range(inp.shape[0]):
        for y in range(inp.shape[1]):
            for c in range(inp.shape[2]):
                value = np.float32(inp[x, y, c])
                value = min(value * 1.5, 255.0)
                brighter[x, y, c] = np.uint8(value)
    return brighter


@ported(lambda r: (image(r, 34, 29).astype(np.uint16),))
def blur3(inp):
    width, height = inp.shape[0] - 2, inp.shape[1] - 2
    blur_x = np.empty((width, height + 2), dtype=np.uint16)
    blur_y = np.empty((width, height), dtype=np.uint16)
    for y in range(height + 2):
        for x in range(width):
            blur_x[x, y] = (inp[x, y] + inp[x + 1, y] + inp[x + 2, y]) // 3
    for y in range(height):
        for x in range(width):
            blur_y[x, y] = (blur_x[x, y] + blur_x[x, y + 1] + blur_x[x, y + 2]) // 3
    return blur_y


@ported(lambda r: (image(r, 23, 31),))
def histogram(inp):
    hist = np.zeros(256, dtype=np.int32)
    for y in range(inp.shape[1]):
        for x in range(inp.shape[0]):
            hist[inp[x, y]] += 1
    return hist


@ported(
    lambda r: (image(r, 23, 19), 2.0),
    changed={
        "clamped[x, y] = inp[hl.clamp(x, 0, w - 1), hl.clamp(y, 0, h - 1)]": (
            'clamped = np.pad(inp, 2, mode="edge").astype(np.float64)'
        )
    },
)
def unsharp(inp, strength):
    w, h = inp.shape
    clamped = np.pad(inp, 2, mode="edge").astype(np.float64)
    out = np.empty((w, h))
    for y in range(h):
        for x in range(w):
            blur = 0.0
            for dy in range(5):
                for dx in range(5):
                    blur += clamped[x + dx, y + dy]
            sharp = inp[x, y] + strength * (inp[x, y] - blur / 25)
            out[x, y] = min(max(sharp, 0.0), 255.0)
    return out


@ported(lambda r: (40,))
def fibonacci(n):
    f = np.zeros(n, dtype=np.int64)
    f[0] = 1
    f[1] = 1
    for r in range(2, n):
        f[r] = f[r - 1] + f[r - 2]
    return f


@ported(lambda r: (r.random((24, 20)),))
def harris(inp):
    w, h = inp.shape
    Iy = np.zeros((w, h))
    Ix = np.zeros((w, h))
    for x in range(1, w - 1):
        for y in range(1, h - 1):
            Iy[x, y] = (
                inp[x - 1, y - 1] * (-1.0 / 12)
                + inp[x - 1, y + 1] * (1.0 / 12)
                + inp[x, y - 1] * (-2.0 / 12)
                + inp[x, y + 1] * (2.0 / 12)
                + inp[x + 1, y - 1] * (-1.0 / 12)
                + inp[x + 1, y + 1] * (1.0 / 12)
            )
            Ix[x, y] = (
                inp[x - 1, y - 1] * (-1.0 / 12)
                + inp[x + 1, y - 1] * (1.0 / 12)
                + inp[x - 1, y] * (-2.0 / 12)
                + inp[x + 1, y] * (2.0 / 12)
                + inp[x - 1, y + 1] * (-1.0 / 12)
                + inp[x + 1, y + 1] * (1.0 / 12)
            )
    Ixx, Iyy, Ixy = Ix * Ix, Iy * Iy, Ix * Iy
    out = np.zeros((w, h))
    for x in range(2, w - 2):
        for y in range(2, h - 2):
            Sxx = Syy = Sxy = 0.0
            for dx in range(-1, 2):
                for dy in range(-1, 2):
                    Sxx += Ixx[x + dx, y + dy]
                    Syy += Iyy[x + dx, y + dy]
                    Sxy += Ixy[x + dx, y + dy]
            trace = Sxx + Syy
            out[x, y] = Sxx * Syy - Sxy * Sxy - 0.04 * trace * trace
    return out


@ported(lambda r: (image(r, 25, 20),))
def max_filter(inp):
    w, h = inp.shape
    out = np.zeros_like(inp)
    for y in range(2, h - 2):
        for x in range(2, w - 2):
            out[x, y] = np.max(inp[x - 2 : x + 3, y - 2 : y + 3])
    return out


@ported(lambda r: (r.random((17, 12)),))
def upsample(inp):
    w, h = inp.shape
    out = np.empty((2 * w - 2, 2 * h - 2))
    for y in range(2 * h - 2):
        for x in range(2 * w - 2):
            xf = (x % 2) / 2.0
            yf = (y % 2) / 2.0
            top = inp[x // 2, y // 2] * (1 - xf) + inp[x // 2 + 1, y // 2] * xf
            bottom = inp[x // 2, y // 2 + 1] * (1 - xf) + inp[x // 2 + 1, y // 2 + 1] * xf
            out[x, y] = top * (1 - yf) + bottom * yf
    return out


@ported(lambda r: (r.random((2, 4, 9, 8)), r.random((5, 4, 3, 3)), r.random(5)))
def conv_layer(inp, filt, bias):
    n, ci, h, w = inp.shape
    co = filt.shape[0]
    conv = np.zeros((n, co, h - 2, w - 2))
    for b in range(n):
        for c in range(co):
            for y in range(h - 2):
                for x in range(w - 2):
                    conv[b, c, y, x] = bias[c]
                    for k in range(ci):
                        for dy in range(3):
                            for dx in range(3):
                                conv[b, c, y, x] += filt[c, k, dy, dx] * inp[b, k, y + dy, x + dx]
    return np.maximum(0, conv)


@ported(lambda r: (r.random((20, 16)), 0.4))
def iir_blur(inp, alpha):
    w, h = inp.shape
    blur = np.empty((w, h))
    for x in range(w):
        blur[x, 0] = inp[x, 0]
        for ry in range(1, h):
            blur[x, ry] = (1 - alpha) * blur[x, ry - 1] + alpha * inp[x, ry]
        for flip_ry in range(h - 2, -1, -1):
            blur[x, flip_ry] = (1 - alpha) * blur[x, flip_ry + 1] + alpha * blur[x, flip_ry]
    return blur


@ported(lambda r: (image(r, 22, 18).astype(np.float64),))
def error_diffusion(img):
    h, w = img.shape
    for y in range(h - 1):
        for x in range(1, w - 1):
            new = 255.0 if img[y, x] > 127 else 0.0
            err = img[y, x] - new
            img[y, x] = new
            img[y, x + 1] += err * 7 / 16
            img[y + 1, x - 1] += err * 3 / 16
            img[y + 1, x] += err * 5 / 16
            img[y + 1, x + 1] += err * 1 / 16


@ported(lambda r: (r.random((14, 15)),))
def summed_area(inp):
    h, w = inp.shape
    sat = inp.copy()
    for y in range(h):
        for x in range(1, w):
            sat[y, x] += sat[y, x - 1]
    for y in range(1, h):
        for x in range(w):
            sat[y, x] += sat[y - 1, x]
    return sat


@ported(lambda r: (r.random((24, 20)), 0.1))
def bilateral_grid(inp, r_sigma):
    w, h = inp.shape
    s_sigma = 4
    bins = int(1 / r_sigma) + 2
    grid = np.zeros((w // s_sigma + 1, h // s_sigma + 1, bins, 2))
    for x in range(w):
        for y in range(h):
            zi = int(inp[x, y] / r_sigma + 0.5)
            grid[x // s_sigma, y // s_sigma, zi, 0] += inp[x, y]
            grid[x // s_sigma, y // s_sigma, zi, 1] += 1.0
    blurz = grid.copy()
    for z in range(1, bins - 1):
        blurz[:, :, z] = grid[:, :, z - 1] + grid[:, :, z] * 2 + grid[:, :, z + 1]
    out = np.zeros((w, h))
    for x in range(w - s_sigma):
        for y in range(h - s_sigma):
            zv = inp[x, y] / r_sigma
            zi = int(zv)
            zf = zv - zi
            xi, xf = x // s_sigma, (x % s_sigma) / s_sigma
            yi, yf = y // s_sigma, (y % s_sigma) / s_sigma
            interpolated = np.zeros(2)
            for c in range(2):
                bottom = blurz[xi, yi, zi, c] * (1 - xf) + blurz[xi + 1, yi, zi, c] * xf
                top = blurz[xi, yi + 1, zi, c] * (1 - xf) + blurz[xi + 1, yi + 1, zi, c] * xf
                near = bottom * (1 - yf) + top * yf
                interpolated[c] = near * (1 - zf) + zf * blurz[xi, yi, zi + 1, c]
            out[x, y] = interpolated[0] / max(interpolated[1], 1e-6)
    return out


@ported(lambda r: (r.random((33, 17)),))
def gaussian_pyramid(inp):
    down = inp[: inp.shape[0] // 2 * 2, :]
    down = (down[0::2] + down[1::2]) / 2
    up = np.repeat(down, 2, axis=0)
    return inp[: up.shape[0]] - up


@ported(lambda r: (r.integers(0, 1024, (24, 20)).astype(np.int16),))
def demosaic(raw):
    w, h = raw.shape
    out = np.zeros((w // 2, h // 2, 3), dtype=np.int16)
    for x in range(1, w // 2 - 1):
        for y in range(1, h // 2 - 1):
            out[x, y, 0] = raw[2 * x + 1, 2 * y]
            out[x, y, 1] = (raw[2 * x, 2 * y] + raw[2 * x + 1, 2 * y + 1]) // 2
            out[x, y, 2] = raw[2 * x, 2 * y + 1]
    return out


@ported(lambda r: (r.random((12, 10)), 3, 2))
def nl_means(inp, search, patch):
    padded = np.pad(inp, search + patch, mode="reflect")
    out = np.zeros_like(inp)
    b = search + patch
    for x in range(inp.shape[0]):
        for y in range(inp.shape[1]):
            total = 0.0
            acc = 0.0
            for dx in range(-search, search + 1):
                for dy in range(-search, search + 1):
                    dist = 0.0
                    for px in range(-patch, patch + 1):
                        for py in range(-patch, patch + 1):
                            diff = (
                                padded[x + b + px, y + b + py]
                                - padded[x + b + dx + px, y + b + dy + py]
                            )
                            dist += diff * diff
                    weight = np.exp(-dist)
                    total += weight
                    acc += weight * padded[x + b + dx, y + b + dy]
            out[x, y] = acc / total
    return out
