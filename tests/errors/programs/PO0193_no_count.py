from tests.errors.c_text import region


def act():
    region("  for (i = 1; i < n; i *= 2)\n    x[i] = 0;\n")
