void floyd_warshall(long N, int path[restrict N][N])
{
    for (long k = 0; k < N; k++)
        for (long i = 0; i < N; i++)
            for (long j = 0; j < N; j++) {
                int through = path[i][k] + path[k][j];
                path[i][j] = path[i][j] < through ? path[i][j] : through;
            }
}
