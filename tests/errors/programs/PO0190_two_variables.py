from tests.errors.c_text import region


def act():
    region(
        "  for (i = 0; i < n; i++) {\n    double t = x[i];\n    x[i] = 2 * t;\n  }\n"
        "  for (i = 0; i < n; i++)\n    x[i] += t;\n",
        "int n, double t, double *x",
    )
