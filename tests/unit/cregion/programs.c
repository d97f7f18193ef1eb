#include <math.h>
#include <stddef.h>
#include <stdint.h>
#define MAXI(a, b) ((a) > (b) ? (a) : (b))
#define W 3
typedef float real;
/* linearised product */
void matmul(int n, int m, int k, const double *A, const double *B, double *C)
{
  int i, j, l;
#pragma scop
  for (i = 0; i < n; ++i)
    for (j = 0; j < m; ++j) {
      double s = 0;
      for (l = 0; l < k; ++l)
        s += A[i * k + l] * B[l * m + j];
      C[i * m + j] = s;
    }
#pragma endscop
}

void heat(int n, int steps, real *restrict u, real *restrict v)
{
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i <= n - 2; i++)
      for (int j = 1; j <= n - 2; j++)
        for (int k = 1; k <= n - 2; k++)
          v[(i * n + j) * n + k] = 0.125 * (u[((i + 1) * n + j) * n + k] - 2.0f * u[(i * n + j) * n + k] + u[((i - 1) * n + j) * n + k])
             + u[(i * n + j + 1) * n + k] * 0.25f - u[i * n * n + (j - 1) * n + k] + u[(i * n + j) * n + k + 1] / 3;
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        for (int k = 1; k < n - 1; k++)
          u[(i * n + j) * n + k] = v[(i * n + j) * n + k];
  }
#pragma endscop
}

double norm(int n, const double x[n], double *peak)
{
  double sum = 0.0, best = -1.0;
  int where = -1;
#pragma scop
  for (int i = 0; i < n; i++) {
    sum += x[i] * x[i];
    if (fabs(x[i]) > best) {
      best = fabs(x[i]);
      where = i;
    }
  }
#pragma endscop
  *peak = best + where;
  return sqrt(sum);
}

void histogram(int n, const uint8_t *data, int32_t bins[256], const int idx[n], double y[n])
{
#pragma scop
  for (int i = n - 1; i >= 0; i--) {
    bins[data[i]]++;
    y[idx[i]] += 0.5 * i;
  }
#pragma endscop
}

void ints(int n, const int a[n], int b[n], unsigned c[n], int64_t d[n], short e[n])
{
#pragma scop
  for (int i = 0; i < n; i++) {
    b[i] = a[i] / 7 + a[i] % 5 - (-a[i]) / 3;
    c[i] = (unsigned) a[i] * 2654435761u + (a[i] < 0);
    d[i] = (int64_t) a[i] * a[i] + (a[i] >> 2) + (a[i] & 15) + (i % W == 0 ? MAXI(i, 4) : a[i] != 0);
    e[i] = e[i] + 1 + !a[i];
  }
#pragma endscop
}

void triangle(int n, double A[n][n], double p[n])
{
  double w;
#pragma scop
  for (int i = 0; i < n; i++) {
    w = A[i][i];
    for (int j = 0; j < i; j++)
      w -= A[i][j] * A[i][j];
    p[i] = w > 0 ? 1.0 / sqrt(w) : 0.0;
    for (int j = i + 1; j < n; j++) {
      w = A[i][j];
      for (int k = 0; k < i; k++)
        w = w - A[j][k] * A[i][k];
      A[j][i] = w * p[i];
    }
  }
#pragma endscop
}

int count(int n, const int a[n])
{
  int c = 0, i = 0;
#pragma scop
  while (i < n && a[i] != 42) {
    if (a[i] > 0 && (a[i] % 2 == 1 || a[i] == 8))
      c += 2;
    else if (a[i] < -3)
      c--;
    i++;
  }
#pragma endscop
  return c * 1000 + i;
}

void two(int n, float a[n], float b[n])
{
#pragma scop
  for (int i = 0; i < n; i += 2)
    a[i] = b[i] * 2 + 1;
#pragma endscop
  a[0] = 7;
#pragma scop
  for (int i = 1; i < n; i++)
    b[i] = a[i] * b[i - 1];
#pragma endscop
}

void shifted(int lo, int hi, double *x, double *y)
{
#pragma scop
  for (int i = lo; i < hi; i++)
    y[i] = x[i - 1] + x[i + 1];
#pragma endscop
}

/* the middle of an array: subscripts may be negative */
double around(const double *middle, int reach)
{
  double total = 0;
#pragma scop
  for (int i = -reach; i <= reach; i++)
    total += middle[i];
#pragma endscop
  return total;
}

void plane(int n, double (*A)[n], int row)
{
#pragma scop
  for (int j = 0; j < n; j++) {
    int next = row + 1;
    A[next][j] = A[row][j] * 0.5 + (j > 3 ? 1 : A[row][j]);
  }
#pragma endscop
}

void functions(int n, const double *x, double *y, const float *u, float *v)
{
#pragma scop
  for (int i = 0; i < n; i++) {
    y[i] = sqrt(fabs(x[i])) + floor(x[i]) * ceil(x[i]) + fmax(x[i], 0.5) - fmin(x[i], u[i]);
    v[i] = sqrtf(fabsf(u[i])) * 3 + u[i] / 3.0 - (float) x[i] + (int) x[i];
  }
#pragma endscop
}

void unsigned_counters(unsigned n, size_t m, double *x, unsigned *c, double A[n][m])
{
#pragma scop
  for (unsigned i = 0; i < n; i++) {
    x[i] = (i - 3) * 0.5 + (i > 2 ? i : 1);
    c[i] = i * 3u - 5;
    for (size_t j = 0; j < m; j++)
      A[i][j] = A[i][j] * i - (double) (j - 2) / (j + 1);
  }
#pragma endscop
}

void more_functions(int n, const double *x, double *y, const float *u, float *v, int *c)
{
#pragma scop
  for (int i = 0; i < n; i++) {
    y[i] = fma(x[i], 3.0, 0.1) + round(x[i]) + fdim(x[i], 1) + nearbyint(x[i]) + nextafter(x[i], 9.0)
         + remainder(x[i], 0.7);
    v[i] = fmaf(u[i], u[i], 0.1f) + roundf(u[i]) - fdimf(u[i], (float) x[i]) + remainderf(u[i], 0.7f);
    if (isnan(y[i]) || signbit(v[i]))
      c[i] = 1 + (isfinite(u[i]) ? 1 : 0);
    else
      c[i] = isinf(x[i]) ? 7 : 3;
  }
#pragma endscop
}

void flat_product(int n, int m, int p, const double *restrict A, const double *restrict B, double *restrict C)
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      C[i * m + j] = 0.5;
      for (int k = 0; k < p; k++)
        C[i * m + j] += A[i * p + k] * B[k * m + j];
    }
#pragma endscop
}

void flat_images(int rows, int columns, int depth, const float *x, float *y)
{
#pragma scop
  for (int i = 1; i < rows - 1; i++)
    for (int j = 1; j < columns - 1; j++)
      for (int k = 0; k < depth; k++)
        y[(i * columns + j) * depth + k] = x[((i - 1) * columns + j) * depth + k]
          + x[i * columns * depth + (j + 1) * depth + k] - x[(i + 1) * columns * depth + j * depth + k];
#pragma endscop
}

void flat_ends(int n, double *x)
{
#pragma scop
  for (int i = 0; i < n - 1; i++)
    x[(i + 1) * n - 1] += x[i * n] * 0.5;
#pragma endscop
}
