"""Loops for Numba: the graphs, sorts, sparse rows, cells and tables."""

from __future__ import annotations

from math import cos, floor, sin

import numpy as np
from numba import prange


def charges_to_cells(pos, charge, density):
    for n in range(pos.shape[0]):
        x = pos[n, 0]
        y = pos[n, 1]
        i = int(x)
        j = int(y)
        fx = x - i
        fy = y - j
        density[i, j] += charge[n] * (1 - fx) * (1 - fy)
        density[i + 1, j] += charge[n] * fx * (1 - fy)
        density[i, j + 1] += charge[n] * (1 - fx) * fy
        density[i + 1, j + 1] += charge[n] * fx * fy


def edges_relaxed(tail, head, length, distance):
    distance[0] = 0.0
    for _ in range(distance.shape[0] - 1):
        changed = False
        for e in range(tail.shape[0]):
            through = distance[tail[e]] + length[e]
            if through < distance[head[e]]:
                distance[head[e]] = through
                changed = True
        if not changed:
            break


def breadth_first(start, column, source, distance, queue, reached):
    distance[source] = 0
    queue[0] = source
    first = 0
    end = 1
    while first < end:
        u = queue[first]
        first += 1
        for k in range(start[u], start[u + 1]):
            v = column[k]
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue[end] = v
                end += 1
    reached[0] = end


def flood_fill(grid, stack, last):
    H, W = grid.shape
    label = 1
    for i in range(H):
        for j in range(W):
            if grid[i, j] == 1:
                label += 1
                top = 0
                stack[0, 0] = i
                stack[0, 1] = j
                grid[i, j] = label
                while top >= 0:
                    y = stack[top, 0]
                    x = stack[top, 1]
                    top -= 1
                    for d in range(4):
                        ny = y + (d == 0) - (d == 1)
                        nx = x + (d == 2) - (d == 3)
                        if 0 <= ny < H and 0 <= nx < W and grid[ny, nx] == 1:
                            grid[ny, nx] = label
                            top += 1
                            stack[top, 0] = ny
                            stack[top, 1] = nx
    last[0] = label


def components(edges, parent, number):
    count = parent.shape[0]
    for e in range(edges.shape[0]):
        a = edges[e, 0]
        b = edges[e, 1]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            count -= 1
    number[0] = count


def sorted_by_digits(keys, work):
    N = keys.shape[0]
    position = np.zeros(256, dtype=np.int64)
    for shift in range(0, 32, 8):
        for d in range(256):
            position[d] = 0
        for n in range(N):
            position[(keys[n] >> shift) & 255] += 1
        total = 0
        for d in range(256):
            count = position[d]
            position[d] = total
            total += count
        for n in range(N):
            digit = (keys[n] >> shift) & 255
            work[position[digit]] = keys[n]
            position[digit] += 1
        for n in range(N):
            keys[n] = work[n]


def transposed_sparse(start, column, value, tstart, tcolumn, tvalue):
    N = start.shape[0] - 1
    K = value.shape[0]
    for i in range(N + 1):
        tstart[i] = 0
    for k in range(K):
        tstart[column[k] + 1] += 1
    for i in range(N):
        tstart[i + 1] += tstart[i]
    position = tstart.copy()
    for i in range(N):
        for k in range(start[i], start[i + 1]):
            c = column[k]
            p = position[c]
            tvalue[p] = value[k]
            tcolumn[p] = i
            position[c] += 1


def turned_image(img, angle, out):
    H, W = img.shape
    c = cos(angle)
    s = sin(angle)
    for i in prange(H):
        for j in range(W):
            y = c * (i - H / 2) - s * (j - W / 2) + H / 2
            x = s * (i - H / 2) + c * (j - W / 2) + W / 2
            p = floor(y)
            q = floor(x)
            if 0 <= p < H - 1 and 0 <= q < W - 1:
                fy = y - p
                fx = x - q
                upper = img[p, q] * (1 - fx) + img[p, q + 1] * fx
                lower = img[p + 1, q] * (1 - fx) + img[p + 1, q + 1] * fx
                out[i, j] = upper * (1 - fy) + lower * fy
            else:
                out[i, j] = 0.0


def points_in_polygon(points, corners, inside):
    M = corners.shape[0]
    for n in prange(points.shape[0]):
        x = points[n, 0]
        y = points[n, 1]
        odd = False
        j = M - 1
        for i in range(M):
            if (corners[i, 1] > y) != (corners[j, 1] > y):
                slope = (corners[j, 0] - corners[i, 0]) / (corners[j, 1] - corners[i, 1])
                if x < slope * (y - corners[i, 1]) + corners[i, 0]:
                    odd = not odd
            j = i
        inside[n] = odd


def table_by_bisection(knots, values, x, out):
    for n in prange(x.shape[0]):
        low = 0
        high = knots.shape[0] - 1
        while high - low > 1:
            middle = (low + high) // 2
            if knots[middle] <= x[n]:
                low = middle
            else:
                high = middle
        t = (x[n] - knots[low]) / (knots[high] - knots[low])
        out[n] = values[low] + t * (values[high] - values[low])
