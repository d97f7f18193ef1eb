from tests.errors.c_text import read


def act():
    read(
        "void f(int n, double **x)\n{\n#pragma scop\n  for (int i = 0; i < n; i++)\n    x[i][i] = 0;\n#pragma endscop\n}\n"
    )
