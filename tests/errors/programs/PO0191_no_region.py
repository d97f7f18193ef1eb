from tests.errors.c_text import read


def act():
    read("void f(void) {}\n")
