#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

void literals(int n, const int *x, const char *c, int64_t *wide, unsigned *u, double *r)
{
  double flags = 0;
  long long sum = 0;
#pragma scop
  for (int i = 0; i < n; i++) {
    wide[i] = 1LL * x[i] * x[i] + (x[i] & 0xFFFFFFFF) + (~0u - i) + (1u << 31) / 3;
    u[i] = x[i] / 2u + -1u + (c[i] == '\n') * '\0' + '\x41' - '\\' + -010;
    r[i] = 1 / 2u + -0x1.8p3 + -1u + (x[i] + 3000000000);
    flags += x[i] > -1u;
    sum += x[i] * 3LL;
  }
#pragma endscop
  r[0] += flags + sum;
}

void signs(unsigned n, int m, long a, const int *x, double *r, unsigned char *b)
{
#pragma scop
  for (unsigned i = 0; i < n; i++) {
    unsigned before = i - 1;
    r[i] = (double)(a * x[i]) + (i > m) + x[i - 1 < n ? i - 1 : 0] + x[(i - 1) % 16] + before;
    if (i < m)
      r[i] += x[before < n ? before : 1];
    b[i] = x[i] > 0 ? 300 : -1;
    b[i] += i * 77;
  }
#pragma endscop
}

void quotients(int n, const int *x, const int *y, const int64_t *z, int *r, int64_t *w)
{
#pragma scop
  for (int i = 0; i < n; i++) {
    r[i] = x[i] / 3 + x[i] % 3 * 5 + x[i] / -7 - x[i] % -5 + abs(x[i] / 2);
    w[i] = z[i] / y[i] * 3 + z[i] % y[i] + x[i] % y[i];
  }
#pragma endscop
}

void shifts(int n, int64_t a, const unsigned char *c, uint64_t *r)
{
#pragma scop
  for (int64_t i = 0; i < n; i++) {
    int narrow = a;
    r[i] = (1ull << (c[i] & 63)) + (i << 33) + (1 << (c[i] & 30)) + narrow;
  }
#pragma endscop
}
