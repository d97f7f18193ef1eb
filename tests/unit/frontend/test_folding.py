"""Constants that nobody can compute, or would not want to: refused before they are."""

from __future__ import annotations

import importlib.util
import resource
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from polyopt.frontend.arithmetic.folding import integer_text

BOMBS = {
    "a[0] = ([1] * 10**9)[0]": "PO0180",
    "a[0] = (10**9 * (1, 2))[0]": "PO0180",
    "a[0] = len('a' * 10**10)": "PO0180",
    "b = [0]\n    b *= 10**9\n    a[0] = b[1]": "PO0180",
    "b = [[0] * 10**4] * 10**5\n    a[0] = b[1][1]": "PO0180",
    "b = ITEMS + ITEMS\n    a[0] = b[1]": "PO0180",
    "a[0] = 2 ** 10**9": "PO0180",
    "a[0] = pow(2, 10**9) % 7": "PO0180",
    "a[0] = 10**10**10": "PO0180",
    "a[0] = (1 << 10**10) % 7": "PO0180",
    "n = 10**2000\n    n = n * n\n    a[0] = n % 7": "PO0180",
    "a[0] = math.factorial(10**7) % 7": "PO0180",
    "a[0] = math.comb(10**9, 5 * 10**8) % 7": "PO0180",
    "a[0] = math.perm(10**7) % 7": "PO0180",
    "a[0] = math.perm(10**9, 10**6) % 7": "PO0180",
    "a[0] = len('%9999999999d' % 3)": "PO0116",
    "a[0] = sum([i for i in SPAN])": "PO0180",
    "a[0] = 1 << -1": "PO0147",
    "a[0] = 10.0 ** 1000": "PO0147",
    "a[0] = 10**400 / 3": "PO0147",
    "a[0] = DIGITS": "PO0145",
    "if DIGITS > a[0]:\n        a[0] = 1": "PO0145",
    f"a[0] = 0x{'f' * 5000}": "PO0145",
}


def compiled(tmp_path: Path, body: str) -> po.CompiledKernel:
    path = tmp_path / "bomb.py"
    head = "import math\nDIGITS = 10**5000\nSPAN = range(10**9)\nITEMS = (1,) * 9000\n"
    path.write_text(f"{head}\n\ndef f(a):\n    {body}\n")
    spec = importlib.util.spec_from_file_location("bomb", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return po.kernel(module.f, threads=1).compile(np.ones(3))


@pytest.fixture
def little_memory():
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.toolchain
@pytest.mark.parametrize("body", BOMBS)
def test_constants_are_refused_before_they_are_computed(tmp_path, body, little_memory):
    with pytest.raises(PolyoptError) as caught:
        compiled(tmp_path, body)
    assert caught.value.code == BOMBS[body]
    assert len(str(caught.value)) < 20_000


@pytest.mark.toolchain
def test_what_is_small_is_computed_exactly(tmp_path):
    body = "a[0] = 7**200 % 1000\n    a[1] = math.comb(500, 20) % 997\n    a[2] = ([4] * 50)[49]"
    import math

    a = np.zeros(3)
    compiled(tmp_path, body)(a)
    assert a.tolist() == [7**200 % 1000, math.comb(500, 20) % 997, 4]


def test_arguments_of_thousands_of_digits():
    def same(a, n=1):
        a[0] = n

    kernel = po.kernel(same)
    for value in (10**5000, -(10**5000), 2**64):
        with pytest.raises(PolyoptError) as caught:
            kernel(np.ones(1), value)
        assert caught.value.code == "PO0210"


def test_texts_of_integers():
    assert integer_text(-(2**200)) == str(-(2**200))
    assert integer_text(10**5000) == "an integer of 16610 bits"
