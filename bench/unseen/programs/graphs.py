"""Irregular programs, written later than the others: graphs, sorts, sparse rows, cells, tables.

Data decide their subscripts.  They led to changes: subscripts are tested in place.
"""

from __future__ import annotations

import numpy as np

from bench.unseen.program import Program


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


def charges_to_cells_data(rng, N, C):
    return {
        "pos": rng.uniform(0, C - 1.01, (N, 2)),
        "charge": rng.random(N),
        "density": np.zeros((C, C)),
    }


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


def edges_relaxed_data(rng, N, K):
    """Return edges of which N - 1 are a tree, so that every node is reached."""
    tail, head = rng.integers(0, N, K), rng.integers(0, N, K)
    head[: N - 1] = np.arange(1, N)
    tail[: N - 1] = rng.integers(0, head[: N - 1])
    order = rng.permutation(K)
    return {
        "tail": tail[order],
        "head": head[order],
        "length": rng.random(K),
        "distance": np.full(N, 1e30),
    }


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


def _rows(rng, N, K):
    """Return where rows of any length start, and the columns of their K elements."""
    start = np.concatenate([[0], np.sort(rng.integers(0, K + 1, N - 1)), [K]])
    return start, rng.integers(0, N, K)


def breadth_first_data(rng, N, K, source):
    start, column = _rows(rng, N, K)
    return {
        "start": start,
        "column": column,
        "source": source,
        "distance": np.full(N, -1),
        "queue": np.zeros(N, np.int64),
        "reached": np.zeros(1, np.int64),
    }


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


def flood_fill_data(rng, H, W):
    return {
        "grid": (rng.random((H, W)) < 0.6).astype(np.int64),
        "stack": np.zeros((H * W, 2), np.int64),
        "last": np.zeros(1, np.int64),
    }


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


def components_data(rng, N, K):
    return {
        "edges": rng.integers(0, N, (K, 2)),
        "parent": np.arange(N),
        "number": np.zeros(1, np.int64),
    }


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


def sorted_by_digits_data(rng, N):
    return {"keys": rng.integers(0, 2**31, N), "work": np.zeros(N, np.int64)}


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


def transposed_sparse_data(rng, N, K):
    start, column = _rows(rng, N, K)
    return {
        "start": start,
        "column": column,
        "value": rng.random(K),
        "tstart": np.zeros(N + 1, np.int64),
        "tcolumn": np.zeros(K, np.int64),
        "tvalue": np.zeros(K),
    }


def turned_image(img, angle, out):
    H, W = img.shape
    c = np.cos(angle)
    s = np.sin(angle)
    for i in range(H):
        for j in range(W):
            y = c * (i - H / 2) - s * (j - W / 2) + H / 2
            x = s * (i - H / 2) + c * (j - W / 2) + W / 2
            p = int(np.floor(y))
            q = int(np.floor(x))
            if 0 <= p < H - 1 and 0 <= q < W - 1:
                fy = y - p
                fx = x - q
                upper = img[p, q] * (1 - fx) + img[p, q + 1] * fx
                lower = img[p + 1, q] * (1 - fx) + img[p + 1, q + 1] * fx
                out[i, j] = upper * (1 - fy) + lower * fy
            else:
                out[i, j] = 0.0


def turned_image_data(rng, H, W):
    return {"img": rng.random((H, W)), "angle": 0.5, "out": np.zeros((H, W))}


def points_in_polygon(points, corners, inside):
    M = corners.shape[0]
    for n in range(points.shape[0]):
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


def points_in_polygon_data(rng, N, M):
    turn, radius = np.sort(rng.uniform(-np.pi, np.pi, M)), rng.uniform(0.4, 1.0, M)
    return {
        "points": rng.uniform(-1, 1, (N, 2)),
        "corners": np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1),
        "inside": np.zeros(N, np.bool_),
    }


def table_by_bisection(knots, values, x, out):
    for n in range(x.shape[0]):
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


def table_by_bisection_data(rng, N, M):
    return {
        "knots": np.arange(M) + rng.uniform(-0.4, 0.4, M),
        "values": rng.random(M),
        "x": rng.uniform(0.5, M - 1.5, N),
        "out": np.zeros(N),
    }


PROGRAMS = (
    Program(
        charges_to_cells,
        charges_to_cells_data,
        {"N": 700001, "C": 131},
        {"N": 40, "C": 6},
        ("density",),
    ),
    Program(
        edges_relaxed,
        edges_relaxed_data,
        {"N": 30011, "K": 200003},
        {"N": 9, "K": 31},
        ("distance",),
    ),
    Program(
        breadth_first,
        breadth_first_data,
        {"N": 150001, "K": 600011, "source": 5},
        {"N": 11, "K": 19, "source": 5},
        ("distance", "queue", "reached"),
    ),
    Program(flood_fill, flood_fill_data, {"H": 701, "W": 809}, {"H": 9, "W": 11}, ("grid", "last")),
    Program(
        components,
        components_data,
        {"N": 100003, "K": 130003},
        {"N": 13, "K": 9},
        ("parent", "number"),
    ),
    Program(sorted_by_digits, sorted_by_digits_data, {"N": 500009}, {"N": 29}, ("keys",)),
    Program(
        transposed_sparse,
        transposed_sparse_data,
        {"N": 60013, "K": 700027},
        {"N": 7, "K": 19},
        ("tstart", "tcolumn", "tvalue"),
    ),
    Program(turned_image, turned_image_data, {"H": 1103, "W": 1307}, {"H": 11, "W": 13}, ("out",)),
    Program(
        points_in_polygon,
        points_in_polygon_data,
        {"N": 60013, "M": 41},
        {"N": 40, "M": 7},
        ("inside",),
    ),
    Program(
        table_by_bisection,
        table_by_bisection_data,
        {"N": 150001, "M": 1511},
        {"N": 21, "M": 9},
        ("out",),
    ),
)
