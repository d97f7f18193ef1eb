from tests.errors.c_text import region


def act():
    region("  for (i = 1; i < n; i++) {\n    x[i] = 0;\n    n = n - 1;\n  }\n")
