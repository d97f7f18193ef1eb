/* How fast this machine is: arithmetic, every cache, memory, an empty parallel region.

   Arguments: bytes of L1, L2, L3 and of memory to walk over.
   Output: lines `threads what number`.  Each number is the best of a few short runs. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

typedef double D __attribute__((vector_size(VECTOR_BYTES)));
typedef float F __attribute__((vector_size(VECTOR_BYTES)));

/* Of one thread the time that it ran: others on the machine add nothing. */
static clockid_t which = CLOCK_PROCESS_CPUTIME_ID;

static double now(void)
{
    struct timespec t;
    clock_gettime(which, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Twelve chains: more than the latency of two units, fewer than there are registers. */
#define CHAINS(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) \
                     STEP(6) STEP(7) STEP(8) STEP(9) STEP(10) STEP(11)
#define DECLARE(n) V a##n = x + n;
#define ADD(n) a##n = a##n * m + x;
#define TAKE(n) x += a##n;
#define ARITHMETIC(NAME, TYPE, ELEMENT)                         \
    static double NAME(long steps, double seed)                 \
    {                                                           \
        typedef TYPE V;                                         \
        V x = (V){0} + (ELEMENT)seed, m = (V){0} + (ELEMENT)0.5; \
        CHAINS(DECLARE)                                         \
        for (long i = 0; i < steps; i++) { CHAINS(ADD) }        \
        CHAINS(TAKE)                                            \
        return x[0];                                            \
    }
ARITHMETIC(arithmetic64, D, double)
ARITHMETIC(arithmetic32, F, float)

static double walk(const D *p, long vectors, long rounds)
{
    D a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    for (long r = 0; r < rounds; r++) {
        for (long i = 0; i + 8 <= vectors; i += 8) {
            a += p[i]; b += p[i + 1]; c += p[i + 2]; d += p[i + 3];
            e += p[i + 4]; f += p[i + 5]; g += p[i + 6]; h += p[i + 7];
        }
        __asm__ volatile("" ::: "memory");
    }
    a += b + c + d + e + f + g + h;
    return a[0];
}

static double stream(D *restrict p, long vectors, double seed)
{
    long third = vectors / 3;
    D *restrict q = p + third, *restrict r = q + third, s = (D){0} + seed;
    for (long i = 0; i < third; i++) p[i] = q[i] + s * r[i];
    return p[third / 2][0];
}

/* Each addition waits for the one before, a cycle. */
static double cycles(long steps)
{
    unsigned long n = 0;
    for (long i = 0; i < steps; i++) {
#define NEXT(_) __asm__ volatile("" : "+r"(n)); n += (unsigned long)steps;
        CHAINS(NEXT)
    }
    return (double)n;
}

enum { FLOAT64, FLOAT32, L1, L2, L3, MEMORY, STREAM, KINDS };
static const char *const names[] = {"float64", "float32", "l1", "l2", "l3", "memory", "stream"};
static volatile double sink;

/* Run the work of one thread; return what it did: operations or bytes. */
static double work(int kind, D *p, long bytes, double seed)
{
    long vectors = bytes / (long)sizeof(D), rounds = 1;
    switch (kind) {
    case FLOAT64:
        sink = arithmetic64(200000, seed);
        return 200000.0 * 12 * 2 * (sizeof(D) / sizeof(double));
    case FLOAT32:
        sink = arithmetic32(200000, seed);
        return 200000.0 * 12 * 2 * (sizeof(F) / sizeof(float));
    case STREAM:
        sink = stream(p, vectors, seed);
        return vectors / 3 * 3.0 * sizeof(D);
    default:
        if (kind != MEMORY) rounds = 1 + (kind == L3 ? 24L << 20 : 64L << 20) / bytes;
        sink = walk(p, vectors, rounds);
        return (double)(vectors / 8 * 8) * sizeof(D) * rounds;
    }
}

static void print_hertz(void)
{
    double best = 0;
    for (int run = 0; run < 10; run++) {
        double began = now();
        sink = cycles(100000);
        double each = 100000.0 * 12 / (now() - began);
        if (each > best) best = each;
    }
    printf("1 hertz %.6g\n", best);
}

int main(int argc, char **argv)
{
    int most = 1;
    if (argc != 5) return 2;
#ifdef _OPENMP
    most = omp_get_max_threads();
#endif
    long sizes[KINDS] = {0};
    for (int level = 0; level < 4; level++) sizes[L1 + level] = atol(argv[1 + level]);
    sizes[STREAM] = sizes[MEMORY];
    for (int threads = 1;; threads = most) {
        for (int kind = 0; kind < KINDS; kind++) {
            double best = 0;
            long bytes = sizes[kind];
            if (kind >= L3) bytes /= threads;
            if (kind == L1 || kind == L2 || kind == L3) bytes /= 2;
            bytes = bytes / (24 * (long)sizeof(D)) * (24 * (long)sizeof(D));
            double total = 0, began = 0, ended = 0;
            int failed = 0;
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
#endif
            {
                D *p = bytes ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
                if (bytes && p == NULL) {
#ifdef _OPENMP
#pragma omp atomic write
#endif
                    failed = 1;
                }
                for (long i = 0; p && i < bytes / (long)sizeof(D); i++) p[i] = (D){0} + 1.0;
                for (int run = 0; run < 5; run++) {
#ifdef _OPENMP
#pragma omp barrier
#pragma omp single
#endif
                    { total = 0; began = now(); }
                    double mine = bytes && !p ? 0 : work(kind, p, bytes, run + 1.0);
#ifdef _OPENMP
#pragma omp critical
#endif
                    { total += mine; ended = now(); }
#ifdef _OPENMP
#pragma omp barrier
#pragma omp single
#endif
                    if (total / (ended - began) > best) best = total / (ended - began);
                }
                free(p);
            }
            if (failed) return 3;
            printf("%d %s %.6g\n", threads, names[kind], best);
        }
        if (threads == 1) print_hertz();
        which = CLOCK_MONOTONIC;
        if (threads == most) break;
    }
    double least = 1;
#ifdef _OPENMP
    for (int run = 0; run < 200; run++) {
        double began = now();
#pragma omp parallel
        sink = 0;
        double took = now() - began;
        if (took < least) least = took;
    }
#else
    least = 1e-9;
#endif
    printf("%d region %.6g\n", most, least);
    return 0;
}
