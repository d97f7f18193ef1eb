"""The text that is read is the one that a function was compiled from."""

from __future__ import annotations
import __future__

import linecache
from types import FunctionType

import pytest

from polyopt.capture.text import Changed, NoText, keep_lines, text_of, verified_text

FUNCTIONS = '''
import functools

G = 1.0

def plain(a, b=lambda x: x + 1, *, c: "int" = 3):
    """A text
  that is indented less."""
    assert a > 0, "positive"
    total = 0.0
    for i in range(3):
        total += a * i
        pass
    return [x * G for x in (total, b(a))]

def outer(free, other):
    local = free * 2

    def nested(x):
        def deeper(y):
            return y + free + local
        return deeper(x) + other
    return nested

nested = outer(1, 2)

class Holder:
    __private = 3

    def method(self, x):
        """One.

        Two.
        """
        return self.__private * x + len(__class__.__name__)

    @staticmethod
    @functools.lru_cache
    def cached(x):
        return x

class Child(Holder):
    def method(self, x):
        return super().method(x)

def wraps(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) * 2
    return wrapper

@wraps
def decorated(x):
    return x

def inside():
    class Local:
        def method(self):
            return inside, __class__
    return Local

consts = lambda: None

def constants(x):
    return (x * 1.0, x * -0.0, x in {1, 2, 3}, (1, (2.5, "a")), 1e400 - 1e400)
'''
NAMES = ("plain", "outer", "nested", "wraps", "decorated", "inside", "constants")


def functions(module):
    yield from (getattr(module, name) for name in NAMES)
    yield from (module.Holder.method, module.Child.method, module.inside().method)
    yield module.Holder.cached.__wrapped__


@pytest.mark.parametrize("head", ["", "from __future__ import annotations\n"])
def test_every_kind_of_function_is_recognized(load, head):
    for function in functions(load("shapes", head + FUNCTIONS)):
        text = verified_text(function)
        assert text.tree().name == function.__code__.co_name
        assert text.first == function.__code__.co_firstlineno


@pytest.mark.parametrize("flags", [["-O"], ["-OO"]])
def test_without_assertions_and_docstrings(tmp_path, flags):
    import subprocess
    import sys

    (tmp_path / "shapes.py").write_text(FUNCTIONS)
    script = (
        "import shapes\nfrom polyopt.capture.text import verified_text\n"
        f"for name in {NAMES}: verified_text(getattr(shapes, name))\n"
        "verified_text(shapes.Holder.method)\nprint('all')\n"
    )
    done = subprocess.run(
        [sys.executable, *flags, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("all\n", "")


@pytest.mark.parametrize(
    "old, new",
    [
        ("x * 1.0", "x * 2.0"),
        ("x * 1.0", "x / 1.0"),
        ("x * 1.0", "y * 1.0"),
        ("x * -0.0", "x * 0.0"),
        ("{1, 2, 3}", "{1, 2, 4}"),
        ('"a"', '"b"'),
        ("def constants(x)", "def constants(x, y)"),
        ("def constants(x)", "def constants(x, /)"),
        ("def constants(x)", "def other(x)"),
        ("consts = lambda: None", "consts = lambda: None\n"),
    ],
)
def test_an_edited_file_is_noticed(load, old, new):
    function = load("shapes", FUNCTIONS).constants
    assert old in FUNCTIONS
    load.edit("shapes", FUNCTIONS.replace(old, new))
    with pytest.raises(Changed):
        verified_text(function)


def test_comments_and_spaces_are_no_change(load):
    function = load("shapes", FUNCTIONS).constants
    load.edit("shapes", FUNCTIONS.replace("(x * 1.0,", "(  x*1.0,  # a product\n           "))
    assert "# a product" in verified_text(function).whole


def test_lines_are_kept_from_when_a_kernel_was_made(load):
    function = load("shapes", FUNCTIONS).constants
    keep_lines(function)
    load.edit("shapes", FUNCTIONS.replace("x * 1.0", "x * 2.0"))
    assert "x * 1.0" in verified_text(function).whole
    assert text_of(function) == verified_text(function)
    again = load("shapes", FUNCTIONS.replace("x * 1.0", "x * 3.0")).constants
    assert "x * 3.0" in verified_text(again).whole
    assert "x * 1.0" in verified_text(function).whole


def test_no_text():
    scope: dict[str, object] = {}
    exec("def f(a):\n    return a", scope)
    assert isinstance(scope["f"], FunctionType)
    with pytest.raises(NoText):
        verified_text(scope["f"])


def test_texts_without_a_file():
    """As notebooks make them: the cell's lines are in `linecache`."""
    text = "def f(a):\n    return a + 1\n"
    name = "<cell 1>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, FunctionType] = {}
    flags = __future__.annotations.compiler_flag
    exec(compile(text, name, "exec", flags), scope)
    assert verified_text(scope["f"]).whole == text
    linecache.cache[name] = (len(text), None, text.replace("1", "2").splitlines(True), name)
    with pytest.raises(Changed):
        verified_text(scope["f"])


def with_assertion(x):
    assert x > 0
    return x + 1


def test_rewritten_assertions():
    """pytest compiles other code for this module's assertions."""
    assert any(name.startswith("@py") for name in with_assertion.__code__.co_varnames)
    assert "assert x > 0" in verified_text(with_assertion).whole


@pytest.mark.parametrize(
    "rest",
    [
        "    return x\n    x: int\n",
        "    y = (\n        x\n    )\n    return (\n        y\n    )\n",
        "    if x:\n        return x\n    else:\n        pass\n",
        "    try:\n        return x\n    finally:\n        pass\n",
        "    '''only\n    a text'''\n",
        "    return G\n    G = 1\n",
        "    return [\n        x\n        for x in (1, 2)\n        # none\n    ]\n    # the end\n",
    ],
)
def test_both_ways_of_asking_give_one_text(load, rest):
    function = load("ends", f"G = 1\n\ndef f(x):\n{rest}\n\nlast = 3\n").f
    text = verified_text(function)
    assert text == text_of(function)
    assert text.tree() is not None
    assert "last" not in text.whole
