"""What a function's fingerprint depends on, and what it does not."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from polyopt.runtime.fingerprint import fingerprint, package_stamp

BASE = """
import math
import numpy as np
import {helper} as outside
from polyopt.frontend.annotations import f64

N = 3
TABLE = np.arange(4.0)
OPTIONS = (1, 2.5, None)
UNUSED = 1

def inner(x):
    return x * N

def middle(x):
    return inner(x) + 1

def func(A, k=2.0):
    return middle(A) * math.pi + TABLE[0] + OPTIONS[1] + np.sin(k) + outside.half(k)

def make(c):
    def closure(A):
        return A * c
    return closure

def recursive(n):
    return recursive(n - 1)

def annotated(A: f64["N,N"]):
    return A

class Odd:
    pass

odd = Odd()

def strange(A):
    return odd
"""
HELPER = "def half(x):\n    return x / 2\n\ndef other(x):\n    return x\n"


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return `load(text, helper text)`: a module at the same place each time."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    count = iter(range(1_000_000_000, 2_000_000_000))

    def make(text: str = BASE, helper: str = HELPER) -> ModuleType:
        names = {}
        for name, body in (("fp_helper", helper), ("fp_base", text)):
            path = tmp_path / f"{name}.py"
            path.write_text(body.replace("{helper}", "fp_helper"))
            os.utime(path, (next(count), next(count)))
            spec = importlib.util.spec_from_file_location(name, path)
            names[name] = importlib.util.module_from_spec(spec)
            sys.modules[name] = names[name]
            spec.loader.exec_module(names[name])
        monkeypatch.delitem(sys.modules, "fp_helper")
        return names["fp_base"]

    return make


def test_same_text_same_fingerprint(load):
    assert fingerprint(load().func) == fingerprint(load().func)
    assert fingerprint(load().func) is not None


@pytest.mark.parametrize(
    "old, new",
    [
        ("middle(A) * math.pi", "middle(A) + math.pi"),
        ("k=2.0", "k=3.0"),
        ("inner(x) + 1", "inner(x) + 2"),
        ("x * N", "x - N"),
        ("N = 3", "N = 4"),
        ("N = 3", "N = 3.0"),
        ("np.arange(4.0)", "np.arange(4)"),
        ("np.arange(4.0)", "-np.arange(4.0)"),
        ("(1, 2.5, None)", "(1, 2.5, True)"),
        ("import math", "import cmath as math"),
    ],
)
def test_everything_that_is_used_counts(load, old, new):
    before = fingerprint(load().func)
    assert old in BASE
    assert fingerprint(load(BASE.replace(old, new)).func) != before


def test_helpers_in_other_modules_count(load):
    before = fingerprint(load().func)
    assert fingerprint(load(helper=HELPER.replace("x / 2", "x / 3")).func) != before
    assert fingerprint(load(helper=HELPER.replace("return x\n", "return -x\n")).func) == before


def test_what_is_not_used_does_not_count(load):
    before = fingerprint(load().func)
    assert fingerprint(load(BASE.replace("UNUSED = 1", "UNUSED = 2")).func) == before


def test_closures_count(load):
    module = load()
    assert fingerprint(module.make(1)) == fingerprint(module.make(1))
    assert fingerprint(module.make(1)) != fingerprint(module.make(2))
    assert fingerprint(module.make(1)) != fingerprint(module.make(1.0))


def test_recursion_ends(load):
    assert fingerprint(load().recursive) is not None


def test_annotations_do_not_hinder(load):
    assert fingerprint(load().annotated) is not None


def test_values_without_a_text_are_not_cached(load):
    assert fingerprint(load().strange) is None
    assert fingerprint(eval("lambda x: x")) is None
    assert fingerprint(len) is None


def test_package_stamp(tmp_path):
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub" / "a.py"
    file.write_text("x")
    (tmp_path / "data.txt").write_text("x")
    before = package_stamp(tmp_path)
    (tmp_path / "data.txt").write_text("y" * 9)
    assert package_stamp(tmp_path) == before
    file.write_text("xy")
    assert package_stamp(tmp_path) != before
