/* Prints, one a line: a name and what this machine does per second at best, with `argv[1]` threads.
   argv[2], argv[3], argv[4]: bytes a thread uses in L1, L2 and L3; argv[5]: bytes all use in DRAM. */
#include <immintrin.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif

typedef double f64v __attribute__((vector_size(BYTES)));
typedef float f32v __attribute__((vector_size(BYTES)));

static double most(double found, double best)
{
    return found > best ? found : best;
}

/* 12 chains hide the latency of four cycles on two or three units. */
#define PEAK(NAME, V, T, OP)                                                      \
    static double NAME(int threads)                                               \
    {                                                                             \
        double best = 0;                                                          \
        for (int repeat = 0; repeat < 5; repeat++) {                              \
            double start = 0, end = 0;                                            \
            volatile T sink;                                                      \
            _Pragma("omp parallel num_threads(threads)")                          \
            {                                                                     \
                V x[12], m, a;                                                    \
                for (int c = 0; c < 12; c++)                                      \
                    x[c] = (V){0} + (T)(1 + c);                                   \
                m = (V){0} + (T)0.999;                                            \
                a = (V){0} + (T)0.001;                                            \
                _Pragma("omp barrier")                                            \
                _Pragma("omp master") start = omp_get_wtime();                    \
                for (long n = 0; n < 1000000; n++) {                              \
                    _Pragma("GCC unroll 12") for (int c = 0; c < 12; c++)         \
                        OP;                                                       \
                    __asm__ volatile("" : "+v"(m));                               \
                }                                                                 \
                _Pragma("omp barrier")                                            \
                _Pragma("omp master") end = omp_get_wtime();                      \
                T total = 0;                                                      \
                for (int c = 0; c < 12; c++)                                      \
                    total += x[c][0];                                             \
                sink = total;                                                     \
            }                                                                     \
            (void)sink;                                                           \
            double done = 2.0 * 12 * 1e6 * (BYTES / sizeof(T)) * threads;         \
            best = most(done / (end - start), best);                              \
        }                                                                         \
        return best;                                                              \
    }

PEAK(fma64, f64v, double, x[c] = x[c] * m + a)
PEAK(fma32, f32v, float, x[c] = x[c] * m + a)

enum kind { READ, TRIAD, STREAM };

static double pass(enum kind what, double *restrict a, const double *restrict b,
                   const double *restrict c, long n)
{
    f64v *x = (f64v *)a;
    const f64v *y = (const f64v *)b, *z = (const f64v *)c;
    long count = n * sizeof(double) / BYTES / 8 * 8;
    f64v sum[8] = {0};
    switch (what) {
    case READ:
        for (long i = 0; i < count; i += 8)
            for (int k = 0; k < 8; k++)
                sum[k] += x[i + k];
        break;
    case TRIAD:
        for (long i = 0; i < count; i += 8)
            for (int k = 0; k < 8; k++)
                x[i + k] = y[i + k] + 3.0 * z[i + k];
        break;
    case STREAM:
#if BYTES == 64
        for (long i = 0; i < count; i++)
            _mm512_stream_pd((double *)(x + i), (__m512d)(y[i] + 3.0 * z[i]));
#elif BYTES == 32
        for (long i = 0; i < count; i++)
            _mm256_stream_pd((double *)(x + i), (__m256d)(y[i] + 3.0 * z[i]));
#else
        for (long i = 0; i < count; i++)
            _mm_stream_pd((double *)(x + i), (__m128d)(y[i] + 3.0 * z[i]));
#endif
        break;
    }
    for (int k = 1; k < 8; k++)
        sum[0] += sum[k];
    return sum[0][0];
}

static double bandwidth(enum kind what, long bytes, int threads)
{
    long arrays = what == READ ? 1 : 3, n = bytes / arrays / sizeof(double) / 64 * 64;
    double best = 0, start = 0, end = 0;
    volatile double sink = 0;
    long times = (long)(2e8 / bytes) + 1;
    #pragma omp parallel num_threads(threads)
    {
        double *all = aligned_alloc(4096, (arrays * n * sizeof(double) + 4095) / 4096 * 4096);
        for (long i = 0; i < arrays * n; i++)
            all[i] = 1.0;
        double total = 0;
        for (int repeat = 0; repeat < 4; repeat++) {
            #pragma omp barrier
            #pragma omp master
            start = omp_get_wtime();
            for (long k = 0; k < times; k++) {
                total += pass(what, all, all + (arrays - 1) / 2 * n, all + (arrays - 1) * n, n);
                __asm__ volatile("" : : : "memory");
            }
            #pragma omp barrier
            #pragma omp master
            {
                end = omp_get_wtime();
                double moved = (double)arrays * n * sizeof(double) * times * threads;
                best = most(moved / (end - start), best);
            }
            #pragma omp barrier
        }
        sink = total;
        free(all);
    }
    (void)sink;
    return best;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    int threads = atoi(argv[1]);
    printf("float64 %.4g\n", fma64(threads));
    printf("float32 %.4g\n", fma32(threads));
    const char *names[] = {"L1", "L2", "L3", "DRAM"};
    for (int level = 0; level < 4; level++) {
        long bytes = atol(argv[2 + level]) / (level == 3 ? threads : 1);
        printf("%s read %.4g\n", names[level], bandwidth(READ, bytes, threads));
        printf("%s triad %.4g\n", names[level], bandwidth(TRIAD, bytes, threads));
    }
    printf("DRAM stream %.4g\n", bandwidth(STREAM, atol(argv[5]) / threads, threads));
    return 0;
}
