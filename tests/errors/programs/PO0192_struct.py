from tests.errors.c_text import read


def act():
    read(
        "struct point { double x; };\nvoid f(int n, struct point *p)\n{\n#pragma scop\n  for (int i = 0; i < n; i++)\n    p[i] = p[0];\n#pragma endscop\n}\n"
    )
