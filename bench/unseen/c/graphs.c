#include "real.h"
#include <stdlib.h>
#include <string.h>

void charges_to_cells(long N, long C, const real *restrict pos, const real *restrict charge,
                      real *restrict density)
{
    for (long n = 0; n < N; n++) {
        real x = pos[2 * n], y = pos[2 * n + 1], q = charge[n];
        long i = x, j = y;
        real fx = x - i, fy = y - j, *cell = density + i * C + j;
        cell[0] += q * (1 - fx) * (1 - fy);
        cell[C] += q * fx * (1 - fy);
        cell[1] += q * (1 - fx) * fy;
        cell[C + 1] += q * fx * fy;
    }
}

void edges_relaxed(long N, long K, const long *restrict tail, const long *restrict head,
                   const real *restrict length, real *restrict distance)
{
    distance[0] = 0;
    for (long round = 0; round < N - 1; round++) {
        int changed = 0;
        for (long e = 0; e < K; e++) {
            real through = distance[tail[e]] + length[e];
            if (through < distance[head[e]]) {
                distance[head[e]] = through;
                changed = 1;
            }
        }
        if (!changed)
            break;
    }
}

void breadth_first(long N, long K, long source, const long *restrict start,
                   const long *restrict column, long *restrict distance, long *restrict queue,
                   long *restrict reached)
{
    long first = 0, end = 1;
    distance[source] = 0;
    queue[0] = source;
    while (first < end) {
        long u = queue[first++];
        for (long k = start[u]; k < start[u + 1]; k++) {
            long v = column[k];
            if (distance[v] < 0) {
                distance[v] = distance[u] + 1;
                queue[end++] = v;
            }
        }
    }
    reached[0] = end;
}

void flood_fill(long H, long W, long *restrict grid, long *restrict stack, long *restrict last)
{
    long label = 1;
    for (long i = 0; i < H; i++)
        for (long j = 0; j < W; j++) {
            if (grid[i * W + j] != 1)
                continue;
            long top = 0;
            grid[i * W + j] = ++label;
            stack[0] = i;
            stack[1] = j;
            while (top >= 0) {
                long y = stack[2 * top], x = stack[2 * top + 1];
                top--;
                for (long d = 0; d < 4; d++) {
                    long ny = y + (d == 0) - (d == 1), nx = x + (d == 2) - (d == 3);
                    if (0 <= ny && ny < H && 0 <= nx && nx < W && grid[ny * W + nx] == 1) {
                        grid[ny * W + nx] = label;
                        top++;
                        stack[2 * top] = ny;
                        stack[2 * top + 1] = nx;
                    }
                }
            }
        }
    last[0] = label;
}

void components(long N, long K, const long *restrict edges, long *restrict parent,
                long *restrict number)
{
    long count = N;
    for (long e = 0; e < K; e++) {
        long a = edges[2 * e], b = edges[2 * e + 1];
        while (parent[a] != a)
            a = parent[a] = parent[parent[a]];
        while (parent[b] != b)
            b = parent[b] = parent[parent[b]];
        if (a != b) {
            parent[a] = b;
            count--;
        }
    }
    number[0] = count;
}

void sorted_by_digits(long N, long *restrict keys, long *restrict work)
{
    long position[256];
    for (long shift = 0; shift < 32; shift += 8) {
        memset(position, 0, sizeof position);
        for (long n = 0; n < N; n++)
            position[keys[n] >> shift & 255]++;
        long total = 0;
        for (long d = 0; d < 256; d++) {
            long count = position[d];
            position[d] = total;
            total += count;
        }
        for (long n = 0; n < N; n++)
            work[position[keys[n] >> shift & 255]++] = keys[n];
        memcpy(keys, work, N * sizeof *keys);
    }
}

void transposed_sparse(long N, long K, const long *restrict start, const long *restrict column,
                       const real *restrict value, long *restrict tstart, long *restrict tcolumn,
                       real *restrict tvalue)
{
    memset(tstart, 0, (N + 1) * sizeof *tstart);
    for (long k = 0; k < K; k++)
        tstart[column[k] + 1]++;
    for (long i = 0; i < N; i++)
        tstart[i + 1] += tstart[i];
    long *restrict position = malloc((N + 1) * sizeof *position);
    memcpy(position, tstart, (N + 1) * sizeof *position);
    for (long i = 0; i < N; i++)
        for (long k = start[i]; k < start[i + 1]; k++) {
            long p = position[column[k]]++;
            tvalue[p] = value[k];
            tcolumn[p] = i;
        }
    free(position);
}

/* Coordinates are double, as in Python, for images of either type. */
void turned_image(long H, long W, const real *restrict img, real *restrict out, double angle)
{
    double c = cos(angle), s = sin(angle), y0 = H / 2.0, x0 = W / 2.0;
    #pragma omp parallel for
    for (long i = 0; i < H; i++)
        for (long j = 0; j < W; j++) {
            double y = c * (i - y0) - s * (j - x0) + y0, x = s * (i - y0) + c * (j - x0) + x0;
            long p = floor(y), q = floor(x);
            if (0 <= p && p < H - 1 && 0 <= q && q < W - 1) {
                double fy = y - p, fx = x - q;
                const real *a = img + p * W + q, *b = a + W;
                double upper = a[0] * (1 - fx) + a[1] * fx, lower = b[0] * (1 - fx) + b[1] * fx;
                out[i * W + j] = upper * (1 - fy) + lower * fy;
            } else
                out[i * W + j] = 0;
        }
}

void points_in_polygon(long N, long M, const real *restrict points, const real *restrict corners,
                       _Bool *restrict inside)
{
    #pragma omp parallel for
    for (long n = 0; n < N; n++) {
        real x = points[2 * n], y = points[2 * n + 1];
        _Bool odd = 0;
        for (long i = 0, j = M - 1; i < M; j = i++) {
            const real *a = corners + 2 * i, *b = corners + 2 * j;
            if ((a[1] > y) != (b[1] > y))
                if (x < (b[0] - a[0]) / (b[1] - a[1]) * (y - a[1]) + a[0])
                    odd = !odd;
        }
        inside[n] = odd;
    }
}

void table_by_bisection(long N, long M, const real *restrict knots, const real *restrict values,
                        const real *restrict x, real *restrict out)
{
    #pragma omp parallel for
    for (long n = 0; n < N; n++) {
        long low = 0, high = M - 1;
        while (high - low > 1) {
            long middle = (low + high) / 2;
            if (knots[middle] <= x[n])
                low = middle;
            else
                high = middle;
        }
        real t = (x[n] - knots[low]) / (knots[high] - knots[low]);
        out[n] = values[low] + t * (values[high] - values[low]);
    }
}
