void compute(long M, long N, long *restrict x, long *restrict y, long a, long b, long c,
             long *restrict out)
{
#pragma omp parallel for simd
    for (long i = 0; i < M * N; i++) {
        long low = x[i] > 2 ? x[i] : 2;
        out[i] = (low < 10 ? low : 10) * a + y[i] * b + c;
    }
}
