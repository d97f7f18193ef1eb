void floyd_warshall(long N, int path[restrict N][N])
{
#pragma omp parallel
    for (long k = 0; k < N; k++) {
#pragma omp for
        for (long i = 0; i < N; i++) {
            int first = path[i][k], *restrict a = path[i];
            const int *b = path[k];
#pragma omp simd
            for (long j = 0; j < N; j++) {
                int through = first + b[j];
                a[j] = a[j] < through ? a[j] : through;
            }
        }
    }
}
