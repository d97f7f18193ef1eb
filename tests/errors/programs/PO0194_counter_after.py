from tests.errors.c_text import region


def act():
    region("  for (i = 0; i < n; i++)\n    x[i] = 0;\n  x[i] = 1;\n")
