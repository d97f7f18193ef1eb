static int larger(int a, int b)
{
    return a > b ? a : b;
}

void nussinov(long N, int seq[restrict N], int table[restrict N][N])
{
    for (long i = N - 1; i >= 0; i--)
        for (long j = i + 1; j < N; j++) {
            table[i][j] = larger(table[i][j], table[i][j - 1]);
            table[i][j] = larger(table[i][j], table[i + 1][j]);
            int pair = i < j - 1 && seq[i] + seq[j] == 3;
            table[i][j] = larger(table[i][j], table[i + 1][j - 1] + pair);
            for (long k = i + 1; k < j; k++)
                table[i][j] = larger(table[i][j], table[i][k] + table[k + 1][j]);
        }
}
