from tests.errors.c_text import read


def act():
    read('#include "missing.h"\n')
