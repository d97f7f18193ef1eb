"""What compiling a function reads is recorded, and any change of it is found."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt.capture.reads import Recording, read_back, resolved, shown, written
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.source import Layout
from polyopt.ir.types import DType

VECTOR = ArrayType(DType.FLOAT64, 1, Layout.C, (False,))

CONSTS = "scale = 3.0\nother = 1.0\nunread = 9.0\n"
HELPER = "import consts\n\ndef half(x):\n    return x / 2.0 * consts.scale\n"
BASE = """
import math
import numpy as np
import polyopt as po
import consts
import outside
from outside import half

N = 3
TABLE = np.arange(4.0)
OPTIONS = (1, 2.5, None)
UNUSED = 1
MATRIX = po.f64["N"]
NAMES = {"a": 1.0}

def inner(x):
    return x * N

def middle(x, k=2.0, *, sign=1.0):
    return inner(x) + k * sign

def twice(function):
    def wrapper(x):
        return function(x) * 2.0
    return wrapper

@twice
def decorated(x):
    return x + 5.0

@po.kernel
def within(x):
    return x - 7.0

@np.vectorize
def by_element(x):
    return x + 11.0

def make(c):
    def closure(x):
        return x * c
    return closure

first = make(1.0)
PAIR = (make(2.0), make(4.0))

def func(A: MATRIX, B: "MATRIX"):
    a = middle(A) * math.pi + TABLE[0] + OPTIONS[1] + outside.half(A) + consts.other
    b = decorated(A) + within(A) + by_element(A) + first(A) + PAIR[1](A)
    if "a" in NAMES:
        b = b + 1.0
    return a + b + sum(A) + half(B)
"""


def reads(load, base=BASE, helper=HELPER, consts=CONSTS):
    """Return the module and what reading `func` recorded."""
    load("consts", consts)
    load("outside", helper)
    module = load("base", base)
    return module, recorded(module.func, 2)


def recorded(function, arguments=1):
    recording = Recording(function)
    build(function, (VECTOR,) * arguments, recording)
    return recording.reads


def now(function, known):
    """Return what is there now, as another process finds it."""
    return resolved(function, read_back(written(read.path for read in known)))


def test_the_same_text_gives_the_same_reads(load):
    module, known = reads(load)
    assert all(read.text is not None for read in known)
    assert now(module.func, known) == known
    again, same = reads(load)
    assert again.func is not module.func
    assert same == known
    assert now(again.func, known) == known


CHANGES = {
    "base": [
        ("middle(A) * math.pi", "middle(A) + math.pi"),
        ("k=2.0", "k=3.0"),
        ("sign=1.0", "sign=-1.0"),
        ("inner(x) + k", "inner(x) - k"),
        ("x * N", "x - N"),
        ("N = 3", "N = 4"),
        ("N = 3", "N = 3.0"),
        ("N = 3", "N = True"),
        ("np.arange(4.0)", "np.arange(4)"),
        ("np.arange(4.0)", "-np.arange(4.0)"),
        ("(1, 2.5, None)", "(1, 2.5, True)"),
        ("(1, 2.5, None)", "[1, 2.5, None]"),
        ("import math", "import cmath as math"),
        ("function(x) * 2.0", "function(x) * 3.0"),
        ("x + 5.0", "x + 6.0"),
        ("@twice\n", ""),
        ("x - 7.0", "x - 8.0"),
        ("x + 11.0", "x + 12.0"),
        ("first = make(1.0)", "first = make(1.5)"),
        ("make(4.0)", "make(4.5)"),
        ('po.f64["N"]', 'po.f64["M"]'),
        ('{"a": 1.0}', '{"b": 1.0}'),
        ("UNUSED = 1", "def sum(x):\n    return 0.0"),
        ("from outside import half", "from math import sqrt as half"),
    ],
    "helper": [("x / 2.0", "x / 4.0"), ("consts.scale", "consts.other")],
    "consts": [("scale = 3.0", "scale = 4.0"), ("other = 1.0", "other = 2.0")],
}


@pytest.mark.parametrize(
    "file, old, new", [(file, *change) for file, listed in CHANGES.items() for change in listed]
)
def test_everything_that_was_read_counts(load, file, old, new):
    _, known = reads(load)
    texts = {"base": BASE, "helper": HELPER, "consts": CONSTS}
    assert old in texts[file]
    texts[file] = texts[file].replace(old, new, 1)
    load("consts", texts["consts"])
    load("outside", texts["helper"])
    assert now(load("base", texts["base"]).func, known) != known


@pytest.mark.parametrize(
    "base, helper, consts",
    [
        (BASE.replace("UNUSED = 1", "UNUSED = 2"), HELPER, CONSTS),
        (BASE, HELPER + "\ndef more(x):\n    return x\n", CONSTS),
        (BASE, HELPER, CONSTS.replace("9.0", "8.0")),
    ],
)
def test_what_was_not_read_does_not_count(load, base, helper, consts):
    _, known = reads(load)
    load("consts", consts)
    load("outside", helper)
    assert now(load("base", base).func, known) == known


def test_each_read_is_needed(load):
    """Changing what one path leads to changes what was read there, not only elsewhere."""
    _, known = reads(load)
    paths = {shown(read.path) for read in known}
    assert {
        "outside.half.consts.scale",
        "middle.inner.N",
        "PAIR",
        "outside.half.consts.other",
    } <= paths


def test_a_module_that_caller_and_helper_use_is_read_by_both(load):
    """The helper's attribute counts though the caller uses the module for another one."""
    load("consts", CONSTS)
    load("outside", HELPER)
    head = "import consts\nfrom outside import half\n\n"
    text = f"{head}def func(x):\n    return half(x) + consts.other\n"
    function = load("base", text).func
    known = recorded(function)
    import consts

    consts.scale = 4.0
    assert now(function, known) != known


def test_one_function_under_two_names(load):
    """Two names of one function, then of two whose texts are the same."""
    text = (
        "def make(c):\n    def inside(x):\n        return x * c\n    return inside\n\n"
        "one = make(2.0)\ntwo = one\n\ndef func(x):\n    return one(x) + two(x)\n"
    )
    module = load("base", text)
    known = recorded(module.func)
    module.two = module.make(3.0)
    assert now(module.func, known) != known


def test_floats_that_compare_equal_differ(load):
    module = load("base", "K = 0.0\n\ndef func(x):\n    return x * K\n")
    known = recorded(module.func)
    module.K = -0.0
    assert now(module.func, known) != known
    module.K = np.float64(0.0)
    assert now(module.func, known) != known


def test_closures_count(load):
    text = "def make(c):\n    def closure(x):\n        return x * c\n    return closure\n"
    module = load("base", text)
    known = recorded(module.make(1))
    assert now(module.make(1), known) == known
    assert now(module.make(2), known) != known
    assert now(module.make(1.0), known) != known


def test_a_value_without_a_text_is_not_cached(load):
    head = "class Odd:\n    pass\n\nodd = Odd()\n\n"
    module = load("base", f"{head}def func(x):\n    return x * 2.0 if odd is None else x\n")
    known = recorded(module.func)
    assert [shown(read.path) for read in known if read.text is None] == ["odd"]


def test_nothing_is_read_of_a_value_of_another_kind(load):
    module = load("base", "import math as m\n\ndef func(x):\n    return x * m.pi\n")
    known = recorded(module.func)
    module.m = 3.0
    assert now(module.func, known) != known
    del module.m
    assert now(module.func, known) != known
