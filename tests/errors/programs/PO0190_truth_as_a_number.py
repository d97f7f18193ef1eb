from tests.errors.c_text import region


def act():
    region("  for (i = 0; i < n; i++)\n    x[i] = isnan(x[i]);\n")
